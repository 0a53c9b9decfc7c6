"""The scores as a whole: the formula by hand, what must never happen, and real prose."""

from __future__ import annotations

import gzip
import json
import re
import time
from dataclasses import FrozenInstanceError
from math import exp
from pathlib import Path
from statistics import fmean

import pytest
from evals.quality import measure, samples
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.quality import LIMIT, QUALITY_VERSION, score

EXAMPLE = (
    "The gate code is 4471. The gate closes at dusk, which is really late. The gate code is 4471."
)
PIECES = st.sampled_from(
    "Home > Docs|See section 4.|TODO|![a](b.png)|[x](#y)|https://a.b/c|it's important to note|"
    "4471|5 May|getUserById|“we saw it ourselves”|我们在北京|हिन्दी में|\n\n|. |# A|"
    "\ud83d|\x00|12.5 %|<img src=x>|may perhaps|the gate|thank you|| |".split("|")
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=30).map(" ".join))


def test_the_example_of_the_documentation_by_hand() -> None:
    """19 words. Concrete: gate three times, 12 in 100 words, full. Number: 4471 twice, 8 of 6,
    full. Intensifier: really, 4 of 6."""
    weighted = 0.25 * 1 + 0.40 * 1 - 0.30 * 4 / 6
    authenticity = 1 / (1 + exp(-(weighted - 0.55 * 19 / 50)))
    # Content words by sentence: 3, 5 and 3; the last three were there before. Of one sentence that
    # follows and brings something, one takes something up: (1 + 1) / (1 + 2).
    necessity = (3 + 5) / (3 + 5 + 3) * (0.45 * 1 + 0.25 * 2 / 3 + 0.30 * 1)
    quality = score(EXAMPLE)
    assert quality.words == 19
    assert quality.authenticity == round(authenticity, 4) == 0.56
    assert quality.necessity == round(necessity, 4) == 0.6667
    assert quality.overall == round((authenticity + necessity) / 2, 4) == 0.6133
    assert quality.stub_type is None
    assert [e.words for e in quality.evidence if e.signal == "repeated"] == [
        "The gate code is 4471"
    ]


def test_the_documentation_shows_these_numbers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "quality.md").read_text(encoding="utf-8")
    assert EXAMPLE in page.replace("\n> ", " ")
    assert all(number in page for number in ("0.5600", "0.6667", "0.6133"))


def test_short_and_exact_stays_up_and_short_and_empty_sinks() -> None:
    assert score("The gate code is 4471.").overall > 0.6
    assert score("Der Code für das Tor ist 4471.").overall > 0.6
    assert score("Dogs are not allowed.").overall > 0.4
    assert score("Sounds good, thanks!").overall < 0.15


def test_substance_is_counted_by_hand() -> None:
    """Two informative words of twelve, no specifics: 0.6 + 0.4 / 6 of the mean stays."""
    quality = score("Dogs are not allowed.")
    mean = (quality.authenticity + quality.necessity) / 2
    assert quality.overall == pytest.approx(mean * (0.6 + 0.4 * 2 / 12), abs=1e-4)


def test_a_stub_is_scaled_under_the_ceiling() -> None:
    quality = score("Home > Guide > Install")
    mean = (quality.authenticity + quality.necessity) / 2
    assert quality.stub_type == "breadcrumb"
    assert quality.overall < 0.35 * mean + 1e-4


def test_as_a_dictionary() -> None:
    quality = score(EXAMPLE)
    plain = quality.to_dict()
    assert plain == {
        "overall": 0.6133,
        "authenticity": 0.56,
        "necessity": 0.6667,
        "stub_type": None,
        "words": 19,
        "analyzer": QUALITY_VERSION,
    }
    with_evidence = json.loads(json.dumps(quality.to_dict(evidence=True)))
    assert with_evidence.pop("evidence")[0] == {
        "signal": "concrete",
        "weight": 0.25,
        "words": "gate",
        "start": 4,
        "end": 8,
    }
    assert with_evidence == plain


def test_a_quality_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        score("x").overall = 1.0  # type: ignore[misc]


