"""Text in, index terms out, in scripts with and without spaces."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from sourcebook.analysis import analyze


@pytest.mark.parametrize(
    ("text", "terms", "compounds"),
    [
        ("Running dogs", ["run", "dog"], []),
        ("한국어 문서", ["한국어", "문서"], []),  # Korean has spaces
        ("日本語", ["日", "本", "語"], ["日本", "本語"]),
        ("ขา", ["ข", "า"], ["ขา"]),
    ],
)
def test_terms(text: str, terms: list[str], compounds: list[str]) -> None:
    found = analyze(text)
    composed = [normalize("NFC", term) for term in found.terms]
    assert (composed, found.compounds) == (terms, compounds)
