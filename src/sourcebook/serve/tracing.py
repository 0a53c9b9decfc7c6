"""A request's headers in, a span around its work out – if OpenTelemetry's SDK is there and set up,
as by `opentelemetry-instrument sourcebook serve`. Otherwise nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any


@contextmanager
def span(name: str, headers: Mapping[str, str]) -> Iterator[None]:
    """Without the words of a question: `name` is that of an operation."""
    tracer = _tracer()
    if tracer is None:
        yield
        return
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    parent = extract(dict(headers))
    with tracer.start_as_current_span(
        f"sourcebook.{name}", context=parent, kind=SpanKind.SERVER, record_exception=False
    ):
        yield


def _tracer() -> Any:
    if find_spec("opentelemetry") is None:
        return None
    from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

    provider = get_tracer_provider()
    if isinstance(provider, ProxyTracerProvider):  # nobody has set one up
        return None
    return provider.get_tracer("sourcebook")
