"""Embedding spaces and their vectors: what is missing, and what may be stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcebook.errors import Conflict, InvalidInput, NotFound, SpaceMismatch
from sourcebook.model import Passage, Space
from sourcebook.ports import UNIT, Pending, Vectors
from sourcebook.stores import checksums
from sourcebook.stores.damage import DamageNotes
from sourcebook.stores.labels import View
from sourcebook.stores.rows import space_values, to_space
from sourcebook.stores.statements import Statements


def spaces(db: Statements, repository: int) -> dict[int, Space]:
    """By row."""
    rows = db.run("spaces", {"repository": repository}).fetchall()
    return {row[0]: to_space(row) for row in rows}


def find_space(db: Statements, repository: int, space: Space) -> int | None:
    """The row of a space, None if it is not registered. The same id with other contents is an
    error: its vectors could not be compared."""
    for row, known in spaces(db, repository).items():
        if known.id == space.id:
            _require_same(known, space)
            return row
    return None


def require_space(db: Statements, repository: int, space: Space) -> int:
    row = find_space(db, repository, space)
    if row is None:
        raise NotFound(f"the space {space.id!r} is not registered in this repository")
    return row


def register(db: Statements, repository: int, space: Space) -> Space:
    if find_space(db, repository, space) is None:
        db.run("add_space", {"repository": repository, **space_values(space)})
    return spaces(db, repository)[require_space(db, repository, space)]


def switch(db: Statements, repository: int, space: Space, missing: int) -> bool:
    """Make it the active one, if no more texts than these have no vector in it."""
    row = require_space(db, repository, space)
    values = {"repository": repository, "space": row}
    if db.run("count_pending", values).fetchone()[0] > missing:
        return False
    db.run("retire_spaces", values)
    db.run("activate_space", values)
    return True


def drop(db: Statements, repository: int, space_id: str) -> int:
    """With all its vectors; how many there were."""
    found = {space.id: (row, space) for row, space in spaces(db, repository).items()}
    if space_id not in found:
        names = ", ".join(sorted(found)) or "none"
        raise NotFound(f"there is no space {space_id!r}; known spaces: {names}")
    row, space = found[space_id]
    if space.state == "active":
        raise Conflict(
            f"the space {space_id!r} is the one that searches use; `sourcebook reindex --space` "
            "switches to another one"
        )
    values = {"repository": repository, "space": row}
    (held,) = db.run("space_vectors", values).fetchone()
    for name in ("vector", "token_vectors", "claim", "failure", "usage"):
        db.run(f"empty_{name}", values)
    db.run("drop_space", values)
    return int(held)


def _require_same(known: Space, asked: Space) -> None:
    def contents(space: Space) -> str:
        return f"{space.provider} {space.model}, {space.dimensions} numbers, {space.chunker}"

    if contents(known) != contents(asked):
        raise SpaceMismatch(
            f"the space {known.id!r} holds vectors of {contents(known)}, not of {contents(asked)}; "
            "use that model or build a new space"
        )


def pending(db: Statements, repository: int, space: int | None, limit: int | None) -> list[Pending]:
    values = {
        "repository": repository,
        "space": -1 if space is None else space,
        "limit": -1 if limit is None else max(limit, 0),
    }
    rows = db.run("pending", values).fetchall()
    return [
        Pending(key, Passage("", "", 0, body, context).embedded_text) for key, context, body in rows
    ]


def unembedded(db: Statements, space: int, hashes: Sequence[str]) -> list[str]:
    values = {"space": space, "hashes": list(hashes)}
    missing = {row[0] for row in db.run("unembedded", values)}
    return [key for key in dict.fromkeys(hashes) if key in missing]


def put(
    db: Statements,
    space: int,
    hashes: Sequence[str],
    vectors: Vectors,
    tokens: Sequence[bytes] | None = None,
) -> None:
    db.run("hold_space", {"space": space})
    rows = [vector_row(db, space, key, vector) for key, vector in zip(hashes, vectors, strict=True)]
    db.run("count_vectors", {"space": space, "added": db.run_many("add_vector", rows)})
    if tokens is not None:
        coded = [tokens_row(space, key, code) for key, code in zip(hashes, tokens, strict=True)]
        db.run_many("add_token_vectors", coded)


def vector_row(db: Statements, space: int, text_hash: str, vector: Vectors) -> dict[str, object]:
    checksum = checksums.of_bytes(vector.astype("<f4").tobytes())
    data = db.vector(vector)
    return {"space": space, "text_hash": text_hash, "data": data, "checksum": checksum}


def tokens_row(space: int, text_hash: str, data: bytes) -> dict[str, object]:
    checksum = checksums.of_bytes(data)
    return {"space": space, "text_hash": text_hash, "data": data, "checksum": checksum}


def tokens(
    db: Statements, view: View, space: int, passages: Sequence[int], notes: DamageNotes
) -> list[bytes | None]:
    """None where there are none, or where they are damaged, which is noted."""
    values = {**view._asdict(), "space": space, "rows": [int(row) for row in passages]}
    found: dict[int, bytes] = {}
    for row, data, checksum, element_id in db.run("token_vectors", values).fetchall():
        if checksums.matches(checksum, checksums.of_bytes(data)):
            found[row] = data
        else:
            notes.add(view.repository, element_id, "token vectors")
    return [found.get(row) for row in passages]


def check(space: Space, hashes: Sequence[str], vectors: Vectors) -> None:
    """A vector that is not a unit vector would spoil every comparison with it: refused, all."""
    expected = (len(hashes), space.dimensions)
    if vectors.shape != expected:
        raise InvalidInput(
            f"vectors for {space.id!r} have the shape {vectors.shape}, expected {expected}"
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= UNIT))
    if len(wrong):
        raise InvalidInput(
            f"vector {wrong[0]} for {space.id!r} is not of unit length: {lengths[wrong[0]]:g}"
        )
