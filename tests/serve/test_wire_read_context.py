"""How a request says which point of history it reads; and that an answer's own can be sent back."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sourcebook.errors import InvalidInput
from sourcebook.model import ReadContext
from sourcebook.serve.wire import At, read_context

GIVEN: list[tuple[dict[str, Any], ReadContext]] = [
    ({}, ReadContext("default")),
    ({"selector": "head"}, ReadContext("head")),
    ({"baseline_id": "v1"}, ReadContext("baseline", "v1")),
    ({"as_of": "2026-01-31T12:00:00Z"}, ReadContext("as_of", "2026-01-31T12:00:00Z")),
    ({"revision": 7}, ReadContext("revision", "7")),
    ({"selector": "baseline_id", "baseline_id": "v1"}, ReadContext("baseline", "v1")),
]
ECHOED: list[tuple[dict[str, Any], ReadContext]] = [
    ({"selector": "head", "revision": 7}, ReadContext("revision", "7")),
    ({"selector": "published", "revision": 7, "baseline_id": "v1"}, ReadContext("revision", "7")),
    (
        {"selector": "baseline", "revision": 7, "baseline_id": "v1"},
        ReadContext("baseline", "v1"),
    ),
    (
        {"selector": "as_of", "revision": 7, "as_of": "2026-01-31"},
        ReadContext("as_of", "2026-01-31"),
    ),
    ({"selector": "revision", "revision": 7}, ReadContext("revision", "7")),
]
UNCLEAR: list[dict[str, Any]] = [
    {"baseline_id": "v1", "as_of": "2026-01-31"},
    {"baseline_id": "v1", "revision": 7},
    {"selector": "head", "baseline_id": "v1"},
    {"selector": "head", "baseline_id": "v1", "revision": 7},
    {"selector": "as_of", "as_of": "2026-01-31", "baseline_id": "v1"},
    {"selector": "revision", "revision": 7, "baseline_id": "v1"},
    {"selector": "baseline", "revision": 7},
    {"selector": "as_of"},
]


@pytest.mark.parametrize(("given", "meant"), [*GIVEN, *ECHOED])
def test_one_selector_is_meant(given: dict[str, Any], meant: ReadContext) -> None:
    everything = {"baseline_id": None, "as_of": None, "revision": None, **given}
    assert read_context(At(**given), "default") == meant
    assert read_context(At(**everything), "default") == meant


@pytest.mark.parametrize("given", UNCLEAR)
def test_what_leaves_open_which_one_counts_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_context(At(**given), "default")
    assert refused.value.field == "read_context"


def test_an_unknown_selector_is_refused() -> None:
    with pytest.raises(ValidationError):
        At(selector="yesterday")  # type: ignore[arg-type]