@given(TEXTS, st.booleans(), st.sampled_from(["chunk", "message", "element", "document"]))
def test_any_text_gives_scores_between_0_and_1(text: str, has_media: bool, kind: str) -> None:
    quality = score(text, kind=kind, title=text[:20], has_media=has_media)
    assert 0 <= quality.overall <= 1
    assert 0 <= quality.authenticity <= 1
    assert 0 <= quality.necessity <= 1
    assert quality.stub_type is None or quality.overall <= 0.35
    assert all(text[e.start : e.end] == e.words != "" for e in quality.evidence)
    assert quality == score(text, kind=kind, title=text[:20], has_media=has_media)


@given(st.one_of(st.text(max_size=200), st.sampled_from([EXAMPLE, "Home", "x y. z", "a\nb"])))
def test_repeating_a_text_does_not_raise_necessity(text: str) -> None:
    once = score(text).necessity
    assert score(f"{text}\n\n{text}").necessity <= once
    assert score("\n\n".join([text] * 5)).necessity <= once


def test_ten_megabytes_are_judged_by_their_beginning() -> None:
    beginning = "".join(f"Item {n} of the inventory was counted on shelf {n}. " for n in range(600))
    assert len(beginning) > LIMIT
    begun = time.process_time()
    quality = score(beginning + "x" * 10_000_000)
    assert time.process_time() - begun < 1
    assert quality == score(beginning[:LIMIT])


@pytest.mark.parametrize(
    "unit",
    [
        "!",
        "[",
        "![",
        "[![",
        "<img ",
        "\n   ",
        '" a ',
        "a-",
        "see ",
        "for ",
        "a > ",
        "Smith A A A 19 ",
        "1 ",
        "http://",
        ". ",
        "1.1 a....\n",
        "a\t",
        "ab>",
        "please ",
        "a\u0301",
        "ab | ",
        "“a ",
        "for details see see\n",
        "a](b",
        "ab->",
    ],
)
def test_no_input_is_slow(unit: str) -> None:
    begun = time.process_time()
    score(unit * (LIMIT // len(unit)))
    assert time.process_time() - begun < 1


# --- real texts ----------------------------------------------------------------------------------


def prose(data: Path) -> dict[str, list[str]]:
    """Samples of ordinary prose, each a hundred passages or what there is."""
    covenants = (data / "hoa" / "discovery_west" / "ccr_discovery_west.txt").read_text("utf-8")
    speech = (
        (data / "chunking_eval" / "corpora" / "state_of_the_union.md").read_text("utf-8").split()
    )
    wiki = (data / "chunking_eval" / "corpora" / "wikitexts.md").read_text("utf-8")
    lines = (data / "scifact" / "corpus.jsonl").read_text("utf-8").splitlines()
    turns = (data / "locomo" / "corpus.jsonl").read_text("utf-8").splitlines()
    with gzip.open(data / "choi" / "choi.jsonl.gz", "rt", encoding="utf-8") as rows:
        news = [json.loads(next(rows))["segments"] for _ in range(100)]
    said = [json.loads(line)["text"] for line in turns]
    return {
        "abstracts": [json.loads(line)["text"] for line in lines[::52]],
        "covenants": [line for line in covenants.splitlines() if len(line.split()) >= 40],
        "speech": [" ".join(speech[at : at + 150]) for at in range(0, len(speech) - 150, 150)],
        "articles": [line for line in re.split(r"\n+", wiki) if len(line.split()) >= 40],
        "news": [" ".join(segments[0]) for segments in news],
        "chat": [" ".join(said[at : at + 8]) for at in range(0, len(said), 59)],
    }


def test_ordinary_prose_is_neutral(data_dir: Path) -> None:
    means = {
        name: fmean(score(text).authenticity for text in texts)
        for name, texts in prose(data_dir).items()
    }
    assert all(0.4 <= mean <= 0.6 for mean in means.values()), means


def test_real_prose_is_not_a_stub(data_dir: Path) -> None:
    for name, texts in prose(data_dir).items():
        stubs = [score(text).stub_type for text in texts]
        assert stubs.count(None) >= 0.99 * len(texts), (name, stubs)


def test_stubs_made_from_real_data_sink(data_dir: Path) -> None:
    result = measure(samples(data_dir))
    assert result["passages"] == 200
    assert float(str(result["auroc"])) >= 0.95
