"""What every store must hide: a reader with roles sees a repository as if what is not for those
roles had never been written.

Two repositories get the same commits, but one of them also the documents that the reader may not
see. Every read of the one must equal that of the other, scores and counts included.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from sourcebook.errors import Forbidden, NotFound
from sourcebook.model import Citation, Feedback, Filter, Link, PreparedQuery, Resolved, Scope, Tree
from sourcebook.ports import Store, Within
from tests.stores.conformance import SPACE, put, tree, units
from tests.stores.properties import Properties, examples

FULL = Scope("acme", "research", "full")
PART = Scope("acme", "research", "part")
ROLES = frozenset({"staff", "legal"})
WORDS = ("red", "blue", "green", "old", "new")
HIDDEN: tuple[Any, ...] = (
    "board",
    ["board", "audit"],
    [],
    {"odd": "value"},
    "",
    ["Staff"],
    "staff ",
)
READABLE: tuple[Any, ...] = (None, "staff", ["board", "legal"], ["staff", "legal"])

documents = st.tuples(
    st.sampled_from("abcdef"),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(lambda w: " ".join([*w, "end"])),
    st.sampled_from(READABLE + HIDDEN),
    st.sampled_from("abcdef"),
)
histories = st.lists(
    st.lists(documents, min_size=1, max_size=4, unique_by=lambda d: d[0]), min_size=1, max_size=4
)


def seen_as(scope: Scope) -> Scope:
    return replace(scope, roles=ROLES)


def is_hidden(label: Any) -> bool:
    return label in HIDDEN


def labelled(element: str, text: str, label: Any, target: str = "", name: str = "") -> Tree:
    """Chunks of it say nothing of their label: the document's holds for them."""
    made = tree(element, text.split(" ", 1))
    root, *parts = made.nodes
    metadata = {} if label is None else {"visibility": label}
    links = (Link(element, target, "references"),) if target else ()
    passages = [replace(p, facets=(*p.facets, ("topic", "x"))) for p in made.passages]
    return replace(
        made,
        nodes=(replace(root, metadata=metadata), *parts),
        links=(*made.links, *links),
        passages=tuple(passages),
    )


def both(store: Store, full: Scope, part: Scope, history: list[list[Any]]) -> int:
    """The same history, without what is hidden in the second; returns the last revision. Elements
    that turn hidden are ended there, and a mark that both have keeps the revisions in step."""
    for number, documents in enumerate(history):
        for scope in (full, part):
            with store.commit(scope) as writer:
                writer.put(labelled("mark", f"mark {number}", None))
                for element, text, label, target in documents:
                    if scope is part and is_hidden(label):
                        if writer.current([element]):
                            writer.end(element)
                    else:
                        writer.put(labelled(element, text, label, target))
    return len(history)


def ended(store: Store, element: str) -> None:
    with store.commit(FULL) as writer:
        writer.end(element)


def fill(store: Store, scope: Scope) -> None:
    store.register_space(scope, SPACE)
    pending = store.pending(scope, SPACE)
    rows = [
        units(1, seed=int.from_bytes(p.text_hash.encode()[:6], "big") % 2**31)[0] for p in pending
    ]
    if rows:
        store.put_vectors(scope, SPACE, [p.text_hash for p in pending], np.array(rows))


