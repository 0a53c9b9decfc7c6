"""How the embedding provider is chosen, and where its key and address come from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sourcebook.bootstrap import make_embedder, needed_models
from sourcebook.config import Embedding, load
from sourcebook.environment import embedding_key, ollama_host
from sourcebook.errors import ConfigError

NAMES = (
    "EMBEDDING_PROVIDER SOURCEBOOK_EMBEDDING__PROVIDER SOURCEBOOK_EMBEDDING__MODEL OLLAMA_HOST "
    "AZURE_OPENAI_EMBEDDING_DEPLOYMENT AZURE_OPENAI_ENDPOINT SOURCEBOOK_EMBEDDING_API_KEY "
    "OPENAI_API_KEY AZURE_OPENAI_KEY COHERE_API_KEY"
)


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES.split():
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("local", "gte-small"),
        ("ollama", "nomic-embed-text"),
        ("openai", "text-embedding-3-small"),
        ("cohere", "embed-v4.0"),
    ],
)
def test_each_provider_has_a_model(
    provider: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", provider)
    ours = load().embedding
    assert (ours.provider, ours.model) == (provider, model)
    made = make_embedder(ours)
    assert (made.provider, made.model) == (provider, model)


def test_the_environment_beats_the_file_and_its_own_name_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("sourcebook.toml").write_text('[embedding]\nprovider = "cohere"\nconcurrency = 7\n')
    assert load().embedding.provider == "cohere"
    monkeypatch.setenv("EMBEDDING_PROVIDER", "ollama")
    ours = load().embedding
    assert (ours.provider, ours.model, ours.concurrency) == ("ollama", "nomic-embed-text", 7)
    monkeypatch.setenv("SOURCEBOOK_EMBEDDING__PROVIDER", "openai")
    assert load().embedding.provider == "openai"
    assert load(embedding={"provider": "local"}).embedding.provider == "local"


def test_a_provider_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", "oracle")
    with pytest.raises(ConfigError, match="embedding.provider .*'ollama'"):
        load()


def test_azures_model_is_its_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", "azure")
    with pytest.raises(ConfigError, match="set AZURE_OPENAI_EMBEDDING_DEPLOYMENT"):
        load()
    monkeypatch.setenv("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", "text-embedding-ada-002")
    assert load().embedding.model == "text-embedding-ada-002"
    with pytest.raises(ConfigError, match="set AZURE_OPENAI_ENDPOINT"):
        make_embedder(load().embedding)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com/")
    assert make_embedder(load().embedding).dimensions == 1536


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "openai", "dimensions": 0},
        {"provider": "openai", "concurrency": 0},
        {"provider": "openai", "timeout_s": 0},
        {"provider": "openai", "price_per_million_tokens": -1},
        {"provider": "openai", "max_tokens": 5},
        {"provider": "azure", "model": "x", "api_version": "1&key=2"},
        {"provider": "openai", "api_key": "sk-1"},
        {"provider": ["openai"]},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="embedding") as caught:
        load(embedding=wrong)
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", None),
        ("http://box:8080", "http://box:8080"),
        ("https://box.example/ollama", "https://box.example/ollama"),
        ("box", "http://box:11434"),
        ("box:9000", "http://box:9000"),
        (":9000", "http://127.0.0.1:9000"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("[::1]", "http://[::1]:11434"),
        ("[::]:9000", "http://[::1]:9000"),
    ],
)
def test_where_ollama_is(given: str, address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert ollama_host() == address
    expected = (address or "http://127.0.0.1:11434").removeprefix("https://")
    host = expected.removeprefix("http://").partition("/")[0]
    assert f"at {host!r}" in repr(make_embedder(Embedding(provider="ollama")))


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    assert embedding_key("openai", "https://host/v1") is None
    monkeypatch.setenv("COHERE_API_KEY", "cohere's")
    assert embedding_key("openai", "https://host/v1") is None
    key = embedding_key("cohere", "https://host")
    assert key is not None
    assert key.get_secret_value() == "cohere's"
    assert "cohere's" not in f"{key!r} {key}"
    assert embedding_key("cohere", "http://127.0.0.1:8000") is not None
    assert embedding_key("cohere", "http://192.168.0.7:8000") is None
    assert embedding_key("ollama", "https://host") is None
    monkeypatch.setenv("SOURCEBOOK_EMBEDDING_API_KEY", "own")
    own = embedding_key("ollama", "http://192.168.0.7:8000")
    assert own is not None
    assert own.get_secret_value() == "own"


def test_another_model_gets_none_of_what_was_said_of_this_one() -> None:
    ours = Embedding(
        provider="ollama",
        model="nomic-embed-text",
        base_url="http://box",
        query_prefix="Q",
        dimensions=256,
        max_tokens=500,
        price_per_million_tokens=1,
        timeout_s=7,
    )
    same = ours.beside("ollama", "nomic-embed-text", 256)
    assert same == ours
    near = ours.beside("ollama", "bge-m3", 1024)
    assert near == Embedding(
        provider="ollama", model="bge-m3", base_url="http://box", dimensions=1024, timeout_s=7
    )
    far = ours.beside("openai", "text-embedding-3-small")
    assert far == Embedding(provider="openai", timeout_s=7)


def test_what_must_be_installed() -> None:
    assert needed_models(load()) == ["gte-small", "potion-base-8M"]
    fixed = {"strategy": "fixed"}
    assert needed_models(load(chunking=fixed)) == ["gte-small"]
    service = {"provider": "ollama"}
    assert needed_models(load(chunking=fixed, embedding=service)) == ["potion-base-8M"]


def test_a_model_on_this_machine_needs_no_http_client() -> None:
    program = (
        "import sys; from sourcebook.bootstrap import make_embedder; "
        "from sourcebook.config import Embedding; make_embedder(Embedding()); "
        "sys.exit('httpx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
