"""Embedding services over real connections: what goes out, what comes back, what goes wrong."""

from __future__ import annotations

import contextlib
import itertools
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.config import Embedding
from sourcebook.errors import ConfigError, ModelUnavailable, TextRefused
from sourcebook.models import azure, cohere, ollama, openai
from sourcebook.models.batches import batches
from sourcebook.models.remote import PATIENT, RemoteEmbedder
from tests.models.embedding_server import (
    API_VERSION,
    DEPLOYMENT,
    DIMENSIONS,
    FORBIDDEN,
    KEY,
    EmbeddingServer,
    ollama_error,
    static,
)
from tests.models.server import told

PROVIDERS = ("ollama", "openai", "azure", "cohere")
WIRES = {"ollama": ollama, "openai": openai, "azure": azure, "cohere": cohere}
KEYS = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_KEY", "cohere": "COHERE_API_KEY"}
QUICK = replace(PATIENT, first_wait_s=0.001, failures=1000)
TEXTS = ["A harbour is a place for ships.", "Bread is made of flour.", "The court adjourned."]
EVERY = pytest.mark.parametrize("provider", PROVIDERS)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS.values():
        monkeypatch.setenv(name, KEY)
    for name in ("SOURCEBOOK_EMBEDDING_API_KEY", "OLLAMA_HOST", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", DEPLOYMENT)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def settings(provider: str, url: str, **given: Any) -> Embedding:
    base = f"{url}/v1" if provider == "openai" else url
    return Embedding(**{"provider": provider, "base_url": base, "dimensions": DIMENSIONS, **given})


def embedder(provider: str, server: EmbeddingServer | str, **given: Any) -> RemoteEmbedder:
    ours = settings(provider, server if isinstance(server, str) else server.url, **given)
    return RemoteEmbedder(ours, WIRES[provider].wire(ours), given.pop("limits", QUICK))


def real(texts: list[str]) -> np.ndarray:
    return static().embed(texts)


# --- what goes out, what comes back --------------------------------------------------------------


@EVERY
def test_texts_become_unit_vectors_in_their_order(server: EmbeddingServer, provider: str) -> None:
    made = embedder(provider, server, document_prefix="", query_prefix="")
    found = made.embed(TEXTS)
    assert (found.dtype, found.shape) == (np.float32, (3, DIMENSIONS))
    np.testing.assert_allclose(found, real(TEXTS), atol=1e-6)
    question = made.embed_query("Where do ships rest?").vector
    np.testing.assert_allclose(question, real(["Where do ships rest?"])[0], atol=1e-6)
    assert (made.late, made.provider, made.dimensions) == (None, provider, DIMENSIONS)


def test_ollama_is_asked_in_its_own_form(server: EmbeddingServer) -> None:
    made = embedder("ollama", server)
    made.embed(["Bread."])
    made.embed_query("ships")
    document, question = server.asked
    assert document.path == "/api/embed"
    assert document.body == {
        "model": "nomic-embed-text",
        "input": ["search_document: Bread."],
        "truncate": False,
        "dimensions": DIMENSIONS,
    }
    assert question.body["input"] == ["search_query: ships"]
    assert "Authorization" not in document.headers


def test_openai_is_asked_in_its_own_form(server: EmbeddingServer) -> None:
    embedder("openai", server).embed(["Bread."])
    (asked,) = server.asked
    assert asked.path == "/v1/embeddings"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "text-embedding-3-small",
        "input": ["Bread."],
        "encoding_format": "float",
        "dimensions": DIMENSIONS,
    }


def test_azure_is_asked_in_its_own_form(server: EmbeddingServer) -> None:
    embedder("azure", server).embed(["Bread."])
    (asked,) = server.asked
    assert asked.path == f"/openai/deployments/{DEPLOYMENT}/embeddings?api-version={API_VERSION}"
    assert asked.headers["api-key"] == KEY
    assert "Authorization" not in asked.headers


