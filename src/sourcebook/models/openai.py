"""OpenAI's protocol, which many servers speak: POST {base_url}/embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sourcebook.config import Embedding
from sourcebook.environment import EMBEDDING_KEY, KEYS, embedding_key
from sourcebook.model import Json
from sourcebook.models.known import asked, price
from sourcebook.models.wire import Told, Wire

USUAL = "https://api.openai.com/v1"


def wire(ours: Embedding) -> Wire:
    address = ours.base_url or USUAL
    usual = address.rstrip("/") == USUAL
    made = protocol(ours, "OpenAI" if usual else "the embedding service", address, "embeddings")
    key = f"{KEYS['openai']}, which goes only over https or to this machine"
    return replace(
        made,
        key=embedding_key("openai", address),
        needs_key=usual,
        hints={
            "key": f"set {key}" if usual else f"set {EMBEDDING_KEY}, or {key}",
            "model": f"check embedding.base_url and that it has the model {ours.model}",
        },
        price=price("openai", ours.model) if usual else None,
    )


def protocol(ours: Embedding, what: str, address: str, path: str) -> Wire:
    """What OpenAI and Azure have in common."""
    dimensions = asked(ours)

    def body(texts: Sequence[str], question: bool) -> Json:
        wanted = {"dimensions": dimensions} if dimensions else {}
        plain = {"model": ours.model, "input": list(texts), "encoding_format": "float"}
        return {**plain, **wanted}

    return Wire(
        provider=ours.provider,
        what=what,
        base_url=address,
        path=path,
        body=body,
        read=_read,
        texts=128,
        tokens=100_000,
        advice="check that it runs, and [embedding] in sourcebook.toml",
    )


def _read(answer: Json) -> Told:
    """Rows carry their places, and may come in any order."""
    data = answer["data"]
    places = [item["index"] for item in data]
    if sorted(places) != list(range(len(places))):
        raise LookupError("the rows' places are not those of the texts")
    rows: list[Json] = [None] * len(data)
    for place, item in zip(places, data, strict=True):
        rows[place] = item["embedding"]
    return Told(rows, (answer.get("usage") or {}).get("total_tokens"))