def observed(store: Store, scope: Scope, revision: int) -> dict[str, Any]:
    """All that a reader can learn of a repository at a revision."""
    within = Within(revision)
    query = PreparedQuery("q", "q", ("red", "old"), (("blue", "green"),))
    asked = units(1, seed=7)[0]
    nodes = store.nodes(scope, revision, limit=1000)
    ids = [n.id for n in nodes]
    sparse = store.sparse_search(scope, query, 9, within)
    dense = store.dense_search(scope, SPACE, asked, 9, within).matches
    narrow = replace(within, filters=(Filter("topic", ("x",)),))
    filtered = store.sparse_search(scope, query, 9, narrow)
    anything = PreparedQuery("q", "q", ("end", "mark", *WORDS))
    owner = replace(scope, roles=None)
    every = [m.passage for m in store.sparse_search(owner, anything, 500, within)]
    evidence = store.evidence(scope, SPACE, asked, query, [m.passage for m in sparse], within)
    return {
        "nodes": nodes,
        "texts": [store.text(scope, n) for n in nodes],
        "counts": dict(store.counts(scope, revision)),
        "links": [store.links(scope, i, revision) for i in ids],
        "children": [store.children(scope, i, revision, 50) for i in ids],
        "relations": store.relations(scope, [*ids, *"abcdef"], revision, 500),
        "among": store.relations_among(scope, [*ids, *"abcdef"], revision, 500),
        "coverage": store.coverage(scope, SPACE, within),
        "sparse": [m[1:] for m in sparse],
        "filtered": [m[1:] for m in filtered],
        "dense": [m[1:] for m in dense],
        "lexical": evidence.lexical.tolist(),
        "cosine": None if evidence.cosine is None else evidence.cosine.tolist(),
        "passages": sorted(
            (p.passage.node_id, p.text) for p in store.passages(scope, revision, every)
        ),
    }


