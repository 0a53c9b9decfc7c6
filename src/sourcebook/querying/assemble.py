"""Ranked passages in, one context for a reader with a token budget out: numbered, cited, in order.

Passages are chosen by score – one that does not fit is left out and the next one tried – and shown
in the order of their documents. The budget counts everything that is shown. What a passage says is
data: it stands between marks, and no line of it can look like a mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sourcebook.model import Metadata, Source

Count = Callable[[Sequence[str]], list[int]]
_MARK = re.compile(r"^(\s*)(\[SOURCE \d+\]|---)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Assembled:
    text: str
    tokens: int
    sources: tuple[Source, ...]
    left_out: int
    """Passages that the budget had no room for."""


def assemble(
    candidates: Sequence[Source], count: Count, max_tokens: int, max_sources: int
) -> Assembled:
    """`candidates` are in the order of their worth."""
    chosen: list[Source] = []
    used = left_out = 0
    for source in candidates:
        if len(chosen) == max_sources:
            break
        size = count([shown(replace(source, number=max_sources))])[0] + 2
        if used + size > max_tokens:
            left_out += 1
            continue
        chosen.append(source)
        used += size
    while True:
        sources = _in_order(chosen)
        text = "\n".join(shown(source) for source in sources)
        tokens = count([text])[0] if text else 0
        if tokens <= max_tokens:
            return Assembled(text, tokens, tuple(sources), left_out)
        chosen.pop()  # a tokenizer may see more in the whole than in its parts
        left_out += 1


def shown(source: Source) -> str:
    node, known = source.node, source.node.metadata
    rows = [
        ("Document", known.get("document_title") or node.title or node.element_id),
        ("Section", " > ".join(node.section_path)),
        ("Page", node.page),
        ("Type", known.get("document_type") or known.get("element_type")),
        ("Date", known.get("effective_date") or known.get("date")),
        ("Speaker", known.get("speaker")),
        ("Binding", _binding(known)),
        ("Superseded by", known.get("superseded_by")),
    ]
    head = [f"{name}: {_line(value)}" for name, value in rows if value not in (None, "")]
    return "\n".join(
        [f"[SOURCE {source.number}]", *head, "", "Content:", _quoted(source.text), "---"]
    )


def _binding(known: Metadata) -> str | None:
    value = known.get("is_binding")
    return None if value is None else "Yes" if value is True else "No"


def _line(value: object) -> str:
    return " ".join(str(value).split())[:300]


def _quoted(text: str) -> str:
    return _MARK.sub(r"\1> \2", text)


def _in_order(chosen: Sequence[Source]) -> list[Source]:
    """Documents by their best passage, passages as they stand in their document."""
    first: dict[str, int] = {}
    for place, source in enumerate(chosen):
        first.setdefault(source.node.element_id, place)
    ordered = sorted(chosen, key=lambda s: (first[s.node.element_id], s.node.start, s.node.id))
    return [replace(source, number=number) for number, source in enumerate(ordered, start=1)]
