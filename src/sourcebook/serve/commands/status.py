"""`status`: what a repository holds, whether its index is complete, and how questions were
answered."""

from __future__ import annotations

from functools import partial
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.serve.options import Json, chosen
from sourcebook.serve.render import count, fields, note, one_line, table
from sourcebook.serve.reply import Reply

_LONGEST_QUERY = 60
_LARGEST = 3


def status(ctx: typer.Context, as_json: Json = False) -> Reply:
    """Show what the repository holds, what is still to be indexed and what was asked."""
    from sourcebook.bootstrap import shown

    with chosen(ctx).open() as engine:
        data = {**engine.status(), "storage": dict(engine.store.storage())}
        where = (shown(engine.settings.store), engine.settings.repository)
    return Reply(data, partial(_show, data, where), as_json)


def _show(data: dict[str, Any], where: tuple[str, str], out: Console) -> None:
    holds = ", ".join(f"{name} {number:,}" for name, number in data["counts"].items() if number)
    index = data["index"]
    rows = [
        ("store", where[0]),
        ("takes", _room(data["storage"])),
        ("repository", where[1]),
        ("revision", data["revision"] or "none yet; run `sourcebook ingest PATH`"),
        ("published", data["published"] or "nothing"),
        ("holds", holds or "nothing"),
        ("pending vectors", _pending(index)),
        *_work(index),
    ]
    spaces = [
        ("space", f"{s['id']} ({s['dimensions']} dimensions, {s['state']})") for s in data["spaces"]
    ]
    fields(out, [*rows, *spaces, *_asked(data["queries"])])
    _failures(out, index)
    _questions(out, data["queries"])


def _room(storage: dict[str, Any]) -> str:
    """`1.2 GB; passage 700 MB, posting 210 MB, …`, the tables with what is dead in them."""
    total = _bytes(storage["bytes"])
    largest = sorted(storage.get("tables", []), key=lambda t: -t["bytes"] - t["index_bytes"])[
        :_LARGEST
    ]
    parts = [
        f"{t['table']} {_bytes(t['bytes'] + t['index_bytes'])}"
        + (f" ({t['dead_rows']:,} dead rows)" if t["dead_rows"] > t["rows"] / 5 else "")
        for t in largest
    ]
    slow = storage.get("slow") or []
    told = f"; {count(len(slow), 'slow statement')}, see --json" if slow else ""
    return "; ".join([total, ", ".join(parts)]) + told if parts else total


def _bytes(number: int) -> str:
    """`35 kB`, `1.2 GB`."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1e3:.0f} kB"


def _pending(index: dict[str, Any]) -> str:
    """`1,200, the oldest for 35 s; 512 at work, 3 to be tried again`."""
    if not index["pending"]:
        return "0"
    parts = [
        *([f"{index['claimed']:,} at work"] if index["claimed"] else []),
        *([f"{index['retrying']:,} to be tried again"] if index["retrying"] else []),
    ]
    line = f"{index['pending']:,}, the oldest for {_span(index['oldest_pending_s'])}"
    return "; ".join([line, ", ".join(parts)]) if parts else line


def _work(index: dict[str, Any]) -> list[tuple[str, str]]:
    """How fast vectors come, and what they took so far."""
    rate = index["vectors_per_s"]
    rows = [("throughput", f"{rate:,.1f} vectors a second")] if rate else []
    for each in index["spending"]:
        cost = "" if not each["cost"] else f", {each['cost']:,.4f} US dollars"
        took = f"{each['texts']:,} texts, {each['tokens']:,} tokens, {_span(each['seconds'])}"
        rows.append(("embedded", f"by {each['provider']}/{each['model']}: {took}{cost}"))
    return rows


def _span(seconds: float) -> str:
    """`35 s`, `12 min`, `3.5 h`, `2.1 days`."""
    for unit, size in (("days", 86_400), ("h", 3_600)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def _failures(out: Console, index: dict[str, Any]) -> None:
    """The texts that could not be embedded; those that were given up stand first."""
    if index["failed"]:
        texts = count(index["failed"], "text")
        advice = "`sourcebook reindex --failed` tries them again"
        note(out, "failed", f"{texts} could not be embedded; {advice}")
    if index["failures"]:
        rows = [
            (_start(f["text"]), f["error"], f["attempts"], "given up" if f["dead"] else "again")
            for f in index["failures"]
        ]
        table(out, ("text", "error", "attempts", "next"), rows, whole=("attempts", "next"))


def _start(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_QUERY else line[: _LONGEST_QUERY - 1] + "…"


def _asked(queries: dict[str, Any]) -> list[tuple[str, str]]:
    """How questions were answered, a line each."""
    if not queries["count"]:
        return [("questions", "none yet" if queries["logged"] else "not logged")]
    since = queries["since"][:16].replace("T", " ")
    rows = [("questions", f"{queries['count']:,} since {since} UTC")]
    rows.append(("answered", _shares(queries["status"])))
    if queries["sources"]["both"] is not None:
        rows.append(("found by", _shares(queries["sources"])))
    if queries["relevance"]["mean"] is not None:
        rows.append(("relevance", "of the first hit: " + _numbers(queries["relevance"], ".2f")))
    rows.append(("latency in ms", _numbers(queries["latency_ms"], ".0f")))
    by_rerank = queries["latency_ms_by_rerank"]
    if len(by_rerank) > 1:
        rows += [
            (f"… {name}", _numbers({k: v for k, v in times.items() if k != "count"}, ".0f"))
            for name, times in by_rerank.items()
        ]
    return rows


def _questions(out: Console, queries: dict[str, Any]) -> None:
    """What is asked most, and what finds too little."""
    lists = {
        "asked most": queries["hot"],
        "no results": queries["no_results"]["queries"],
        "low confidence": queries["low_confidence"]["queries"],
    }
    for title, questions in lists.items():
        if questions:
            out.print(Text(f"\n{title}", style="bold"))
            rows = [(_words(q), q["count"], q["relevance"]) for q in questions]
            table(out, ("query", "times", "relevance"), rows, whole=("times", "relevance"))


def _words(question: dict[str, Any]) -> str:
    text: str | None = question["query"]
    if text is None:
        return f"(words not kept, {question['text_hash'][:8]})"
    return text if len(text) <= _LONGEST_QUERY else text[: _LONGEST_QUERY - 1] + "…"


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {share:.0%}" for name, share in shares.items())


def _numbers(numbers: dict[str, float], form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in numbers.items())
