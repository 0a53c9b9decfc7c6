"""Measure topic boundaries: labelled documents and dialogues in, mean Pk of each set out.

    python evals/boundaries.py [--data DIR] [--model DIR] [--json]

Pk (Beeferman and others, 1999) is the share of pairs of units, half a mean reference segment apart,
of which the reference and the detector disagree whether they are in the same segment: 0 is perfect.
The number of segments is never told to the detector.

The constants of the detector were chosen on one half: Choi's sets 1 and 2 with an odd document
number, and the dialogues with an odd number. `held_out` is the mean over the rest, `all` over all.
Baselines of the same run: no boundary at all, a boundary after every mean segment length (which
knows the reference), random ones of that rate, and block comparison in the manner of TextTiling.
"""

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from sourcebook.chunking.boundaries import cuts, detect, distances
from sourcebook.models.static import StaticModel

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {"choi 3-11": 0.13, "dialseg711": 0.35}

Cuts = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sample:
    """A document with its reference: the units and the lengths of their segments."""

    group: str
    number: int
    tuned: bool
    turns: bool
    units: Sequence[str]
    segments: Sequence[int]


@dataclass(frozen=True, slots=True)
class Measured:
    """A sample with what the detector is given."""

    sample: Sample
    vectors: NDArray[np.float32]
    lengths: NDArray[np.int64]


def choi(folder: Path) -> Iterator[Sample]:
    """The 700 standard documents of Choi 2000: sets 1 to 3."""
    with gzip.open(folder / "choi" / "choi.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["set"] in {"1", "2", "3"}:
                number = int(row["id"].rsplit("/", 1)[1])
                yield Sample(
                    group=f"choi {row['range']}",
                    number=number,
                    tuned=number % 2 == 1 and row["set"] != "3",
                    turns=False,
                    units=[unit for segment in row["segments"] for unit in segment],
                    segments=[len(segment) for segment in row["segments"]],
                )


def dialseg(folder: Path) -> Iterator[Sample]:
    """The test dialogues of DialSeg711 (Xu and others, 2021)."""
    text = (folder / "dialseg711" / "dialseg_711.json").read_text(encoding="utf-8")
    for row in json.loads(text):
        if row["set"] == "test":
            number = int(row["dial_id"])
            units, segments = row["utterances"], row["segments"]
            yield Sample("dialseg711", number, number % 2 == 1, True, units, segments)


def reference(sample: Sample) -> Cuts:
    """Whether the reference has a boundary in each gap."""
    marks = np.zeros(len(sample.units) - 1, dtype=np.bool_)
    marks[np.cumsum(sample.segments)[:-1] - 1] = True
    return marks


def pk(truth: Cuts, guess: Cuts) -> float:
    """Pk with k half of the mean reference segment, at least 1."""
    k = max(1, round((len(truth) + 1) / (int(truth.sum()) + 1) / 2))
    apart = [np.convolve(marks, np.ones(k), mode="valid") > 0.5 for marks in (truth, guess)]
    return float(np.mean(apart[0] != apart[1]))


def by_detector(one: Measured) -> Cuts:
    return cuts(one.vectors, lengths=one.lengths, turns=one.sample.turns)


def by_blocks(one: Measured) -> Cuts:
    """Hearst's TextTiling over the same vectors: valleys deeper than the mean less half a sigma."""
    alike = 1.0 - distances(one.vectors)
    depths = np.zeros(len(alike))
    for at in range(len(alike)):
        left, right = at, at
        while left > 0 and alike[left - 1] >= alike[left]:
            left -= 1
        while right < len(alike) - 1 and alike[right + 1] >= alike[right]:
            right += 1
        depths[at] = alike[left] + alike[right] - 2 * alike[at]
    return np.asarray(depths > depths.mean() + depths.std() / 2)


def at_random(one: Measured) -> Cuts:
    truth = reference(one.sample)
    drawn = np.random.default_rng(one.sample.number).random(len(truth))
    return np.asarray(drawn < truth.mean())


def evenly(one: Measured) -> Cuts:
    truth = reference(one.sample)
    places = np.arange(1, len(truth) + 1)
    share = (int(truth.sum()) + 1) / (len(truth) + 1)
    return np.asarray(np.floor(places * share) > np.floor((places - 1) * share))


def nowhere(one: Measured) -> Cuts:
    return np.zeros(len(one.sample.units) - 1, dtype=np.bool_)


METHODS: dict[str, Callable[[Measured], Cuts]] = {
    "detect": by_detector,
    "texttiling": by_blocks,
    "even": evenly,
    "random": at_random,
    "none": nowhere,
}


def scores(measured: Sequence[Measured], method: Callable[[Measured], Cuts]) -> dict[str, float]:
    """Mean Pk of one group by one method, over the held-out half and over all."""
    each = [(one.sample.tuned, pk(reference(one.sample), method(one))) for one in measured]
    held_out = [score for tuned, score in each if not tuned]
    whole = [score for _, score in each]
    return {"held_out": round(fmean(held_out), 4), "all": round(fmean(whole), 4)}


def evaluate(model: StaticModel, samples: Sequence[Sample]) -> dict[str, object]:
    """Scores of every group and method, and the speed of the vectors and of the detector."""
    begun = time.perf_counter()
    measured = [Measured(sample, *model.measure(sample.units)) for sample in samples]
    embedded = time.perf_counter()
    for one in measured:
        detect(one.vectors, lengths=one.lengths, turns=one.sample.turns)
    detected = time.perf_counter()
    groups: dict[str, list[Measured]] = {}
    for one in measured:
        groups.setdefault(one.sample.group, []).append(one)
    units = sum(len(sample.units) for sample in samples)
    return {
        "pk": {
            group: {name: scores(members, method) for name, method in METHODS.items()}
            for group, members in sorted(groups.items())
        },
        "documents": {group: len(members) for group, members in sorted(groups.items())},
        "units": units,
        "units_per_second": {
            "embed": round(units / (embedded - begun)),
            "detect": round(units / (detected - embedded)),
        },
        "targets": TARGETS,
    }


def show(result: dict[str, object]) -> None:
    """Print a table of mean Pk over all documents, the held-out half in brackets."""
    table = result["pk"]
    assert isinstance(table, dict)
    print(f"{'mean Pk (held-out half)':24}" + "".join(f"{name:>17}" for name in METHODS))
    for group, row in table.items():
        cells = (f"{row[name]['all']:.3f} ({row[name]['held_out']:.3f})" for name in METHODS)
        print(f"{group:24}" + "".join(f"{cell:>17}" for cell in cells))
    print(f"{result['units']} units; per second: {result['units_per_second']}")


def located() -> Path:
    """The folder of the installed model; imported late, so that --model needs no installation."""
    from sourcebook.models.install import locate

    return Path(locate("potion-base-8M"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = os.environ.get("SOURCEBOOK_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--model", type=Path, help="folder of the static model")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    given = parser.parse_args()
    model = StaticModel(given.model or located())
    result = evaluate(model, [*choi(given.data), *dialseg(given.data)])
    print(json.dumps(result, indent=2)) if given.json else show(result)


if __name__ == "__main__":
    main()
