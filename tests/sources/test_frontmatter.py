"""YAML front matter: what it gives, and what it may not do."""

from __future__ import annotations

import pytest

from sourcebook.sources.frontmatter import front_matter


def values(yaml: str) -> object:
    found = front_matter(f"---\n{yaml}\n---\nbody")
    assert found.problem is None
    return found.values


def problem(yaml: str) -> str:
    found = front_matter(f"---\n{yaml}\n---\nbody")
    assert found.problem is not None
    assert found.values == {}
    return found.problem


def test_values_are_json_and_keys_stay_as_written() -> None:
    assert values(
        "effective_date: 2025-03-01\nat: 2025-03-01 10:30:00\ntime: 12:30\ncode: 0123\n"
        "count: 12\nshare: 1.5\nis_binding: true\non: no\n2024: x\nempty:\nnan: .nan\n"
        "tags: [a, b]\nnested: {day: 2025-02-30}\nquoted: '2025-03-01'\nlong: 1e400"
    ) == {
        "effective_date": "2025-03-01",
        "at": "2025-03-01T10:30:00",
        "time": "12:30",
        "code": "0123",
        "count": 12,
        "share": 1.5,
        "is_binding": True,
        "on": False,
        "2024": "x",
        "empty": None,
        "nan": ".nan",
        "tags": ["a", "b"],
        "nested": {"day": "2025-02-30"},
        "quoted": "2025-03-01",
        "long": "1e400",
    }


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\na: b\n---\nwords", 12),
        ("---\r\na: b\r\n---\r\nwords", 14),
        ("---  \na: b\n...", 14),
        ("---\n---\nwords", 7),
        ("--- \ra: b\r---\rwords", 13),
    ],
)
def test_where_the_body_begins(text: str, body: int) -> None:
    found = front_matter(text)
    assert found.problem is None
    assert found.body == body


@pytest.mark.parametrize(
    "text",
    [
        "",
        "words",
        "---",
        "---\na: b\n",
        "----\na: b\n----\n",
        " ---\na: b\n---\n",
        "---\n\nhr\n\n---\n",
    ],
)
def test_no_front_matter(text: str) -> None:
    assert front_matter(text).body == 0
    assert front_matter(text).problem is None


@pytest.mark.parametrize(
    ("yaml", "part"),
    [
        ("a: b\nc: [", "line "),
        ("a: b: c", "(line 2: mapping values are not allowed here)"),
        ("- a\n- b", "it is not a list of keys and values"),
        ("just words", "it is not a list of keys and values"),
        ("a: &x 1\nb: *x", "(line 2: anchors and aliases are not accepted)"),
        ("a: 1\nb: !!python/object:os.system x", "(line 3: tags are not accepted)"),
        ("a: " + "[" * 30_000, "nested too deeply"),
        ("[a, b]: c", "a key is not a single word or phrase"),
        ("a: " + "x" * 70_000, "longer than 64 kB"),
        ("a: \x01", "line 2"),
    ],
)
def test_what_cannot_be_used_is_named(yaml: str, part: str) -> None:
    assert part in problem(yaml)


def test_numbers_that_json_cannot_hold_stay_as_written() -> None:
    assert values("a: 1.0e+999\nb: -1.0e+999\nc: 1.0e+9") == {
        "a": "1.0e+999",
        "b": "-1.0e+999",
        "c": 1e9,
    }


@pytest.mark.parametrize("yaml", ['a: "\\UFFFFFFFF"', 'a: "\\U00110000"', f"%YAML {'9' * 5000}.1"])
def test_numbers_beyond_the_scanner_are_a_problem_and_no_error(yaml: str) -> None:
    assert "a number is too large" in problem(yaml)
