"""Candidates in; what each is worth out: a rerank score, a relevance, and what orders them.

`none` keeps the fused order. `local` orders by relevance, whose features are told in relevance.py;
`late` by MaxSim alone; `llm` by what a language model says of the first of them. A reranker that
cannot do its work leaves the fused order and says so. Relevance comes from the same evidence,
whatever the order; only `none` reads no token vectors, and knows it a little less well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcebook.errors import ModelUnavailable
from sourcebook.model import Degraded, Fused
from sourcebook.ports import Evidence, Floats, Generator, Vectors, Within
from sourcebook.querying import ask
from sourcebook.querying.answer import Options
from sourcebook.querying.recall import Recalled
from sourcebook.querying.relevance import cautious, features, fit_for
from sourcebook.querying.search import Searches

_OWN = 0.1
"""Share of the score itself where relevance gives the distances: so equal ones stay in order."""
_REST = 0.01
"""The most that a passage is worth which the language model was not asked about."""


@dataclass(slots=True)
class Judged:
    """One entry a candidate, in their order."""

    worth: Floats
    """What they are ordered by, before adjustments; above 0."""
    relevance: Floats
    rerank: list[float | None]
    degraded: list[Degraded] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of the candidates for a question."""

    features: Mapping[str, Floats]
    vectors: Vectors | None
    degraded: list[Degraded]


def tell(
    searches: Searches, recalled: Recalled, pool: Sequence[Fused], within: Within, *, late: bool
) -> Told:
    rows = [f.passage for f in pool]
    vector = recalled.embedded.vector if recalled.embedded else None
    evidence = searches.store.evidence(
        searches.scope, searches.space, vector, recalled.query, rows, within
    )
    degraded: list[Degraded] = []
    known = evidence.cosine is not None and not np.isnan(evidence.cosine).all()
    maxsim = _maxsim(searches, recalled, rows, evidence, degraded) if late and known else None
    fused = np.array([f.score for f in pool])
    return Told(features(fused, evidence, maxsim), evidence.vectors, degraded)


def judge(
    searches: Searches,
    asked: Sequence[Recalled],
    pool: Sequence[Fused],
    options: Options,
    within: Within,
    generator: Generator | None,
) -> Judged:
    """`asked` is the question and its parts: a passage is worth what it is to the one that it
    answers best."""
    judged = _by_evidence(searches, asked[0], pool, options, within)
    for part in asked[1:]:
        judged = _better(judged, _by_evidence(searches, part, pool, options, within))
    if all(score is None for score in judged.rerank):
        judged.worth = paced(np.array([f.score for f in pool]), judged.relevance)
    if options.rerank == "llm":
        _ask(searches, asked[0], [f.passage for f in pool], judged, generator, within)
    return judged


def _by_evidence(
    searches: Searches,
    recalled: Recalled,
    pool: Sequence[Fused],
    options: Options,
    within: Within,
) -> Judged:
    told = tell(searches, recalled, pool, within, late=options.rerank != "none")
    relevance = cautious(told.features)
    judged = Judged(np.zeros(len(pool)), relevance, [None] * len(pool), told.degraded)
    fit = fit_for(searches.embedder.model, told.features)
    if fit is None:
        reason = f"{searches.embedder.model} was not calibrated; its cosines are read cautiously"
        judged.degraded.append(Degraded("relevance", reason))
    else:
        scores = fit.scores(told.features, told.vectors)
        judged.relevance = fit.probabilities(told.features, scores)
        if options.rerank == "local":
            judged.worth, judged.rerank = judged.relevance, scores.tolist()
    if options.rerank == "late":
        _by_tokens(judged, told.features.get("maxsim"))
    return judged


def _by_tokens(judged: Judged, maxsim: Floats | None) -> None:
    if maxsim is not None:
        judged.worth, judged.rerank = paced(maxsim, judged.relevance), maxsim.tolist()
    elif not any(each.part == "late" for each in judged.degraded):
        judged.degraded.append(Degraded("late", "there are no vectors to compare by"))


def _better(one: Judged, other: Judged) -> Judged:
    wins = other.relevance > one.relevance
    return Judged(
        np.maximum(one.worth, other.worth),
        np.maximum(one.relevance, other.relevance),
        [b if won else a for a, b, won in zip(one.rerank, other.rerank, wins, strict=True)],
        [*one.degraded, *other.degraded],
    )


def paced(by: Floats, relevance: Floats) -> Floats:
    """Worth in the order of `by`, at the distances of relevance: fused scores lie close together,
    and so do cosines, and a factor of 1.1 is to mean something, not everything."""
    worth = np.empty(len(by))
    worth[np.argsort(-by, kind="stable")] = np.sort(relevance)[::-1]
    own = np.maximum(by, 0.0) / max(by.max(initial=0.0), 1e-12)
    return np.asarray((1 - _OWN) * worth + _OWN * own)


def _maxsim(
    searches: Searches,
    recalled: Recalled,
    rows: Sequence[int],
    evidence: Evidence,
    degraded: list[Degraded],
) -> Floats | None:
    """NaN for a passage that has no vectors at all; None, with a reason, where one has a vector but
    no token vectors: the others could not be compared with it."""
    space, tokens = searches.space, recalled.embedded.tokens if recalled.embedded else None
    try:
        codec = searches.embedder.late
    except ModelUnavailable as error:  # the question was embedded before that
        degraded.append(Degraded("late", str(error)))
        return None
    if codec is None or tokens is None or space is None or evidence.cosine is None:
        degraded.append(Degraded("late", f"{searches.embedder.model} gives no token vectors"))
        return None
    coded = [
        code if code is not None and codec.readable(code) else None
        for code in searches.store.token_vectors(searches.scope, space, rows)
    ]
    have = np.array([code is not None for code in coded], np.bool_)
    if missing := int((~have & ~np.isnan(evidence.cosine)).sum()):
        reason = (
            f"{missing} of {len(rows)} candidates have no token vectors that this version reads; "
            "ingest into a new repository to have them"
        )
        degraded.append(Degraded("late", reason))
        return None
    found = np.full(len(rows), np.nan)
    found[have] = codec.maxsim(tokens, [code for code in coded if code is not None])
    return found


def _ask(
    searches: Searches,
    recalled: Recalled,
    rows: Sequence[int],
    judged: Judged,
    generator: Generator | None,
    within: Within,
) -> None:
    """The first ones by what the model says; those behind them keep their order below."""
    if generator is None:
        reason = "no language model is configured; set generator.base_url and generator.model"
        judged.degraded.append(Degraded("rerank", reason))
        return
    first = list(rows[: ask.LIMIT])
    stored = searches.store.passages(searches.scope, within.revision, first)
    texts = [f"{p.passage.context}\n{p.text}" if p.passage.context else p.text for p in stored]
    try:
        scores = ask.ask(generator, recalled.query.text, texts) if texts else []
    except ModelUnavailable as error:
        judged.degraded.append(Degraded("rerank", str(error)))
        return
    rest = judged.worth[len(scores) :]
    behind = rest / max(float(rest.max(initial=0.0)), 1e-9)
    judged.worth = np.concatenate([_REST + (1 - _REST) * np.array(scores), _REST * behind])
    judged.rerank = [*scores, *[None] * len(rest)]
