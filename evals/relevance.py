"""Fit the local reranker and the relevance of hits, and measure both on questions not fitted on.

    python evals/relevance.py [--data DIR] [--store URL] [--write FILE] [--json FILE]

Questions, each corpus a repository of the store (made if it is missing):

- SciFact: the training claims to fit on, the test claims to measure on;
- Cranfield, code (contextual retrieval), the CC&Rs and Archisurance: every second question to fit
  on, the others to measure on;
- questions about something else (golden/off_topic.jsonl) asked of SciFact, the CC&Rs and
  Archisurance: the same halves.

The order: weights of the features by the likelihood of the judged passages among the candidates of
their question (a softmax over the candidates). The relevance: two
logistic regressions, for whether a question can be answered and for which passage answers it.
Printed for the questions that were not fitted on: nDCG@10 of the fused order and of the reranked
one, also with the halves changed about; AUROC of the best hit's relevance for answerable against
other questions; and the expected calibration error of the relevance of the first ten hits, and of
the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import contextual
import numpy as np
from _program import arguments, report
from numpy.typing import NDArray
from scipy.optimize import minimize

from sourcebook import Sourcebook
from sourcebook.engine import Engine
from sourcebook.evaluation import read_collection
from sourcebook.ingest import Request
from sourcebook.measures import ndcg
from sourcebook.model import Filter, Node, ReadContext
from sourcebook.ports import Within
from sourcebook.querying.answer import Options
from sourcebook.querying.judge import tell
from sourcebook.querying.prepare import prepare
from sourcebook.querying.recall import recall
from sourcebook.querying.relevance import OK, Fit, crowd, highest, logistic, peers, weighted
from sourcebook.querying.search import Searches
from sourcebook.sources import read

GOLDEN = Path(__file__).parent / "golden"
DEPTH = 100
HITS = 10
KINDS = {
    "gte-small/late": ("fused", "lexical", "maxsim"),  # beside MaxSim, the cosine adds nothing
    "gte-small/dense": ("fused", "cosine", "lexical"),
    "lexical": ("lexical",),
}
SHARES = {"SciFact": 3, "Cranfield": 2}
"""The sets with the most judgments count for more."""
NEAREST = {
    "gte-small/late": ("cosine", "maxsim"),
    "gte-small/dense": ("cosine", "lexical"),
    "lexical": ("lexical",),
}
Floats = NDArray[np.float64]
Label = Callable[[Node], float]


@dataclass
class Asked:
    """One question: the candidates' features and gains, in fused order."""

    features: dict[str, Floats]
    vectors: NDArray[np.float32]
    gains: Floats
    nodes: list[Node]
    elements: list[str]
    ideal: Mapping[str, int]
    """Gains by what is ranked."""
    answerable: bool = True


@dataclass
class Corpus:
    name: str
    fit: list[Asked]
    held: list[Asked]


# --- questions -----------------------------------------------------------------------------------


def ask(engine: Engine, text: str, gain: Label, filters: tuple[Filter, ...] = ()) -> Asked:
    options = Options(depth=DEPTH, filters=filters, weights=weights(engine))
    revision = engine.resolve(ReadContext()).revision
    within = Within(revision, filters=filters)
    searches = Searches(engine.store, engine.embedder, engine.scope, engine.space)
    found = recall(searches, prepare(text), options, DEPTH, within)
    pool = found.fused[:DEPTH]
    told = tell(searches, found, pool, within, late=True)
    rows = [f.passage for f in pool]
    assert not told.degraded, told.degraded
    nodes = [p.node for p in engine.store.passages(engine.scope, revision, rows)]
    gains = np.array([gain(node) for node in nodes])
    assert told.vectors is not None
    elements = [node.element_id for node in nodes]
    return Asked(dict(told.features), told.vectors, gains, nodes, elements, {})


def weights(engine: Engine) -> dict[str, float]:
    ours = engine.settings.search
    return {
        "dense": ours.dense_weight,
        "sparse": ours.sparse_weight,
        "staged": ours.staged_weight,
        "combined": ours.combined_weight,
    }


def judged(
    engine: Engine, queries: Mapping[str, str], judgments: Mapping[str, Mapping[str, int]]
) -> Iterator[Asked]:
    """Questions of a test collection; what is ranked are documents."""
    for query, text in queries.items():
        gains = judgments[query]
        asked = ask(engine, text, lambda node, g=gains: max(g.get(node.element_id, 0), 0))
        asked.ideal = gains
        yield asked


