"""An answer in, how it came about out: each stage's word on a hit, and the way from all that was
found to what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from sourcebook.serve.render import INDENT, count, fields, indented, metadata_line, one_line

if TYPE_CHECKING:
    from sourcebook.model import Hit
    from sourcebook.retrieve import Answer

NAMED = 10
"""Refused passages that are named one by one."""
_LISTS = ("dense", "sparse", "staged", "combined")
Row = tuple[str, str, str]


def explain_hit(out: Console, hit: Hit, *, alike: bool = False) -> None:
    """A line a stage: its name, the rank that it gave, and its number."""
    for name, rank, value in _stages(hit, alike):
        out.print(Text(f"{INDENT}{name:<14}{rank:>5}{value}", style="dim"), soft_wrap=True)
    if hit.node.metadata:
        indented(out, Text(metadata_line(hit.node.metadata), style="dim"))


def _stages(hit: Hit, alike: bool) -> Iterator[Row]:
    scores = hit.scores
    for name in _LISTS:
        if (rank := getattr(scores, f"{name}_rank")) is not None:
            yield name, f"#{rank}", _number(getattr(scores, name))
    if scores.exact:
        found = count(scores.exact, "phrase or identifier", "phrases or identifiers")
        yield "exact", "", f"  {found}"
    if scores.fused is not None:
        yield "fused", "", _number(scores.fused)
    if scores.rerank is not None:
        yield "likeness" if alike else "rerank", "", _number(scores.rerank)
    if hit.relevance is not None:
        yield "relevance", "", _number(hit.relevance)
    for change in hit.adjustments:
        yield change.name, "", f"  × {change.factor:g} {one_line(change.reason)}".rstrip()
    if scores.adjusted is not None:
        yield "adjusted", f"#{hit.rank}", _number(scores.adjusted)
    elif not alike:
        yield "not judged", "", "  it stands behind the candidates that were"
    if hit.quality:
        yield "quality", "", _number(hit.quality["overall"])
    if hit.summary:
        yield "summary", "", "  the model read a summary: the text is longer than it takes"


def _number(value: float) -> str:
    return f"{value:>10.4f}"


def explain_answer(out: Console, answer: Answer, judged: str, *, alike: bool = False) -> None:
    """`judged` says how many candidates were."""
    asked = [("like", answer.query.text)] if alike else list(_question(answer, judged))
    timings = " · ".join(f"{part} {ms:.1f} ms" for part, ms in answer.timings_ms.items())
    fields(out, [*asked, *_rejected(answer), ("timings", timings)])


def _question(answer: Answer, judged: str) -> Iterator[tuple[str, str]]:
    yield "read as", answer.query.normalized
    yield "type", answer.query_type
    for number, part in enumerate(answer.parts):
        yield "" if number else "parts", part
    if answer.document_type:
        yield "asks for", f"documents of type {answer.document_type}"
    yield "weights", " · ".join(f"{name} {weight:g}" for name, weight in answer.weights.items())
    yield "funnel", _funnel(answer, judged)


def _funnel(answer: Answer, judged: str) -> str:
    accepted = len(answer.results)
    steps = (
        count(answer.candidates, "candidate"),
        judged,
        f"{accepted + len(answer.rejected):,} checked",
        f"{accepted:,} accepted",
    )
    return " → ".join(steps)


def _rejected(answer: Answer) -> Iterator[tuple[str, str]]:
    """By reason, and the first of them one by one."""
    if not answer.rejected:
        return
    yield "rejected", _reasons(answer, " · ")
    for each in answer.rejected[:NAMED]:
        known = "not judged" if each.relevance is None else f"{each.relevance:.2f}"
        yield "", f"{known} {each.node_id}: {each.reason}"
    if len(answer.rejected) > NAMED:
        yield "", f"and {len(answer.rejected) - NAMED} more; --json shows all"


def rejected_lines(answer: Answer) -> Iterator[str]:
    """What the gates let pass, and what not; and the best that they refused, where it is better
    than all that passed."""
    checked = len(answer.results) + len(answer.rejected)
    yield (
        f"accepted {len(answer.results):,} of {checked:,} checked, "
        f"of {count(answer.candidates, 'candidate')}; rejected: {_reasons(answer, ', ') or 'none'}"
    )
    best = max(answer.rejected, key=lambda each: each.relevance or 0.0, default=None)
    passed = max((hit.relevance or 0.0 for hit in answer.results), default=0.0)
    if best is not None and best.relevance is not None and best.relevance > passed:
        name = one_line(best.node_id)
        yield f"the most relevant ({best.relevance:.2f}) was rejected: {name}: {best.reason}"


def _reasons(answer: Answer, between: str) -> str:
    from sourcebook.querying.answer import counted

    return between.join(f"{reason} {n}" for reason, n in counted(answer.rejected).items())
