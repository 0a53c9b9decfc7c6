"""What a document's standing does to the worth of its passages: names, factors, a fixed order."""

from __future__ import annotations

import pytest

from sourcebook.model import Adjustment, Factors, Json
from sourcebook.querying.adjust import adjustments, product, types

THEIRS = Factors()
OURS = Factors(
    binding=1.2, primary=1.3, superseded=0.4, asked_type=1.5, primary_types=("charter", "plan")
)


def names(asked: str | None = None, factors: Factors = THEIRS, **metadata: Json) -> list[str]:
    return [each.name for each in adjustments(metadata, factors, asked)]


def test_the_factors_of_the_specification() -> None:
    everything = {
        "is_binding": True,
        "document_type": "design_guidelines",
        "superseded_by": "new.md",
    }
    found = adjustments(everything, Factors(), "design_guidelines")
    assert found == (
        Adjustment("binding", 1.1),
        Adjustment("primary_source", 1.05),
        Adjustment("superseded", 0.5, "by new.md"),
        Adjustment("asked_type", 1.1, "design_guidelines"),
    )
    assert product(found) == pytest.approx(1.1 * 1.05 * 0.5 * 1.1)
    assert adjustments({}, Factors()) == ()
    assert product(()) == 1.0


def test_factors_are_those_of_the_settings() -> None:
    found = adjustments({"is_binding": True, "document_type": "plan"}, OURS, "plan")
    assert [each.factor for each in found] == [1.2, 1.3, 1.5]
    assert names(factors=OURS, document_type="design_guidelines") == []


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"is_binding": False}, []),
        ({"is_binding": "yes"}, []),
        ({"is_binding": 1}, []),
        ({"superseded_by": ""}, []),
        ({"superseded_by": None}, []),
        ({"superseded_by": False}, []),
        ({"superseded_by": True}, ["superseded"]),
        ({"superseded_by": "nowhere.md"}, ["superseded"]),
        ({"supersedes": "old.md"}, []),
        ({"document_type": None}, []),
        ({"document_type": 7}, []),
        ({"document_type": {"a": 1}}, []),
        ({"document_type": ["memo", "design_guidelines"]}, ["primary_source"]),
        ({"document_type": ["memo", 7, None, ["x"]]}, []),
    ],
)
def test_values_as_people_write_them(metadata: dict[str, Json], expected: list[str]) -> None:
    assert names(**metadata) == expected


def test_the_asked_type() -> None:
    assert names("ccr", document_type="ccr") == ["asked_type"]
    assert names("ccr", document_type=["memo", "ccr"]) == ["asked_type"]
    assert names("ccr", document_type="memo") == []
    assert names(None, document_type="memo") == []
    assert names(None) == []


def test_types() -> None:
    assert types({"document_type": ["a", "b", "a", " "]}) == {"a", "b"}
    assert types({"document_type": " "}) == types({}) == frozenset()
