"""USE CASE: golden questions in, how well the repository answers them out, mode by mode.

A file of JSON lines names for each question what must be found, what must not, and whether there is
an answer at all (docs/evaluation.md has the format and the measures). The index is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from time import perf_counter

from sourcebook import measures
from sourcebook.engine import Engine
from sourcebook.errors import InvalidInput, SourcebookError
from sourcebook.evaluation import MODES, USUAL, Progress, check_modes, spread, step
from sourcebook.golden_file import Question, read_questions
from sourcebook.model import Citation, Hit, Json
from sourcebook.retrieve import Answer

MEASURES = (
    "recall@10", "ndcg@10", "mrr@10", "failure@20", "forbidden@10", "citations", "abstention",
    "auroc", "ece",
)  # fmt: skip
SEEN, DEPTH = 10, 20
"""How far down people look, and where a question counts as failed."""
Holds = Callable[[Citation], bool]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question in one mode."""

    question: Question
    status: str
    ranks: tuple[int | None, ...]
    """Of each thing that is wanted: the first hit that it matches."""
    forbidden: tuple[str, ...]
    """What must not be found and was, among the hits that people see."""
    relevance: float | None
    first_is_wanted: bool
    citations: tuple[bool, ...]
    """Of each hit: whether its citation holds."""

    @property
    def missing(self) -> list[str]:
        wanted = zip(self.question.wanted, self.ranks, strict=True)
        return [" | ".join(names) for names, rank in wanted if rank is None]

    @property
    def abstained_rightly(self) -> bool:
        return self.question.answerable == (self.status == "ok")


def evaluate(
    engine: Engine,
    path: Path,
    *,
    modes: Sequence[str] = USUAL,
    progress: Progress | None = None,
) -> dict[str, Json]:
    """Measures and times of each mode, and the questions that `default` gets wrong."""
    check_modes(modes)
    questions = read_questions(path)
    engine = engine.unlogged()
    _check_index(engine, questions, path)
    holds = _replayer(engine)
    outcomes, timings = {}, {}
    for mode in modes:
        outcomes[mode], times = _ask(engine, questions, mode, holds, step(progress, mode))
        timings[mode] = spread(times)
    bins = {mode: _reliability(found) for mode, found in outcomes.items()}
    shown = "default" if "default" in outcomes else list(outcomes)[-1]
    return {
        "dataset": path.stem,
        "queries": len(questions),
        "repository": engine.scope.repository,
        "revision": engine.resolve().revision,
        "modes": {mode: measure(outcomes[mode], bins[mode]) for mode in outcomes},
        "timings_ms": timings,
        "reliability": {mode: [asdict(each) for each in found] for mode, found in bins.items()},
        "wrong": [_explain(each) for each in outcomes[shown] if _is_wrong(each)],
    }


def measure(
    outcomes: Sequence[Outcome], bins: Sequence[measures.Bin] = ()
) -> dict[str, float | None]:
    """In the order of MEASURES; None where no question has what the measure needs."""
    wanting = [each for each in outcomes if each.ranks]
    forbidding = [each for each in outcomes if each.question.must_not_include]
    values = (
        measures.mean(measures.recall_of_ranks(each.ranks, SEEN) for each in wanting),
        measures.mean(measures.ndcg_of_ranks(each.ranks, SEEN) for each in wanting),
        measures.mean(_reciprocal_rank(each.ranks) for each in wanting),
        measures.mean(None in each.ranks for each in wanting),
        measures.mean(bool(each.forbidden) for each in forbidding),
        measures.mean(holds for each in outcomes for holds in each.citations),
        measures.mean(each.abstained_rightly for each in outcomes),
        _auroc(outcomes),
        measures.calibration_error(bins),
    )
    rounded = [None if value is None else round(value, 5) for value in values]
    return dict(zip(MEASURES, rounded, strict=True))


