"""Passages in, a PostgreSQL store that holds them out: by COPY, batch by batch.

The rows are those that a commit writes, with the same analysis and the same postings; one revision
shows them all. Texts are made of sentences, each of which is analyzed and embedded once: a million
passages take minutes. Only for measuring: it writes past the walls, as the owner of the server.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import psycopg

from sourcebook.analysis import analyze
from sourcebook.stores.postgres.postings_write import index_passages
from sourcebook.stores.postings import BETWEEN_FIELDS, TERM

BATCH = 40_000
_BETWEEN = np.array([BETWEEN_FIELDS] * 2, "<i4").tobytes()
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
    words: np.ndarray
    """The numbers of its terms and of its compounds."""
    tokens: bytes
    """Those of its terms, in order."""
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
        words, tokens = np.array(terms + wholes, np.int64), np.array(terms, "<i4").tobytes()
        self._known[text] = Sentence(text, words, tokens, self._embedder.sum(text))
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
        numbers = np.array([number for number, _ in batch])
        counts = list(_counted(batch))
        nodes, passages = [], []
        embedded: dict[str, np.ndarray] = {}
        for (number, sentences), terms in zip(batch, counts, strict=True):
            name, text = f"p{number:07d}", ". ".join(s.text for s in sentences)
            key = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
            version = f"{number:032x}"
            tokens = _BETWEEN + b"".join(s.tokens for s in sentences)
            head = (*mine, number, name, name)
            nodes.append((*head, "document", version, key, "", 0, "", f"{name}.txt", key, 0,
                          len(text), "[]", "{}", 1))  # fmt: skip
            passages.append((*head, 2, f"{{{name}}}", key, version, "", "", "", text, 0,
                             len(text), terms, tokens, 1))  # fmt: skip
            if (short := int(key[:16], 16)) not in self._embedded:
                self._embedded.add(short)
                embedded[key] = np.sum([s.vector for s in sentences], axis=0)
        self._copy(f"node ({_NODE})", nodes)
        self._copy(f"passage ({_PASSAGE})", passages)
        self._copy_facets(numbers)
        new = itertools.islice(self.sentences.ids.items(), self._terms, None)
        self._copy("term (tenant, repository, text, id)", [(*mine, *pair) for pair in new])
        self._terms = len(self.sentences.ids)
        self._copy_vectors(embedded)
        indexed = [(n, 2, True, terms) for n, terms in zip(numbers.tolist(), counts, strict=True)]
        index_passages(self.session, self.repository, indexed)

    def _copy(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        with self.session.db.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def _copy_facets(self, numbers: np.ndarray) -> None:
        pairs = [
            np.array([self._pairs[key, str(value)] for value in range(size)])[numbers % size]
            for key, size in FACETS.items()
        ]
        columns = {
            "repository": (">i8", self.repository),
            "pair": (">i8", np.concatenate(pairs)),
            "passage": (">i4", np.tile(numbers, len(FACETS))),
        }
        self._copy_binary("facet", columns, len(numbers) * len(FACETS))

    def _copy_vectors(self, embedded: dict[str, np.ndarray]) -> None:
        vectors = unit(np.array(list(embedded.values()), np.float32))
        size = vectors.shape[1]
        # As pgvector takes it: its dimensions, a zero, then the numbers.
        value = np.zeros(len(vectors), [("n", ">i2"), ("zero", ">i2"), ("of", ">f4", (size,))])
        value["n"], value["of"] = size, vectors
        columns = {
            "repository": (">i8", self.repository),
            "space": (">i8", self.space),
            "text_hash": ("S32", [key.encode() for key in embedded]),
            "vector": (value.dtype, value),
        }
        self._copy_binary("embedding", columns, len(vectors))

    def _copy_binary(self, table: str, columns: dict[str, tuple[Any, Any]], size: int) -> None:
        """All rows at once: they are of one width."""
        tenant = self.session.tenant.encode()
        columns = {"tenant": (f"S{len(tenant)}", tenant), **columns}
        fields = [("columns", ">i2")]
        for name, (kind, _) in columns.items():
            fields += [(f"bytes of {name}", ">i4"), (name, kind)]
        rows = np.zeros(size, fields)
        rows["columns"] = len(columns)
        for name, (kind, values) in columns.items():
            rows[f"bytes of {name}"], rows[name] = np.dtype(kind).itemsize, values
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
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


def _counted(batch: Sequence[tuple[int, list[Sentence]]]) -> Iterator[bytes]:
    """What postings.encode_counts gives, for many passages in one go."""
    words = [np.concatenate([s.words for s in sentences]) for _, sentences in batch]
    of = np.repeat(np.arange(len(words)), [len(some) for some in words])
    keys, counts = np.unique((of << 32) | np.concatenate(words), return_counts=True)
    table = np.zeros(len(keys), TERM)
    table["term"], table["body"] = keys & 0xFFFFFFFF, counts
    data, width = table.tobytes(), TERM.itemsize
    ends = np.cumsum(np.bincount(keys >> 32, minlength=len(words))) * width
    start = 0
    for end in ends.tolist():
        yield data[start:end]
        start = end


def unit(vectors: np.ndarray) -> np.ndarray:
    """Of length 1, to the bit as often as it is asked."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[norms[:, 0] == 0, 0] = 1.0
    return (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
