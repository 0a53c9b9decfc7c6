"""What differs between embedding services: where they are, how a request and an answer look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import SecretStr

from sourcebook.model import Json
from sourcebook.models.http import Subject


class Told(NamedTuple):
    """An answer, taken apart but not yet believed."""

    rows: Json
    """One row a text, in the order of the texts."""
    tokens: Json = None
    """As the service counted them, if it says."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One service and one model of it."""

    provider: str
    what: str
    """Its name for people."""
    base_url: str
    path: str
    body: Callable[[Sequence[str], bool], Json]
    """The request for some texts; True is for a question."""
    read: Callable[[Json], Told]
    """Raises LookupError, TypeError or AttributeError for what is no answer."""
    texts: int
    """The most in a request."""
    tokens: int
    key: SecretStr | None = None
    needs_key: bool = False
    header: tuple[str, str] = ("Authorization", "Bearer ")
    query: Mapping[str, str] = field(default_factory=dict)
    advice: str = "check [embedding] in sourcebook.toml"
    hints: Mapping[Subject, str] = field(default_factory=dict)
    price: float | None = None
    """Of a million tokens, where it is known."""
