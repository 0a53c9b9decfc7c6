"""Sourcebook: a retrieval engine whose answers can be trusted, explained and replayed.

The names below load on first use: the command line's help must not wait for a model runtime.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcebook.bootstrap import Sourcebook
    from sourcebook.errors import SourcebookError
    from sourcebook.model import Citation, Filter, ReadContext

__all__ = ["Citation", "Filter", "ReadContext", "Sourcebook", "SourcebookError", "__version__"]
__version__ = "0.1.0"

_HOMES = {
    "Citation": "sourcebook.model",
    "Filter": "sourcebook.model",
    "ReadContext": "sourcebook.model",
    "Sourcebook": "sourcebook.bootstrap",
    "SourcebookError": "sourcebook.errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
