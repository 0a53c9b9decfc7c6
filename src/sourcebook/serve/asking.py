"""An HTTP request in; the fields of an operation's request out, or why it cannot be read.

Nothing is guessed: a body is one JSON object in UTF-8 and says so, and a query parameter is known
and given once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json
from starlette.datastructures import Headers, QueryParams

from sourcebook.errors import InvalidInput, Unauthorized
from sourcebook.serve.failures import Malformed, WrongType
from sourcebook.serve.routes import Route

_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_KEY_ID = re.compile(r"sb_([0-9a-f]{16})_[0-9a-f]{64}")


def bearer(headers: Headers) -> str | None:
    """The key; an Authorization header that holds none is a wrong key, not a missing one."""
    given = headers.getlist("authorization")
    if not given:
        return None
    found = _BEARER.fullmatch(given[0])
    if found is None or len(given) > 1:
        raise Unauthorized
    return found[1]


def key_id(headers: Headers) -> str | None:
    """The public part of the key, for the log; whether the key is right is not known here."""
    found = _BEARER.fullmatch(headers.get("authorization", ""))
    key = _KEY_ID.fullmatch(found[1]) if found else None
    return key[1] if key else None


def fields(
    route: Route, body: bytes, headers: Headers, query: QueryParams, path: Mapping[str, str]
) -> dict[str, Any]:
    if route.method == "POST":
        if query:
            raise InvalidInput(f"{next(iter(query))}: there is no such parameter; use the body")
        given = _object(body, headers, may_be_empty=route.path.endswith(("/publish", "/reindex")))
    else:
        given = _parameters(route, query)
    if route.id_field is None:
        return given
    if route.id_field in given:
        field = route.id_field
        raise InvalidInput(f"{field}: it is in the address already", field=field)
    return {**given, route.id_field: path["id"]}


def _object(body: bytes, headers: Headers, *, may_be_empty: bool) -> dict[str, Any]:
    if not body and may_be_empty:
        return {}
    if not _JSON.fullmatch(headers.get("content-type", "")):
        raise WrongType
    if headers.get("content-encoding", "identity") != "identity":
        raise WrongType("the body must not be compressed; send it as it is")
    try:
        given = from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        raise Malformed(f"the body is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise Malformed("the body must be one JSON object")
    return given


def _parameters(route: Route, query: QueryParams) -> dict[str, Any]:
    """`filter=K=V` may be given again; everything else once."""
    known = set(parameters(route))
    given: dict[str, Any] = {}
    for name, value in query.multi_items():
        if name not in known:
            raise InvalidInput(f"{name}: there is no such parameter", field=name)
        if name == "filter":
            key, sign, wanted = value.partition("=")
            if not sign or not key:
                raise InvalidInput("filter: it takes KEY=VALUE", field="filter")
            given.setdefault("filters", {}).setdefault(key, []).append(wanted)
        elif name in given:
            raise InvalidInput(f"{name}: it is given twice", field=name)
        else:
            given[name] = value
    return given


def parameters(route: Route) -> dict[str, str]:
    """The query parameters of a GET route, each with the field of the request that it fills."""
    names = [name for name in route.operation.request.model_fields if name != route.id_field]
    return {"filter" if name == "filters" else name: name for name in names}