def test_cohere_is_asked_in_its_own_form(server: EmbeddingServer) -> None:
    made = embedder("cohere", server)
    made.embed(["Bread."])
    made.embed_query("ships")
    document, question = server.asked
    assert document.path == "/v2/embed"
    assert document.body == {
        "model": "embed-v4.0",
        "texts": ["Bread."],
        "input_type": "search_document",
        "embedding_types": ["float"],
        "truncate": "NONE",
        "output_dimension": DIMENSIONS,
    }
    assert question.body["input_type"] == "search_query"


@EVERY
def test_dimensions_are_asked_for_only_if_they_are_set(
    server: EmbeddingServer, provider: str
) -> None:
    made = embedder(provider, server, model="house-model", dimensions=None)
    made.embed(["Bread."])
    assert not {"dimensions", "output_dimension"} & server.asked[0].body.keys()


def test_dimensions_that_the_model_has_anyway_are_not_asked_for() -> None:
    ours = Embedding(provider="openai", model="text-embedding-ada-002", dimensions=1536)
    body = openai.wire(ours).body(["a"], False)  # it refuses to be asked, even for its own
    assert "dimensions" not in body


@EVERY
def test_set_prefixes_beat_those_that_are_known(server: EmbeddingServer, provider: str) -> None:
    made = embedder(provider, server, query_prefix="Q> ", document_prefix="")
    made.embed(["Bread."])
    made.embed_query("ships")
    assert server.texts() == ["Bread.", "Q> ships"]


@EVERY
def test_half_a_character_goes_out_as_a_question_mark(
    server: EmbeddingServer, provider: str
) -> None:
    embedder(provider, server, document_prefix="").embed(["a\ud800b"])
    assert server.texts() == ["a?b"]


# --- batches and concurrency ---------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(0, 50), max_size=60),
    most_texts=st.integers(1, 10),
    most_tokens=st.integers(1, 120),
)
def test_batches_hold_all_in_order_and_no_more_than_they_may(
    sizes: list[int], most_texts: int, most_tokens: int
) -> None:
    made = batches(sizes, most_texts, most_tokens)
    assert [place for part in made for place in part] == list(range(len(sizes)))
    for part in made:
        assert 1 <= len(part) <= most_texts
        assert len(part) == 1 or sum(sizes[place] for place in part) <= most_tokens
    for one, following in itertools.pairwise(made):  # and no fewer than they could
        total = sum(sizes[place] for place in one) + sizes[following[0]]
        assert len(one) == most_texts or total > most_tokens


