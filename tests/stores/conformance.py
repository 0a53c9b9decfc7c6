"""What every store must do, whichever database is below it.

A store's test module inherits `StoreConformance` and gives it a `store` fixture. The trees are made
by `tree`: one document, a node and a passage for each part, every offset real.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from sourcebook.errors import Conflict, InvalidInput, NotFound, SpaceMismatch, StoreError
from sourcebook.hashing import digest
from sourcebook.model import (
    ApiKey,
    Citation,
    Feedback,
    Filter,
    Link,
    Node,
    Passage,
    PreparedQuery,
    ReadContext,
    Resolved,
    Scope,
    Space,
    Tree,
)
from sourcebook.ports import Coverage, Store, Within
from sourcebook.stores import live, waiting
from tests.stores.properties import Properties, examples

SCOPE = Scope("acme", "research", "papers")
OTHER = Scope("acme", "research", "other")
SPACE = Space("small", "local", "tiny", 4, "1")
GAP = "\n\n"


def tree(
    element: str,
    parts: Sequence[str],
    *,
    recipe: str = "r1",
    source: str = "",
    metadata: dict[str, Any] | None = None,
    context: str = "",
) -> Tree:
    """Parts are named by their words, so a part that moves keeps its id and its version."""
    source = source or f"docs/{element}.md"
    text = GAP.join(parts)
    root = Node(
        element, element, "document", digest(element, text), digest(text), None, 0, element,
        source, 0, len(text), metadata=metadata or {},
    )  # fmt: skip
    nodes, links, passages, at = [root], [], [], 0
    for position, part in enumerate(parts):
        name = f"{element}/{digest(part)[:8]}"
        node = Node(
            name, element, "chunk", digest(name, part), digest(part), element, position, "",
            source, at, at + len(part), ("Top", "Sub"), 3, metadata or {},
        )  # fmt: skip
        nodes.append(node)
        links.append(Link(element, name, "contains", {"position": position}))
        facets = (("kind", "chunk"), ("source", source))
        passages.append(
            Passage(name, element, 2, part, context, element, "Top > Sub", facets=facets)
        )
        at += len(part) + len(GAP)
    return Tree(element, source, text, recipe, tuple(nodes), tuple(links), tuple(passages))


def put(store: Store, *trees: Tree, scope: Scope = SCOPE, message: str = "") -> int:
    with store.commit(scope, message=message) as writer:
        for each in trees:
            writer.put(each)
    return writer.revision


def end(store: Store, *elements: str) -> int:
    with store.commit(SCOPE) as writer:
        for element in elements:
            writer.end(element)
    return writer.revision


def head(store: Store, scope: Scope = SCOPE) -> int:
    return store.resolve(scope, ReadContext()).revision


def everything(store: Store, revision: int) -> list[Node]:
    """All visible nodes, by pages of three, so that paging is in every test that uses this."""
    found: list[Node] = []
    while page := store.nodes(SCOPE, revision, limit=3, after=found[-1].id if found else ""):
        found.extend(page)
    return found


def bodies(store: Store, revision: int) -> set[str]:
    stored = store.passages(SCOPE, revision, range(1, 500))
    assert all(s.text == s.passage.body for s in stored)
    return {s.passage.body for s in stored}


def units(count: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, SPACE.dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


KEY = ApiKey(
    "1", "hash", "joe", "acme", "research", None, None, "read", "2026-01-01T00:00:00.000000+00:00"
)


def _of(element: str) -> Filter:
    return Filter("element_id", (element,))


class StoreConformance(Properties):
    """Inherit it, and give a `store` fixture."""

    @pytest.mark.parametrize("part", ["tenant", "organization", "repository"])
    @pytest.mark.parametrize("name", ["", " ", "a\0b", "a\nb", "a\u202eb", "\u3164", "a" * 201])
    def test_a_new_repository_needs_names_that_can_be_read(
        self, store: Store, part: str, name: str
    ) -> None:
        scope = replace(SCOPE, **{part: name})
        with pytest.raises(InvalidInput, match=f"the {part}'s name must have") as caught:
            put(store, tree("a", ["red"]), scope=scope)
        assert caught.value.field == part
        with pytest.raises(InvalidInput):
            store.register_space(scope, SPACE)
        assert store.repositories() == []

    # --- commits -------------------------------------------------------------------------------

    def test_a_scope_that_nobody_wrote_to_is_empty(self, store: Store) -> None:
        assert head(store) == 0
        assert store.log(SCOPE) == []
        assert store.baselines(SCOPE) == []
        assert store.spaces(SCOPE) == []
        assert store.nodes(SCOPE, 0) == []
        assert store.passages(SCOPE, 0, [1, 2]) == []
        assert store.request(SCOPE, "r") is None
        assert store.counts(SCOPE, 0)["passages"] == 0
        assert store.pending(SCOPE, SPACE) == []
        assert store.coverage(SCOPE, SPACE, Within(0)) == Coverage(0, 0)
        assert store.dense_search(SCOPE, SPACE, units(1)[0], 5, Within(0)).matches == []
        query = PreparedQuery("red", "red", ("red",))
        assert store.sparse_search(SCOPE, query, 5, Within(0)) == []

    def test_what_is_put_is_read_back(self, store: Store) -> None:
        made = tree("a", ["Red fox.", "Blue whale."], metadata={"n": [1, "x"], "deep": {"y": None}})
        assert put(store, made, message="first") == 1
        assert everything(store, 1) == sorted(made.nodes, key=lambda n: n.id)
        assert store.node(SCOPE, "a", 1) == made.nodes[0]
        assert [store.text(SCOPE, n) for n in made.nodes] == [
            "Red fox.\n\nBlue whale.", "Red fox.", "Blue whale.",
        ]  # fmt: skip
        stored = store.passages(SCOPE, 1, [2, 1])
        bare = [replace(p, facets=()) for p in made.passages]  # facets are for filters alone
        assert [s.passage for s in stored] == [bare[1], bare[0]]
        assert [s.row for s in stored] == [2, 1]
        assert [s.row for s in store.passages(SCOPE, 1, [2, 9, 1, 2])] == [2, 1, 2]
        assert [s.node for s in stored] == [made.nodes[2], made.nodes[1]]
        assert sorted(map(str, store.links(SCOPE, "a", 1))) == sorted(map(str, made.links))
        assert store.links(SCOPE, made.nodes[1].id, 1) == [made.links[0]]
        assert store.counts(SCOPE, 1) == {
            "document": 1, "chunk": 2, "passages": 2, "links": 2, "relationship": 0,
        }  # fmt: skip

    def test_a_put_counts_what_was_born(self, store: Store) -> None:
        with store.commit(SCOPE, message="both") as writer:
            assert writer.revision == 0
            assert writer.put(tree("a", ["1", "2"])) == {"nodes": 3, "links": 2, "passages": 2}
            assert writer.revision == 1
        assert put(store, tree("a", ["1", "3"])) == 2
        newest, oldest = store.log(SCOPE)
        assert (oldest.number, oldest.message) == (1, "both")
        assert oldest.counts == {
            "document_born": 1, "chunk_born": 2, "link_born": 2, "passage_born": 2,
        }  # fmt: skip
        assert newest.counts == {
            "document_born": 1, "document_died": 1, "chunk_born": 1, "chunk_died": 1,
            "link_born": 1, "link_died": 1, "passage_born": 1, "passage_died": 1,
        }  # fmt: skip
        assert store.log(SCOPE, limit=1) == [newest]

    def test_the_same_again_makes_no_revision(self, store: Store) -> None:
        made = tree("a", ["1", "2"])
        put(store, made)
        with store.commit(SCOPE) as writer:
            assert writer.put(made) == {"nodes": 0, "links": 0, "passages": 0}
            writer.end("nobody")
        assert (writer.revision, head(store), len(store.log(SCOPE))) == (1, 1, 1)

    def test_an_empty_commit_does_not_even_make_the_repository(self, store: Store) -> None:
        with store.commit(SCOPE) as writer:
            pass
        assert writer.revision == 0
        with pytest.raises(NotFound):
            store.create_baseline(SCOPE, "v1", 0)

    def test_an_exception_leaves_the_store_as_it_was(self, store: Store) -> None:
        put(store, tree("a", ["old words"]))
        with pytest.raises(ZeroDivisionError), store.commit(SCOPE) as writer:
            writer.put(tree("a", ["entirely new words"]))
            writer.put(tree("b", ["more"]))
            _ = 1 / 0
        assert head(store) == 1
        assert bodies(store, 2) == {"old words"}
        assert put(store, tree("b", ["entirely other words"])) == 2
        found = store.sparse_search(SCOPE, PreparedQuery("", "", ("entir",)), 5, Within(2))
        assert [m.element_id for m in found] == ["b"]

    def test_a_put_that_fails_breaks_the_commit_even_if_it_is_caught(self, store: Store) -> None:
        bad = tree("b", ["half \ud83d of a pair"])
        with pytest.raises(StoreError, match="nothing more"), store.commit(SCOPE) as writer:
            writer.put(tree("a", ["fine"]))
            with pytest.raises((InvalidInput, UnicodeEncodeError)):
                writer.put(bad)
                writer.live_elements()
            writer.put(tree("c", ["fine too"]))
        assert head(store) == 0

    def test_a_document_that_is_put_twice_in_a_commit_is_what_it_was_put_last(
        self, store: Store
    ) -> None:
        with store.commit(SCOPE) as writer:
            assert writer.current(["a", "b", "c"]) == {}
            assert writer.put(tree("a", ["one", "two"]))["passages"] == 2
            writer.put(tree("b", ["gone at once"]))
            assert writer.put(tree("a", ["one", "other"])) == {
                "nodes": 2, "links": 1, "passages": 1,
            }  # fmt: skip
            assert writer.put(tree("a", ["one", "other"]))["passages"] == 0
            writer.end("b")
            writer.put(tree("c", ["three"]))
            assert list(writer.live_elements()) == [("a", "docs/a.md"), ("c", "docs/c.md")]
        assert head(store) == 1
        assert bodies(store, 1) == {"one", "other", "three"}

    def test_many_documents_of_a_commit_are_written_a_few_at_a_time(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(waiting, "_AT_ONCE", 7)
        put(store, *(tree(f"d{n}", [f"word{n}", "common"]) for n in range(40)))
        assert len(bodies(store, 1)) == 41
        found = store.sparse_search(SCOPE, PreparedQuery("", "", ("word17",)), 5, Within(1))
        assert [m.element_id for m in found] == ["d17"]
        query = PreparedQuery("", "", ("common",))
        for wanted, count in ((("source", ("docs/d3.md", "docs/d38.md", "docs/x.md")), 2),
                              (("kind", ("chunk",)), 40)):  # fmt: skip
            within = Within(1, filters=(Filter(*wanted),))
            assert len(store.sparse_search(SCOPE, query, 99, within)) == count

    @pytest.mark.parametrize("few", [2, 3])
    def test_a_commit_of_many_documents_knows_which_were_live(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, few: int
    ) -> None:
        """Whether they are few enough to be remembered or not."""
        monkeypatch.setattr(waiting, "_AT_ONCE", 4)
        monkeypatch.setattr(live, "_MANY", 4)
        monkeypatch.setattr(live, "_FEW", few)
        put(store, tree("gone", ["0"]), *(tree(name, [name]) for name in ("a", "b", "c\0d")))
        with store.commit(SCOPE) as writer:
            writer.end("gone")
        with store.commit(SCOPE) as writer:
            for n in range(9):
                assert writer.current([f"d{n}"]) == {}
                writer.put(tree(f"d{n}", [f"{n}"]))
            writer.put(tree("a", ["other"]))
            writer.end("b")
            found = writer.current(["a", "b", "gone", "d3", "new"])
            assert {name: content for name, (content, *_) in found.items()} == {
                "a": digest("other"), "d3": digest("3"),
            }  # fmt: skip
            assert not any(writer.put(tree("c\0d", ["c\0d"])).values())
            assert writer.put(tree("gone", ["0"]))["passages"] == 1
        assert bodies(store, 3) == {"other", "c\0d", "0", *map(str, range(9))}

    def test_an_id_may_hold_a_nul(self, store: Store) -> None:
        put(store, tree("a", ["0"]), tree("a\0b", ["1"]))
        with store.commit(SCOPE) as writer:
            assert "a" not in writer.current(["a\0b", "c"])
            assert not any(writer.put(tree("a\0b", ["1"])).values())
        assert head(store) == 1

    def test_texts_are_those_of_their_versions(self, store: Store) -> None:
        old, new = tree("a", ["one", "two"]), tree("a", ["one", "other words"])
        put(store, old, tree("b", ["three"]))
        put(store, new)
        nodes = [
            *old.nodes,
            *new.nodes,
            *tree("b", ["three"]).nodes,
            *tree("x", ["not there"]).nodes,
        ]
        texts = store.texts(SCOPE, nodes)
        assert texts[:-2] == [store.text(SCOPE, node) for node in nodes[:-2]]
        assert texts[-2:] == [None, None]
        assert store.texts(SCOPE, nodes) == texts, "and from memory"
        assert store.texts(SCOPE, []) == []
        assert store.texts(OTHER, nodes) == [None] * len(nodes)

    def test_a_writer_is_of_no_use_after_its_commit(self, store: Store) -> None:
        with store.commit(SCOPE) as writer:
            writer.put(tree("a", ["1"]))
        with pytest.raises(StoreError, match="ended"):
            writer.put(tree("b", ["2"]))
        assert store.node(SCOPE, "b", 99) is None

    def test_a_tree_that_does_not_hold_together_is_refused(self, store: Store) -> None:
        good = tree("a", ["1", "2"])
        for bad in (
            Tree("a", "s", "", "r", (), (), ()),
            Tree("b", "s", good.text, "r", good.nodes, (), ()),
            Tree("a", "s", good.text, "r", good.nodes + good.nodes[1:], (), ()),
            Tree("a", "s", good.text, "r", good.nodes[1:], (), ()),
            Tree("a", "s", good.text, "r", good.nodes[:1], (), good.passages),
            Tree("a", "s", "1", "r", good.nodes, (), ()),
        ):
            with pytest.raises(InvalidInput, match="document"), store.commit(SCOPE) as writer:
                writer.put(bad)
        assert head(store) == 0

    def test_metadata_that_is_not_json_is_refused(self, store: Store) -> None:
        for value in (float("nan"), object()):
            with pytest.raises(InvalidInput), store.commit(SCOPE) as writer:
                writer.put(tree("a", ["1"], metadata={"x": value}))

    # --- what a change touches -----------------------------------------------------------------

    def test_only_what_differs_is_born_and_died(self, store: Store) -> None:
        put(store, tree("a", ["one", "two", "six"]))
        with store.commit(SCOPE) as writer:
            born = writer.put(tree("a", ["one", "two", "ten"]))
        assert born == {"nodes": 2, "links": 1, "passages": 1}
        assert bodies(store, 1) == {"one", "two", "six"}
        assert bodies(store, 2) == {"one", "two", "ten"}

    def test_a_part_that_moves_keeps_its_version_and_its_passage(self, store: Store) -> None:
        before, after = tree("a", ["one", "two"]), tree("a", ["a longer start", "one", "two"])
        put(store, before)
        put(store, after)
        moved = after.nodes[3]
        assert store.versions(SCOPE, moved.version_id) == [moved, before.nodes[2]]
        assert store.text(SCOPE, moved) == store.text(SCOPE, before.nodes[2]) == "two"
        assert bodies(store, 2) == {"a longer start", "one", "two"}
        assert {s.row for s in store.passages(SCOPE, 2, range(9))} == {1, 2, 3}
        for revision, made in ((1, before), (2, after)):
            shown = {s.node.id: s.node for s in store.passages(SCOPE, revision, range(9))}
            assert shown == {node.id: node for node in made.nodes[1:]}

    def test_a_part_that_stays_in_place_keeps_its_row_and_its_words(self, store: Store) -> None:
        before, after = tree("a", ["one", "two"]), tree("a", ["one", "other"])
        put(store, before)
        put(store, after)
        assert store.versions(SCOPE, before.nodes[1].version_id) == [before.nodes[1]]
        assert store.text(SCOPE, after.nodes[1]) == "one"
        assert {s.text for s in store.passages(SCOPE, 2, range(9))} == {"one", "other"}

    def test_another_recipe_is_recorded_once(self, store: Store) -> None:
        put(store, tree("a", ["1"], recipe="r1"))
        with store.commit(SCOPE) as writer:
            assert writer.current(["a", "b"]) == {"a": (digest("1"), "r1", "docs/a.md")}
            assert writer.put(tree("a", ["1"], recipe="r2"))["nodes"] == 1
            assert writer.current(["a"]) == {"a": (digest("1"), "r2", "docs/a.md")}
        assert put(store, tree("a", ["1"], recipe="r2")) == 2

    def test_a_passage_may_change_while_its_node_does_not(self, store: Store) -> None:
        put(store, tree("a", ["1"]))
        with store.commit(SCOPE) as writer:
            born = writer.put(tree("a", ["1"], context="In a renamed folder"))
        assert born == {"nodes": 0, "links": 0, "passages": 1}
        (old,) = store.passages(SCOPE, 1, range(9))
        (new,) = store.passages(SCOPE, 2, range(9))
        assert (old.passage.context, new.passage.context) == ("", "In a renamed folder")
        assert old.node == new.node

    def test_metadata_that_changes_makes_a_new_row(self, store: Store) -> None:
        put(store, tree("a", ["1"], metadata={"layer": "old"}))
        put(store, tree("a", ["1"], metadata={"layer": "new"}))
        assert [store.node(SCOPE, "a", r).metadata["layer"] for r in (1, 2)] == ["old", "new"]

    def test_what_ends_is_gone_from_then_on_only(self, store: Store) -> None:
        put(store, tree("a", ["1"]), tree("b", ["2"]))
        assert end(store, "a") == 2
        assert bodies(store, 1) == {"1", "2"}
        assert bodies(store, 2) == {"2"}
        assert store.links(SCOPE, "a", 2) == []
        assert store.counts(SCOPE, 2)["document"] == 1
        with store.commit(SCOPE) as writer:
            assert writer.current(["a"]) == {}

    def test_what_ends_may_come_back_in_the_same_commit(self, store: Store) -> None:
        put(store, tree("a", ["1"]))
        with store.commit(SCOPE) as writer:
            assert list(writer.current(["a"])) == ["a"]
            writer.end("a")
            assert writer.current(["a"]) == {}
            assert writer.put(tree("a", ["1"])) == {"nodes": 2, "links": 1, "passages": 1}
        assert bodies(store, 1) == bodies(store, 2) == {"1"}

    def test_text_may_hold_anything_that_is_text(self, store: Store) -> None:
        parts = [
            "nul \0 inside\0",
            "\U0001f600 emoji 日本語",
            "e\u0301 café",
            "'; DROP TABLE node; --",
        ]
        made = tree("a", parts, context="a\0b", metadata={"k\0": "v\0w"})
        put(store, made)
        assert [store.text(SCOPE, n) for n in made.nodes[1:]] == parts
        assert [s.passage.body for s in store.passages(SCOPE, 1, [1, 2, 3, 4])] == parts
        assert store.node(SCOPE, "a", 1) == made.nodes[0]
        assert {p.text for p in store.pending(SCOPE, SPACE)} == {"a\0b\n" + part for part in parts}

    # --- live elements -------------------------------------------------------------------------

    def test_live_elements_lie_at_or_below_a_source(self, store: Store) -> None:
        sources = {
            "a": "docs/a.md",
            "b": "docs/x/b.md",
            "c": "docs2/c.md",
            "d": "docs",
            "e": "do%s/e",
        }
        put(store, *(tree(name, [name], source=source) for name, source in sources.items()))
        end(store, "b")
        with store.commit(SCOPE) as writer:
            assert dict(writer.live_elements(["docs"])) == {"a": "docs/a.md", "d": "docs"}
            assert dict(writer.live_elements(["docs/", "docs/a.md"])).keys() == {"a", "d"}
            assert dict(writer.live_elements(["do%s", "docs2"])).keys() == {"c", "e"}
            assert list(writer.live_elements(["do", ""])) == []
            assert [e for e, _ in writer.live_elements()] == ["a", "c", "d", "e"]
            assert list(writer.live_elements([])) == []

    # --- requests ------------------------------------------------------------------------------

    def test_a_request_is_recorded_with_its_commit(self, store: Store) -> None:
        with store.commit(SCOPE, request_id="r1") as writer:
            writer.put(tree("a", ["1"]))
            writer.result = {"revision": writer.revision, "files": ["a"]}
        assert store.request(SCOPE, "r1") == {"revision": 1, "files": ["a"]}
        assert store.request(OTHER, "r1") is None
        with pytest.raises(Conflict, match="r1"), store.commit(SCOPE, request_id="r1") as writer:
            writer.put(tree("b", ["2"]))
        assert head(store) == 1

    def test_a_request_that_changed_nothing_is_recorded_too(self, store: Store) -> None:
        with store.commit(SCOPE, request_id="empty") as writer:
            writer.result = {"nothing": True}
        assert store.request(SCOPE, "empty") == {"nothing": True}
        assert head(store) == 0
        with store.commit(SCOPE, request_id="silent"):
            pass
        assert store.request(SCOPE, "silent") == {"revision": 0}

    def test_a_request_that_failed_is_not_recorded(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError), store.commit(SCOPE, request_id="r") as writer:
            writer.result = {}
            _ = 1 / 0
        assert store.request(SCOPE, "r") is None

    # --- history -------------------------------------------------------------------------------

    def test_times_rise_and_resolve(self, store: Store) -> None:
        for text in "1234":
            put(store, tree("a", [text]))
        times = [revision.at for revision in reversed(store.log(SCOPE))]
        assert times == sorted(set(times))
        for number, at in enumerate(times, 1):
            resolved = store.resolve(SCOPE, ReadContext("as_of", at))
            assert (resolved.revision, resolved.as_of) == (number, at)
        assert store.resolve(SCOPE, ReadContext("as_of", "1999-12-31")).revision == 0

    def test_what_a_time_may_look_like(self, store: Store) -> None:
        written = {
            "2026-03-31T18:00:00Z": "2026-03-31T18:00:00.000000+00:00",
            "2026-03-31T18:00:00": "2026-03-31T18:00:00.000000+00:00",
            "2026-03-31 18:00:00+02:00": "2026-03-31T16:00:00.000000+00:00",
            " 2026-03-31 ": "2026-03-31T23:59:59.999999+00:00",
        }
        for value, at in written.items():
            assert store.resolve(SCOPE, ReadContext("as_of", value)).as_of == at
        for value in ("yesterday", "", "2026-13-01", "0001-01-01T00:00:00+14:00", "1\0", None):
            with pytest.raises(InvalidInput):
                store.resolve(SCOPE, ReadContext("as_of", value))

    def test_a_baseline_names_a_revision_for_ever(self, store: Store) -> None:
        put(store, tree("a", ["1"]))
        made = store.create_baseline(SCOPE, "v1", 1)
        put(store, tree("a", ["2"]))
        store.create_baseline(SCOPE, "v2 – second", 2)
        assert (made.id, made.revision, made.published) == ("v1", 1, False)
        assert store.create_baseline(SCOPE, "v1", 1) == made
        resolved = store.resolve(SCOPE, ReadContext("baseline", "v1"))
        assert (resolved.revision, resolved.baseline_id) == (1, "v1")
        assert [b.id for b in store.baselines(SCOPE)] == ["v1", "v2 – second"]
        with pytest.raises(Conflict, match="1"):
            store.create_baseline(SCOPE, "v1", 2)
        with pytest.raises(NotFound, match="v1, v2"):
            store.resolve(SCOPE, ReadContext("baseline", "v3"))
        for revision in (-1, 0, 3):
            with pytest.raises(NotFound, match="last one is 2"):
                store.create_baseline(SCOPE, "v9", revision)

    def test_names_of_baselines_are_readable(self, store: Store) -> None:
        put(store, tree("a", ["1"]))
        for name in ("", " ", "x" * 101, "a\nb", "a\0", " v1", "\u202ev1"):
            with pytest.raises(InvalidInput):
                store.create_baseline(SCOPE, name, 1)
        assert store.create_baseline(SCOPE, "x" * 100, 1).revision == 1

    def test_publishing_moves_one_pointer(self, store: Store) -> None:
        put(store, tree("a", ["1"]))
        with pytest.raises(NotFound, match="publish"):
            store.resolve(SCOPE, ReadContext("published"))
        put(store, tree("a", ["2"]))
        for name, revision in (("v1", 1), ("v2", 2)):
            store.create_baseline(SCOPE, name, revision)
            assert store.publish(SCOPE, name).published
            resolved = store.resolve(SCOPE, ReadContext("published"))
            assert (resolved.selector, resolved.revision, resolved.baseline_id) == (
                "published", revision, name,
            )  # fmt: skip
        assert [b.published for b in store.baselines(SCOPE)] == [False, True]
        with pytest.raises(NotFound, match="v1, v2"):
            store.publish(SCOPE, "v3")

    @examples(
        40,
        commits=st.lists(
            st.dictionaries(
                st.sampled_from(["a", "b", "c"]),
                st.none() | st.lists(st.sampled_from("vwxyz"), max_size=4, unique=True),
                max_size=3,
            ),
            min_size=1,
            max_size=8,
        ),
    )
    def test_every_revision_stays_what_it_was(
        self, store: Store, commits: list[dict[str, list[str] | None]]
    ) -> None:
        """Against a plain model: a dictionary of documents for every revision."""
        for element in ("a", "b", "c"):
            end(store, element)
        state: dict[str, Tree] = {}
        snapshots = {head(store): state}
        for commit in commits:
            after = dict(state)
            with store.commit(SCOPE) as writer:
                for element, parts in commit.items():
                    after.pop(element, None)
                    if parts is None:
                        writer.end(element)
                    else:
                        after[element] = tree(element, parts)
                        writer.put(after[element])
            changed = after != state
            assert writer.revision == max(snapshots) + changed
            snapshots[writer.revision] = state = after
        rows = range(1, 5000)
        for revision, trees in snapshots.items():
            nodes = {n for t in trees.values() for n in map(repr, t.nodes)}
            assert {repr(n) for n in everything(store, revision)} == nodes
            passages = sorted(
                repr(replace(p, facets=())) for t in trees.values() for p in t.passages
            )
            stored = store.passages(SCOPE, revision, rows)
            assert sorted(repr(s.passage) for s in stored) == passages
            assert all(s.text == s.passage.body for s in stored)
            for element in ("a", "b", "c"):
                links = trees[element].links if element in trees else ()
                found = store.links(SCOPE, element, revision)
                assert sorted(map(repr, found)) == sorted(map(repr, links))

    # --- structured reads ----------------------------------------------------------------------

    def test_filters_match_columns_and_metadata(self, store: Store) -> None:
        facts = {"layer": "business", "binding": True, "year": 2024, "tags": ["x", 7, False]}
        put(store, tree("a", ["1"], metadata=facts), tree("b", ["2"], metadata={"layer": "it"}))

        def found(*pairs: tuple[str, tuple[str, ...]], kind: str | None = "document") -> list[str]:
            filters = tuple(Filter(key, values) for key, values in pairs)
            return [n.id for n in store.nodes(SCOPE, 1, kind=kind, filters=filters)]

        assert found(("layer", ("business",))) == ["a"]
        assert found(("layer", ("business", "it"))) == ["a", "b"]
        assert found(("binding", ("true",))) == ["a"]
        assert found(("binding", ("1",))) == []
        assert found(("year", ("2024",)), ("tags", ("x",))) == ["a"]
        assert found(("tags", ("7",))) == found(("tags", ("false",))) == ["a"]
        assert found(("title", ("b",)), ("source", ("docs/b.md",))) == ["b"]
        assert found(("kind", ("document",)), kind=None) == ["a", "b"]
        assert found(("page", ("3",)), ("element_id", ("a",)), kind="chunk") != []
        assert found(("layer", ("it",)), ("title", ("a",))) == []
        assert found(("missing", ("x",))) == found(("layer", ())) == []
        assert found(("la'yer\"", ("x",)), ("$.layer", ("it",))) == []

    def test_a_limit_counts_after_the_filters(self, store: Store) -> None:
        put(store, *(tree(f"d{i}", ["x"], metadata={"even": i % 2 == 0}) for i in range(9)))
        wanted = (Filter("even", ("true",)),)
        page = store.nodes(SCOPE, 1, kind="document", filters=wanted, limit=3)
        assert [n.id for n in page] == ["d0", "d2", "d4"]
        rest = store.nodes(SCOPE, 1, kind="document", filters=wanted, limit=3, after="d4")
        assert [n.id for n in rest] == ["d6", "d8"]
        assert store.nodes(SCOPE, 1, limit=0) == []

    # --- the wall between scopes ---------------------------------------------------------------

    def test_no_scope_reads_another(self, store: Store) -> None:
        mine, theirs = tree("a", ["mine"]), tree("a", ["theirs"])
        put(store, mine)
        put(store, theirs, scope=OTHER)
        for scope, own, foreign in ((SCOPE, mine, theirs), (OTHER, theirs, mine)):
            assert store.node(scope, "a", 1) == own.nodes[0]
            bodies = [p.body for p in own.passages]
            assert [s.passage.body for s in store.passages(scope, 1, range(9))] == bodies
            assert store.versions(scope, foreign.nodes[1].version_id) == []
            with pytest.raises(NotFound):
                store.text(scope, foreign.nodes[1])
            assert store.counts(scope, 1)["passages"] == 1
            assert [p.text for p in store.pending(scope, SPACE)] == [own.text]
        for near in (Scope("acme", "research", "x"), Scope("x", "research", "papers")):
            assert store.nodes(near, 1) == []

    # --- vectors -------------------------------------------------------------------------------

    def test_a_space_is_registered_once(self, store: Store) -> None:
        assert store.register_space(SCOPE, SPACE) == SPACE
        assert store.register_space(SCOPE, SPACE) == SPACE
        assert store.spaces(SCOPE) == [SPACE]
        assert store.spaces(OTHER) == []
        for other in (
            Space("small", "local", "big", 4, "1"),
            Space("small", "local", "tiny", 8, "1"),
            Space("small", "cloud", "tiny", 4, "1"),
            Space("small", "local", "tiny", 4, "2"),
        ):
            with pytest.raises(SpaceMismatch, match="tiny"):
                store.register_space(SCOPE, other)
            with pytest.raises(SpaceMismatch):
                store.pending(SCOPE, other)

    def test_missing_vectors_are_the_work_queue(self, store: Store) -> None:
        put(store, tree("a", ["gone", "a longer text", "short"], context="In a"))
        put(store, tree("a", ["a longer text"], context="In a"))
        put(store, tree("b", ["short"], context="In a"))
        store.register_space(SCOPE, SPACE)
        waiting = store.pending(SCOPE, SPACE)
        assert [p.text for p in waiting] == ["In a\nshort", "In a\na longer text", "In a\ngone"]
        assert store.pending(SCOPE, SPACE, 1) == waiting[:1]
        store.put_vectors(SCOPE, SPACE, [p.text_hash for p in waiting[:2]], units(2))
        assert store.pending(SCOPE, SPACE) == waiting[2:]
        assert store.coverage(SCOPE, SPACE, Within(1)) == Coverage(3, 2)
        assert store.coverage(SCOPE, SPACE, Within(3)) == Coverage(2, 2)
        found = store.dense_search(SCOPE, SPACE, units(2)[1], 1, Within(3)).matches
        (best,) = store.passages(SCOPE, 3, [found[0].passage])
        assert best.passage.body == "a longer text"

    def test_the_first_vector_of_a_text_stays(self, store: Store) -> None:
        put(store, tree("a", ["x"]))
        store.register_space(SCOPE, SPACE)
        (waiting,) = store.pending(SCOPE, SPACE)
        first, second = units(2)
        store.put_vectors(SCOPE, SPACE, [waiting.text_hash], first[None])
        store.put_vectors(SCOPE, SPACE, [waiting.text_hash], second[None])
        (match,) = store.dense_search(SCOPE, SPACE, first, 1, Within(1)).matches
        assert match.score == pytest.approx(1)

    def test_a_vector_that_is_none_is_refused(self, store: Store) -> None:
        store.register_space(SCOPE, SPACE)
        good = units(2)
        for bad in (
            good * 2, good * 0, good[:, :3], good[:1],
            np.where([[False, False, True, False]], np.nan, good),
            np.where([[False, False, True, False]], np.inf, good),
        ):  # fmt: skip
            with pytest.raises((InvalidInput, StoreError)):
                store.put_vectors(SCOPE, SPACE, ["h1", "h2"], bad.astype(np.float32))
        with pytest.raises(NotFound):
            store.put_vectors(OTHER, SPACE, ["h1", "h2"], good)
        store.put_vectors(SCOPE, SPACE, [], np.empty((0, 4), np.float32))

    # --- what a language model answered --------------------------------------------------------

    def test_answers_are_kept_by_key_and_the_first_one_stays(self, store: Store) -> None:
        assert store.generated(SCOPE, ["a"]) == {}
        store.keep_generated(SCOPE, {"a": "one", "b": ""})
        store.keep_generated(SCOPE, {"a": "two", "c": 'naïve "🙂"'})
        store.keep_generated(SCOPE, {})
        assert store.generated(SCOPE, ["a", "b", "c", "d", "a"]) == {
            "a": "one", "b": "", "c": 'naïve "🙂"',
        }  # fmt: skip
        assert store.generated(SCOPE, []) == {}
        assert store.generated(OTHER, ["a", "b", "c"]) == {}
        assert head(store) == 0
        many = {f"k{n}": str(n) for n in range(5000)}
        store.keep_generated(OTHER, many)
        assert store.generated(OTHER, list(many)) == many

    # --- what both searches say of given passages ------------------------------------------------

    def test_evidence_is_on_scales_that_do_not_move(self, store: Store) -> None:
        put(store, tree("a", ["red fox", "red red red red", "blue sky"]))
        store.register_space(SCOPE, SPACE)
        todo = store.pending(SCOPE, SPACE)
        vectors = units(len(todo))
        store.put_vectors(SCOPE, SPACE, [p.text_hash for p in todo], vectors)
        query = PreparedQuery("", "", ("red", "fox"))
        found = store.sparse_search(SCOPE, query, 9, Within(1))
        rows = [
            match.passage
            for match in store.dense_search(SCOPE, SPACE, vectors[0], 9, Within(1)).matches
        ]
        told = store.evidence(SCOPE, SPACE, vectors[0], query, rows, Within(1))
        assert told.cosine is not None
        assert told.vectors is not None
        assert all(0 <= share <= 1 for share in told.lexical)
        assert rows[int(told.lexical.argmax())] == found[0].passage
        assert 0 in told.lexical  # the blue sky
        assert list(told.cosine) == sorted(told.cosine, reverse=True)
        dense = store.dense_search(SCOPE, SPACE, vectors[0], 9, Within(1)).matches
        assert list(told.cosine) == [match.score for match in dense]
        assert told.vectors @ vectors[0] == pytest.approx(told.cosine, abs=1e-6)
        alone = store.evidence(SCOPE, None, None, query, rows, Within(1))
        assert alone.cosine is None
        assert alone.vectors is None
        assert list(alone.lexical) == list(told.lexical)

    def test_a_passage_without_a_vector_has_no_cosine(self, store: Store) -> None:
        put(store, tree("a", ["red fox", "blue sky"]))
        store.register_space(SCOPE, SPACE)
        todo = store.pending(SCOPE, SPACE)
        vectors = units(1)
        store.put_vectors(SCOPE, SPACE, [todo[0].text_hash], vectors)
        query = PreparedQuery("", "", ("red", "blue"))
        rows = [match.passage for match in store.sparse_search(SCOPE, query, 9, Within(1))]
        told = store.evidence(SCOPE, SPACE, vectors[0], query, rows, Within(1))
        assert told.cosine is not None
        assert told.vectors is not None
        for cosine, vector in zip(told.cosine, told.vectors, strict=True):
            assert np.isnan(cosine) == (not vector.any())

    def test_token_vectors_are_kept_beside_the_vector(self, store: Store) -> None:
        put(store, tree("a", ["red fox", "blue sky", "red sky"]))
        store.register_space(SCOPE, SPACE)
        todo = store.pending(SCOPE, SPACE)
        hashes = [p.text_hash for p in todo]
        coded = [f"code of {p.text}".encode() for p in todo]
        store.put_vectors(SCOPE, SPACE, hashes[:-1], units(len(todo) - 1), coded[:-1])
        store.put_vectors(SCOPE, SPACE, hashes[-1:], units(1))
        query = PreparedQuery("", "", ("red", "blue", "fox", "sky"))
        rows = [match.passage for match in store.sparse_search(SCOPE, query, 9, Within(1))]
        texts = {p.row: p.passage.embedded_text for p in store.passages(SCOPE, 1, rows)}
        known = dict(zip((p.text for p in todo), [*coded[:-1], None], strict=True))
        assert store.token_vectors(SCOPE, SPACE, rows) == [known[texts[row]] for row in rows]
        assert store.token_vectors(SCOPE, SPACE, [999_999]) == [None]
        assert not any(store.token_vectors(OTHER, SPACE, rows))

    # --- quality -------------------------------------------------------------------------------

    def test_what_is_not_scored_is_the_work_to_do(self, store: Store) -> None:
        put(store, tree("a", ["one", "two"]))
        put(store, tree("a", ["one", "three"]))
        todo = store.unscored(SCOPE, "1", 100)
        numbers, versions = list(todo), [node.version_id for node in todo.values()]
        assert len(set(versions)) == len(versions) >= 5  # old versions too, each once
        assert numbers == sorted(numbers)
        assert list(store.unscored(SCOPE, "1", 2)) == numbers[:2]
        assert list(store.unscored(SCOPE, "1", 100, after=numbers[1])) == numbers[2:]
        assert list(store.unscored(SCOPE, "1", 2, 2, numbers[-2])) == numbers[-1:]
        assert store.unscored(SCOPE, "1", 100, after=numbers[-1]) == {}
        assert 0 < len(store.unscored(SCOPE, "1", 100, since=2)) < len(todo)
        assert store.unscored(SCOPE, "1", 100, since=3) == {}
        store.put_quality(SCOPE, "1", {versions[0]: {"overall": 0.5}})
        assert list(store.unscored(SCOPE, "1", 100)) == numbers[1:]
        assert store.quality(SCOPE, "1", versions) == {versions[0]: {"overall": 0.5}}
        assert store.quality(SCOPE, "2", versions) == {}
        assert store.quality(OTHER, "1", versions) == {}
        assert store.unscored(SCOPE, "2", 100) == todo

    # --- repositories and keys -----------------------------------------------------------------

    def test_repositories_are_those_with_a_revision(self, store: Store) -> None:
        assert store.repositories() == store.repositories("acme") == []
        with store.commit(SCOPE):
            pass
        store.keep_generated(Scope("acme", "research", "answers"), {"k": "an answer, no revision"})
        assert store.repositories() == []
        names = ("b", "B", "cafe\u0301", "caf\u00e9", "a'; DROP TABLE repository; --")
        scopes = [Scope("acme", "research", name) for name in names]
        scopes += [Scope("acme", "sales", "b"), Scope("zeta", "research", "b")]
        for scope in scopes:
            put(store, tree("a", ["Red fox."]), scope=scope)

        def place(scope: Scope) -> tuple[str, str, str]:
            return scope.tenant, scope.organization, scope.repository

        assert store.repositories() == sorted(scopes, key=place)
        assert store.repositories("zeta") == [scopes[-1]]
        assert store.repositories("acme") == sorted(scopes[:-1], key=place)
        assert store.repositories("ACME") == store.repositories("") == []

    def test_a_key_is_read_back(self, store: Store) -> None:
        whole = replace(KEY, repositories=("b", "a"), roles=frozenset({"hr", "law"}))
        none = replace(KEY, id="2", repositories=(), roles=frozenset(), rights="admin")
        other = replace(KEY, id="3", tenant="zeta", expires_at="2027-01-01T00:00:00.000000+00:00")
        for key in (whole, none, other):
            store.add_key(key)
        assert [store.key(name) for name in "123"] == [whole, none, other]
        assert store.key("4") is None
        assert store.keys("acme") == [whole, none]
        assert store.keys("zeta") == [other]
        assert store.keys("nobody") == []

    def test_an_id_is_given_once(self, store: Store) -> None:
        store.add_key(KEY)
        with pytest.raises(Conflict):
            store.add_key(replace(KEY, tenant="zeta", hash="another"))
        assert store.key("1") == KEY

    def test_a_key_is_revoked_once_and_by_its_tenant_alone(self, store: Store) -> None:
        store.add_key(KEY)
        for tenant, name in (("zeta", "1"), ("acme", "2"), ("", "1")):
            with pytest.raises(NotFound):
                store.revoke_key(tenant, name)
        assert store.key("1") == KEY
        revoked = store.revoke_key("acme", "1")
        assert revoked.revoked_at is not None
        assert revoked == replace(KEY, revoked_at=revoked.revoked_at)
        assert store.revoke_key("acme", "1") == store.key("1") == revoked

    def test_a_use_is_noted_once_a_minute(self, store: Store) -> None:
        store.add_key(KEY)
        for _ in range(3):
            store.touch_key("1")
        store.touch_key("nobody")
        (used,) = store.keys("acme")
        assert used.last_used_at is not None
        store.touch_key("1")
        assert store.keys("acme") == [used]

    # --- what people say of results ------------------------------------------------------------

    def test_judgments_are_kept_in_their_order(self, store: Store) -> None:
        made = tree("a", ["Red fox."])
        put(store, made)
        put(store, tree("a", ["Red fox."]), scope=OTHER)
        assert store.feedback(SCOPE) == []
        node = made.nodes[1]
        cited = Citation(SCOPE.repository, "a", node.version_id, 0, 8, "hash")
        moments = [f"2026-01-0{day}T00:00:00.000000+00:00" for day in (3, 1, 2)]
        context = Resolved("baseline", 1, baseline_id="spring")
        given = [
            Feedback(at, "red 'fox'\n", node.id, cited, context, "clicked", "n\u00f6te", "key")
            for at in moments
        ]
        assert [store.add_feedback(SCOPE, each) for each in given] == given
        assert store.feedback(SCOPE) == given[::-1]
        assert store.feedback(SCOPE, 2) == given[:0:-1]
        assert store.feedback(OTHER) == store.feedback(Scope("nobody")) == []

    def test_a_request_is_judged_once_for_each_key(self, store: Store) -> None:
        made = tree("a", ["Red fox."])
        put(store, made)
        cited = Citation(SCOPE.repository, "a", made.nodes[1].version_id, 0, 8, "hash")
        first = Feedback("2026", "q", made.nodes[1].id, cited, Resolved("head", 1), "helpful")
        second = replace(first, opinion="not_helpful")
        other = replace(second, key_id="k")
        assert store.feedback_of_request(SCOPE, None, "r") is None
        assert store.add_feedback(SCOPE, first, "r") == first
        assert store.add_feedback(SCOPE, second, "r") == first
        assert store.add_feedback(SCOPE, other, "r") == other
        assert store.feedback_of_request(SCOPE, None, "r") == first
        assert store.feedback_of_request(SCOPE, "k", "r") == other
        assert store.feedback_of_request(OTHER, None, "r") is None
        assert store.feedback(SCOPE) == [other, first]

    def test_judgments_on_what_a_reader_may_not_see_are_not_seen(self, store: Store) -> None:
        for element, label in (("open", None), ("pay", "hr")):
            put(store, tree(element, ["Red fox."], metadata={"visibility": label} if label else {}))
            (node,) = store.nodes(SCOPE, head(store), kind="chunk", filters=(_of(element),))
            cited = Citation(SCOPE.repository, element, node.version_id, 0, 8, "hash")
            context = Resolved("head", head(store))
            store.add_feedback(SCOPE, Feedback("2026", element, node.id, cited, context, "helpful"))

        def seen(*roles: str) -> list[str]:
            return [each.query for each in store.feedback(replace(SCOPE, roles=frozenset(roles)))]

        assert [each.query for each in store.feedback(SCOPE)] == seen("hr") == ["pay", "open"]
        assert seen() == seen("law") == ["open"]

    # --- search is there -----------------------------------------------------------------------

    def test_search_sees_the_revision_it_is_asked_for(self, store: Store) -> None:
        put(store, tree("a", ["The red fox runs", "ERR_CONN-42 in the log"]))
        put(store, tree("a", ["The blue fox runs", "ERR_CONN-42 in the log"]))

        def found(revision: int, *terms: str, phrase: tuple[str, ...] = ()) -> list[str]:
            query = PreparedQuery("", "", terms, (phrase,) if phrase else ())
            matches = store.sparse_search(SCOPE, query, 9, Within(revision))
            stored = store.passages(SCOPE, revision, [m.passage for m in matches])
            return [s.passage.body for s in stored]

        assert found(1, "red") == found(1, "fox", "red") == ["The red fox runs"]
        assert found(2, "red") == []
        assert found(2, "run", phrase=("fox", "run")) == ["The blue fox runs"]
        assert found(2, "err_conn-42") == ["ERR_CONN-42 in the log"]
