"""What is known of models by their names."""

from __future__ import annotations

import pytest

from sourcebook.config import Embedding
from sourcebook.models.known import FAMILIES, MODELS, Known, asked, family, known, price

SENTENCE = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("mxbai-embed-large:latest", SENTENCE, ""),
        ("intfloat/e5-large-v2", "query: ", "passage: "),
        ("multilingual-e5-small", "query: ", "passage: "),
        ("snowflake-arctic-embed:22m", SENTENCE, ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("BAAI/bge-small-en-v1.5", SENTENCE, ""),
        ("bge-m3", "", ""),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("text-embedding-3-small", "", ""),
        ("something-new", "", ""),
    ],
)
def test_prefixes(model: str, query: str, document: str) -> None:
    assert (family(model).query, family(model).document) == (query, document)


def test_no_family_hides_a_later_one() -> None:
    for place, later in enumerate(FAMILIES):
        for earlier in FAMILIES[:place]:
            assert not later.start.startswith(earlier.start), (earlier.start, later.start)


def test_a_variant_is_not_taken_for_the_usual_one() -> None:
    assert known("snowflake-arctic-embed:latest") == MODELS["snowflake-arctic-embed"]
    assert known("snowflake-arctic-embed:22m") == Known()  # it has 384 dimensions, not 1,024


def test_prices_are_those_of_the_provider() -> None:
    assert price("openai", "text-embedding-3-large") == 0.13
    assert price("azure", "text-embedding-3-large") is None
    assert price("cohere", "embed-v4.0") is None


@pytest.mark.parametrize(("wanted", "sent"), [(None, None), (1536, None), (256, 256)])
def test_dimensions_are_asked_for_where_they_are_others(
    wanted: int | None, sent: int | None
) -> None:
    assert asked(Embedding(provider="openai", dimensions=wanted)) == sent