def test_batches_by_hand() -> None:
    assert batches([5, 5, 5, 20, 1], 2, 12) == [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    assert batches([], 2, 12) == []


@pytest.mark.parametrize(("provider", "most"), [("ollama", 32), ("openai", 128), ("cohere", 96)])
def test_a_request_has_no_more_texts_than_the_provider_takes(
    server: EmbeddingServer, provider: str, most: int
) -> None:
    texts = [f"word {number}" for number in range(300)]
    found = embedder(provider, server, document_prefix="").embed(texts)
    np.testing.assert_allclose(found, real(texts), atol=1e-6)
    sizes = sorted(len(asked.texts) for asked in server.asked)
    assert sizes[-1] == most
    assert sum(sizes) == 300


def test_a_request_has_no_more_tokens_than_the_provider_takes(server: EmbeddingServer) -> None:
    made = embedder("ollama", server)
    texts = [f"{number} " + "ship " * 1500 for number in range(9)]
    made.embed(texts)
    for asked in server.asked:
        assert sum(made.count(asked.texts)) <= 8192
    assert len(server.asked) == 2  # 1,500 and a few tokens each: five fit, four are left


def test_a_smaller_batch_can_be_set(server: EmbeddingServer) -> None:
    embedder("openai", server, batch_texts=2).embed(["a", "b", "c", "d", "e"])
    assert sorted(len(asked.texts) for asked in server.asked) == [1, 2, 2]


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_requests_are_under_way_than_set(server: EmbeddingServer, most: int) -> None:
    server.delay = 0.05
    made = embedder("openai", server, batch_texts=1, concurrency=most)
    callers = [threading.Thread(target=made.embed, args=(["a"] * 6,)) for _ in range(2)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert (server.busiest, len(server.asked)) == (most, 12)


def test_a_question_does_not_wait_for_documents(server: EmbeddingServer) -> None:
    server.script = ["hang"]
    made = embedder("openai", server, concurrency=1, timeout_s=20)
    thread = threading.Thread(target=_embed_quietly, args=(made,), daemon=True)
    thread.start()
    while not server.asked:
        time.sleep(0.01)
    start = time.monotonic()
    made.embed_query("ships")
    assert time.monotonic() - start < 10
    server.stopping.set()
    thread.join(10)


def _embed_quietly(made: RemoteEmbedder) -> None:
    with contextlib.suppress(ModelUnavailable):
        made.embed(["a document"])


def test_after_a_failure_nothing_more_is_sent(server: EmbeddingServer) -> None:
    server.always = "html"
    made = embedder("openai", server, batch_texts=1, concurrency=2)
    with pytest.raises(ModelUnavailable):
        made.embed(["a"] * 40)
    assert len(server.asked) < 10


# --- failures of the service ---------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("failure", ["429", "500", "503 html", "hang up"])
def test_a_passing_failure_costs_only_time(
    server: EmbeddingServer, provider: str, failure: str
) -> None:
    server.script = [failure, failure]
    found = embedder(provider, server, document_prefix="").embed(TEXTS)
    np.testing.assert_allclose(found, real(TEXTS), atol=1e-6)
    assert len(server.asked) == 3


@pytest.mark.parametrize("asks", ["429 a second", "429 date"])
def test_a_wait_that_is_asked_for_is_kept(server: EmbeddingServer, asks: str) -> None:
    server.script = [asks]
    start = time.monotonic()
    embedder("cohere", server).embed(["Bread."])
    least = 1.0 if asks == "429 a second" else 0.0  # a date has whole seconds
    assert least <= time.monotonic() - start < 10
    assert len(server.asked) == 2


@EVERY
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("500", "out of memory"),
        ("429 for an hour", "asks to wait 3600 s"),
        ("html", "not JSON"),
        ("cut off", "not JSON"),
        ("nan", "not JSON"),
        ("list", "not of the known form"),
        ("other form", "not of the known form"),
        ("huge", "more than 33,554,432 bytes"),
        ("drip", "did not answer within 0.3 s"),
    ],
)
def test_a_lasting_failure_is_named(
    server: EmbeddingServer, provider: str, failure: str, said: str
) -> None:
    server.always = failure
    timeout_s = 0.3 if failure == "drip" else 5
    made = embedder(provider, server, timeout_s=timeout_s)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        made.embed(TEXTS)
    assert not isinstance(caught.value, TextRefused)
    assert f"127.0.0.1:{server.server_port}" in str(caught.value)
    assert KEY not in str(caught.value)


def spoilt(change: Callable[[list[Any]], None]) -> Callable[[list[Any]], list[Any]]:
    def spoil(rows: list[Any]) -> list[Any]:
        change(rows)
        return rows

    return spoil


WRONG: dict[str, tuple[Callable[[list[Any]], list[Any]], str]] = {
    "one too few": (lambda rows: rows[:-1], "sent 2 vectors for 3 texts"),
    "one too many": (lambda rows: [*rows, rows[0]], "sent 4 vectors for 3 texts"),
    "none": (lambda rows: [], "sent 0 vectors for 3 texts"),
    "all longer": (lambda rows: [[*row, 0.1] for row in rows], "257 numbers where 256"),
    "one shorter": (spoilt(lambda rows: rows[1].pop()), "255 numbers where 256"),
    "empty row": (spoilt(lambda rows: rows[1].clear()), "no vector"),
    "null row": (spoilt(lambda rows: rows.__setitem__(1, None)), "no vector"),
    "null": (spoilt(lambda rows: rows[1].__setitem__(7, None)), "no finite numbers"),
    "text": (spoilt(lambda rows: rows[1].__setitem__(7, "0.5")), "no finite numbers"),
    "nested": (spoilt(lambda rows: rows[1].__setitem__(7, [0.5])), "no finite numbers"),
    "infinite": (spoilt(lambda rows: rows[1].__setitem__(7, 10**400)), "no finite numbers"),
    "too large": (spoilt(lambda rows: rows[1].__setitem__(7, 1e200)), "without a direction"),
    "zeros": (spoilt(lambda rows: rows.__setitem__(1, [0.0] * 256)), "without a direction"),
}


