"""What the searches say of a passage in, the probability that it answers the question out.

A logistic function of the cosine and of the share of the question's words, fitted for each
embedding model on judged questions, near misses and questions about something else
(`evals/calibrate.py` makes the numbers). It means the same for every question. A model without a fit gets a cautious reading
of its cosines, and the answer says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp

from sourcebook.ports import Evidence


@dataclass(frozen=True, slots=True)
class Fit:
    bias: float
    cosine: float
    lexical: float
    both: float
    """Of cosine times lexical."""

    def relevance(self, evidence: Evidence) -> float:
        cosine = evidence.cosine or 0.0
        total = self.bias + self.cosine * cosine + self.lexical * evidence.lexical
        total += self.both * cosine * evidence.lexical
        return 1 / (1 + exp(-max(min(total, 50.0), -50.0)))


@cache
def fits() -> Mapping[str, Fit]:
    """By embedding model; "" is for full-text search alone."""
    file = resources.files(__package__).joinpath("calibration.json")
    return {name: Fit(**numbers) for name, numbers in json.loads(file.read_text("utf-8")).items()}


def fit_for(model: str | None) -> Fit | None:
    """The fit of a model, or None; without a model, that of full-text search."""
    return fits().get(model or "")


def cautious(evidence: Evidence) -> float:
    """For a model that was never fitted: what is surely high in any space, and never "ok" alone."""
    cosine = evidence.cosine or 0.0
    return max(0.0, min(0.49, (cosine - 0.5) + evidence.lexical / 2))
