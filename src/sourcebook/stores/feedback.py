"""What people said of results: judgments in, rows out; in their order, and none ever changed."""

from __future__ import annotations

import json
from dataclasses import asdict

from sourcebook.model import Citation, Feedback, Resolved, Scope
from sourcebook.stores.rows import Row, to_json
from sourcebook.stores.statements import Statements


def add(
    db: Statements, repository: int, scope: Scope, given: Feedback, request_id: str | None
) -> Feedback:
    """The first one of a request id stays, and is what comes back."""
    cited = given.citation
    values = {
        "repository": repository,
        "at": given.at,
        "query": given.query,
        "node_id": given.node_id,
        "element_id": cited.element_id,
        "version_id": cited.version_id,
        "start": cited.start,
        "end": cited.end,
        "text_hash": cited.text_hash,
        "read_context": to_json(asdict(given.read_context)),
        "judgment": given.opinion,
        "note": given.note,
        "key_id": given.key_id,
        "request_id": request_id,
    }
    db.run("add_feedback", values)
    if request_id is None:
        return given
    asked = {"repository": repository, "key_id": given.key_id, "request_id": request_id}
    return to_feedback(db.run("feedback_of_request", asked).fetchone(), scope)


def to_feedback(row: Row, scope: Scope) -> Feedback:
    at, query, node_id, element_id, version_id, start, end, text_hash, context, *rest = row
    citation = Citation(scope.repository, element_id, version_id, start, end, text_hash)
    return Feedback(at, query, node_id, citation, Resolved(**json.loads(context)), *rest)
