"""Sourcebook's use cases behind one object that holds the ports."""

from __future__ import annotations

from sourcebook.engine.asking import Asking
from sourcebook.engine.core import HEAD
from sourcebook.engine.keeping import Keeping

__all__ = ["HEAD", "Engine"]


class Engine(Asking, Keeping):
    """Takes in, answers, remembers: what the surfaces call."""
