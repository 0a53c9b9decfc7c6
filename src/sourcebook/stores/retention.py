"""A bound in, what was dropped out: revisions before it, and every row that only they showed.

A revision that a baseline names and head are never dropped. A dropped one is remembered as such, so
that nobody is given another revision in its place. Runs inside the caller's transaction. What
stays: the numbers of index terms, which other processes may know, and a language model's answers,
whose keys do not tell what they were made for.
"""

from __future__ import annotations

from datetime import datetime

from sourcebook.model import DroppedVersion, Retained
from sourcebook.stores import moments
from sourcebook.stores.labels import View
from sourcebook.stores.statements import Statements

_DROPPED = (
    "nodes",
    "links",
    "passages",
    "facets",
    "texts",
    "quality",
    "vectors",
    "token_vectors",
    "claims",
    "failures",
)
"""In this order: each one is what the ones before it no longer use."""


def retain(db: Statements, repository: int, bound: int, moment: datetime) -> Retained:
    values = {"repository": repository, "bound": bound, "at": moments.stamp(moment)}
    dropped = sorted(row[0] for row in db.run("drop_revisions", values).fetchall())
    db.run("remember_versions", values)
    db.run("remember_last_passage", values)
    rows = {what: db.run(f"drop_{what}", values).rowcount for what in _DROPPED}
    db.drop_from_index(repository)
    (kept,) = db.run("kept_count", values).fetchone()
    return Retained(tuple(dropped), rows, kept)


def dropped_version(db: Statements, view: View, version: str) -> list[DroppedVersion]:
    """Where it stood, newest first; empty if nothing of it was dropped."""
    values = {**view._asdict(), "version": version}
    return [DroppedVersion(*row) for row in db.run("dropped_version", values)]
