"""What every store must know of its past: what differs between two revisions, and what stays the
same when others are dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import strategies as st

from sourcebook.errors import Forbidden, NotFound, RevisionDropped
from sourcebook.model import (
    Difference,
    DroppedVersion,
    Filter,
    Link,
    PreparedQuery,
    ReadContext,
    Scope,
    Shown,
    Tree,
)
from sourcebook.ports import Store, Within
from tests.stores import walls
from tests.stores.conformance import SCOPE, SPACE, end, everything, head, put, tree, units
from tests.stores.properties import Properties, examples

WORDS = ("red", "blue", "fox", "whale", "runs")
documents = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.none()
    | st.tuples(
        st.lists(st.sampled_from(WORDS), max_size=4, unique=True).map(tuple),
        st.sampled_from(["", "a", "b"]),
    ),
    max_size=3,
)
histories = st.lists(documents, min_size=2, max_size=9)


def related(element: str, parts: tuple[str, ...], target: str = "", note: str = "") -> Tree:
    """A document that may also say something of another one."""
    made = tree(element, parts)
    links = (Link(element, target, "cites", {"note": note}),) if target else ()
    return replace(made, links=(*made.links, *links))


def write(store: Store, scope: Scope, history: list[dict[str, Any]]) -> int:
    for commit in history:
        with store.commit(scope, message="random") as writer:
            for element, said in commit.items():
                if said is None:
                    writer.end(element)
                else:
                    writer.put(related(element, *said))
    return head(store, scope)


def embed(store: Store, scope: Scope) -> None:
    """A vector and a score for all that lacks them; equal texts get equal vectors."""
    store.register_space(scope, SPACE)
    todo = store.pending(scope, SPACE)
    if todo:
        rows = [units(1, seed=int(p.text_hash[:6], 16))[0] for p in todo]
        coded = [p.text.encode() for p in todo]
        store.put_vectors(scope, SPACE, [p.text_hash for p in todo], np.array(rows), coded)
    nodes = store.unscored(scope, "1", 10_000).values()
    store.put_quality(scope, "1", {n.version_id: {"overall": len(n.id)} for n in nodes})


def reads(store: Store, scope: Scope, revision: int) -> list[Any]:
    """All that a revision answers."""
    whole, part = Within(revision), Within(revision, filters=(Filter("source", ("docs/a.md",)),))
    nodes = store.nodes(scope, revision, limit=1000)
    seen: list[Any] = [nodes, [store.text(scope, n) for n in nodes], store.counts(scope, revision)]
    seen += [store.links(scope, n.id, revision) for n in nodes]
    seen.append(store.relations(scope, [n.id for n in nodes], revision, 1000))
    seen.append(store.quality(scope, "1", [n.version_id for n in nodes]))
    for within in (whole, part):
        seen.append(store.coverage(scope, SPACE, within))
        seen.append(store.dense_search(scope, SPACE, units(1)[0], 20, within).matches)
        for word in WORDS:
            query = PreparedQuery(word, word, (word,), ((word,),) if word == "fox" else ())
            found = store.sparse_search(scope, query, 20, within)
            rows = [match.passage for match in found]
            seen += [found, store.passages(scope, revision, rows)]
            seen.append(store.token_vectors(scope, SPACE, rows))
    return seen


class PastConformance(Properties):
    """Inherit it, and give a `store` fixture."""

    # --- what differs --------------------------------------------------------------------------

    def test_the_difference_of_two_revisions(self, store: Store) -> None:
        first = (tree("a", ["one", "two"]), related("b", ("x",), "a", "old"), tree("d", ["gone"]))
        put(store, *first)
        with store.commit(SCOPE) as writer:
            writer.put(tree("a", ["one", "three"]))
            writer.put(related("b", ("x",), "a", "new"))
            writer.put(related("c", ("y",), "b"))
            writer.end("d")
        found = store.difference(SCOPE, 1, 2)
        gone = {node.title or store.text(SCOPE, node) for node in found.gone_nodes}
        new = {node.title or store.text(SCOPE, node) for node in found.new_nodes}
        assert gone == {"a", "two", "d", "gone"}
        assert new == {"a", "three", "c", "y"}
        assert found.gone_relations == (Link("b", "a", "cites", {"note": "old"}),)
        assert found.new_relations == (
            Link("b", "a", "cites", {"note": "new"}),
            Link("c", "b", "cites", {"note": ""}),
        )
        back = store.difference(SCOPE, 2, 1)
        assert (back.gone_nodes, back.new_nodes) == (found.new_nodes, found.gone_nodes)
        assert back.new_relations == found.gone_relations
        chunks = store.difference(SCOPE, 1, 2, kind="chunk")
        assert {n.kind for n in (*chunks.gone_nodes, *chunks.new_nodes)} == {"chunk"}
        assert store.difference(SCOPE, 2, 2) == Difference((), (), (), ())
        assert store.difference(Scope("acme", "research", "other"), 1, 2).new_nodes == ()

    def test_a_relationship_that_another_document_also_states_does_not_go(
        self, store: Store
    ) -> None:
        said = Link("x", "y", "cites", {})
        put(store, *(replace(tree(e, [e]), links=(said,)) for e in ("a", "b")))
        end(store, "a")
        assert store.difference(SCOPE, 1, 2).gone_relations == ()
        end(store, "b")
        assert store.difference(SCOPE, 1, 3).gone_relations == (said,)
        put(store, replace(tree("c", ["c"]), links=(said,)))
        assert store.difference(SCOPE, 2, 4).new_relations == ()

    @examples(40, history=histories, ends=st.tuples(st.integers(0, 9), st.integers(0, 9)))
    def test_the_difference_is_that_of_the_two_lists(
        self, store: Store, history: list[dict[str, Any]], ends: tuple[int, int]
    ) -> None:
        scope = Scope("acme", "diff", uuid4().hex)
        last = write(store, scope, history)
        old, new = (min(end, last) for end in ends)
        before, after = (
            {repr(n): n.id for n in store.nodes(scope, r, limit=1000)} for r in (old, new)
        )
        found = store.difference(scope, old, new)
        assert {repr(n) for n in found.gone_nodes} == before.keys() - after.keys()
        assert {repr(n) for n in found.new_nodes} == after.keys() - before.keys()
        links = [
            set(map(repr, store.relations(scope, sorted(set(ids.values())), r, 1000)))
            for ids, r in ((before, old), (after, new))
        ]
        assert {repr(x) for x in found.gone_relations} == links[0] - links[1]
        assert {repr(x) for x in found.new_relations} == links[1] - links[0]

    def test_what_ended_and_came_back_as_it_was_is_no_difference(self, store: Store) -> None:
        put(store, related("a", ("one",), "b"))
        end(store, "a")
        put(store, related("a", ("one",), "b"))
        for old, new in ((1, 3), (3, 1)):
            assert store.difference(SCOPE, old, new) == Difference((), (), (), ())

    @examples(40, history=walls.histories)
    def test_the_difference_is_that_of_what_a_reader_sees(
        self, store: Store, history: list[list[Any]]
    ) -> None:
        """As if what is hidden had never been written; also where only a label changed."""
        full, part = (Scope("acme", "diff", uuid4().hex) for _ in range(2))
        last = walls.both(store, full, part, history)
        full, part = walls.seen_as(full), walls.seen_as(part)
        for old in range(last + 1):
            for new in range(last + 1):
                found = store.difference(full, old, new)
                assert repr(found) == repr(store.difference(part, old, new))
                before, after = (
                    set(map(repr, store.relations(full, [*"abcdef"], r, 500))) for r in (old, new)
                )
                assert set(map(repr, found.gone_relations)) == before - after
                assert set(map(repr, found.new_relations)) == after - before

    # --- what is dropped -----------------------------------------------------------------------

    def test_what_retention_drops_and_keeps(self, store: Store) -> None:
        for text in ("one", "two", "three", "four", "five"):
            put(store, tree("a", [text]), message=text)
        embed(store, SCOPE)
        store.create_baseline(SCOPE, "second", 2)
        planned = store.retain(SCOPE, 5, dry_run=True)
        assert [r.dropped for r in store.log(SCOPE)] == [False] * 5
        done = store.retain(SCOPE, 5)
        assert planned == done
        assert (done.revisions, done.kept) == ((1, 3, 4), 2)
        assert {name: n for name, n in done.rows.items() if n} == {
            "nodes": 6, "links": 3, "passages": 3, "facets": 6, "texts": 3, "quality": 6,
            "vectors": 3, "token_vectors": 3,
        }  # fmt: skip
        log = store.log(SCOPE)
        assert [(r.number, r.message, r.dropped) for r in reversed(log)] == [
            (1, "one", True), (2, "two", False), (3, "three", True), (4, "four", True),
            (5, "five", False),
        ]  # fmt: skip
        assert store.retain(SCOPE, 5).revisions == ()
        assert store.retain(SCOPE, 99).revisions == ()  # head and the baseline are all there is
        assert store.retain(Scope("acme", "research", "other"), 9).kept == 0

    def test_a_dropped_revision_is_refused_by_name(self, store: Store) -> None:
        for text in ("one", "two", "three", "four"):
            put(store, tree("a", [text]))
        (node,) = store.nodes(SCOPE, 2, kind="chunk")
        times = {r.number: r.at for r in store.log(SCOPE)}
        store.retain(SCOPE, 4)
        told = rf"revision 2 \({times[2][:10]}.*up to 3 \(.*kept is revision 4"
        for read in (
            lambda: store.resolve(SCOPE, ReadContext("as_of", times[2])),
            lambda: store.resolve(SCOPE, ReadContext("revision", "2")),
            lambda: store.create_baseline(SCOPE, "late", 2),
            lambda: store.require_kept(SCOPE, 2),
            lambda: store.nodes(SCOPE, 2),
            lambda: store.node(SCOPE, "a", 2),
            lambda: store.links(SCOPE, "a", 2),
            lambda: store.counts(SCOPE, 2),
            lambda: store.children(SCOPE, "a", 2, 9),
            lambda: store.passages(SCOPE, 2, [1]),
            lambda: store.sparse_search(SCOPE, PreparedQuery("", "", ("two",)), 9, Within(2)),
            lambda: store.coverage(SCOPE, SPACE, Within(2)),
            lambda: store.difference(SCOPE, 2, 4),
            lambda: store.difference(SCOPE, 4, 2),
        ):
            with pytest.raises(RevisionDropped, match=told) as caught:
                read()
            assert caught.value.revision == 2
        with pytest.raises(NotFound):
            store.text(SCOPE, node)
        assert store.resolve(SCOPE, ReadContext("as_of", "1999-12-31")).revision == 0
        assert store.nodes(SCOPE, 0) == []
        assert store.dropped_version(SCOPE, node.version_id) == [DroppedVersion(0, 3, 2, 3)]
        assert store.dropped_version(SCOPE, "never") == []
        assert store.shown(SCOPE, node.version_id) == []
        assert store.dropped_version(Scope("acme", "research", "other"), node.version_id) == []

    def test_a_version_that_comes_back_is_there_again(self, store: Store) -> None:
        put(store, tree("a", ["one"]))
        put(store, tree("a", ["two"]))
        (old,) = store.nodes(SCOPE, 1, kind="chunk")
        store.retain(SCOPE, 2)
        put(store, tree("a", ["one"]))
        assert store.shown(SCOPE, old.version_id) == [Shown(old, 3, None)]
        put(store, tree("a", ["two"]))
        store.retain(SCOPE, 4)
        assert store.dropped_version(SCOPE, old.version_id) == [DroppedVersion(0, 3, 1, 4)]

    def test_numbers_of_passages_are_not_given_out_again(self, store: Store) -> None:
        put(store, tree("a", ["one"]))
        put(store, tree("b", ["two"]))
        (last,) = store.sparse_search(SCOPE, PreparedQuery("", "", ("two",)), 9, Within(2))
        end(store, "b")
        store.retain(SCOPE, 3)
        put(store, tree("c", ["four"]))
        (new,) = store.sparse_search(SCOPE, PreparedQuery("", "", ("four",)), 9, Within(4))
        assert new.passage > last.passage

    def test_vectors_that_come_after_retention_are_seen(self, store: Store) -> None:
        """As many as were dropped: who only counts them would not notice."""
        put(store, tree("a", ["one"]))
        embed(store, SCOPE)
        put(store, tree("a", ["two"]))
        assert store.coverage(SCOPE, SPACE, Within(2)).vectors == 0
        store.retain(SCOPE, 2)
        embed(store, SCOPE)
        assert store.coverage(SCOPE, SPACE, Within(2)).vectors == 1

    def test_a_reader_with_roles_drops_nothing(self, store: Store) -> None:
        put(store, tree("a", ["one"], metadata={"visibility": "board"}))
        put(store, tree("a", ["two"], metadata={"visibility": "board"}))
        (old,) = store.nodes(SCOPE, 1, kind="chunk")
        reader = replace(SCOPE, roles=frozenset({"staff"}))
        with pytest.raises(Forbidden):
            store.retain(reader, 2)
        store.retain(SCOPE, 2)
        assert store.dropped_version(reader, old.version_id) == []
        assert store.dropped_version(replace(SCOPE, roles=frozenset({"board"})), old.version_id)
        assert store.difference(reader, 2, 0).gone_nodes == ()

    @examples(
        40,
        history=histories,
        baselines=st.sets(st.integers(1, 9)),
        bounds=st.lists(st.integers(0, 11), min_size=1, max_size=2),
        warm=st.lists(st.integers(0, 9), max_size=6),
    )
    def test_what_is_kept_answers_as_before(
        self,
        store: Store,
        history: list[dict[str, Any]],
        baselines: set[int],
        bounds: list[int],
        warm: list[int],
    ) -> None:
        scope = Scope("acme", "kept", uuid4().hex)
        last = write(store, scope, history)
        if not last:
            return
        embed(store, scope)
        for number in baselines & set(range(1, last + 1)):
            store.create_baseline(scope, f"b{number}", number)
        before = {r: reads(store, scope, r) for r in range(last + 1)}
        kept = set(range(last + 1))
        for bound in bounds:
            for number in [w for w in warm if w in kept]:
                reads(store, scope, number)  # lanes to derive others from
            expected = kept & set(range(1, min(bound, last))) - baselines
            assert set(store.retain(scope, bound).revisions) == expected
            kept -= expected
            assert {r: reads(store, scope, r) for r in kept} == {r: before[r] for r in kept}
        for number in set(range(last + 1)) - kept:
            with pytest.raises(RevisionDropped):
                reads(store, scope, number)

    # --- which point in time -------------------------------------------------------------------

    def test_the_default_is_published_or_head(self, store: Store) -> None:
        assert store.resolve(SCOPE, ReadContext("default")).selector == "head"
        put(store, tree("a", ["one"]))
        put(store, tree("a", ["two"]))
        resolved = store.resolve(SCOPE, ReadContext("default"))
        assert (resolved.selector, resolved.revision, resolved.baseline_id) == ("head", 2, None)
        store.create_baseline(SCOPE, "v1", 1)
        assert store.resolve(SCOPE, ReadContext("default")).selector == "head"
        store.publish(SCOPE, "v1")
        resolved = store.resolve(SCOPE, ReadContext("default"))
        assert (resolved.selector, resolved.revision, resolved.baseline_id) == (
            "published", 1, "v1",
        )  # fmt: skip

    def test_a_revision_by_its_number(self, store: Store) -> None:
        put(store, tree("a", ["one"]))
        for number in ("0", "1"):
            assert store.resolve(SCOPE, ReadContext("revision", number)).revision == int(number)
        for wrong in ("2", "-1", "x", "1.0", "²", "9" * 5000):
            with pytest.raises(NotFound, match="last one is 1"):
                store.resolve(SCOPE, ReadContext("revision", wrong))

    def test_the_rows_of_a_version_with_their_revisions(self, store: Store) -> None:
        put(store, tree("a", ["one", "two"]))
        put(store, tree("a", ["a longer start", "one", "two"]))
        end(store, "a")
        old, new = (
            next(n for n in everything(store, r) if store.text(SCOPE, n) == "two") for r in (1, 2)
        )
        assert store.shown(SCOPE, old.version_id) == [Shown(new, 2, 3), Shown(old, 1, 2)]
        assert store.shown(SCOPE, "never") == []
