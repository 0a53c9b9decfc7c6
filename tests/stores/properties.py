"""Property tests that a suite states once and each store runs as often as it can afford."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

Test = TypeVar("Test", bound=Callable[..., None])


def examples(most: int, **strategies: SearchStrategy[Any]) -> Callable[[Test], Test]:
    """As hypothesis' `given`, for the classes that inherit `Properties`."""

    def mark(test: Test) -> Test:
        test.stated = (most, strategies)  # type: ignore[attr-defined]
        return test

    return mark


class Properties:
    """`class TestSlow(Suite, share=0.2)` tries a fifth of the examples."""

    def __init_subclass__(cls, share: float = 1.0) -> None:
        if not cls.__name__.startswith("Test"):
            return
        for name in dir(cls):
            stated = getattr(getattr(cls, name), "stated", None)
            if stated is not None:
                setattr(cls, name, _property(getattr(cls, name), stated, share))


def _property(test: Any, stated: tuple[int, dict[str, Any]], share: float) -> Any:
    most, strategies = stated

    @wraps(test)
    def own(*args: Any, **kwargs: Any) -> None:
        test(*args, **kwargs)

    number = max(round(most * share), 1)
    relaxed = [
        HealthCheck.function_scoped_fixture,
        HealthCheck.differing_executors,
        HealthCheck.too_slow,
    ]
    tried = settings(max_examples=number, suppress_health_check=relaxed)
    return tried(given(**strategies)(own))
