"""A model's name in; what is known of it out: its vectors, what it takes, the prefixes that it was
trained with, its vocabulary, its price.

What is not here can be set in sourcebook.toml; nothing is guessed. Prefixes are those of the model
cards. Names are compared without the publisher (`nomic-ai/`) and without `:latest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sourcebook.config import Embedding

USUAL_LENGTH = 512
"""Tokens that a model of which nothing is known is trusted with."""


class Known(NamedTuple):
    dimensions: int | None = None
    length: int = USUAL_LENGTH
    """Tokens that it takes, its special tokens included."""


class Family(NamedTuple):
    """What models whose names begin alike have in common."""

    start: str
    query: str = ""
    document: str = ""
    bert: bool = False
    """Whether its vocabulary is BERT's English one, so that tokens can be counted exactly."""


_SENTENCE = "Represent this sentence for searching relevant passages: "
_INSTRUCTION = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

FAMILIES = (
    Family("nomic-embed-text-v2", "search_query: ", "search_document: "),
    Family("nomic-embed-text", "search_query: ", "search_document: ", bert=True),
    Family("mxbai-embed-large", _SENTENCE, bert=True),
    Family("snowflake-arctic-embed2", "query: "),
    Family("snowflake-arctic-embed-l-v2", "query: "),
    Family("snowflake-arctic-embed-m-v2", "query: "),
    Family("snowflake-arctic-embed-m-long", _SENTENCE, bert=True),
    Family("snowflake-arctic-embed", _SENTENCE, bert=True),
    Family("multilingual-e5-large-instruct", _INSTRUCTION),
    Family("multilingual-e5", "query: ", "passage: "),
    Family("e5-mistral", _INSTRUCTION),
    Family("e5-", "query: ", "passage: ", bert=True),
    Family("bge-m3"),
    Family("bge-small-en", _SENTENCE, bert=True),
    Family("bge-base-en", _SENTENCE, bert=True),
    Family("bge-large-en", _SENTENCE, bert=True),
    Family("bge-large", _SENTENCE, bert=True),
    Family("embeddinggemma", "task: search result | query: ", "title: none | text: "),
    Family("qwen3-embedding", _INSTRUCTION),
    Family("all-minilm", bert=True),
    Family("gte-small", bert=True),
    Family("gte-base", bert=True),
    Family("gte-large", bert=True),
)
"""The first one that fits; longer names stand before shorter ones."""

MODELS: Mapping[str, Known] = {
    "text-embedding-3-small": Known(1536, 8191),
    "text-embedding-3-large": Known(3072, 8191),
    "text-embedding-ada-002": Known(1536, 8191),
    "embed-v4.0": Known(1536, 128_000),
    "embed-english-v3.0": Known(1024, 512),
    "embed-multilingual-v3.0": Known(1024, 512),
    "embed-english-light-v3.0": Known(384, 512),
    "embed-multilingual-light-v3.0": Known(384, 512),
    # Ollama serves nomic-embed-text with the 2,048 tokens that it was trained on.
    "nomic-embed-text": Known(768, 2048),
    "nomic-embed-text:v1.5": Known(768, 2048),
    "nomic-embed-text-v2-moe": Known(768, 512),
    "mxbai-embed-large": Known(1024, 512),
    "all-minilm": Known(384, 256),
    "snowflake-arctic-embed": Known(1024, 512),
    "snowflake-arctic-embed2": Known(1024, 8192),
    "bge-m3": Known(1024, 8192),
    "embeddinggemma": Known(768, 2048),
}

PRICES: Mapping[tuple[str, str], float] = {
    ("openai", "text-embedding-3-small"): 0.02,
    ("openai", "text-embedding-3-large"): 0.13,
    ("openai", "text-embedding-ada-002"): 0.10,
}
"""US dollars a million tokens: OpenAI's list of May 2026. Prices of Azure differ by region and
contract, and those named for Cohere by whom one asks: they are not known here."""


def known(model: str) -> Known:
    return MODELS.get(_plain(model), Known())


def asked(ours: Embedding) -> int | None:
    """The dimensions that a service is asked for: none where the model has them anyway, for some
    models refuse to be asked."""
    usual = known(ours.model).dimensions
    return None if ours.dimensions == usual else ours.dimensions


def family(model: str) -> Family:
    name = _plain(model)
    return next((one for one in FAMILIES if name.startswith(one.start)), Family(""))


def price(provider: str, model: str) -> float | None:
    return PRICES.get((provider, _plain(model)))


def _plain(model: str) -> str:
    return model.lower().rpartition("/")[2].removesuffix(":latest")