@EVERY
@pytest.mark.parametrize("wrong", WRONG)
def test_an_answer_that_cannot_be_right_is_refused_whole(
    server: EmbeddingServer, provider: str, wrong: str
) -> None:
    server.spoil, said = WRONG[wrong]
    made = embedder(provider, server)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        made.embed(TEXTS)
    assert not isinstance(caught.value, TextRefused)
    server.spoil = lambda rows: rows
    assert made.embed(TEXTS).shape == (3, DIMENSIONS)


@pytest.mark.parametrize("provider", ["openai", "azure"])
@pytest.mark.parametrize("places", [[0, 0, 1], [1, 2, 3], ["0", "1", "2"], [None, 1, 2]])
def test_rows_whose_places_are_wrong_are_refused(
    server: EmbeddingServer, provider: str, places: list[Any]
) -> None:
    data = [{"index": place, "embedding": [1.0] * DIMENSIONS} for place in places]
    server.always = told(200, {"data": data})
    with pytest.raises(ModelUnavailable, match="not of the known form"):
        embedder(provider, server).embed(TEXTS)


# --- dimensions ----------------------------------------------------------------------------------


@EVERY
def test_dimensions_that_nobody_knows_are_asked_once(
    server: EmbeddingServer, provider: str
) -> None:
    made = embedder(provider, server, model="house-model", dimensions=None)
    assert [made.dimensions, made.dimensions] == [DIMENSIONS] * 2
    assert len(server.asked) == 1
    server.spoil = lambda rows: [row[:100] for row in rows]
    with pytest.raises(ModelUnavailable, match="100 numbers where 256"):
        made.embed(TEXTS)


def test_first_answers_of_two_lengths_are_never_mixed(server: EmbeddingServer) -> None:
    server.delay = 0.1  # both are under way before one has answered
    lengths = iter([100, 200])
    server.spoil = lambda rows: [row[: next(lengths)] for row in rows]
    made = embedder("ollama", server, model="house-model", dimensions=None, batch_texts=1)
    with pytest.raises(ModelUnavailable, match="numbers where"):
        made.embed(["a", "b"])
    assert made.dimensions in (100, 200)


def test_a_wrong_first_answer_does_not_decide(server: EmbeddingServer) -> None:
    made = embedder("ollama", server, model="house-model", dimensions=None)
    server.spoil = lambda rows: [[0.0] * 5 for _ in rows]
    with pytest.raises(ModelUnavailable, match="without a direction"):
        made.embed(TEXTS)
    server.spoil = lambda rows: rows
    assert made.embed(TEXTS).shape == (3, DIMENSIONS)


def test_dimensions_that_are_known_need_no_service() -> None:
    made = embedder("ollama", "http://127.0.0.1:1", dimensions=None)
    assert made.dimensions == 768


def test_a_dead_service_has_no_dimensions() -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        made = embedder("ollama", url, model="house-model", dimensions=None)
        with pytest.raises(ModelUnavailable, match=r"could not be reached.*`ollama serve`"):
            _ = made.dimensions


# --- texts that are refused ----------------------------------------------------------------------


@EVERY
def test_a_text_that_is_too_long_for_the_service_is_refused_as_such(
    server: EmbeddingServer, provider: str
) -> None:
    server.longest = 50
    made = embedder(provider, server)
    with pytest.raises(TextRefused, match="HTTP 400") as caught:
        made.embed(["short", "long " * 60])
    assert caught.value.code == "text_refused"
    assert made.embed(["short"]).shape == (1, DIMENSIONS)


