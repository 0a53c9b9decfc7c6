"""Compound questions through the whole pipeline, the parts found by a language model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sourcebook.models.chat import ChatModel
from sourcebook.models.http import Limits
from tests.models.server import ChatServer
from tests.town import quick

QUESTION = "fence height together with the hours of the pool"
PARTS = ["How high may a fence be?", "When is the pool open?"]
DOCUMENTS = {
    "fence.md": "A fence may be six feet high.",
    "pool.md": "The pool is open from nine to five.",
    "dues.md": "Dues are paid in March.",
}


@pytest.mark.parametrize("failing", [False, True])
def test_a_language_model_may_find_the_parts(tmp_path: Path, failing: bool) -> None:
    with ChatServer() as server:
        server.answer = lambda _: json.dumps({"parts": PARTS})
        server.script = ["500"] if failing else []
        settings = {"generator": {"base_url": server.url, "model": "tiny", "split": True}}
        with quick(tmp_path, DOCUMENTS, **settings) as engine:
            engine.judge = ChatModel(server.url, "tiny", limits=Limits(tries=1))
            answer = engine.search(QUESTION, rerank="none")
            told = [d.part for d in answer.degraded if d.part == "split"]
            expected = ([], ["split"]) if failing else (PARTS, [])
            assert (list(answer.parts), told) == expected
            assert len(server.requests) == 1
            by_rule = engine.search("What is a fence and who may use the pool?", rerank="none")
            assert len(by_rule.parts) == 2
            assert len(server.requests) == 1  # the rules sufficed
