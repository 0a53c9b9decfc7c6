"""An evaluation of today and one of before in, what has become worse out.

The one of before is the output of `eval --json`, kept in a file. Times are not compared: they say
more about the machine than about the code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path

from sourcebook.errors import InvalidInput
from sourcebook.model import Json

TOLERANCE = 0.005
LOWER_IS_BETTER = frozenset({"failure@20", "forbidden@10", "ece"})
_NOISE = 1e-9
"""Of the binary form of decimal numbers."""


@dataclass(frozen=True, slots=True)
class Difference:
    mode: str
    measure: str
    baseline: float | None
    now: float | None

    @property
    def change(self) -> float | None:
        if self.baseline is None or self.now is None:
            return None
        return round(self.now - self.baseline, 5)

    def worse(self, tolerance: float) -> bool:
        """By more than the tolerance. A measure that has no data any more is worse."""
        if self.baseline is None:
            return False
        if self.now is None:
            return True
        loss = self.baseline - self.now
        return (-loss if self.measure in LOWER_IS_BETTER else loss) > tolerance + _NOISE

    def to_dict(self) -> dict[str, Json]:
        return {**asdict(self), "change": self.change}


def read_baseline(
    file: Path, dataset: str, modes: Sequence[str], measures: Sequence[str]
) -> Mapping[str, Json]:
    """What `eval --json` said of this dataset before; anything else is refused."""
    if not file.is_file():
        raise _refusal(file, "there is no such file")
    try:
        found = json.loads(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _refusal(file, "it is not JSON") from None
    if not _has_shape(found):
        raise _refusal(file, "it is not the output of `sourcebook eval --json`")
    if found["dataset"] != dataset:
        raise _refusal(file, f"it measures {found['dataset']!r}, not {dataset!r}")
    known = {name for measured in found["modes"].values() for name in measured}
    if unknown := known - set(measures):
        raise _refusal(file, f"it has the measure {min(unknown)!r}, which this evaluation has not")
    if not set(found["modes"]) & set(modes):
        raise _refusal(file, f"it has none of the modes {', '.join(modes)}")
    return dict(found)


def compare(result: Mapping[str, Json], baseline: Mapping[str, Json]) -> list[Difference]:
    """Every measure of the baseline in the modes that both have."""
    if result["queries"] != baseline["queries"]:
        raise InvalidInput(
            f"the baseline was measured on {baseline['queries']} queries of {result['dataset']}, "
            f"this is on {result['queries']}; make a new baseline with `sourcebook eval --json`",
            field="baseline",
        )
    return [
        Difference(mode, name, before, measured.get(name))
        for mode, measured in result["modes"].items()
        for name, before in baseline["modes"].get(mode, {}).items()
    ]


def _has_shape(found: Json) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("dataset"), str):
        return False
    modes, queries = found.get("modes"), found.get("queries")
    if not isinstance(modes, dict) or not modes or type(queries) is not int:
        return False
    return all(
        isinstance(measured, dict) and measured and all(map(_is_measure, measured.values()))
        for measured in modes.values()
    )


def _is_measure(value: Json) -> bool:
    return value is None or (type(value) in (int, float) and isfinite(value))


def _refusal(file: Path, why: str) -> InvalidInput:
    return InvalidInput(f"{file} cannot be the baseline: {why}", field="baseline")
