"""The result of an evaluation in, a picture out: measures mode beside mode, and, where confidences
are known, how far they can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sourcebook.model import Json

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(result: Mapping[str, Json], file: Path) -> None:
    from matplotlib.figure import Figure

    mode, bins = _reliability(result)
    names = _with_data(result["modes"].values())
    wide = max(8.0, 1.3 * len(names))
    figure = Figure(figsize=(wide + (4.5 if bins else 0), 4.5), layout="constrained")
    if bins:
        left, right = figure.subplots(1, 2, width_ratios=(wide, 4.5))
        _bars(left, result, names)
        _curve(right, bins, mode)
    else:
        _bars(figure.subplots(), result, names)
    figure.savefig(file, dpi=150)


def _with_data(modes: Iterable[Mapping[str, Json]]) -> list[str]:
    """The measures that any mode has a number for."""
    known = (name for measured in modes for name, value in measured.items() if value is not None)
    return list(dict.fromkeys(known))


def _bars(axes: Axes, result: Mapping[str, Json], names: list[str]) -> None:
    modes = result["modes"]
    width = 0.8 / len(modes)
    for number, (mode, measured) in enumerate(modes.items()):
        shift = (number - (len(modes) - 1) / 2) * width
        known = [(place, measured[n]) for place, n in enumerate(names) if measured[n] is not None]
        places, heights = [place + shift for place, _ in known], [value for _, value in known]
        bars = axes.bar(places, heights, width * 0.94, label=mode)
        axes.bar_label(bars, fmt="%.3f", fontsize=6, padding=2, rotation=90)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(0, 1.15)
    axes.set_title(f"{result['dataset']}: {result['queries']} queries")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=len(modes), loc="upper center", bbox_to_anchor=(0.5, -0.08))


def _curve(axes: Axes, bins: list[Mapping[str, Json]], mode: str) -> None:
    """On the diagonal, a relevance of 0.7 is right seven times out of ten."""
    most = max(each["count"] for each in bins)
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=1)
    axes.scatter(
        [each["confidence"] for each in bins],
        [each["right"] for each in bins],
        s=[20 + 180 * each["count"] / most for each in bins],
        zorder=2,
    )
    axes.set(xlim=(0, 1), ylim=(-0.03, 1.03), aspect="equal")
    axes.set_xlabel("relevance of the first hit")
    axes.set_ylabel("share that is wanted")
    axes.set_title(f"reliability ({mode})")
    axes.spines[["top", "right"]].set_visible(False)


def _reliability(result: Mapping[str, Json]) -> tuple[str, list[Mapping[str, Json]]]:
    """Of `default`, or of the last mode that has any."""
    known = {mode: bins for mode, bins in result.get("reliability", {}).items() if bins}
    mode = "default" if "default" in known else next(reversed(known), "")
    return mode, known.get(mode, [])
