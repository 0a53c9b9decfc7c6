"""A real model of an architecture in both stores: real questions, the same answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebook import Sourcebook
from sourcebook.evaluation import MODES
from tests.postgres import empty

QUESTIONS = Path(__file__).parents[2] / "evals/golden/archisurance_questions.jsonl"


@pytest.fixture
def engines(
    tmp_path: Path, postgres_url: str, model_dir: Path, data_dir: Path
) -> Iterator[list[Sourcebook]]:
    urls = [f"sqlite:///{tmp_path / 's.db'}", postgres_url]
    opened = [Sourcebook.open(url, repository="parity") for url in urls]
    empty(postgres_url)
    for engine in opened:
        engine.ingest(data_dir / "archimate/models/Archisurance.xml")
    yield opened
    for engine in opened:
        engine.close()


def test_real_questions_have_the_same_answers(engines: list[Sourcebook]) -> None:
    asked = [json.loads(line)["query"] for line in QUESTIONS.read_text().splitlines()][::8]
    for text in asked:
        for mode in ("sparse", "dense", "hybrid", "default"):
            told = [engine.search(text, 10, **MODES[mode]).to_dict() for engine in engines]
            for answer in told:
                del answer["stats"]["timings_ms"]
            assert told[0] == told[1]
            assert told[0]["results"]
