"""An answer in, ranked hits for people out: what was found, where it stands, and why.

A passage is shown by the lines of it that hold most of the query's words, which are marked by the
same analysis that found them: a question for "paying" marks "paid" only if the index saw it so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from sourcebook.serve.render import (
    INDENT,
    count,
    indented,
    metadata_line,
    note,
    one_line,
    places,
    read_context_line,
    safe,
)

if TYPE_CHECKING:
    from sourcebook.model import Hit, PreparedQuery
    from sourcebook.retrieve import Answer

LINES = 6
_WIDEST = 110
_LOOKED_AT = 20_000
"""Characters of a passage that are looked at for its best lines: a whole document may be a hit."""
_WORD = re.compile(r"\w+(?:[-_./:@#+&'’]\w+)*")
_SOFT_BREAK = re.compile(r"(?<=[^\n|])\n(?=[^\W\d_]|[(\"'“‘])")
"""A line that ends inside a paragraph: the next one goes on with a word."""
_LISTS = ("dense", "sparse", "staged", "combined")


def show(answer: Answer, explain: bool, out: Console) -> None:
    read_context_line(out, answer.read_context)
    for part in answer.degraded:
        note(out, "degraded", f"{part.part}: {part.reason}")
    if answer.status == "low_confidence":
        note(out, "low confidence", answer.warning or "the best passages match only loosely")
    elif answer.warning:
        note(out, "no results" if answer.status == "no_results" else "warning", answer.warning)
    for hit in answer.results:
        _hit(out, hit, answer.query, explain)
    if explain:
        _explanation(out, answer)


def _hit(out: Console, hit: Hit, query: PreparedQuery, explain: bool) -> None:
    heading = Text(f"{hit.rank}. ", style="bold cyan")
    *above, last = _path(hit)
    for part in above:
        heading.append(part).append(" › ", style="dim")
    out.print(heading.append(last, style="bold"))
    where = places(hit.node.source, hit.node.start, hit.node.end, hit.node.page)
    brief = _brief(hit)
    apart = "  " if len(INDENT + where + brief) + 2 <= out.width else "\n"
    indented(out, Text(f"{where}{apart}{brief}", style="dim"))
    for line in snippet(hit.text, query, out):
        out.print(Text(INDENT).append_text(line), soft_wrap=True)
    if explain:
        _scores(out, hit)
    out.print()


def _path(hit: Hit) -> list[str]:
    """Headings from the highest down to the hit's own; without them its title, or its id."""
    path = [one_line(part) for part in hit.node.section_path]
    return path or [one_line(hit.node.title) or hit.node.element_id]


def _brief(hit: Hit) -> str:
    """The one number that ordered the hits, and what made it."""
    scores = hit.scores
    found = [
        f"{name} #{rank}"
        for name in ("dense", "sparse")
        if (rank := getattr(scores, f"{name}_rank")) is not None
    ]
    relevance = [f"relevance {hit.relevance:.2f}"] if hit.relevance is not None else []
    exact = ["exact"] if scores.exact else []
    fused = [f"score {scores.fused:.4f}"] if scores.fused is not None else []
    return " · ".join([*relevance, *fused, *found, *exact])


def snippet(text: str, query: PreparedQuery, out: Console) -> list[Text]:
    """The passage, wrapped, cut to the lines that hold most of the query's words."""
    clean = re.sub(r"\n\s*\n+", "\n\n", safe(text[:_LOOKED_AT]).strip())
    clean = _SOFT_BREAK.sub(" ", clean).replace("\n\n", "\n")
    width = max(20, min(out.width, _WIDEST) - len(INDENT) - 2)
    lines = _marked(clean, frozenset(query.terms)).wrap(out, width)
    first = _best_window([len(line.spans) for line in lines])
    shown = list(lines[first : first + LINES])
    for line in shown:
        line.rstrip()
    if first:
        shown[0] = Text("… ").append_text(shown[0])
    if first + LINES < len(lines) or len(text) > _LOOKED_AT:
        shown[-1].append(" …")
    return shown


def _marked(text: str, terms: frozenset[str]) -> Text:
    from sourcebook.analysis import STOP_TERMS, analyze

    marked = Text(text)
    for word in _WORD.finditer(text):
        found = analyze(word[0])
        if (terms & {*found.terms, *found.compounds}) - STOP_TERMS:
            marked.stylize("bold yellow", word.start(), word.end())
    return marked


def _best_window(weights: list[int]) -> int:
    """Where the LINES lines with most marks begin; the first such place."""
    starts = range(max(1, len(weights) - LINES + 1))
    return max(starts, key=lambda start: (sum(weights[start : start + LINES]), -start))


def _scores(out: Console, hit: Hit) -> None:
    """A line a list: which rank and score it gave, and what came of them."""
    scores = hit.scores
    rows = [
        (name, f"#{rank}", f"{getattr(scores, name):.4f}")
        for name in _LISTS
        if (rank := getattr(scores, f"{name}_rank")) is not None
    ]
    if scores.exact:
        rows.append(
            ("exact", "", count(scores.exact, "phrase or identifier", "phrases or identifiers"))
        )
    if scores.fused is not None:
        rows.append(("fused", f"#{hit.rank}", f"{scores.fused:.4f}"))
    for name, rank, score in rows:
        out.print(Text(f"{INDENT}{name:<10}{rank:>5}  {score}", style="dim"), soft_wrap=True)
    if hit.node.metadata:
        indented(out, Text(metadata_line(hit.node.metadata), style="dim"))


def _explanation(out: Console, answer: Answer) -> None:
    weights = " · ".join(f"{name} {weight:g}" for name, weight in answer.weights.items())
    timings = " · ".join(f"{part} {ms:.1f} ms" for part, ms in answer.timings_ms.items())
    for name, line in (
        ("read as", one_line(answer.query.normalized)),
        ("weights", weights),
        ("candidates", f"{answer.candidates:,}"),
        ("timings", timings),
    ):
        out.print(Text(f"{name}: ", style="dim").append(line))
