"""A prompt in, a language model's answer out, over the chat protocol that OpenAI defined and that
Ollama, llama.cpp and many others speak too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace

from pydantic import SecretStr

from sourcebook.errors import ModelUnavailable
from sourcebook.model import Json
from sourcebook.models.answers import strict_json
from sourcebook.models.http import DEFAULT, Limits, Refused, Service

_ADVICE = "check that it runs, and [generator] in sourcebook.toml"
_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


class ChatModel:
    """Implements ports.Generator. Safe in many threads."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | SecretStr | None = None,
        *,
        timeout_s: float = DEFAULT.timeout_s,
        limits: Limits = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self._service = Service(
            base_url,
            what="the language model",
            advice=_ADVICE,
            key=api_key,
            limits=replace(limits, timeout_s=timeout_s),
            clock=clock,
            sleep=sleep,
        )
        self._unwanted: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"ChatModel({self.model!r} at {self._service.host!r})"

    def generate(
        self, system: str, user: str, *, schema: dict[str, Json] | None = None, max_tokens: int
    ) -> str:
        """The answer; empty where the model refuses to give one. With a schema it is JSON."""
        body: dict[str, Json] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            "temperature": 0,
            "max_tokens": max_tokens,
        }
        if schema is None:
            return self._text(self._ask(body))
        form = {"name": "answer", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
        text = _unfenced(self._text(self._ask(body)).strip())
        try:
            strict_json(text, unique=True)
        except ValueError:
            raise self._wrong("gave an answer that is not JSON") from None
        return text

    def generate_json(
        self, system: str, user: str, *, schema: dict[str, Json], max_tokens: int
    ) -> Json:
        """The parsed answer. A service may disregard the schema: check what you take from it."""
        return strict_json(self.generate(system, user, schema=schema, max_tokens=max_tokens))

    def _ask(self, body: dict[str, Json]) -> Json:
        """Newer models of OpenAI refuse `temperature` and call `max_tokens` otherwise. What one
        refuses is left out or renamed from then on."""
        while True:
            sent = _without(self._unwanted, body)
            try:
                return self._service.post("chat/completions", sent)
            except Refused as refused:
                if refused.parameter not in {"temperature", "max_tokens"} & sent.keys():
                    raise
                self._unwanted |= {refused.parameter}

    def _text(self, answer: Json) -> str:
        try:
            choice = answer["choices"][0]
            message, ended = choice["message"], choice.get("finish_reason")
            refused = bool(message.get("refusal")) or ended == "content_filter"
            content = "" if refused else message["content"]
        except (TypeError, KeyError, IndexError, AttributeError):
            content = None
        if not isinstance(content, str):
            raise self._wrong("sent an answer without a text")
        text = _THOUGHTS.sub("", content, count=1) if _THOUGHTS.match(content) else content
        if not text.strip() and not refused and ended == "length":
            raise self._wrong("used all its tokens before it gave an answer")
        return text.encode("utf-8", "replace").decode("utf-8")

    def _wrong(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"the language model {self.model} at {self._service.host} {reason}; "
            "choose another generator.model"
        )


def _without(unwanted: frozenset[str], body: dict[str, Json]) -> dict[str, Json]:
    kept = {name: value for name, value in body.items() if name not in unwanted}
    if "max_tokens" in unwanted:
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept


def _unfenced(text: str) -> str:
    """Some models put JSON into a code fence, whatever they are asked for."""
    if text.startswith("```") and text.endswith("```"):
        return text[:-3].partition("\n")[2]
    return text
