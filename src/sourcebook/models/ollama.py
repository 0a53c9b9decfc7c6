"""Ollama's batch protocol: POST /api/embed."""

from __future__ import annotations

from collections.abc import Sequence

from sourcebook.config import Embedding
from sourcebook.environment import EMBEDDING_KEY, embedding_key, ollama_host
from sourcebook.model import Json
from sourcebook.models.known import asked
from sourcebook.models.wire import Told, Wire

USUAL = "http://127.0.0.1:11434"


def wire(ours: Embedding) -> Wire:
    address = ours.base_url or ollama_host() or USUAL
    dimensions = asked(ours)

    def body(texts: Sequence[str], question: bool) -> Json:
        """Told not to, it does not cut a text in silence but refuses it."""
        wanted = {"dimensions": dimensions} if dimensions else {}
        return {"model": ours.model, "input": list(texts), "truncate": False, **wanted}

    return Wire(
        provider="ollama",
        what="Ollama",
        base_url=address,
        path="api/embed",
        body=body,
        read=_read,
        texts=32,
        tokens=8192,
        key=embedding_key("ollama", address),
        advice="start it with `ollama serve`, or set embedding.base_url or OLLAMA_HOST",
        hints={
            "model": f"run `ollama pull {ours.model}`, or choose another embedding.model",
            "key": f"set {EMBEDDING_KEY}",
        },
        price=0.0,
    )


def _read(answer: Json) -> Told:
    return Told(answer["embeddings"], answer.get("prompt_eval_count"))
