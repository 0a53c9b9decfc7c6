"""Words as a file writes them in; clean words out: one language chosen, the others kept by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element as Xml

from sourcebook.sources.archimate.model import Pairs
from sourcebook.sources.archimate.xmltree import TYPE
from sourcebook.sources.scrub import scrub

_MAX_ID = 500
_MAX_FOLDER = 200
_MAX_TYPE = 100
_MAX_NAME = 500
_MADE_BY_ARCHI = re.compile(r"[0-9]|[0-9a-f-]{8,}$")


def one_line(text: str | None) -> str:
    """For names, keys and values: words with single spaces."""
    return " ".join(scrub(text or "").split())


def prose(text: str | None) -> str:
    """For documentation: lines as they are, with one kind of line end."""
    lines = scrub(text or "").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def identifier(text: str | None) -> str:
    """An identifier as both forms of a model have it. Archi puts `id-` before its own ones when
    it exports, early versions always and later ones before a digit; others' stay as they are."""
    id = one_line(text)[:_MAX_ID]
    return f"id-{id}" if _MADE_BY_ARCHI.match(id) else id


def shared_name(text: str | None) -> str:
    """A name that many parts refer to, as that of a property: one without end would be multiplied,
    so it is cut."""
    name = one_line(text)
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"


def type_of(node: Xml) -> str:
    """`xsi:type` without its prefix."""
    return one_line(node.get(TYPE)).rpartition(":")[2][:_MAX_TYPE]


def folder_path(path: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The path of a folder in a folder; one without a name adds nothing."""
    return (*path, name[:_MAX_FOLDER]) if name else path


def content(node: Xml) -> str:
    """All text inside, also where a writer has put markup around a part of it."""
    return node.text or "" if not len(node) else "".join(node.itertext())


def chosen(nodes: Iterable[Xml], clean: Callable[[str], str], key: str) -> tuple[str, Pairs]:
    """The text in English, else without a language, else the first; and the others as
    `("names_nl", text)`. Texts of one language are joined."""
    written: dict[str, list[str]] = {}
    for node in nodes:
        language = one_line(node.get("lang")).lower()[:_MAX_TYPE]
        written.setdefault(language, []).append(content(node))
    texts = {language: clean("\n".join(parts)) for language, parts in written.items()}
    best = min((language for language in texts if texts[language]), key=_preference, default=None)
    if best is None:
        return "", ()
    others = ((f"{key}_{lang or 'xx'}", texts[lang]) for lang in texts if lang != best)
    return texts[best], tuple(sorted(pair for pair in others if pair[1]))


def _preference(language: str) -> int:
    if language == "en" or language.startswith("en-"):
        return 0
    return 2 if language else 1
