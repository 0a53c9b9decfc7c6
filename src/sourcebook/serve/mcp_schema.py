"""A type of requests or answers in; its JSON Schema out, as every MCP client can read it.

Clients differ in what they make of references, so each one is replaced by what it stands for.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_REFERENCE = "#/$defs/"


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    made = model.model_json_schema(by_alias=True)
    named = made.pop("$defs", {})
    plain = _plain(made, named)
    assert isinstance(plain, dict)
    return plain


def _plain(schema: Any, named: dict[str, Any]) -> Any:
    """Without references, and without the titles that only repeat a name."""
    if isinstance(schema, list):
        return [_plain(each, named) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain(named[schema["$ref"].removeprefix(_REFERENCE)] | beside, named)
    kept = {key: value for key, value in schema.items() if key != "title"}
    return {
        key: (
            {name: _plain(each, named) for name, each in value.items()}
            if key == "properties"
            else value
            if key in ("default", "enum", "const", "examples")
            else _plain(value, named)
        )
        for key, value in kept.items()
    }
