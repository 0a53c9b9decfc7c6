"""The chat adapter, over real HTTP to a server that speaks the protocol."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sourcebook.bootstrap import _generators
from sourcebook.config import load
from sourcebook.environment import generator_key
from sourcebook.errors import ConfigError, ModelUnavailable
from sourcebook.models.chat import ChatModel
from sourcebook.models.http import Limits
from tests.models.server import FAILURES, ChatServer, chat, told

KEY = "sk-a-secret-that-nobody-may-see"
QUICK = Limits(total_s=2.0, first_wait_s=0.001, failures=100)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def model(server: ChatServer, **more: Any) -> ChatModel:
    return ChatModel(server.url, "tiny", KEY, **{"timeout_s": 1.0, "limits": QUICK, **more})


def test_a_prompt_is_sent_as_the_protocol_wants_it(server: ChatServer) -> None:
    assert model(server).generate("Be brief.", "Where?", max_tokens=7) == "It is about the harbour."
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.requests == [
        {
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Where?"},
            ],
            "temperature": 0,
            "max_tokens": 7,
        }
    ]


@pytest.mark.parametrize("text", ['{"n": 3}', '```json\n{"n": 3}\n```', ' \n{"n": 3}\n'])
def test_with_a_schema_the_answer_is_json(server: ChatServer, text: str) -> None:
    server.answer = lambda body: text
    asked = model(server)
    assert asked.generate_json("s", "u", schema=SCHEMA, max_tokens=9) == {"n": 3}
    assert json.loads(asked.generate("s", "u", schema=SCHEMA, max_tokens=9)) == {"n": 3}
    form = server.requests[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    "text",
    ["", "Sure! Here it is", '{"n": NaN}', '{"n": 3', "```", "[" * 9999, '{"n": 3, "n": 4}'],
)
def test_an_answer_that_should_be_json_and_is_not(server: ChatServer, text: str) -> None:
    server.answer = lambda body: text
    with pytest.raises(ModelUnavailable, match="tiny at 127.*not JSON; choose another"):
        model(server).generate_json("s", "u", schema=SCHEMA, max_tokens=9)


@pytest.mark.parametrize("failure", [*sorted(FAILURES), "hang", "drip", "drip headers", "hang up"])
def test_every_failure_is_one_clear_sentence(server: ChatServer, failure: str) -> None:
    server.always = failure
    with pytest.raises(ModelUnavailable) as caught:
        model(server, timeout_s=0.3).generate("s", "u", max_tokens=9)
    sentence = str(caught.value)
    assert f"127.0.0.1:{server.server_port}" in sentence
    assert sentence.startswith("the language model")
    assert "; ch" in sentence  # check …, choose …
    assert len(sentence) < 400
    assert "\n" not in sentence
    assert "<" not in sentence


def test_a_refusal_is_an_empty_answer(server: ChatServer) -> None:
    refusals = [
        chat(None, message={"refusal": "I cannot help with that."}),
        chat("half a", finish_reason="content_filter"),
        chat(""),
    ]
    server.script = [told(200, reply) for reply in refusals]
    asked = model(server)
    assert [asked.generate("s", "u", max_tokens=9) for _ in refusals] == ["", "", ""]


def test_a_model_that_thinks_too_long_is_told_from_one_that_refuses(server: ChatServer) -> None:
    server.script = [told(200, chat("", finish_reason="length"))]
    with pytest.raises(ModelUnavailable, match="used all its tokens"):
        model(server).generate("s", "u", max_tokens=9)


def test_thoughts_are_no_part_of_the_answer(server: ChatServer) -> None:
    server.answer = lambda body: "<think>\nwell …\n</think>\n\nThe <think>ing</think> harbour."
    answer = model(server).generate("s", "u", max_tokens=9)
    assert answer.strip() == "The <think>ing</think> harbour."


def test_half_a_character_is_replaced(server: ChatServer) -> None:
    server.answer = lambda body: "a\ud800b"
    assert model(server).generate("s", "u", max_tokens=9) == "a?b"


def test_what_a_newer_model_refuses_is_not_sent_again(server: ChatServer) -> None:
    for name in ("max_tokens", "temperature"):
        server.script.append(told(400, {"error": {"message": "unsupported", "param": name}}))
    asked = model(server)
    assert asked.generate("s", "u", max_tokens=9)
    assert asked.generate("s", "u", max_tokens=9)
    assert len(server.requests) == 4
    for last in server.requests[2:]:
        assert last.keys() == {"model", "messages", "max_completion_tokens"}
        assert last["max_completion_tokens"] == 9


def test_a_model_that_refuses_everything_is_asked_no_more(server: ChatServer) -> None:
    server.always = told(400, {"error": {"message": "no", "param": "max_tokens"}})
    with pytest.raises(ModelUnavailable, match="HTTP 400: no"):
        model(server).generate("s", "u", max_tokens=9)
    assert len(server.requests) == 2


def test_the_key_is_in_no_log_and_no_repr(
    server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    asked = model(server)
    asked.generate("s", "u", max_tokens=9)
    server.always = told(500, {"error": {"message": KEY}})
    with pytest.raises(ModelUnavailable):
        asked.generate("s", "u", max_tokens=9)
    assert "POST" in caplog.text  # the HTTP library did log
    assert KEY not in caplog.text
    assert KEY not in repr(asked) + repr(vars(asked))


def test_a_dead_service_costs_little_after_a_few_timeouts(server: ChatServer) -> None:
    server.always = "hang"
    asked = model(server, timeout_s=0.2, limits=replace(QUICK, failures=2))
    for _ in range(20):
        with pytest.raises(ModelUnavailable, match="did not answer"):
            asked.generate("s", "u", max_tokens=9)
    assert len(server.requests) == 2


# --- settings ------------------------------------------------------------------------------------


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("OPENAI_API_KEY", "SOURCEBOOK_GENERATOR_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def test_without_an_address_there_is_no_generator(quiet: pytest.MonkeyPatch) -> None:
    quiet.setenv("OPENAI_API_KEY", KEY)
    assert _generators(load()) == (None, None)


@pytest.mark.parametrize("url", ["http://[::1/v1", "ftp://host", "me:secret@host"])
def test_an_address_that_is_none_is_a_wrong_setting(quiet: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(ConfigError, match="address of the language model") as caught:
        _generators(load(generator={"base_url": url, "model": "m"}))[0]
    assert "secret" not in str(caught.value)


def test_settings_and_environment_make_a_generator(
    quiet: pytest.MonkeyPatch, server: ChatServer, tmp_path: Path
) -> None:
    quiet.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "sourcebook.toml").write_text(
        f'[generator]\nbase_url = "{server.url}/"\nmodel = "tiny"\n'
    )
    settings = load()
    assert settings.generator.contexts is False
    made = _generators(settings)[0]
    assert made is not None
    assert made.generate("s", "u", max_tokens=9)
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(settings) + settings.model_dump_json()


def test_the_key_of_the_service_comes_first(quiet: pytest.MonkeyPatch) -> None:
    assert generator_key("https://host/v1") is None
    quiet.setenv("OPENAI_API_KEY", "openai")
    assert generator_key("https://host/v1") == "openai"
    assert generator_key("http://localhost:11434/v1") == "openai"
    assert generator_key("http://192.168.0.7:8080/v1") is None  # anyone on the way could read it
    quiet.setenv("SOURCEBOOK_GENERATOR_API_KEY", "own")
    assert generator_key("http://192.168.0.7:8080/v1") == "own"
    assert generator_key("https://host/v1") == "own"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base_url = "http://h/v1"', "needs generator.model"),
        ("contexts = true", "needs generator.base_url"),
        (f'api_key = "{KEY}"', "extra"),
        ('base_url = "http://h"\nmodel = "m"\ntimeout_s = 0', "generator.timeout_s"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    quiet: pytest.MonkeyPatch, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "sourcebook.toml").write_text(f"[generator]\n{text}\n")
    with pytest.raises(ConfigError, match=message) as caught:
        load()
    assert KEY not in str(caught.value)
