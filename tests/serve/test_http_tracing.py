"""Spans, where somebody has set OpenTelemetry up; and nothing where nobody has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace

from sourcebook.serve.tracing import span

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Recording(trace.NoOpTracerProvider):
    """What an SDK's provider would be told."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, str]] = []

    def get_tracer(self, *_: Any, **__: Any) -> trace.Tracer:
        made = self

        class Tracer(trace.NoOpTracer):
            @contextmanager
            def start_as_current_span(
                self, name: str, context: Any = None, **__: Any
            ) -> Iterator[Any]:
                parent = trace.get_current_span(context).get_span_context().trace_id
                made.spans.append((name, f"{parent:032x}"))
                yield None

        return Tracer()


def test_without_a_provider_nothing_happens() -> None:
    with span("search", {"traceparent": PARENT}):
        assert not trace.get_current_span().get_span_context().is_valid


def test_a_span_goes_on_with_the_caller_s_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Recording()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with span("search", {"traceparent": PARENT}):
        pass
    assert provider.spans == [("sourcebook.search", "0af7651916cd43dd8448eb211c80319c")]