def golden(engine: Engine, name: str, right: Callable[[Node, str], bool]) -> Iterator[Asked]:
    """Questions of a golden file; what is ranked are the places that it names."""
    for line in (GOLDEN / name).read_text("utf-8").splitlines():
        row = json.loads(line)
        wanted = row.get("must_include") or row.get("any_of") or []

        def gain(node: Node, wanted: Sequence[str] = wanted) -> float:
            return float(any(right(node, want) for want in wanted))

        asked = ask(engine, row["query"], gain)
        asked.answerable = row["answerable"]
        asked.ideal = {"right": 1}
        asked.elements = [
            "right" if g else f"wrong {i}" for i, g in enumerate(asked.gains.tolist())
        ]
        yield asked


def halves(found: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    return list(found[::2]), list(found[1::2])


def corpora(opened: Engine, data: Path) -> Iterator[Corpus]:
    engine = collection(opened, data / "scifact", "corpus.jsonl")
    train, test = (read_judged(data / "scifact", part) for part in ("_train", ""))
    off_fit, off_held = halves(list(golden(engine, "off_topic.jsonl", lambda *_: False)))
    yield Corpus(
        "SciFact", list(judged(engine, *train)) + off_fit, list(judged(engine, *test)) + off_held
    )
    engine = collection(opened, data / "cranfield", "corpus.jsonl")
    yield Corpus("Cranfield", *halves(list(judged(engine, *read_judged(data / "cranfield", "")))))
    yield Corpus("code", *halves(list(code(opened, data / "contextual_retrieval"))))
    engine = opened.in_repository("eval-golden-ccr")
    path = data / "hoa/discovery_west/ccr_discovery_west.txt"
    engine.take_in(Request(read(path, source=path.name)))
    yield with_off_topic("CC&Rs", engine, "ccr_questions.jsonl", in_section)
    engine = opened.in_repository("eval-golden-archisurance")
    path = data / "archimate/models/Archisurance.xml"
    engine.take_in(Request(read(path, source=path.name)))
    yield with_off_topic("Archisurance", engine, "archisurance_questions.jsonl", is_element)


def code(opened: Engine, folder: Path) -> Iterator[Asked]:
    """Questions about code; what is ranked are the chunks that the set gives."""
    files, questions = contextual.read_set(folder)
    engine = contextual.indexed(opened, files, "in context")
    spans = contextual.names(files)

    def names(node: Node) -> list[str]:
        own = spans.get(node.element_id, [])
        return [name for start, end, name in own if start < node.end and node.start < end]

    for question in questions:
        wanted = contextual.golden(question)
        asked = ask(engine, question["query"], lambda n, w=wanted: float(bool(w & set(names(n)))))
        asked.ideal = dict.fromkeys(wanted, 1)
        asked.elements = [" ".join(names(node)) or node.id for node in asked.nodes]
        yield asked


def in_section(node: Node, heading: str) -> bool:
    return heading in " > ".join(node.section_path)


def is_element(node: Node, element: str) -> bool:
    return node.element_id == element


def with_off_topic(
    name: str, engine: Engine, file: str, right: Callable[[Node, str], bool]
) -> Corpus:
    fit, held = halves(list(golden(engine, file, right)))
    off_fit, off_held = halves(list(golden(engine, "off_topic.jsonl", lambda *_: False)))
    return Corpus(name, fit + off_fit, held + off_held)


def collection(opened: Engine, folder: Path, corpus: str) -> Engine:
    engine = opened.in_repository(f"eval-{folder.name}")
    path = folder / corpus
    engine.take_in(Request(read(path, source=engine.source_of(path), format="jsonl")))
    return engine


def read_judged(folder: Path, part: str) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    if not part:
        found = read_collection(folder)
        return dict(found.queries), {q: dict(j) for q, j in found.judgments.items()}
    lines = (folder / f"queries{part}.jsonl").read_text("utf-8").splitlines()
    texts = {row["_id"]: row["text"] for row in map(json.loads, lines)}
    judgments: dict[str, dict[str, int]] = {}
    for line in (folder / f"qrels{part}.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, gain = line.split("\t")
        judgments.setdefault(query, {})[document] = int(gain)
    return {q: t for q, t in texts.items() if q in judgments}, judgments


# --- fitting -------------------------------------------------------------------------------------


def fit_order(
    parts: Sequence[Sequence[Asked]], names: Sequence[str], l2: float = 1e-3
) -> dict[str, float]:
    """Weights, none below 0, that make the judged passages likely; every part counts the same."""
    rows = []
    for part in parts:
        usable = [a for a in part if a.gains.sum() > 0]
        for a in usable:
            matrix = np.stack([a.features[name] for name in names], axis=1)
            rows.append((matrix, a.gains / a.gains.sum(), 1 / len(usable) / len(parts)))
    everything = np.concatenate([matrix for matrix, _, _ in rows])
    scale = everything.std(axis=0) + 1e-9
    middle = everything.mean(axis=0)
    rows = [((matrix - middle) / scale, share, weight) for matrix, share, weight in rows]

    def loss(w: Floats) -> tuple[float, Floats]:
        total, slope = l2 * w @ w, 2 * l2 * w
        for matrix, share, weight in rows:
            s = matrix @ w
            s = s - s.max()
            p = np.exp(s)
            total -= weight * (share @ (s - np.log(p.sum())))
            slope = slope - weight * (matrix.T @ (share - p / p.sum()))
        return total, slope

    bounds = [(0, None)] * len(names)
    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", bounds=bounds).x
    found = found / scale
    return {name: round(float(w), 4) for name, w in zip(names, found, strict=True)}


def fit_score(
    found: Sequence[Corpus], kind: str, names: Sequence[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """The weights that choose the peers, and those of the score; every question gets both."""
    parts = [c.fit for c in found for _ in range(SHARES.get(c.name, 1))]
    everyone = [a for c in found for a in (*c.fit, *c.held)]
    first = fit_order(parts, names)
    for a in everyone:
        a.features["peers"] = peers(weighted(first, a.features), a.vectors)
    score = fit_order(parts, [*names, "peers"]) if kind != "lexical" else first
    for a in everyone:
        a.features["score"] = weighted(score, a.features)
    return first, score


def crossed(
    found: Sequence[Corpus], kind: str, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Fitted on either half and measured on the other: all questions, none of them seen before.
    Of SciFact the training claims are always fitted on, the test claims never."""
    turned = [c if c.name == "SciFact" else Corpus(c.name, c.held, c.fit) for c in found]
    told: dict[str, list[tuple[float, float]]] = {}
    for part in (turned, found):
        fit_score(part, kind, names)
        for c in part:
            for a in c.held:
                if a.answerable:
                    both = ranked(a, a.features["fused"]), ranked(a, a.features["score"])
                    told.setdefault(c.name, []).append(both)
    means = {name: np.mean(both, axis=0).round(4).tolist() for name, both in told.items()}
    return {n: {"fused ndcg@10": f, "reranked ndcg@10": r} for n, (f, r) in means.items()}


def hits(asked: Asked, score: Floats) -> NDArray[np.int64]:
    return np.argsort(-score, kind="stable")[:HITS]


def fit_answerable(parts: Sequence[Sequence[Asked]], names: Sequence[str]) -> dict[str, float]:
    """Answerable against other questions, by how near the nearest passages come."""
    rows = [
        ([highest(a.features[name])[0] for name in names], a.answerable, share)
        for part in parts
        for a, share in shared(part)
    ]
    return logistic_fit(["bias", *names], rows)


def fit_passage(parts: Sequence[Sequence[Asked]]) -> dict[str, float]:
    """The right ones among the first hits of questions that can be answered."""
    rows = []
    for part in parts:
        for a, share in shared(part):
            score = a.features["score"]
            for i in hits(a, score) if a.answerable else ():
                rows.append(([score[i], crowd(score)], a.gains[i] > 0, share))
    return logistic_fit(["bias", "score", "crowd"], rows)


def shared(part: Sequence[Asked]) -> Iterator[tuple[Asked, float]]:
    """Each question with its weight: answerable ones count as much as the others."""
    sizes = {right: sum(a.answerable == right for a in part) for right in (True, False)}
    for a in part:
        yield a, 1 / sizes[a.answerable]


def logistic_fit(
    names: Sequence[str], rows: Sequence[tuple[list[float], bool, float]], l2: float = 1e-4
) -> dict[str, float]:
    """The weights of a logistic regression; the first name is that of the bias."""
    x, y = np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])
    share = np.array([row[2] for row in rows])
    share = share / share.sum()
    middle, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    z = np.column_stack([np.ones(len(x)), (x - middle) / scale])

    def loss(w: Floats) -> tuple[float, Floats]:
        p = logistic(z @ w)
        likely = y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12)
        small = np.r_[0, w[1:]]
        return l2 * small @ small - share @ likely, z.T @ (share * (p - y)) + 2 * l2 * small

    w = minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B").x
    slopes = w[1:] / scale
    found = [w[0] - middle @ slopes, *slopes]
    return {name: round(float(value), 4) for name, value in zip(names, found, strict=True)}


# --- measuring -----------------------------------------------------------------------------------


def auroc(right: Floats, wrong: Floats) -> float:
    """How often an answerable question's best hit looks more relevant than another's."""
    pairs = right[:, None] - wrong[None]
    return float(((pairs > 0) + 0.5 * (pairs == 0)).mean())


def calibration_error(p: Floats, y: Floats, bins: int = 10) -> float:
    where = np.minimum((p * bins).astype(int), bins - 1)
    return float(
        sum(
            abs(p[where == b].mean() - y[where == b].mean()) * (where == b).mean()
            for b in range(bins)
            if (where == b).any()
        )
    )


def ranked(asked: Asked, score: Floats) -> float:
    order = np.argsort(-score, kind="stable")
    seen = list(dict.fromkeys(asked.elements[i] for i in order))
    return ndcg(seen, asked.ideal, 10)


def threshold(parts: Sequence[Sequence[Asked]], fit: Fit) -> float:
    """The relevance that best divides answerable questions from others, both counting the same."""
    told = [(best(a, fit), a.answerable) for part in parts for a in part]
    sure = np.array([p for p, right in told if right])
    unsure = np.array([p for p, right in told if not right])
    steps = np.arange(0.02, 0.9, 0.02)
    return float(max(steps, key=lambda t: (sure >= t).mean() + (unsure < t).mean()))


def best(asked: Asked, fit: Fit) -> float:
    return float(fit.probabilities(asked.features, asked.features["score"]).max())


def pooled(found: Sequence[Corpus], fit: Fit) -> dict[str, float]:
    """Calibration over the questions of all corpora."""
    held = [a for c in found for a in c.held]
    return {
        "calibration error, ten hits": round(calibration_error(*reliability(held, fit, HITS)), 4),
        "calibration error, first hit": round(calibration_error(*reliability(held, fit, 1)), 4),
    }


def reliability(held: Sequence[Asked], fit: Fit, count: int) -> tuple[Floats, Floats]:
    """The relevance of the first hits, and whether each was right."""
    p, y = [], []
    for a in held:
        score = a.features["score"]
        for i in hits(a, score)[:count]:
            p.append(fit.probabilities(a.features, score)[i])
            y.append(float(a.gains[i] > 0))
    return np.array(p), np.array(y)


def measure(corpus: Corpus, fit: Fit) -> dict[str, Any]:
    real = [a for a in corpus.held if a.answerable]
    other = [a for a in corpus.held if not a.answerable]
    found: dict[str, Any] = {
        "questions": len(real),
        "fused ndcg@10": np.mean([ranked(a, a.features["fused"]) for a in real]),
        "reranked ndcg@10": np.mean([ranked(a, a.features["score"]) for a in real]),
    }
    if other:
        sure = np.array([best(a, fit) for a in real])
        unsure = np.array([best(a, fit) for a in other])
        found |= {
            "off topic": len(other),
            "AUROC": auroc(sure, unsure),
            "calibration error, ten hits": calibration_error(*reliability(corpus.held, fit, HITS)),
            "calibration error, first hit": calibration_error(*reliability(corpus.held, fit, 1)),
            "answered": float((sure >= OK).mean()),
            "off topic answered": float((unsure >= OK).mean()),
        }
    return {k: round(float(v), 4) for k, v in found.items()}


def main() -> None:
    given = arguments(__doc__, write="write the weights, such as …/querying/relevance.json")
    result: dict[str, Any] = {}
    fits: dict[str, Any] = {}
    with Sourcebook.open(given.store) as opened:
        found = []
        for corpus in corpora(opened, given.data):
            print(f"{corpus.name}: {len(corpus.fit)} to fit, {len(corpus.held)} to measure")
            found.append(corpus)
    for kind, names in KINDS.items():
        each_by_the_other = crossed(found, kind, names)
        first, score = fit_score(found, kind, names)
        with_others = [c for c in found if any(not a.answerable for a in c.fit)]
        calibrated = [c.fit for c in with_others]
        answerable = fit_answerable(calibrated, NEAREST[kind])
        fit = Fit(first, score, answerable, fit_passage(calibrated))
        fits[kind] = asdict(fit)
        result[kind] = {c.name: measure(c, fit) for c in found}
        result[kind]["all"] = pooled(with_others, fit)
        result[kind]["fitted on one half, measured on the other"] = each_by_the_other
        print(kind, "threshold on what was fitted:", threshold(calibrated, fit))
        print(kind, json.dumps(fits[kind]))
        print(json.dumps(result[kind], indent=1), flush=True)
    if given.write:
        given.write.write_text(json.dumps(fits, indent=2) + "\n", "utf-8")
    report(result, given.json)


if __name__ == "__main__":
    main()
