"""Golden questions: the file, the measures by hand, and the gate against regressions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook import measures, regression
from sourcebook.errors import InvalidInput
from sourcebook.golden import MEASURES, Outcome, judge, matches, measure
from sourcebook.golden_file import Question, read_questions
from sourcebook.model import (
    Citation,
    Filter,
    Hit,
    Node,
    PreparedQuery,
    ReadContext,
    Resolved,
    Scores,
)
from sourcebook.models.install import install
from sourcebook.models.manifest import DEFAULT_MODELS
from sourcebook.plots import plot
from sourcebook.regression import Difference, compare, read_baseline
from sourcebook.retrieve import Answer
from sourcebook.serve.cli import run

PNG = b"\x89PNG"


# --- measures by hand ----------------------------------------------------------------------------


def test_ndcg_of_things_found_once() -> None:
    """Wanted three, found at 1 and 3: (1 + 1/2) / (1 + 1/log2(3) + 1/2)."""
    ideal = 1 + 1 / log2(3) + 1 / 2
    assert measures.ndcg_of_ranks([3, None, 1], 10) == pytest.approx(1.5 / ideal)
    assert measures.ndcg_of_ranks([1, 2, 3], 10) == 1
    assert measures.ndcg_of_ranks([11], 10) == 0
    assert measures.ndcg_of_ranks([None], 10) == 0
    assert measures.ndcg_of_ranks([2], 10) == pytest.approx(1 / log2(3))


def test_ndcg_of_two_things_in_one_hit_is_one_at_most() -> None:
    assert measures.ndcg_of_ranks([1, 1], 10) == 1
    expected = (1 / log2(3) + 1 / 2) / (1 + 1 / log2(3))
    assert measures.ndcg_of_ranks([2, 2], 10) == pytest.approx((1 / log2(3)) * 2 / 1.6309, rel=1e-3)
    assert measures.ndcg_of_ranks([2, 3], 10) == pytest.approx(expected)


def test_ndcg_of_ranks_is_ndcg_where_each_hit_is_one_thing() -> None:
    ranking = ["x", "a", "y", "b", "z"]
    judged = {"a": 1, "b": 1, "c": 1}
    assert measures.ndcg_of_ranks([2, 4, None], 10) == pytest.approx(
        measures.ndcg(ranking, judged, 10)
    )


@given(st.lists(st.none() | st.integers(1, 20), min_size=1, max_size=12), st.integers(1, 15))
def test_ndcg_of_ranks_stays_between_0_and_1(ranks: list[int | None], k: int) -> None:
    assert 0 <= measures.ndcg_of_ranks(ranks, k) <= 1 + 1e-12
    better = [1 if rank is None else rank for rank in ranks]
    assert measures.ndcg_of_ranks(better, k) >= measures.ndcg_of_ranks(ranks, k) - 1e-12


def test_recall_of_ranks() -> None:
    assert measures.recall_of_ranks([1, 10, 11, None], 10) == 0.5


def by_definition(positive: list[float], negative: list[float]) -> float:
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    return sum(pairs) / len(pairs)


def test_auroc_with_ties_by_hand() -> None:
    """Of six pairs three are won, two tied and one lost."""
    assert measures.auroc([0.9, 0.5, 0.4], [0.5, 0.4]) == pytest.approx(
        (1 + 1 + 0.5 + 1 + 0 + 0.5) / 6
    )
    assert measures.auroc([1.0], [0.0]) == 1
    assert measures.auroc([0.0], [1.0]) == 0
    assert measures.auroc([], [1.0]) is None
    assert measures.auroc([1.0], []) is None


FEW = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.99, 1.0]), min_size=1, max_size=12)


@given(FEW, FEW)
def test_auroc_is_the_share_of_pairs(positive: list[float], negative: list[float]) -> None:
    expected = by_definition(positive, negative)
    assert measures.auroc(positive, negative) == pytest.approx(expected)
    assert measures.auroc(negative, positive) == pytest.approx(1 - expected)


def test_calibration_error_by_hand() -> None:
    """0.1 and 0.15 share a bin (mean 0.125, none right), 0.2 begins the next (right), 1 is in the
    last (right): (2 × 0.125 + 1 × 0.8 + 1 × 0) / 4."""
    bins = measures.reliability([(0.1, False), (0.15, False), (0.2, True), (1.0, True)])
    assert [(b.low, b.high, b.count) for b in bins] == [(0.1, 0.2, 2), (0.2, 0.3, 1), (0.9, 1, 1)]
    assert [(b.confidence, b.right) for b in bins] == [(0.125, 0), (0.2, 1), (1, 1)]
    assert measures.calibration_error(bins) == pytest.approx((0.25 + 0.8) / 4)
    assert measures.calibration_error([]) is None
    assert measures.calibration_error(measures.reliability([(0.5, True), (0.5, False)])) == 0


def test_percentiles_by_hand() -> None:
    assert measures.percentile([30, 10, 20], 0.5) == 20
    assert measures.percentile([0, 10], 0.95) == pytest.approx(9.5)
    assert measures.percentile([7], 0.99) == 7
    assert measures.percentile([1, 2, 3], 1) == 3
    assert measures.percentile([], 0.5) is None
    assert measures.mean([]) is None


# --- questions and outcomes ----------------------------------------------------------------------


def hit(name: str, relevance: float | None = None, path: tuple[str, ...] = ()) -> Hit:
    node = Node(
        f"{name}#1", name, "chunk", "v", "h", name, 0, "t", f"docs/{name}.md", 0, 1, path
    )  # fmt: skip
    return Hit(1, node, 2, "text", "", Scores(), Citation("r", name, "v", 0, 1, "h"), relevance)


def answer(*hits: Hit, status: str = "ok") -> Answer:
    query = PreparedQuery("q", "q", ("q",))
    return Answer(
        status=status,  # type: ignore[arg-type]
        query=query,
        query_type="general",
        weights={},
        read_context=Resolved("head", 1),
        results=list(hits),
        candidates=9,
    )


def outcome(question: Question, *hits: Hit, status: str = "ok") -> Outcome:
    return judge(
        question, answer(*hits, status=status), lambda citation: "bad" not in str(citation)
    )


def test_a_name_is_an_id_a_file_or_part_of_the_headings() -> None:
    found = hit("docs/a", path=("17 Review", "17.9 Appeal"))
    for name in ("docs/a", "docs/a#1", "a.md", "17.9 Appeal", "Appeal", "17 Review > 17.9"):
        assert matches(found, name), name
    for name in ("docs", "docs/docs/a.md", "17.9 appeal", "17.9 > 17", "text"):
        assert not matches(found, name), name


def test_an_outcome_by_hand() -> None:
    question = Question("1", "q", wanted=(("a",), ("x", "c"), ("z",)), must_not_include=("b", "k"))
    hits = [hit(name, 0.5) for name in "dbcacefghijk"]
    made = outcome(question, *hits)
    assert made.ranks == (4, 3, None)
    assert made.forbidden == ("b",)  # k is found, but below the tenth
    assert made.missing == ["z"]
    assert not made.first_is_wanted
    assert made.citations == (True,) * 12


def test_measures_by_hand() -> None:
    wants_two = Question("1", "q", wanted=(("a",), ("b",)))
    wants_any = Question("2", "q", wanted=(("x", "y"),), must_not_include=("m",))
    forbids = Question("3", "q", must_not_include=("m",))
    cannot = Question("4", "q", answerable=False)
    deep = Question("5", "q", wanted=(("t",),))
    fill = [hit(f"f{n}", 0.55) for n in range(14)]
    outcomes = [
        outcome(wants_two, hit("a", 0.9), hit("f"), hit("b")),
        outcome(wants_any, hit("bad", 0.6), hit("y"), status="low_confidence"),
        outcome(forbids, hit("m", 0.8)),
        outcome(cannot, hit("f", 0.6), status="low_confidence"),
        outcome(deep, *fill, hit("t")),
    ]
    judged = [(0.9, True), (0.6, False), (0.6, False), (0.55, False)]
    measured = measure(outcomes, measures.reliability(judged))
    two = (1 + 1 / 2) / (1 + 1 / log2(3))
    assert measured == pytest.approx(
        {
            "recall@10": (1 + 1 + 0) / 3,
            "ndcg@10": (two + 1 / log2(3) + 0) / 3,
            "mrr@10": (1 + 1 / 2 + 0) / 3,
            "failure@20": 0.0,
            "forbidden@10": 1 / 2,
            "citations": 21 / 22,  # 3 + 2 + 1 + 1 + 15 hits, one of which is bad
            "abstention": 4 / 5,
            "auroc": (1 + 0.5 + 1 + 0) / 4,
            "ece": (0.1 + 0.55 + 2 * 0.6) / 4,
        },
        abs=1e-5,
    )
    assert tuple(measured) == MEASURES


def test_what_has_no_data_is_none() -> None:
    measured = measure([outcome(Question("1", "q"), hit("a"))])
    assert measured["abstention"] == 1
    assert measured["citations"] == 1
    nothing = set(MEASURES) - {"abstention", "citations"}
    assert {measured[name] for name in nothing} == {None}
    lost = measure([outcome(Question("1", "q", wanted=(("a",),)), status="no_results")])
    assert (lost["recall@10"], lost["failure@20"], lost["citations"]) == (0, 1, None)


def test_finding_nothing_is_the_least_confidence() -> None:
    found = outcome(Question("1", "q"), hit("a", 0.1))
    nothing = outcome(Question("2", "q", answerable=False), status="no_results")
    assert measure([found, nothing])["auroc"] == 1
    unknown = outcome(Question("1", "q"), hit("a"))
    assert measure([unknown, nothing])["auroc"] is None


# --- the file ------------------------------------------------------------------------------------


@pytest.fixture
def questions(tmp_path: Path) -> Callable[[str | bytes], list[Question]]:
    def read(content: str | bytes) -> list[Question]:
        file = tmp_path / "golden.jsonl"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_questions(file)

    return read


def test_a_question_with_everything(questions: Callable[..., list[Question]]) -> None:
    row = {
        "id": "1", "query": "who?", "must_include": ["a", "b", "a"], "any_of": ["c", "d"],
        "must_not_include": ["e"], "read_context": "baseline:Q1", "answerable": True,
        "filters": {"department": ["people", "finance"], "is_binding": True, "year": 2026},
        "note": "", "topic": "", "near": "", "model": "", "through": [],
    }  # fmt: skip
    assert questions(json.dumps(row)) == [
        Question(
            "1", "who?", (("a",), ("b",), ("c", "d")), ("e",), ReadContext("baseline", "Q1"), True,
            (Filter("department", ("people", "finance")), Filter("is_binding", ("true",)),
             Filter("year", ("2026",))),
        )
    ]  # fmt: skip


def test_a_byte_order_mark_blank_lines_and_line_separators_do_no_harm(
    questions: Callable[..., list[Question]],
) -> None:
    text = '\ufeff{"id": "1", "query": "a"}\r\n\r\n{"id": "2", "query": "b\u2028c"}\r\n'
    assert questions(text) == [Question("1", "a"), Question("2", "b\u2028c")]


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "holds no question; write one a line"),
    "blank": ("\n  \n", "holds no question"),
    "truncated": ('{"id": "1", "query": "a"}\n{"id": "2", "que', "line 2: not a whole JSON object"),
    "deep": ("[" * 100_000, "line 1: not a whole JSON object"),
    "list": ('["1", "a"]', "line 1: not a JSON object such as"),
    "UTF-16": ('{"id": "1", "query": "a"}'.encode("utf-16"), "is not UTF-8; save it as UTF-8"),
    "unknown key": ('{"id": "1", "query": "a", "must_includ": []}', "'must_includ' is not known"),
    "twice": (
        '{"id": "1", "query": "a"}\n{"id": "1", "query": "b"}',
        "line 2: the id '1' is there",
    ),
    "no id": ('{"query": "a"}', "line 1: 'id' is needed"),
    "number": ('{"id": 1, "query": "a"}', "'id' is needed and must be a text"),
    "no query": ('{"id": "1", "query": " "}', "'query' is needed"),
    "text": ('{"id": "1", "query": "a", "must_include": "b"}', "'must_include' must be a list"),
    "hole": ('{"id": "1", "query": "a", "any_of": [""]}', "'any_of' must be a list"),
    "answerable": ('{"id": "1", "query": "a", "answerable": "no"}', "must be true or false"),
    "contradiction": (
        '{"id": "1", "query": "a", "answerable": false, "any_of": ["b"]}',
        "a question that is not answerable cannot say",
    ),
    "context": (
        '{"id": "1", "query": "a", "read_context": "now"}',
        "the read context 'now' is not",
    ),
    "number context": ('{"id": "1", "query": "a", "read_context": 3}', "'read_context' must be"),
    "filters": ('{"id": "1", "query": "a", "filters": ["b"]}', "'filters' must be an object"),
    "filter": ('{"id": "1", "query": "a", "filters": {"b": {}}}', "the filter 'b' must have"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence(
    questions: Callable[..., list[Question]], name: str, tmp_path: Path
) -> None:
    content, words = BAD[name]
    with pytest.raises(InvalidInput) as caught:
        questions(content)
    message = str(caught.value)
    assert words in message
    assert message.startswith(str(tmp_path / "golden.jsonl"))
    assert "\n" not in message


# --- the gate ------------------------------------------------------------------------------------


def result(**modes: dict[str, float | None]) -> dict[str, Any]:
    return {"dataset": "set", "queries": 9, "modes": modes, "timings_ms": {}}


def test_worse_is_by_more_than_the_tolerance_in_the_direction_of_the_measure() -> None:
    def worse(measure: str, before: float | None, now: float | None) -> bool:
        return Difference("default", measure, before, now).worse(0.005)

    assert worse("ndcg@10", 0.75, 0.744)
    assert not worse("ndcg@10", 0.75, 0.745)  # 0.0050000000000000044 in binary
    assert not worse("ndcg@10", 0.75, 0.8)
    for name in ("failure@20", "forbidden@10", "ece"):
        assert worse(name, 0.1, 0.106)
        assert not worse(name, 0.1, 0.105)
        assert not worse(name, 0.1, 0.0)
    assert worse("auroc", 0.9, None)
    assert not worse("auroc", None, 0.1)
    assert not worse("auroc", None, None)


def test_every_measure_of_the_modes_that_both_have_is_compared() -> None:
    before = result(dense={"a": 0.5}, default={"a": 0.5, "b": None})
    now = result(default={"a": 0.25, "b": 1.0, "c": 1.0}, sparse={"a": 0.1})
    found = compare(now, before)
    assert found == [Difference("default", "a", 0.5, 0.25), Difference("default", "b", None, 1.0)]
    assert found[0].to_dict() == {
        "mode": "default", "measure": "a", "baseline": 0.5, "now": 0.25, "change": -0.25,
    }  # fmt: skip
    with pytest.raises(InvalidInput, match="measured on 9 queries of set, this is on 8"):
        compare(now | {"queries": 8}, before)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no such file"),
        ("", "it is not JSON"),
        ('{"dataset": "set"', "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        (b"\xff\xfe\x00", "it is not JSON"),
        ("[]", "it is not the output of `sourcebook eval --json`"),
        ('{"dataset": "set", "queries": 1, "modes": {}}', "it is not the output"),
        ('{"dataset": "set", "queries": 1, "modes": {"dense": {"a": "1"}}}', "not the output"),
        ('{"dataset": "set", "queries": 1, "modes": {"dense": {"a": NaN}}}', "not the output"),
        ('{"dataset": "other", "queries": 1, "modes": {"dense": {"a": 1}}}', "measures 'other'"),
        ('{"dataset": "set", "queries": 1, "modes": {"dense": {"b": 1}}}', "the measure 'b'"),
        (
            '{"dataset": "set", "queries": 1, "modes": {"late": {"a": 1}}}',
            "none of the modes dense",
        ),
    ],
)
def test_a_baseline_of_something_else_is_refused(
    tmp_path: Path, content: str | bytes | None, words: str
) -> None:
    file = tmp_path / "before.json"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput, match="cannot be the baseline") as caught:
        read_baseline(file, "set", ["dense"], ["a"])
    assert words in str(caught.value)


# --- pictures ------------------------------------------------------------------------------------


def test_a_picture_with_and_without_reliability(tmp_path: Path) -> None:
    plain = result(dense={"a": 0.5, "b": None}, default={"a": 1.0, "b": None})
    plot(plain, tmp_path / "plain.png")
    bins = [{"low": 0.5, "high": 0.6, "count": 3, "confidence": 0.55, "right": 0.66}]
    plot(plain | {"reliability": {"dense": bins, "default": []}}, tmp_path / "wide.png")
    small, wide = ((tmp_path / name).read_bytes() for name in ("plain.png", "wide.png"))
    assert small.startswith(PNG)
    assert wide.startswith(PNG)
    assert width(wide) > width(small)


def width(png: bytes) -> int:
    return int.from_bytes(png[16:20])


# --- the command, with the real store and model --------------------------------------------------

NOTES = {
    "leave.md": "# Parental leave\n\nEvery parent may take sixteen weeks of paid leave.\n\n"
    "## How to ask\n\nWrite to the people team eight weeks before. They answer within five days.\n",
    "travel.md": "---\ndepartment: finance\n---\n# Travel expenses\n\nReceipts are sent in within "
    "thirty days. Hotels are paid up to 140 euros a night.\n",
}
GOLDEN = [
    {"id": "hotel", "query": "what may a hotel cost?", "must_include": ["travel.md"],
     "must_not_include": ["leave.md"], "filters": {"department": "finance"}},
    {"id": "leave", "query": "how many weeks of parental leave?", "any_of": ["x.md", "leave.md"],
     "must_include": ["notes/leave.md"], "read_context": "published", "note": "by both names"},
    {"id": "egg", "query": "how long do I boil an egg?", "answerable": False, "topic": "food"},
]  # fmt: skip
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in DEFAULT_MODELS:
        install(name)
    folder = tmp_path_factory.mktemp("made")
    (folder / "notes").mkdir()
    for name, text in NOTES.items():
        (folder / "notes" / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["ingest", "notes"]) == 0
        assert run(["baseline", "create", "v1"]) == 0
        assert run(["baseline", "publish", "v1"]) == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "here"
    shutil.copytree(made, here)
    monkeypatch.chdir(here)
    monkeypatch.setenv("COLUMNS", "100")
    (here / "golden.jsonl").write_text("\n".join(json.dumps(row) for row in GOLDEN))
    return here


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    def call(*args: str) -> tuple[int, str, str]:
        capfd.readouterr()
        status = run(args)
        return status, *capfd.readouterr()

    return call


def test_golden_questions_are_measured_in_each_mode(folder: Path, call: Call) -> None:
    modes = ("--modes", "dense,sparse,hybrid,late,default")
    status, out, _ = call("eval", "golden.jsonl", *modes, "--json", "--plot", "golden.png")
    assert status == 0
    data = json.loads(out)
    assert (data["dataset"], data["queries"], data["repository"]) == ("golden", 3, "default")
    assert list(data["modes"]) == ["dense", "sparse", "hybrid", "late", "default"]
    for measured in data["modes"].values():
        assert tuple(measured) == MEASURES
        assert measured["citations"] == 1.0
        assert measured["forbidden@10"] == 0.0
    default = data["modes"]["default"]
    assert (default["recall@10"], default["failure@20"]) == (1.0, 0.0)
    assert set(data["timings_ms"]) == set(data["modes"])
    assert 0 <= default["auroc"] <= 1
    assert sum(each["count"] for each in data["reliability"]["default"]) == 3
    assert (folder / "golden.png").read_bytes().startswith(PNG)
    assert "regressions" not in data


def test_an_evaluation_is_no_question_of_people(folder: Path, call: Call) -> None:
    assert call("search", "hotel", "--mode", "sparse")[0] == 0
    assert call("eval", "golden.jsonl", "--modes", "sparse")[0] == 0
    status = json.loads(call("status", "--json")[1])
    assert (status["queries"]["count"], status["revision"]) == (1, 1)
    assert [hot["query"] for hot in status["queries"]["hot"]] == ["hotel"]


def test_what_is_wrong_is_named(folder: Path, call: Call) -> None:
    rows = [
        {"id": "lost", "query": "what may a hotel cost?", "must_include": ["unicorns.md"]},
        {"id": "bad", "query": "what may a hotel cost?", "must_not_include": ["travel.md"]},
    ]
    (folder / "wrong.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    data = json.loads(call("eval", "wrong.jsonl", "--json", "--modes", "sparse")[1])
    wrong = {row["id"]: row for row in data["wrong"]}
    assert wrong["lost"]["missing"] == ["unicorns.md"]
    assert wrong["bad"]["forbidden"] == ["travel.md"]
    measured = data["modes"]["sparse"]
    assert (measured["failure@20"], measured["forbidden@10"]) == (1.0, 1.0)
    status, out, _ = call("eval", "wrong.jsonl", "--modes", "sparse")
    assert status == 0
    assert "not found: unicorns.md" in out
    assert "must not be found: travel.md" in out


def test_a_regression_is_status_one(folder: Path, call: Call) -> None:
    options = ("eval", "golden.jsonl", "--modes", "sparse,default")
    (folder / "before.json").write_text(call(*options, "--json")[1])
    status, out, _ = call(*options, "--baseline", "before.json", "--json")
    assert (status, json.loads(out)["regressions"]) == (0, [])

    before = json.loads((folder / "before.json").read_text())
    before["modes"]["default"]["failure@20"] = -0.1
    before["modes"]["sparse"]["mrr@10"] += 0.2
    (folder / "before.json").write_text(json.dumps(before))
    status, out, _ = call(*options, "--baseline", "before.json", "--json")
    worse = {(each["mode"], each["measure"]) for each in json.loads(out)["regressions"]}
    assert status == 1
    assert worse == {("sparse", "mrr@10"), ("default", "failure@20")}
    status, out, err = call(*options, "--baseline", "before.json")
    assert (status, err) == (1, "")
    assert "2 regressions against before.json" in out
    assert out.count("worse") == 2
    status, out, _ = call(*options, "--baseline", "before.json", "--tolerance", "0.2")
    assert status == 0
    assert "no regression against before.json" in out
    assert call("eval", "golden.jsonl", "--modes", "sparse", "--baseline", "before.json")[0] == 1


def test_the_gate_is_for_test_collections_too(folder: Path, call: Call) -> None:
    birds = folder / "birds"
    birds.mkdir()
    texts = {"d1": "Owls hunt mice at night.", "d2": "Robins sing in the morning."}
    lines = [json.dumps({"_id": i, "title": "", "text": t}) for i, t in texts.items()]
    (birds / "corpus.jsonl").write_text("\n".join(lines))
    (birds / "queries.jsonl").write_text('{"_id": "q1", "text": "which bird hunts mice"}')
    (birds / "qrels.tsv").write_text("q1\td1\t1\n")
    (folder / "before.json").write_text(call("eval", "birds", "--modes", "sparse", "--json")[1])
    options = ("eval", "birds", "--modes", "sparse,default", "--baseline", "before.json")
    assert call(*options)[0] == 0
    before = json.loads((folder / "before.json").read_text())
    before["modes"]["sparse"]["ndcg@10"] = 1.006
    (folder / "before.json").write_text(json.dumps(before))
    assert call(*options)[0] == 1
    status, _, err = call("eval", "golden.jsonl", "--baseline", "before.json")
    assert status == 2
    assert "before.json cannot be the baseline: it measures 'birds', not 'golden'" in err
    shutil.copytree(birds, folder / "golden")
    (folder / "golden.json").write_text(json.dumps(before | {"dataset": "golden"}))
    _, _, err = call("eval", "golden.jsonl", "--baseline", "golden.json")
    assert "the measure 'recall@100', which this evaluation has not" in err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("golden.jsonl", "--run", "x"), "--run is for BEIR folders"),
        (("golden.jsonl", "--tolerance", "nan"), "--tolerance must be 0 or more"),
        (("golden.jsonl", "--tolerance", "-1"), "--tolerance must be 0 or more"),
        (("golden.jsonl", "--modes", "foo"), "there is no mode 'foo'"),
        (("golden.jsonl", "--baseline", "none.json"), "there is no such file"),
        (("nowhere.jsonl",), "there is no file or folder"),
        (("unpublished.jsonl",), "question '1': there is no baseline 'Q9'"),
        (("bad.jsonl",), "bad.jsonl, line 1: the key 'x' is not known"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(
    folder: Path, call: Call, args: tuple[str, ...], words: str
) -> None:
    (folder / "bad.jsonl").write_text('{"id": "1", "query": "a", "x": 1}')
    row = {"id": "1", "query": "a", "read_context": "baseline:Q9"}
    (folder / "unpublished.jsonl").write_text(json.dumps(row))
    status, _, err = call("eval", *args)
    assert status == 2
    assert words in err
    assert err.count("\n") == 1


def test_an_empty_repository_says_what_to_do(folder: Path, call: Call) -> None:
    status, _, err = call("--repository", "none", "eval", "golden.jsonl")
    assert status == 2
    assert "the repository 'none' is empty" in err


def test_the_defaults_of_the_command_are_those_of_the_code() -> None:
    from typer.main import get_command

    from sourcebook.evaluation import USUAL
    from sourcebook.serve.cli import app

    options = {p.name: p.default for p in get_command(app).commands["eval"].params}  # type: ignore[attr-defined]
    assert options["tolerance"] == regression.TOLERANCE
    assert options["modes"] == ",".join(USUAL)
