"""The options that commands share: what they are called, and what their values mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sourcebook.errors import InvalidInput
from sourcebook.model import Filter, ReadContext

if TYPE_CHECKING:
    from sourcebook import Sourcebook
    from sourcebook.config import Settings

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Read = Annotated[
    str,
    typer.Option(
        "--read-context",
        metavar="READ",
        help="head, published, default, baseline:ID, as-of:TIMESTAMP or revision:NUMBER.",
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="K=V",
        help="Keep what has this metadata value; one key again: any of its values.",
    ),
]
MOST = 1_000_000
"""Of a listing: more than anyone reads, and a number that every store can hold."""
NodeId = Annotated[str, typer.Argument(metavar="NODE_ID", show_default=False)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The global options. What is None comes from the environment or the configuration file."""

    store: str | None = None
    tenant: str | None = None
    repository: str | None = None
    config: Path | None = None

    def open(self, **given: Any) -> Sourcebook:
        """The engine, imported only now: help and mistakes in the options need no model runtime."""
        from sourcebook import Sourcebook

        scope = {"tenant": self.tenant, "repository": self.repository, **given}
        return Sourcebook.open(self.store, config=self.config, **scope)

    def settings(self) -> Settings:
        from sourcebook.config import load

        return load(self.config, store=self.store, tenant=self.tenant, repository=self.repository)


def chosen(ctx: typer.Context) -> Chosen:
    return ctx.obj if isinstance(ctx.obj, Chosen) else Chosen()


def read_context(text: str) -> ReadContext:
    from sourcebook.history import parse_read_context

    return parse_read_context(text)


def pair(text: str, option: str) -> tuple[str, str]:
    """`K=V`, split at the first `=`: values may hold more of them."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise InvalidInput(
            f"{option} takes KEY=VALUE, not {text!r}; for example {option} department=finance",
            field=option.removeprefix("--"),
        )
    return key.strip(), value


def filters(given: Sequence[str] | None) -> tuple[Filter, ...]:
    """A key that is given again may have any of its values; different keys must all match."""
    wanted: defaultdict[str, list[str]] = defaultdict(list)
    for text in given or ():
        key, value = pair(text, "--filter")
        wanted[key].append(value)
    return tuple(Filter(key, tuple(dict.fromkeys(values))) for key, values in wanted.items())


def metadata(
    given: Sequence[str] | None, document_type: str | None, binding: bool | None
) -> dict[str, str | int | bool]:
    """--meta, --document-type and --binding as the metadata of every document of an ingest."""
    found = {key: typed(value) for key, value in (pair(text, "--meta") for text in given or ())}
    if document_type is not None:
        found["document_type"] = document_type
    if binding is not None:
        found["is_binding"] = binding
    return found


def typed(value: str) -> str | int | bool:
    """true and false become booleans and whole numbers integers, as front matter reads them; a
    number with leading zeros is a name and stays as it is."""
    if value in ("true", "false"):
        return value == "true"
    try:
        number = int(value)
    except ValueError:
        return value
    return number if str(number) == value else value
