"""What the searches say of passages in; one score to order them by, and the probability that each
answers the question, out.

The score is a weighted sum of what is known of a passage: its cosine with the question, its share
of the question's words, MaxSim over token vectors, its place in the fused order, and how like it is
to its *peers*, those that look best by the first four: passages that answer one question resemble
each other (the cluster hypothesis, van Rijsbergen 1979).

The probability is that the question can be answered from here at all, told by how near the nearest
passage comes, times that this passage is the one, told by its score and by how *crowded* the
question is: the more passages score as high, the less likely is each. Within one question only the
second moves, so relevance has the score's order. The weights were fitted for each embedding
model by evals/relevance.py, on judged questions and on questions about something else. A model that
is not in the file gets a cautious reading of its cosines, and the answer says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numkong
import numpy as np

from sourcebook.ports import Evidence, Floats, Vectors

PEERS = 10
"""Passages that the others are compared with."""
SHARP = 2.0
"""How much more the best of them count than the next."""
OK = 0.15
"""From this relevance of the best passage on a question counts as answered: chosen on the questions
that were fitted on."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights by the name of what they weigh."""

    first: Mapping[str, float]
    """Of the score that chooses the peers."""
    score: Mapping[str, float]
    answerable: Mapping[str, float]
    """Of the features' highest values, and "bias"."""
    passage: Mapping[str, float]
    """"bias", and of a passage's "score" and of the "crowd"."""

    def scores(self, features: Mapping[str, Floats], vectors: Vectors | None) -> Floats:
        everything = dict(features)
        if "peers" in self.score and vectors is not None:
            everything["peers"] = peers(weighted(self.first, features), vectors)
        return weighted(self.score, everything)

    def probabilities(self, features: Mapping[str, Floats], scores: Floats) -> Floats:
        told = {"bias": np.ones(1), **{name: highest(f) for name, f in features.items()}}
        one = np.ones(len(scores))
        about = {"bias": one, "score": scores, "crowd": crowd(scores) * one}
        both: Floats = logistic(weighted(self.answerable, told)) * logistic(
            weighted(self.passage, about)
        )
        return both


def weighted(weights: Mapping[str, float], features: Mapping[str, Floats]) -> Floats:
    total: Floats = np.sum([w * features[name] for name, w in weights.items()], axis=0)
    return total


def features(fused: Floats, evidence: Evidence, maxsim: Floats | None) -> dict[str, Floats]:
    """By name; what is not known of one passage is the least that is known of another."""
    found = {"fused": fused / max(fused.max(initial=0.0), 1e-12), "lexical": evidence.lexical}
    if evidence.cosine is not None and not np.isnan(evidence.cosine).all():
        found["cosine"] = _filled(evidence.cosine)
        if maxsim is not None:
            found["maxsim"] = _filled(maxsim)
    return found


def peers(first: Floats, vectors: Vectors) -> Floats:
    """Each passage's mean cosine with the best others, weighted by their scores, less what the best
    have of it: a passage that has no others is as good as they are. One that has no vector (zeros)
    is nobody's peer, and gets the least that another has."""
    if not len(first):
        return first
    known = np.asarray(vectors.any(axis=1))
    top = np.argsort(-first, kind="stable")[:PEERS]
    weights = np.exp(SHARP * (first[top] - first.max()))
    # Starts no threads, which would cost more than they bring.
    alike = np.asarray(numkong.cdist(vectors, vectors[top], metric="dot"), np.float64)
    others = np.tile(weights, (len(first), 1))
    others[top, np.arange(len(top))] = 0.0
    others[:, ~known[top]] = 0.0
    total = others.sum(axis=1)
    near = (alike * others).sum(axis=1) / np.where(total > 0, total, 1.0)
    near[~known] = near[known].min(initial=1.0)
    return np.asarray(near - near[top].mean())


def highest(values: Floats) -> Floats:
    """As an array of one."""
    return np.array([values.max(initial=0.0)])


def crowd(scores: Floats) -> float:
    """log of the sum of all exp(score): the highest, and the more above it the more are near."""
    if not len(scores):
        return 0.0
    return float(scores.max() + np.log(np.exp(scores - scores.max()).sum()))


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


def _filled(values: Floats) -> Floats:
    return np.where(np.isnan(values), np.nanmin(values), values)
