"""What the owner knows in, what a reader asks out: about its own things, and about everything that
it could have heard of from others – their words, ids, versions, citations, baselines and keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from sourcebook.model import Json, Scope
from sourcebook.testing.build import Known
from sourcebook.testing.generate import BASELINES, DOCUMENTS, LABELS, REPOSITORIES, WORDS
from sourcebook.testing.surface import Request
from sourcebook.testing.worlds import CANARY, Reader, World

_SEARCHES = {"search": 10, "agent": 2, "context": 2, "across": 1, "similar": 1}
_READS = {
    "list": 3,
    "get": 4,
    "links": 4,
    "status": 3,
    "log": 1,
    "baselines": 1,
    "diff": 2,
    "verify": 3,
    "judge": 2,
    "judgments": 1,
    "golden": 1,
    "repositories": 1,
    "keys": 1,
    "revoke": 1,
    "publish": 1,
    "create_key": 1,
    "drop_space": 1,
}
"""How often each is asked."""
AT = re.compile(r"\{revision (\d+)\}")
KEY = re.compile(r"\{key of ([^}]+)\}")
"""What stands for the time of a revision and the id of a key: they are others on each side."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One reader's list of questions."""

    random: Random
    reader: Reader
    places: Sequence[Scope]
    known: Sequence[Known]
    words: Sequence[str]
    """Canaries of the whole world."""
    names: Sequence[str]
    """Of the readers of the whole world."""

    def requests(self, searches: int, reads: int) -> list[Request]:
        """In a random order."""
        random = self.random
        actions = random.choices(list(_SEARCHES), list(_SEARCHES.values()), k=searches)
        actions += random.choices(list(_READS), list(_READS.values()), k=reads)
        random.shuffle(actions)
        return [self.request(action) for action in actions]

    def request(self, action: str) -> Request:
        home = self.places[0].repository
        repository = home if self.random.random() < 0.9 else self._one((*REPOSITORIES, home[:-1]))
        arguments: dict[str, Json] = getattr(self, f"_{action}", dict)()
        return Request(action, repository, arguments)

    # --- searches ------------------------------------------------------------------------------

    def _search(self) -> dict[str, Json]:
        random = self.random
        given: dict[str, Json] = {"query": self._question(), "k": random.choice((1, 3, 10))}
        given["mode"] = random.choice(("hybrid", "hybrid", "dense", "sparse"))
        given["rerank"] = random.choice(("local", "local", "none", "late"))
        if random.random() < 0.2:
            given["fusion"] = "weighted"
        if random.random() < 0.3:
            given["filters"] = self._filters()
        if random.random() < 0.1:
            given["resolution"] = random.choice((0, 1))
        if random.random() < 0.1:
            given["per_document"] = 1
        if random.random() < 0.1:
            given["cache"] = False
        return self._at(given)

    def _agent(self) -> dict[str, Json]:
        return self._at({"query": self._question(), "k": 3, "min_words": self._one((0, 8))})

    def _context(self) -> dict[str, Json]:
        return self._at({"query": self._question(), "max_tokens": 300, "max_sources": 4})

    def _across(self) -> dict[str, Json]:
        given: dict[str, Json] = {"query": self._question(), "k": 4}
        if self.random.random() < 0.4:
            names = [place.repository for place in self.places]
            given["repositories"] = self.random.sample(names, self.random.randint(1, len(names)))
        if self.random.random() < 0.3:
            given["gated"] = True
        if self.random.random() < 0.4:
            given["read_context"] = self._one(("published", "default", "revision:1"))
        return given

    def _similar(self) -> dict[str, Json]:
        return self._at({"node_id": self._node_id(), "k": 5})

    # --- structured reads ----------------------------------------------------------------------

    def _list(self) -> dict[str, Json]:
        given: dict[str, Json] = {"limit": self._one((2, 50))}
        if self.random.random() < 0.4:
            given["filters"] = self._filters()
        if self.random.random() < 0.3:
            given["after"] = self._node_id()
        return self._at(given)

    def _get(self) -> dict[str, Json]:
        node, cited = self._known_node()
        if self.random.random() < 0.5:
            return {"node_id": node, "version": cited["version_id"]}
        given = {"node_id": self._node_id()}
        return self._at(given | ({"evidence": True} if self.random.random() < 0.2 else {}))

    def _links(self) -> dict[str, Json]:
        return self._at({"node_id": self._node_id()})

    def _diff(self) -> dict[str, Json]:
        sides = [*map(str, range(1, 4)), *BASELINES, *self._baseline_names()]
        return {"old": self._one(sides), "new": self._one(sides)}

    def _verify(self) -> dict[str, Json]:
        return {"citation": self._cited()}

    def _judge(self) -> dict[str, Json]:
        given: dict[str, Json] = {
            "query": self._question(),
            "citation": self._cited(),
            "opinion": self._one(("helpful", "not_helpful", "clicked")),
            "note": f"of {self.reader.name}",
        }
        if self.random.random() < 0.5:
            given["request_id"] = "the same"
        return self._at(given)

    def _golden(self) -> dict[str, Json]:
        return {"read_context": self._one(("head", "revision:1", "default"))}

    def _log(self) -> dict[str, Json]:
        return {"limit": self._one((None, 1))}

    # --- what changes things, if it is allowed -------------------------------------------------

    def _revoke(self) -> dict[str, Json]:
        return {"key_id": f"{{key of {self._one(self.names)}}}"}

    def _publish(self) -> dict[str, Json]:
        return {"baseline": self._one((*BASELINES, *self._baseline_names()))}

    def _create_key(self) -> dict[str, Json]:
        return {"name": "mine", "rights": "admin"}

    def _drop_space(self) -> dict[str, Json]:
        return {"space": self._one(("words/gte-small/fixed-1", "others/gte-small/fixed-1", "x"))}

    # --- pieces --------------------------------------------------------------------------------

    def _at(self, given: dict[str, Json]) -> dict[str, Json]:
        """With a read context, half of the time."""
        if self.random.random() < 0.5:
            names = [f"baseline:{name}" for name in (*BASELINES, *self._baseline_names())]
            numbered = [f"revision:{number}" for number in range(0, 5)]
            times = [f"as-of:{{revision {number}}}" for number in range(1, 4)]
            plain = ["head", "published", "default", "as-of:2001-01-01", "as-of:no time"]
            kinds = (plain, names, numbered, times)
            given["read_context"] = self._one(self._one(kinds))
        return given

    def _question(self) -> str:
        random = self.random
        words = random.choices(WORDS, k=random.randint(1, 4))
        if random.random() < 0.7:
            words.insert(random.randint(0, len(words)), random.choice(self.words))
        text = " ".join(words)
        if random.random() < 0.15:
            text = f'"{text}"'
        if random.random() < 0.1:
            text = f"what do the bylaws say about {text} and who is the board?"
        return text

    def _filters(self) -> dict[str, Json]:
        choices: list[tuple[str, Any]] = [
            ("topic", ["north"]),
            ("topic", [self._one(self.words)]),
            ("visibility", [str(label) for label in LABELS]),
            ("visibility", ["staff"]),
            ("document_type", ["bylaws"]),
            ("is_binding", ["true"]),
            ("element_id", [self._one(DOCUMENTS)]),
        ]
        return dict([self._one(choices)])

    def _node_id(self) -> str:
        if self.random.random() < 0.4:
            return str(self._one((*DOCUMENTS, f"new-{self._one(DOCUMENTS)}")))
        return self._known_node()[0]

    def _known_node(self) -> tuple[str, dict[str, Json]]:
        known = self._one([each for each in (self.known[0], *self.known) if each.nodes])
        number = self.random.randrange(len(known.nodes))
        return known.nodes[number].id, known.citations[number]

    def _cited(self) -> dict[str, Json]:
        """Of its own repository by name, whichever it was."""
        cited = dict(self._known_node()[1])
        if self.random.random() < 0.8:
            cited["repository_id"] = self.places[0].repository
        if self.random.random() < 0.1:
            cited["start"] += 1
        return cited

    def _baseline_names(self) -> list[str]:
        return [name for each in self.known for name in each.baselines]

    def _one(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)


def asking(random: Random, world: World, known: Sequence[Known]) -> Asking:
    names = [reader.name for reader in world.readers]
    words = sorted(set(CANARY.findall(repr((world.before, world.after)))))
    return Asking(random, world.reader, world.places, known, words, names)