class WallConformance(Properties):
    """Inherit it beside StoreConformance."""

    @examples(30, history=histories, salt=st.uuids())
    def test_what_roles_may_not_see_moves_nothing(
        self, store: Store, history: list[list[Any]], salt: object
    ) -> None:
        full, part = (replace(s, repository=f"{s.repository}-{salt}") for s in (FULL, PART))
        last = both(store, full, part, history)
        for scope in (full, part):
            fill(store, scope)
        for revision in range(last + 1):
            hidden = observed(store, seen_as(full), revision)
            never = observed(store, seen_as(part), revision)
            for what in hidden:
                assert (what, repr(hidden[what])) == (what, repr(never[what]))

    def test_each_label_by_hand(self, store: Store) -> None:
        for number, label in enumerate((*READABLE, *HIDDEN)):
            put(store, labelled(f"d{number}", f"red {number}", label), scope=FULL)
        head = len(READABLE) + len(HIDDEN)

        def shown(*roles: str) -> set[str]:
            scope = replace(FULL, roles=frozenset(roles))
            return {n.id for n in store.nodes(scope, head, kind="document", limit=99)}

        assert shown() == {"d0"}
        assert shown("staff") == {"d0", "d1", "d3"}
        assert shown("legal") == {"d0", "d2", "d3"}
        assert shown("board") == {"d0", "d2", "d4", "d5"}
        assert shown("Staff") == {"d0", "d9"}
        assert len(store.nodes(FULL, head, kind="document", limit=99)) == head

    def test_a_hidden_version_and_its_words_are_not_there(self, store: Store) -> None:
        secret = labelled("s", "red alarm", "board")
        put(store, secret, scope=FULL)
        reader = seen_as(FULL)
        assert store.node(reader, "s", 1) is None
        assert store.node(FULL, "s", 1) is not None
        for node in secret.nodes:
            assert store.versions(reader, node.version_id) == []
            with pytest.raises(NotFound):
                store.text(reader, node)

    def test_a_label_that_changes_holds_from_then_on(self, store: Store) -> None:
        put(store, labelled("a", "red one", None), scope=FULL)
        put(store, labelled("a", "red one", "board"), scope=FULL)
        put(store, labelled("a", "red one", "staff"), scope=FULL)
        put(store, labelled("a", "red one", []), scope=FULL)
        reader = seen_as(FULL)
        seen = [len(store.nodes(reader, revision)) for revision in range(1, 5)]
        assert seen == [3, 0, 3, 0]
        query = PreparedQuery("red", "red", ("red",))
        found = [len(store.sparse_search(reader, query, 9, Within(r))) for r in range(1, 5)]
        assert found == [1, 0, 1, 0]

    @pytest.mark.parametrize("later", [("board",), ("board", "gone"), ("staff", "board", "gone")])
    def test_an_old_version_obeys_the_labels_of_today(
        self, store: Store, later: tuple[str, ...]
    ) -> None:
        """Also those of its chunks, which have the same version as before, and of a document that
        has ended since: the labels that it had last decide."""
        first = labelled("a", "red one", None)
        put(store, first, scope=FULL)
        for label in later:
            if label == "gone":
                ended(store, "a")
            else:
                put(store, labelled("a", f"red {label}", label), scope=FULL)
        for node in first.nodes:
            assert store.versions(seen_as(FULL), node.version_id) == []
            assert store.shown(seen_as(FULL), node.version_id) == []
            assert store.versions(replace(FULL, roles=frozenset({"board"})), node.version_id)
            assert store.versions(FULL, node.version_id)
        assert store.node(seen_as(FULL), "a", 1) == first.nodes[0]

    @pytest.mark.parametrize("label", [None, "staff", "gone"])
    def test_an_old_version_of_what_may_be_read_today_stays_readable(
        self, store: Store, label: str | None
    ) -> None:
        first, secret = labelled("a", "red one", None), labelled("a", "red two", "board")
        put(store, first, scope=FULL)
        put(store, secret, scope=FULL)
        put(store, labelled("a", "red three", None if label == "gone" else label), scope=FULL)
        if label == "gone":
            ended(store, "a")
        assert store.versions(seen_as(FULL), first.nodes[0].version_id) == [first.nodes[0]]
        assert store.versions(seen_as(FULL), secret.nodes[0].version_id) == []

    def test_judgments_of_an_old_version_obey_the_labels_of_today(self, store: Store) -> None:
        first = labelled("a", "red one", None)
        put(store, first, scope=FULL)
        root = first.nodes[0]
        cited = Citation("full", "a", root.version_id, root.start, root.end, "hash")
        given = Feedback("2026-01-01", "red?", "a", cited, Resolved("head", 1), "helpful")
        store.add_feedback(FULL, given)
        assert store.feedback(seen_as(FULL)) == [given]
        put(store, labelled("a", "red one", "board"), scope=FULL)
        assert store.feedback(seen_as(FULL)) == []
        assert store.feedback(FULL) == [given]

    def test_a_reader_with_roles_writes_nothing(self, store: Store) -> None:
        put(store, labelled("a", "red", None), scope=FULL)
        reader = seen_as(FULL)
        with pytest.raises(Forbidden, match="roles"), store.commit(reader):
            raise AssertionError
        for write in (
            lambda: store.create_baseline(reader, "b", 1),
            lambda: store.publish(reader, "b"),
            lambda: store.register_space(reader, SPACE),
        ):
            with pytest.raises(Forbidden, match="roles"):
                write()

    def test_the_log_tells_a_reader_with_roles_only_when(self, store: Store) -> None:
        put(store, labelled("s", "red", "board"), scope=FULL, message="the merger")
        (told,) = store.log(seen_as(FULL))
        (whole,) = store.log(FULL)
        assert (told.number, told.at) == (whole.number, whole.at)
        assert (told.message, told.counts) == ("", {})
        assert whole.message == "the merger"
        assert whole.counts

    def test_a_relationship_goes_with_what_turns_hidden(self, store: Store) -> None:
        """Although it is not written anew: the document that states it only has another label."""
        said = labelled("a", "red one", None, "b")
        put(store, said, labelled("b", "red two", None), scope=FULL)
        put(store, labelled("a", "red one", "board", "b"), scope=FULL)
        put(store, said, scope=FULL)
        link = Link("a", "b", "references")
        for old, new in ((1, 2), (3, 2)):
            assert store.difference(seen_as(FULL), old, new).gone_relations == (link,)
            assert store.difference(seen_as(FULL), new, old).new_relations == (link,)
            assert store.difference(FULL, old, new).gone_relations == ()
        assert store.difference(seen_as(FULL), 1, 3).gone_relations == ()

    def test_links_do_not_tell_by_their_order_what_was_there_first(self, store: Store) -> None:
        """A document that was hidden and one that came later state the same link."""
        said = {
            name: Link("a", "b", "cites", {"note": note})
            for name, note in (("first", "z"), ("later", "y"))
        }
        for name in ("a", "b"):
            put(store, labelled(name, "red", None), scope=FULL)
        for name, label in (("first", "board"), ("later", None), ("first", None)):
            made = labelled(name, "red", label)
            put(store, replace(made, links=(*made.links, said[name])), scope=FULL)
        assert store.links(seen_as(FULL), "a", 5)[:2] == [said["later"], said["first"]]