def judge(question: Question, answer: Answer, holds: Holds) -> Outcome:
    hits = answer.results[:DEPTH]
    ranks = [_first(hits, names) for names in question.wanted]
    seen = [n for n in question.must_not_include if _first(hits[:SEEN], (n,)) is not None]
    return Outcome(
        question=question,
        status=answer.status,
        ranks=tuple(ranks),
        forbidden=tuple(seen),
        relevance=hits[0].relevance if hits else None,
        first_is_wanted=1 in ranks,
        citations=tuple(holds(hit.citation) for hit in hits),
    )


def matches(hit: Hit, name: str) -> bool:
    """By its document's id, its own, its file's name, or a part of its headings."""
    node = hit.node
    own = (node.element_id, node.id, PurePosixPath(node.source).name)
    return name in own or name in " > ".join(node.section_path)


def _first(hits: Sequence[Hit], names: Sequence[str]) -> int | None:
    ranks = (r for r, hit in enumerate(hits, start=1) if any(matches(hit, n) for n in names))
    return next(ranks, None)


def _ask(
    engine: Engine,
    questions: Sequence[Question],
    mode: str,
    holds: Holds,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Outcome], list[float]]:
    outcomes, times = [], []
    for done, question in enumerate(questions, start=1):
        chosen = {"filters": question.filters, "read_context": question.read_context, **MODES[mode]}
        started = perf_counter()
        answer = engine.search(question.query, DEPTH, cache=False, **chosen)
        times.append((perf_counter() - started) * 1e3)
        outcomes.append(judge(question, answer, holds))
        if progress:
            progress(done, len(questions))
    return outcomes, times


def _replayer(engine: Engine) -> Holds:
    """Each citation is replayed once, however many questions and modes return it."""
    known: dict[Citation, bool] = {}

    def holds(citation: Citation) -> bool:
        if citation not in known:
            known[citation] = engine.verify(citation).valid
        return known[citation]

    return holds


def _check_index(engine: Engine, questions: Sequence[Question], path: Path) -> None:
    """Before the first question, what would fail at a later one."""
    if engine.resolve().revision == 0:
        raise InvalidInput(
            f"the repository {engine.scope.repository!r} is empty; golden questions are asked of "
            "what is there: run `sourcebook ingest PATH` first, or choose --repository"
        )
    for question in {question.read_context: question for question in questions}.values():
        try:
            engine.resolve(question.read_context)
        except SourcebookError as error:
            raise InvalidInput(f"{path}, question {question.id!r}: {error}") from error


def _reciprocal_rank(ranks: Sequence[int | None]) -> float:
    best = min((rank for rank in ranks if rank is not None), default=None)
    return 1 / best if best is not None and best <= SEEN else 0.0


def _auroc(outcomes: Sequence[Outcome]) -> float | None:
    """Whoever found nothing is as unsure as can be; without any relevance there is no measure."""
    if all(each.relevance is None for each in outcomes):
        return None
    known = [each for each in outcomes if each.relevance is not None or each.status == "no_results"]
    answerable = [each.relevance or 0.0 for each in known if each.question.answerable]
    others = [each.relevance or 0.0 for each in known if not each.question.answerable]
    return measures.auroc(answerable, others)


def _reliability(outcomes: Sequence[Outcome]) -> list[measures.Bin]:
    """Over the first hits of which it is known whether they are wanted: of questions that say what
    they want, and of those that have no answer, where no hit is."""
    judged = [
        (each.relevance, each.first_is_wanted)
        for each in outcomes
        if each.relevance is not None and (each.ranks or not each.question.answerable)
    ]
    return measures.reliability(judged)


def _is_wrong(outcome: Outcome) -> bool:
    return bool(outcome.missing or outcome.forbidden or not outcome.abstained_rightly)


def _explain(outcome: Outcome) -> Mapping[str, Json]:
    return {
        "id": outcome.question.id,
        "query": outcome.question.query,
        "answerable": outcome.question.answerable,
        "status": outcome.status,
        "relevance": outcome.relevance,
        "missing": outcome.missing,
        "forbidden": list(outcome.forbidden),
    }
