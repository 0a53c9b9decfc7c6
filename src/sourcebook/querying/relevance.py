"""What the searches say of passages in; one score to order them by, and the probability that each
answers the question, out.

The score is a weighted sum of four things, each on a scale of its own that no other question moves:
the cosine with the question, its share of the question's words, MaxSim over token vectors, and how
like the passage is to its *peers*, those that looked best by the first three: documents that answer
one question resemble each other (the cluster hypothesis, van Rijsbergen 1979). The probability is a
logistic function of the score and of how good the best passages are, so within one question it has
the score's order. Both were fitted by evals/relevance.py, on judged questions and on questions
about something else, for each embedding model. Nothing was fitted for a model that is not in the
file: it gets a cautious reading of its cosines, and the answer says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from sourcebook.ports import Evidence, Floats, Vectors

PEERS = 10
"""Passages that the others are compared with."""
SHARP = 2.0
"""How much more the best of them count than the next."""
OK = 0.5
"""From this relevance of the best passage on, a question counts as answered."""
FEATURES = ("cosine", "lexical", "maxsim")


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights by the name of what they weigh."""

    first: Mapping[str, float]
    """Of the score that chooses the peers."""
    score: Mapping[str, float]
    relevance: Mapping[str, float]
    """Of the logistic function: "bias", "score", and "best_…" of the best passages."""

    def scores(self, features: Mapping[str, Floats], vectors: Vectors | None) -> Floats:
        everything = dict(features)
        if "peers" in self.score and vectors is not None:
            everything["peers"] = peers(_sum(self.first, features), vectors)
        return _sum(self.score, everything)

    def probabilities(self, scores: Floats, features: Mapping[str, Floats]) -> Floats:
        told = {"score": scores, **best(features, len(scores))}
        return logistic(self.relevance["bias"] + _sum(_without_bias(self.relevance), told))


def features(evidence: Evidence, maxsim: Floats | None) -> dict[str, Floats]:
    """By name; what is not known of one passage is the least that is known of another."""
    found = {"lexical": evidence.lexical}
    if evidence.cosine is not None and not np.isnan(evidence.cosine).all():
        found["cosine"] = _filled(evidence.cosine)
        if maxsim is not None:
            found["maxsim"] = _filled(maxsim)
    return found


def best(features: Mapping[str, Floats], size: int) -> dict[str, Floats]:
    """How good the best passages are, the same for all: the mean of each feature's three highest
    values."""
    return {
        f"best_{name}": np.full(size, np.sort(values)[-3:].mean() if size else 0.0)
        for name, values in features.items()
    }


def peers(first: Floats, vectors: Vectors) -> Floats:
    """Each passage's mean cosine with the best others, weighted by their scores."""
    weights = np.zeros(len(first))
    top = np.argsort(-first, kind="stable")[:PEERS]
    weights[top] = np.exp(SHARP * (first[top] - first.max(initial=-np.inf)))
    alike = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(alike, 0.0)
    others = weights.sum() - weights
    near: Floats = alike @ weights / np.where(others > 0, others, 1.0)
    return near


def fit_for(model: str | None, features: Mapping[str, Floats]) -> Fit | None:
    """The fit for a model and what is known; without cosines that of full-text search alone."""
    kind = "late" if "maxsim" in features else "dense" if "cosine" in features else "lexical"
    return _fits().get(f"{model}/{kind}" if kind != "lexical" else kind)


def cautious(features: Mapping[str, Floats]) -> Floats:
    """For a model that was never fitted: only what is high in any space comes near to 0.6."""
    cosine = features.get("cosine", np.zeros(len(features["lexical"])))
    return np.clip(cosine - 0.6 + features["lexical"] / 2, 0.0, 0.6)


def logistic(values: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(values, -50, 50)))
    return found


@cache
def _fits() -> Mapping[str, Fit]:
    file = resources.files(__package__).joinpath("relevance.json")
    return {name: Fit(**parts) for name, parts in json.loads(file.read_text("utf-8")).items()}


def _sum(weights: Mapping[str, float], told: Mapping[str, Floats]) -> Floats:
    total: Floats = np.sum([weight * told[name] for name, weight in weights.items()], axis=0)
    return total


def _without_bias(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: weight for name, weight in weights.items() if name != "bias"}


def _filled(values: Floats) -> Floats:
    return np.where(np.isnan(values), np.nanmin(values), values)
