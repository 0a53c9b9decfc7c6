"""Cohere's protocol: POST /v2/embed. A question and a document are told apart by a field."""

from __future__ import annotations

from collections.abc import Sequence

from sourcebook.config import Embedding
from sourcebook.environment import KEYS, embedding_key
from sourcebook.model import Json
from sourcebook.models.known import asked
from sourcebook.models.wire import Told, Wire

USUAL = "https://api.cohere.com"


def wire(ours: Embedding) -> Wire:
    address = ours.base_url or USUAL
    dimensions = asked(ours)

    def body(texts: Sequence[str], question: bool) -> Json:
        """Told not to, it does not cut a text in silence but refuses it."""
        wanted = {"output_dimension": dimensions} if dimensions else {}
        return {
            "model": ours.model,
            "texts": list(texts),
            "input_type": "search_query" if question else "search_document",
            "embedding_types": ["float"],
            "truncate": "NONE",
            **wanted,
        }

    return Wire(
        provider="cohere",
        what="Cohere",
        base_url=address,
        path="v2/embed",
        body=body,
        read=_read,
        texts=96,
        tokens=100_000,
        key=embedding_key("cohere", address),
        needs_key=True,
        hints={
            "key": f"set {KEYS['cohere']}, which goes only over https or to this machine",
            "model": f"check embedding.base_url and that it has the model {ours.model}",
        },
    )


def _read(answer: Json) -> Told:
    billed = (answer.get("meta") or {}).get("billed_units") or {}
    return Told(answer["embeddings"]["float"], billed.get("input_tokens"))