def test_ollama_may_call_a_long_text_its_own_failure(server: EmbeddingServer) -> None:
    made = embedder("ollama", server)
    server.script = [ollama_error(500, "the input length exceeds the context length")]
    with pytest.raises(TextRefused, match="HTTP 500"):
        made.embed(["long"])
    assert len(server.asked) == 2  # it was not tried again; another text was


@pytest.mark.parametrize("provider", ["openai", "azure", "cohere"])
def test_content_that_is_refused_is_refused_as_such(server: EmbeddingServer, provider: str) -> None:
    with pytest.raises(TextRefused):
        embedder(provider, server).embed(["fine", f"not {FORBIDDEN}"])


@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_a_setting_that_is_refused_is_no_text_that_is(
    server: EmbeddingServer, provider: str
) -> None:
    made = embedder(provider, server, dimensions=999)
    with pytest.raises(ModelUnavailable, match="must not exceed 256.*sourcebook.toml") as caught:
        made.embed(TEXTS)
    assert not isinstance(caught.value, TextRefused)


def test_what_cannot_fit_is_not_sent(server: EmbeddingServer) -> None:
    made = embedder("openai", server, max_tokens=128)
    for text in ("word " * 200, "", " \n"):
        with pytest.raises(TextRefused):
            made.embed(["fine", text])
    assert server.asked == []


def test_a_question_is_cut_to_what_the_model_takes(server: EmbeddingServer) -> None:
    made = embedder("openai", server, max_tokens=128)
    made.embed_query("harbour " * 5000)
    (sent,) = server.texts()
    assert 100 < made.count([sent])[0] <= made.max_tokens < 128


def test_no_texts_are_no_request(server: EmbeddingServer) -> None:
    assert embedder("cohere", server).embed([]).shape == (0, DIMENSIONS)
    assert server.asked == []


# --- what is wrong with the set-up ---------------------------------------------------------------


def test_a_model_that_is_not_pulled_is_named(server: EmbeddingServer) -> None:
    made = embedder("ollama", server, model="mxbai-embed-large")
    with pytest.raises(ModelUnavailable, match=r"run `ollama pull mxbai-embed-large`"):
        made.embed(TEXTS)
    assert len(server.asked) == 1


@pytest.mark.parametrize("provider", ["openai", "cohere"])
def test_a_model_that_is_not_there_is_named(server: EmbeddingServer, provider: str) -> None:
    with pytest.raises(ModelUnavailable, match="has the model other"):
        embedder(provider, server, model="other").embed(TEXTS)


