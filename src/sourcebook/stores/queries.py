"""Named SQL: the text of `sqlite.sql` in, a map from name to statement out.

SQL stays in one commented file where it can be read and compared; a fragment that several
statements share, such as the visibility predicate, is written there once and used as
`{visible p}`, where `p` is the alias of the table it speaks of, or `{visible p at :other}`. A
fragment may use others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

_PART = re.compile(r"^-- (name|fragment): (\w+)\n", re.MULTILINE)
_USE = re.compile(r"\{(\w+) ([\w.$]+)(?: at (:\w+))?\}")


def load(file: str) -> Mapping[str, str]:
    """The named statements of one SQL file of this package."""
    return parse(resources.files(__package__).joinpath(file).read_text("utf-8"))


def parse(text: str) -> Mapping[str, str]:
    """Statements by name, with every fragment filled in."""
    named: dict[str, dict[str, str]] = {"name": {}, "fragment": {}}
    _, *pieces = _PART.split(text)
    for kind, name, body in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if name in named[kind]:
            raise ValueError(f"two SQL parts are named {name}")
        named[kind][name] = _without_comments(body)
    fragments = named["fragment"]
    return {name: _filled(body, fragments) for name, body in named["name"].items()}


def _without_comments(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()


def _filled(body: str, fragments: Mapping[str, str]) -> str:
    """An unknown fragment is a KeyError when the module is imported, not when it is first used."""

    def fill(use: re.Match[str]) -> str:
        name, alias, revision = use.groups(":revision")
        text = _filled(fragments[name].replace("$", alias), fragments)
        return text.replace(":revision", revision)

    return _USE.sub(fill, body)


QUERIES = load("sqlite.sql")
