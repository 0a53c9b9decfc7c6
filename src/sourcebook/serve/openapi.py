"""The table of routes in, its OpenAPI 3.1 document out: every request, answer and error with its
schema, and an example of each request.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from sourcebook import __version__
from sourcebook.serve import wire_answers as told
from sourcebook.serve import wire_records as records
from sourcebook.serve.asking import parameters
from sourcebook.serve.routes import ROUTES, Route

Json = dict[str, Any]
_REF = "#/components/schemas/{model}"
_KEY: list[Json] = [{"key": []}, {}]
"""A key, or none where the server needs none."""
_ERRORS = {
    400: "The body is not a JSON object, or the address is not one that can be read",
    401: "There is no key, or it is not valid",
    403: "The key does not allow this, or the name that was asked by is not known",
    404: "It is not there, or this key may not see it",
    409: "It contradicts what is there",
    410: "Retention has dropped that revision",
    413: "The request is too large",
    415: "The body is not sent as JSON",
    422: "A field is unknown, missing or out of range",
    429: "This key asks too often",
    500: "Something went wrong here",
    503: "Too many requests, or the store or the model cannot be used now",
    504: "The answer took too long",
}
_WHAT = """Retrieval whose answers cite exact words in exact versions.

Every read takes a `read_context` (`head`, `published`, `baseline:ID`, `as-of:TIMESTAMP`,
`revision:N`) and says which revision it was answered at. Unknown fields are refused."""


@cache
def document() -> Json:
    paths: dict[str, Json] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sourcebook", "version": __version__, "description": _WHAT},
        "paths": paths | _process(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> Json:
    made: Json = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": ["older programs" if route.path[:4] != "/v1/" else "v1"],
        "security": _KEY,
        "parameters": _parameters(route),
        "responses": {"200": _answer(route.answer, "The answer")} | _errors(*_ERRORS),
    }
    if route.method == "POST":
        body = {name: value for name, value in route.example.items() if name != "id"}
        made["requestBody"] = {
            "required": not route.path.endswith(("/publish", "/reindex")),
            "content": {"application/json": {"schema": _body(route), "example": body}},
        }
    return made


def _body(route: Route) -> Json:
    """The request without what stands in the address."""
    name = route.operation.request.__name__
    return _ref(name if route.id_field is None else f"{name}Body")


def _parameters(route: Route) -> list[Json]:
    found: list[Json] = []
    if route.id_field is not None:
        found.append(_parameter("id", "path", {"type": "string", "minLength": 1}, route))
    if route.method == "GET":
        properties = route.operation.request.model_json_schema()["properties"]
        for name, field in parameters(route).items():
            found.append(_parameter(name, "query", _plain(name, properties[field]), route))
    return found


def _parameter(name: str, place: str, schema: Json, route: Route) -> Json:
    made = {"name": name, "in": place, "required": place == "path", "schema": schema}
    return made | ({"example": route.example[name]} if name in route.example else {})


def _plain(name: str, schema: Json) -> Json:
    """What can stand in an address: no null, no object."""
    if name == "filter":
        pair = {"type": "string", "pattern": "^[^=]+=", "description": "KEY=VALUE"}
        return {"type": "array", "items": pair}
    choices = [each for each in schema.get("anyOf", [schema]) if each.get("type") == "string"]
    plain = choices[0] if choices else schema
    kept = ("type", "minLength", "maxLength", "minimum", "maximum", "enum")
    made = {key: plain[key] for key in kept if key in plain}
    return made | {key: schema[key] for key in ("description", "default") if schema.get(key)}


def _process() -> Json:
    """What is asked of the process: no operation, and but for the metrics no key."""
    failures = _errors(403, 413)
    return {
        "/health": {
            "get": {
                "operationId": "process",
                "summary": "Whether the process runs",
                "tags": ["process"],
                "security": [],
                "responses": {"200": _answer(records.ProcessAnswer, "It does")} | failures,
            }
        },
        "/ready": {
            "get": {
                "operationId": "ready",
                "summary": "Whether the store is open and the model loaded",
                "tags": ["process"],
                "security": [],
                "responses": {"200": _answer(records.ReadyAnswer, "They are")}
                | failures
                | _errors(503),
            }
        },
        "/metrics": {
            "get": {
                "operationId": "metrics",
                "summary": "For Prometheus; with keys, only for one that may administer",
                "tags": ["process"],
                "security": _KEY,
                "responses": {
                    "200": {
                        "description": "Prometheus' text format",
                        "content": {"text/plain": {"schema": {"type": "string"}}},
                    }
                }
                | failures
                | _errors(401, 429, 503),
            }
        },
    }


def _answer(model: type[BaseModel], what: str) -> Json:
    content = {"application/json": {"schema": _ref(model.__name__)}}
    request_id = {"schema": {"type": "string"}, "description": "That of the request, or a new one"}
    return {"description": what, "content": content, "headers": {"X-Request-ID": request_id}}


def _errors(*statuses: int) -> Json:
    return {str(each): _answer(told.ErrorAnswer, _ERRORS[each]) for each in statuses}


def _ref(name: str) -> Json:
    return {"$ref": _REF.format(model=name)}


def _schemas() -> Json:
    answers: set[type[BaseModel]] = {route.answer for route in ROUTES}
    answers |= {told.ErrorAnswer, records.ProcessAnswer, records.ReadyAnswer}
    requests: set[type[BaseModel]] = {
        route.operation.request for route in ROUTES if route.method == "POST"
    }
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "serialization") for model in sorted(answers, key=_name)),
        *((model, "validation") for model in sorted(requests, key=_name)),
    ]
    _, made = models_json_schema(wanted, ref_template=_REF)
    found: Json = made["$defs"]
    for route in ROUTES:
        if route.method == "POST" and route.id_field is not None:
            name = route.operation.request.__name__
            found[f"{name}Body"] = _without(found[name], route.id_field)
    return found


def _without(schema: Json, field: str) -> Json:
    kept = {name: value for name, value in schema["properties"].items() if name != field}
    needed = [name for name in schema.get("required", ()) if name != field]
    return {**schema, "properties": kept, "required": needed}


def _name(model: type[BaseModel]) -> str:
    return model.__name__
