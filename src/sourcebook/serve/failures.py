"""An error in; what every surface says of it out: one table of codes for HTTP, gRPC and MCP.

What is not in the table is our own fault: it is told as such, without a word of what it was.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError

from sourcebook import errors
from sourcebook.serve.reply import error_document


class Kind(NamedTuple):
    http: int
    grpc: str
    """The name of a status code."""


class Overloaded(errors.SourcebookError):
    """Too many requests are being answered; try again in a moment."""

    code = "overloaded"
    exit_status = 3


class Malformed(errors.InvalidInput):
    """The body is not JSON; send one JSON object in UTF-8."""

    code = "malformed"


class QueryRequired(errors.InvalidInput):
    """Query required"""

    code = "query_required"


class WrongType(errors.InvalidInput):
    """The body must be JSON; send it with Content-Type: application/json."""

    code = "unsupported_media_type"


class NoRoute(errors.NotFound):
    """There is nothing at this address; /openapi.json lists what there is."""

    code = "no_route"


class WrongMethod(errors.InvalidInput):
    """This address takes another method; the header Allow names it."""

    code = "method_not_allowed"


class TooLarge(errors.InvalidInput):
    """The request is too large; send less at a time."""

    code = "too_large"


class TooOften(errors.SourcebookError):
    """This key asks too often; try again in a moment."""

    code = "rate_limited"
    exit_status = 3


class OutOfTime(errors.SourcebookError):
    """The answer took longer than it may; ask for less, or try again."""

    code = "timeout"
    exit_status = 3


class Stopping(errors.SourcebookError):
    """The server is being stopped; ask again in a moment."""

    code = "stopping"
    exit_status = 3


class CannotListen(errors.SourcebookError):
    """The server cannot listen there."""

    code = "cannot_listen"
    exit_status = 3


KINDS: dict[type[errors.SourcebookError], Kind] = {
    errors.Unauthorized: Kind(401, "UNAUTHENTICATED"),
    errors.Forbidden: Kind(403, "PERMISSION_DENIED"),
    Malformed: Kind(400, "INVALID_ARGUMENT"),
    QueryRequired: Kind(400, "INVALID_ARGUMENT"),
    NoRoute: Kind(404, "NOT_FOUND"),
    WrongMethod: Kind(405, "UNIMPLEMENTED"),
    WrongType: Kind(415, "INVALID_ARGUMENT"),
    TooLarge: Kind(413, "RESOURCE_EXHAUSTED"),
    TooOften: Kind(429, "RESOURCE_EXHAUSTED"),
    Overloaded: Kind(503, "RESOURCE_EXHAUSTED"),
    OutOfTime: Kind(504, "DEADLINE_EXCEEDED"),
    Stopping: Kind(503, "UNAVAILABLE"),
    errors.RevisionDropped: Kind(410, "NOT_FOUND"),
    errors.NotFound: Kind(404, "NOT_FOUND"),
    errors.Conflict: Kind(409, "FAILED_PRECONDITION"),
    errors.SpaceMismatch: Kind(409, "FAILED_PRECONDITION"),
    errors.InvalidInput: Kind(422, "INVALID_ARGUMENT"),
    errors.UnreadableSource: Kind(422, "INVALID_ARGUMENT"),
    errors.StoreBusy: Kind(503, "UNAVAILABLE"),
    errors.ModelUnavailable: Kind(503, "UNAVAILABLE"),
    errors.StoreError: Kind(503, "UNAVAILABLE"),
}
OURS = Kind(500, "INTERNAL")


def kind_of(error: BaseException) -> Kind:
    """That of its class, or of the nearest class above it."""
    for each in type(error).__mro__:
        if each in KINDS:
            return KINDS[each]
    return OURS


def refused(error: ValidationError) -> errors.InvalidInput:
    """What is wrong with a request, as one sentence that names the field."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    reason = first["msg"][:1].lower() + first["msg"][1:]
    known = {"extra_forbidden": "there is no such field", "missing": "it is missing"}
    told = known.get(first["type"], reason)
    return errors.InvalidInput(f"{field}: {told}" if field else told, field=field or None)


def document(error: BaseException) -> dict[str, object]:
    """The error as JSON."""
    if isinstance(error, errors.SourcebookError) and kind_of(error) != OURS:
        return error_document(error.code, str(error), error.field, [])
    return error_document("internal", "something went wrong here; the log says what", None, [])