def test_a_deployment_that_is_not_there_is_named(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", "another")
    with pytest.raises(ModelUnavailable, match="AZURE_OPENAI_EMBEDDING_DEPLOYMENT names"):
        embedder("azure", server).embed(TEXTS)


@pytest.mark.parametrize("provider", KEYS)
def test_a_missing_key_is_named(
    server: EmbeddingServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEYS[provider])
    with pytest.raises(ModelUnavailable, match=f"wants a key.*set .*{KEYS[provider]}"):
        embedder(provider, server).embed(TEXTS)


@pytest.mark.parametrize("provider", ["azure", "cohere"])
def test_without_a_key_no_text_leaves(
    server: EmbeddingServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEYS[provider])
    with pytest.raises(ModelUnavailable):
        embedder(provider, server).embed(TEXTS)
    assert server.asked == []


@pytest.mark.parametrize("provider", KEYS)
def test_a_wrong_key_is_named_and_not_shown(
    server: EmbeddingServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEYS[provider], "sk-the-wrong-one")
    with pytest.raises(ModelUnavailable, match=f"refused the key.*{KEYS[provider]}") as caught:
        embedder(provider, server).embed(TEXTS)
    assert "sk-the-wrong-one" not in str(caught.value)


def test_a_key_of_its_own_comes_first(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    monkeypatch.setenv("SOURCEBOOK_EMBEDDING_API_KEY", KEY)
    assert embedder("openai", server).embed(TEXTS).shape == (3, DIMENSIONS)


@pytest.mark.parametrize("provider", KEYS)
def test_a_key_does_not_travel_in_plain_text(provider: str) -> None:
    safe, unsafe = (settings(provider, f"{scheme}://host.example") for scheme in ("https", "http"))
    assert WIRES[provider].wire(safe).key is not None
    assert WIRES[provider].wire(unsafe).key is None


def test_an_azure_without_an_endpoint_is_told_the_variable() -> None:
    with pytest.raises(ConfigError, match="set AZURE_OPENAI_ENDPOINT"):
        azure.wire(Embedding(provider="azure"))


@pytest.mark.parametrize("name", ["a/../b", "a?b", "a b", ""])
def test_a_deployment_cannot_change_the_address(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("AZURE_OPENAI_EMBEDDING_DEPLOYMENT")
    ours = Embedding(provider="azure", base_url="https://h", model=name or "x y")
    with pytest.raises(ConfigError, match="name of a deployment"):
        azure.wire(ours)


def test_an_address_with_a_password_is_refused_without_being_repeated() -> None:
    ours = Embedding(provider="ollama", base_url="http://me:word-1@host")
    with pytest.raises(ConfigError) as caught:
        RemoteEmbedder(ours, ollama.wire(ours))
    assert "word-1" not in str(caught.value)


# --- usage ---------------------------------------------------------------------------------------


@EVERY
def test_usage_is_what_the_service_counted(server: EmbeddingServer, provider: str) -> None:
    made = embedder(provider, server, batch_texts=2, price_per_million_tokens=2.0)
    made.embed(TEXTS)
    made.embed_query("ships")
    counted = sum(static().count(server.texts()))
    assert counted > 15
    assert made.usage == (3, 4, counted, pytest.approx(counted * 2e-6))


@EVERY
def test_usage_is_estimated_where_the_service_is_silent(
    server: EmbeddingServer, provider: str
) -> None:
    server.usage = False
    made = embedder(provider, server)
    made.embed(TEXTS)
    assert made.usage.tokens == sum(made.count(server.texts()))


def test_an_answer_that_cannot_be_used_is_paid_all_the_same(server: EmbeddingServer) -> None:
    server.spoil = lambda rows: rows[:-1]
    made = embedder("openai", server)
    with pytest.raises(ModelUnavailable):
        made.embed(TEXTS)
    assert (made.usage.requests, made.usage.texts) == (1, 3)


def test_prices_are_known_or_not_said(server: EmbeddingServer) -> None:
    ours = Embedding(provider="openai")
    made = RemoteEmbedder(ours, openai.wire(ours))
    made._meter.add(requests=1, texts=1, tokens=1_000_000)
    assert made.usage.cost == pytest.approx(0.02)
    elsewhere = embedder("openai", server)
    elsewhere.embed(TEXTS)
    assert elsewhere.usage.cost is None  # a server of somebody else has prices of its own
    ollamas = embedder("ollama", server)
    ollamas.embed(TEXTS)
    assert ollamas.usage.cost == 0.0


def test_usage_adds_up_over_threads(server: EmbeddingServer) -> None:
    made = embedder("openai", server, batch_texts=1, concurrency=8)
    threads = [threading.Thread(target=made.embed, args=(TEXTS,)) for _ in range(10)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (made.usage.requests, made.usage.texts) == (30, 30)


# --- keys stay where they are --------------------------------------------------------------------


@EVERY
def test_no_key_is_shown_anywhere(
    server: EmbeddingServer, provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = embedder(provider, server)
    made.embed(TEXTS)
    shown = [repr(made), repr(made._wire), repr(vars(made)), caplog.text]
    for reply in ("500", "html", "list"):
        server.always = reply
        with pytest.raises(ModelUnavailable) as caught:
            made.embed(TEXTS)
        shown += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
    assert provider in "".join(shown)
    assert KEY not in "".join(shown)
