"""A document as its original file says it in, its damaged rows written again out.

Rows that were damaged are overwritten with what was committed, under the same number and of the
same revision, so that every revision that shows them is right again, and no revision is made.
Vectors are derived: damaged ones are deleted, which makes them work to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sourcebook.errors import Damaged
from sourcebook.ports import Prepared
from sourcebook.stores import checksums
from sourcebook.stores.passages import passage_checksums
from sourcebook.stores.prepared import Passages
from sourcebook.stores.rows import CONTENT, Row, to_node
from sourcebook.stores.statements import Statements
from sourcebook.stores.vocabulary import TermNumbers

_NODE = (
    "id", "element_id", "kind", "version_id", "content_hash", "parent_id", "position", "title",
    "source", "start", "end", "section_path", "page", "metadata", "content", "labels", "born",
    "checksum",
)  # fmt: skip
_PASSAGE = (
    "node_id", "element_id", "resolution", "ancestors", "text_hash", "digest", "title", "heading",
    "context", "body", "summary", "length", "terms", "tokens", "labels", "born", "checksum",
    "terms_checksum",
)  # fmt: skip
_TEXT_HASH, _DIGEST, _BORN, _ANCESTORS = 4, 5, 15, 3
"""Columns of a passage."""


def damaged_elements(db: Statements, repository: int, element_ids: Sequence[str]) -> set[str]:
    """Those of these live documents of which anything stored does not match its checksum."""
    asked = {"repository": repository, "elements": list(element_ids)}
    nodes = db.run("live_checked_nodes", asked).fetchall()
    passages = db.run("live_checked_passages", asked).fetchall()
    broken = _broken_contents(db, repository, {row[1 + CONTENT] for row in nodes})
    wrong = {row[2] for row in nodes if not _sound_node(row[1:]) or row[1 + CONTENT] in broken}
    wrong |= {row[2] for row in passages if not sound_passage(db, row[1:])}
    texts = {row[1 + _TEXT_HASH] for row in passages}
    lost = {text_hash for _, text_hash in _broken_vectors(db, repository, texts)}
    wrong |= {row[2] for row in passages if row[1 + _TEXT_HASH] in lost}
    return wrong & set(element_ids)


def sound_passage(db: Statements, row: Row) -> bool:
    """Whether the columns of a passage match its two checksums, which are the last ones."""
    *columns, born, words, terms = row
    found = passage_checksums(tuple(columns), db.items(columns[_ANCESTORS]), born)
    context, body = columns[8], columns[9]
    return (
        checksums.matches(words, found[0])
        and checksums.matches(terms, found[1])
        and checksums.embeds(columns[_TEXT_HASH], context, body)
    )


def _sound_node(row: Row) -> bool:
    try:
        to_node(row)
    except Damaged:
        return False
    return True


def _broken_contents(db: Statements, repository: int, names: Iterable[str]) -> set[str]:
    broken = set()
    for name in sorted(names):
        row = db.run("content", {"repository": repository, "hash": name}).fetchone()
        if row is None or not checksums.says(name, row[0]):
            broken.add(name)
    return broken


def _broken_vectors(db: Statements, repository: int, texts: Iterable[str]) -> list[tuple[int, str]]:
    """(space, text hash) of vectors and token vectors that do not match their checksums."""
    asked = {"repository": repository, "hashes": sorted(texts)}
    return [
        (space, text_hash)
        for space, text_hash, data, checksum, tokens, of_tokens in db.run("checked_vectors", asked)
        if not checksums.matches(checksum, checksums.of_bytes(db.numbers(data)))
        or (tokens is not None and not checksums.matches(of_tokens, checksums.of_bytes(tokens)))
    ]


class Repair:
    """The rows of one document; `terms` numbers words as the commit does."""

    def __init__(self, db: Statements, repository: int, head: int, terms: TermNumbers) -> None:
        self._db, self._repository, self._head, self._terms = db, repository, head, terms

    def run(self, document: Prepared) -> None:
        text = {"hash": document.content, "text": document.text}
        self._db.run_many("add_content", [self._given(text)])
        asked = self._given({"elements": [document.element_id]})
        nodes = self._db.run("live_checked_nodes", asked).fetchall()
        passages = self._db.run("live_checked_passages", asked).fetchall()
        for piece in document.pieces:
            self._mend_nodes(document, piece.nodes, nodes)
            if piece.passages:
                self._mend_passages(piece.passages, passages)
        texts = {row[1 + _TEXT_HASH] for row in passages}
        for space, text_hash in _broken_vectors(self._db, self._repository, texts):
            for name in ("delete_vector", "delete_token_vectors"):
                self._db.run(name, self._given({"space": space, "text_hash": text_hash}))

    def _mend_nodes(self, document: Prepared, rows: Sequence[Row], stored: Sequence[Row]) -> None:
        wanted = {row[0]: row[:-2] for row in rows}
        mended = []
        for number, *found in stored:
            if found[0] not in wanted or _sound_node(tuple(found)):
                continue
            # A node may point into an earlier text in which its words stand at the same place.
            broken = _broken_contents(self._db, self._repository, [found[CONTENT]])
            content = document.content if broken else found[CONTENT]
            known = (*wanted[found[0]], content, document.labels)

            def computed(revision: int, known: Row = known) -> int:
                return checksums.of_columns((*known, revision))

            born = self._born(found[-2], found[-1], computed)
            values = dict(zip(_NODE, (*known, born, computed(born)), strict=True))
            mended.append(self._given({**values, "row": number}))
        self._db.run_many("mend_node", mended)

    def _mend_passages(self, piece: Passages, stored: Sequence[Row]) -> None:
        broken = {
            found[_DIGEST]: (number, found)
            for number, *found in stored
            if not sound_passage(self._db, tuple(found))
        }
        if not broken:
            return
        self._terms.learn(piece.words)
        mended = []
        for row, (counts, tokens) in zip(piece.rows, piece.numbered(self._terms), strict=True):
            if row.digest not in broken:
                continue
            number, found = broken[row.digest]
            columns = row.row(counts, tokens, self._db.array(row.ancestors))

            def words(
                revision: int, columns: Row = columns, line: Sequence[str] = row.ancestors
            ) -> int:
                return passage_checksums(columns, line, revision)[0]

            born = self._born(found[_BORN], found[_BORN + 1], words)
            sums = passage_checksums(columns, row.ancestors, born)
            values = dict(zip(_PASSAGE, (*columns, born, *sums), strict=True))
            mended.append(self._given({**values, "row": number}))
        self._db.run_many("mend_passage", mended)

    def _born(self, stored: int, checksum: int | None, computed: Callable[[int], int]) -> int:
        """The revision that the checksum was made with, which may be what is damaged."""
        found = (r for r in range(1, self._head + 1) if computed(r) == checksum)
        return next(found, stored)

    def _given(self, values: Mapping[str, object]) -> dict[str, object]:
        return {"repository": self._repository, **values}
