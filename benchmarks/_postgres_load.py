"""Passages in, a PostgreSQL store that holds them out: by COPY, batch by batch.

The rows are those that a commit writes, with the same analysis and the same postings; one revision
shows them all. Texts are made of sentences, each of which is analyzed and embedded once: a million
passages take minutes. Only for measuring: it writes past the walls, as the owner of the server.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import psycopg

from sourcebook.analysis import analyze
from sourcebook.hashing import digest
from sourcebook.stores.postgres.postings_write import index_passages
from sourcebook.stores.postings import encode_counts, encode_tokens

BATCH = 20_000
FACETS = {"percent": 100, "tenth": 10, "all": 1}
"""Filters that keep 1 %, 10 % and all: the passage's number modulo this."""
_NODE = (
    "tenant, repository, number, id, element_id, kind, version_id, content_hash, recipe, position,"
    ' title, source, content, start, "end", section_path, metadata, born'
)
_PASSAGE = (
    "tenant, repository, number, node_id, element_id, resolution, ancestors, text_hash, digest,"
    " title, heading, context, body, summary, length, terms, tokens, born"
)


class Session(NamedTuple):
    db: psycopg.Connection[Any]
    tenant: str


class Sentence(NamedTuple):
    text: str
    terms: list[int]
    wholes: list[int]
    vector: np.ndarray
    """The sum of its tokens' vectors."""


def varied(passages: Sequence[str], wanted: int) -> Iterator[list[str]]:
    """The sentences of the passages, then of each again with one in another's place, until there
    are enough."""
    rng = random.Random(7)
    for number in range(wanted):
        sentences = passages[number % len(passages)].split(". ")
        if number >= len(passages):
            other = rng.choice(passages).split(". ")
            sentences[rng.randrange(len(sentences))] = rng.choice(other)
        yield sentences


