"""An answer in, ranked hits for people out: how relevant each is, what stands in it, and where.

One number is shown of a hit, its relevance; what else is to be known of it – that it is binding,
that something supersedes it, that it is hardly more than a heading – stands beside it in words. All
the other numbers are in the explanation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from sourcebook.serve.explain import explain_answer, explain_hit, rejected_lines
from sourcebook.serve.render import INDENT, indented, note, one_line, places, read_context_line
from sourcebook.serve.snippets import snippet

if TYPE_CHECKING:
    from sourcebook.model import Hit, PreparedQuery
    from sourcebook.retrieve import Answer

CELLS = 10
_GOOD = 0.5
_POOR = 0.4
"""Quality below this is worth a word; the gate of `agent` begins here too."""
_SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of an answer beside its hits."""

    explain: bool = False
    gated: bool = False
    """Whether hits had to be good enough: what was refused is always told then."""
    alike: bool = False
    """Whether passages were compared with a passage: there is no question, and no relevance."""
    depth: int = 100
    """Candidates that are judged, where there are as many."""
    deeper: bool = False
    """Whether more may have been, to find enough documents."""
    across: bool = False
    """Whether hits come from several repositories: each is told with its own."""


def show(answer: Answer, view: View, out: Console) -> None:
    if not view.across:
        read_context_line(out, answer.read_context)
    for part in answer.degraded:
        note(out, "degraded", f"{part.part}: {part.reason}")
    if answer.status == "low_confidence":
        note(out, "low confidence", answer.warning or "the best passages match only loosely")
    elif answer.warning:
        note(out, "no results" if answer.status == "no_results" else "warning", answer.warning)
    for hit in answer.results:
        _hit(out, hit, answer.query, view)
    if view.explain:
        explain_answer(out, answer, _judged(answer, view), alike=view.alike)
    if view.gated:
        for line in rejected_lines(answer):
            out.print(Text(line, style="dim"))


def _judged(answer: Answer, view: View) -> str:
    if answer.candidates <= view.depth:
        return f"{answer.candidates:,} judged"
    return f"{view.depth:,}{' or more' if view.deeper else ''} judged"


def _hit(out: Console, hit: Hit, query: PreparedQuery, view: View) -> None:
    heading = Text().append(f"{hit.rank}. ", style="bold cyan")
    *above, last = _path(hit)
    for part in above:
        heading.append(part).append(" › ", style="dim")
    out.print(heading.append(last, style="bold"))
    for line in _standing(out, hit, view):
        indented(out, line)
    for line in snippet(hit.expanded or hit.text, query, out):
        out.print(Text(INDENT).append_text(line), soft_wrap=True)
    if view.explain:
        explain_hit(out, hit, alike=view.alike)
    out.print()


def _path(hit: Hit) -> list[str]:
    """Headings from the highest down to the hit's own; without them its title, or its id."""
    path = [one_line(part) for part in hit.node.section_path]
    return path or [one_line(hit.node.title) or hit.node.element_id]


def _standing(out: Console, hit: Hit, view: View) -> list[Text]:
    """Its number, its badges and its place: on one line where they fit, else the place below."""
    number = _likeness(hit) if view.alike else _relevance(out, hit)
    place = places(hit.node.source, hit.node.start, hit.node.end, hit.node.page)
    if view.across:
        place = f"{one_line(hit.citation.repository_id)} {place}"
    told, where = [number, *badges(hit)], Text(place, style="dim")
    line = _joined([*told, where])
    return [line] if line.cell_len + len(INDENT) <= out.width else [_joined(told), where]


def _joined(parts: Sequence[Text]) -> Text:
    line = Text()
    for part in parts:
        line.append(_SEPARATOR if line else "", style="dim").append_text(part)
    return line


def _likeness(hit: Hit) -> Text:
    return Text("likeness –" if hit.scores.rerank is None else f"likeness {hit.scores.rerank:.2f}")


def _relevance(out: Console, hit: Hit) -> Text:
    """A bar and a number on a terminal that can draw it, words elsewhere."""
    if hit.relevance is None:
        return Text("relevance –", style="dim")
    if not out.is_terminal or not out.encoding.startswith("utf"):
        return Text(f"relevance {hit.relevance:.2f}")
    return bar(hit.relevance).append(f" {hit.relevance:.2f}", style="bold")


def bar(relevance: float) -> Text:
    from sourcebook.querying.relevance import OK

    style = "green" if relevance >= _GOOD else "yellow" if relevance >= OK else "red"
    full = min(CELLS, round(relevance * CELLS))
    return Text().append("━" * full, style=style).append("─" * (CELLS - full), style="dim")


def badges(hit: Hit) -> Iterator[Text]:
    """What a reader should know of a hit before its words."""
    metadata, names = hit.node.metadata, {change.name for change in hit.adjustments}
    if hit.scores.exact:
        yield Text("exact match", style="bold")
    if isinstance(binding := metadata.get("is_binding"), bool):
        yield Text("binding", style="bold green") if binding else Text("not binding", style="dim")
    if "superseded" in names or metadata.get("superseded_by"):
        yield Text(f"superseded{_by(hit)}", style="bold red")
    if "primary_source" in names:
        yield Text("primary source")
    if "asked_type" in names:
        yield Text("the type asked for")
    yield from _flaws(hit)
    if hit.expanded:
        yield Text("with what stands around it", style="dim")


def _by(hit: Hit) -> str:
    """What supersedes it, where that is known; a file beside its own by its name alone."""
    by = hit.node.metadata.get("superseded_by")
    if not by:  # another document says so
        told = [change.reason for change in hit.adjustments if change.name == "superseded"]
        by = told[0].removeprefix("by ") if told else ""
    if not isinstance(by, str) or not by:
        return ""
    newer, own = PurePosixPath(by), PurePosixPath(hit.node.source)
    return f" by {one_line(newer.name if newer.parent == own.parent else by)}"


def _flaws(hit: Hit) -> Iterator[Text]:
    quality = hit.quality or {}
    if stub := quality.get("stub_type"):
        yield Text(f"stub: {stub}", style="yellow")
    if quality.get("overall", 1.0) < _POOR:
        yield Text(f"quality {quality['overall']:.2f}", style="yellow")
