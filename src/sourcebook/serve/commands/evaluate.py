"""`eval`: a test collection or golden questions in, retrieval quality out, mode by mode; with a
baseline also what has become worse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.serve.options import Json, chosen
from sourcebook.serve.progress import bars
from sourcebook.serve.render import count, one_line, table
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from sourcebook.regression import Difference

_WRONG_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What to measure, and what to do with it."""

    path: Path
    modes: list[str]
    run: Path | None
    plot: Path | None
    baseline: Path | None
    tolerance: float

    @property
    def golden(self) -> bool:
        return self.path.is_file()

    @property
    def dataset(self) -> str:
        return self.path.stem if self.golden else self.path.resolve().name


def evaluate(
    ctx: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", show_default=False, help="A BEIR folder, or a file of golden questions."
        ),
    ],
    run: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the default ranking as a TREC run.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the measures.")
    ] = None,
    modes: Annotated[
        str, typer.Option(metavar="M,…", help="Which modes to measure.")
    ] = "dense,sparse,hybrid,default",
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier `eval --json`; worse than that is status 1."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(metavar="X", help="How much worse a measure may be.")
    ] = 0.005,
    as_json: Json = False,
) -> Reply:
    """Measure retrieval quality on a test collection or on golden questions."""
    wanted = [mode.strip() for mode in modes.split(",") if mode.strip()]
    wish = Wish(path, wanted, run, plot, baseline, tolerance)
    _check(wish)
    before = _baseline(wish)
    result = _measure(ctx, wish)
    differences = _compare(result, before)
    worse = [each for each in differences if each.worse(tolerance)]
    if before is not None:
        result["regressions"] = [each.to_dict() for each in worse]
    if plot is not None:
        from sourcebook.plots import plot as draw

        draw(result, plot)
    show = partial(_show, result, wish, differences)
    return Reply(result, show, as_json, status=1 if worse else 0)


def _measure(ctx: typer.Context, wish: Wish) -> dict[str, Any]:
    from sourcebook import evaluation, golden

    with chosen(ctx).open() as engine, bars() as shown:
        progress = shown.step if shown else None
        if wish.golden:
            return golden.evaluate(engine, wish.path, modes=wish.modes, progress=progress)
        return evaluation.evaluate(
            engine, wish.path, modes=wish.modes, run=wish.run, progress=progress
        )


def _baseline(wish: Wish) -> Any:
    """Read before the long work, since it may be refused."""
    if wish.baseline is None:
        return None
    from sourcebook import evaluation, golden, regression

    measures = golden.MEASURES if wish.golden else evaluation.MEASURES
    return regression.read_baseline(wish.baseline, wish.dataset, wish.modes, measures)


def _compare(result: dict[str, Any], before: Any) -> list[Difference]:
    from sourcebook import regression

    return [] if before is None else regression.compare(result, before)


def _check(wish: Wish) -> None:
    """Before the long work, what would fail after it."""
    if not wish.modes:
        raise InvalidInput("--modes names no mode; for example dense,sparse", field="modes")
    if wish.run is not None and wish.golden:
        raise InvalidInput("--run is for BEIR folders; golden questions have none", field="run")
    if wish.run is not None and "default" not in wish.modes:
        raise InvalidInput("--run writes the ranking of `default`; add it to --modes", field="run")
    if not isfinite(wish.tolerance) or wish.tolerance < 0:
        raise InvalidInput("--tolerance must be 0 or more, such as 0.005", field="tolerance")
    for file in (wish.run, wish.plot):
        if file is not None and not file.absolute().parent.is_dir():
            raise InvalidInput(f"there is no folder for {file}; make it first", field="run")


# --- for people ----------------------------------------------------------------------------------


def _show(result: dict[str, Any], wish: Wish, differences: list[Difference], out: Console) -> None:
    out.print(Text(one_line(f"{result['dataset']}: {result['queries']:,} queries"), style="bold"))
    modes = result["modes"]
    names = list(next(iter(modes.values())))
    if wish.golden:
        rows = [(name, *(measured[name] for measured in modes.values())) for name in names]
        table(out, ("measure", *modes), rows)
        _show_wrong(result["wrong"], out)
    else:
        rows = [(mode, *measured.values()) for mode, measured in modes.items()]
        table(out, ("mode", *names), rows)
    if wish.baseline is not None:
        _show_differences(differences, wish, out)
    for file in (wish.run, wish.plot):
        if file is not None:
            out.print(Text(f"written: {one_line(str(file))}", style="dim"), soft_wrap=True)


def _show_wrong(wrong: list[dict[str, Any]], out: Console) -> None:
    """The questions that the default does not answer as they should be answered."""
    if not wrong:
        return
    out.print()
    out.print(Text(f"wrong: {count(len(wrong), 'question')}", style="bold"))
    rows = [(each["id"], each["query"], "; ".join(_reasons(each))) for each in wrong]
    table(out, ("id", "query", "why"), rows[:_WRONG_SHOWN])
    if len(rows) > _WRONG_SHOWN:
        out.print(Text(f"… and {len(rows) - _WRONG_SHOWN:,} more; --json has them", style="dim"))


def _reasons(wrong: dict[str, Any]) -> list[str]:
    reasons = [f"not found: {name}" for name in wrong["missing"]]
    reasons += [f"must not be found: {name}" for name in wrong["forbidden"]]
    if wrong["answerable"] != (wrong["status"] == "ok"):
        expected = "has an answer" if wrong["answerable"] else "has no answer"
        reasons.append(f"{expected}, but the status is {wrong['status']}")
    return reasons


def _show_differences(differences: list[Difference], wish: Wish, out: Console) -> None:
    worse = [each for each in differences if each.worse(wish.tolerance)]
    said = count(len(worse), "regression") if worse else "no regression"
    out.print()
    out.print(Text(one_line(f"{said} against {wish.baseline}"), style="bold"))
    rows = [
        (
            each.mode,
            each.measure,
            each.baseline,
            each.now,
            each.change,
            "worse" if each in worse else "",
        )
        for each in differences
        if each.baseline is not None or each.now is not None
    ]
    table(out, ("mode", "measure", "baseline", "now", "change", ""), rows)