class Sentences:
    """Each one analyzed and embedded once."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._known: dict[str, Sentence] = {}
        self.ids: dict[str, int] = {}
        """Of every term, as a commit would number it."""

    def of(self, texts: Iterable[str]) -> list[Sentence]:
        return [self._known.get(text) or self._learn(text) for text in texts]

    def _learn(self, text: str) -> Sentence:
        found = analyze(text)
        terms, wholes = (
            [self.ids.setdefault(term, len(self.ids) + 1) for term in some]
            for some in (found.terms, found.compounds)
        )
        self._known[text] = Sentence(text, terms, wholes, self._embedder.sum(text))
        return self._known[text]


class Loader:
    def __init__(self, db: psycopg.Connection[Any], tenant: str, embedder: Any) -> None:
        self.session = Session(db, tenant)
        self.sentences = Sentences(embedder)
        self._terms = 0
        self._embedded: set[int] = set()
        scope = (tenant, "bench", "bench", 1)
        self.repository = self._add("repository", "tenant, organization, name, head", scope)
        mine = (tenant, self.repository)
        revision = (*mine, 1, "2026-01-01T00:00:00.000000+00:00", "", "{}")
        self._add("revision", "tenant, repository, number, at, message, counts", revision)
        columns = "tenant, repository, id, provider, model, dimensions, chunker, state"
        made = ("bench", embedder.provider, embedder.model, embedder.dimensions, "1", "active")
        self.space = self._add("space", columns, (*mine, *made))
        self._pairs = {
            (key, str(value)): self._add(
                "facet_value", "tenant, repository, key, value", (*mine, key, str(value))
            )
            for key, count in FACETS.items()
            for value in range(count)
        }

    def load(self, texts: Iterable[list[str]]) -> int:
        db, source, total = self.session.db, enumerate(texts, 1), 0
        while batch := list(itertools.islice(source, BATCH)):
            self._write([(number, self.sentences.of(sentences)) for number, sentences in batch])
            db.commit()
            total += len(batch)
        done = "UPDATE repository SET last_passage = %s, last_term = %s WHERE number = %s"
        db.execute(done, (total, len(self.sentences.ids), self.repository))
        done = "UPDATE space SET vectors = %s WHERE number = %s"
        db.execute(done, (len(self._embedded), self.space))
        db.commit()
        return total

    def _write(self, batch: Sequence[tuple[int, list[Sentence]]]) -> None:
        mine = (self.session.tenant, self.repository)
        nodes, passages, contents, facets, indexed = [], [], [], [], []
        embedded: dict[str, np.ndarray] = {}
        for number, sentences in batch:
            name, text = f"p{number:07d}", ". ".join(s.text for s in sentences)
            key = digest(text)
            terms = [term for s in sentences for term in s.terms]
            wholes = [term for s in sentences for term in s.wholes]
            counts = encode_counts([], [], terms + wholes, [])
            tokens = encode_tokens([], [], terms)
            version = digest(name, text)
            head = (*mine, number, name, name)
            nodes.append((*head, "document", version, key, "", 0, "", f"{name}.txt", key, 0,
                          len(text), "[]", "{}", 1))  # fmt: skip
            passages.append((*head, 2, [name], key, version, "", "", "", text, 0,
                             len(text.encode()), counts, tokens, 1))  # fmt: skip
            indexed.append((number, 2, True, counts))
            for facet, size in FACETS.items():
                facets.append((*mine, self._pairs[facet, str(number % size)], number))
            if (short := int(key[:16], 16)) not in self._embedded:
                self._embedded.add(short)
                contents.append((*mine, key, text))
                embedded[key] = np.sum([s.vector for s in sentences], axis=0)
        self._copy(f"content ({'tenant, repository, hash, text'})", contents)
        self._copy(f"node ({_NODE})", nodes)
        self._copy(f"passage ({_PASSAGE})", passages)
        self._copy("facet (tenant, repository, pair, passage)", facets)
        new = itertools.islice(self.sentences.ids.items(), self._terms, None)
        self._copy("term (tenant, repository, text, id)", [(*mine, *pair) for pair in new])
        self._terms = len(self.sentences.ids)
        self._copy_vectors(embedded)
        index_passages(self.session, self.repository, indexed)

    def _copy(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        with self.session.db.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def _copy_vectors(self, embedded: dict[str, np.ndarray]) -> None:
        """In binary, all rows at once: they are of one width."""
        tenant = self.session.tenant.encode()
        vectors = unit(np.array(list(embedded.values()), np.float32))
        row = np.dtype([
            ("columns", ">i2"), ("n1", ">i4"), ("tenant", f"S{len(tenant)}"),
            ("n2", ">i4"), ("repository", ">i8"), ("n3", ">i4"), ("space", ">i8"),
            ("n4", ">i4"), ("hash", "S32"), ("n5", ">i4"), ("dimensions", ">i2"), ("zero", ">i2"),
            ("vector", ">f4", (vectors.shape[1],)),
        ])  # fmt: skip
        rows = np.zeros(len(vectors), row)
        rows["columns"], rows["n1"], rows["tenant"] = 5, len(tenant), tenant
        rows["n2"], rows["repository"], rows["n3"], rows["space"] = (
            8,
            self.repository,
            8,
            self.space,
        )
        rows["n4"], rows["hash"] = 32, [key.encode() for key in embedded]
        rows["n5"], rows["dimensions"] = 4 + 4 * vectors.shape[1], vectors.shape[1]
        rows["vector"] = vectors
        columns = "tenant, repository, space, text_hash, vector"
        statement = f"COPY embedding ({columns}) FROM STDIN (FORMAT BINARY)"
        with self.session.db.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            copy.write(rows.tobytes())
            copy.write(b"\xff\xff")

    def _add(self, table: str, columns: str, values: Sequence[object]) -> int:
        places = ", ".join(["%s"] * len(values))
        statement = f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING number"
        row = self.session.db.execute(statement, values).fetchone()
        assert row is not None
        return int(row[0])


def unit(vectors: np.ndarray) -> np.ndarray:
    """Of length 1, to the bit as often as it is asked."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[norms[:, 0] == 0, 0] = 1.0
    return (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
