"""The environment in; keys and the addresses of services out, by names that other programs use too.

Keys are nowhere else: not in a file, not in the settings. One that was not given for a service
alone does not go over a network in plain text.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from pydantic import SecretStr

DEPLOYMENT = "AZURE_OPENAI_EMBEDDING_DEPLOYMENT"
ENDPOINT = "AZURE_OPENAI_ENDPOINT"
KEYS = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_KEY", "cohere": "COHERE_API_KEY"}
"""The variable of each embedding provider's key."""
EMBEDDING_KEY = "SOURCEBOOK_EMBEDDING_API_KEY"
_OLLAMA_PORT = "11434"


def generator_key(base_url: str) -> str | None:
    """The key that was given for this language model; else OpenAI's."""
    return _key("SOURCEBOOK_GENERATOR_API_KEY", "OPENAI_API_KEY", base_url)


def embedding_key(provider: str, base_url: str) -> SecretStr | None:
    """The key that was given for this embedding service; else the provider's."""
    found = _key(EMBEDDING_KEY, KEYS.get(provider), base_url)
    return SecretStr(found) if found else None


def provider() -> str | None:
    """Which provider embeds."""
    return _value("EMBEDDING_PROVIDER")


def deployment() -> str | None:
    """What Azure calls the model."""
    return _value(DEPLOYMENT)


def endpoint() -> str | None:
    """Where Azure is."""
    return _value(ENDPOINT)


def ollama_host() -> str | None:
    """Where Ollama is, as Ollama's own programs read it: a host, a port or both will do, and an
    address to listen on is one to ask on this machine."""
    text = _value("OLLAMA_HOST")
    if text is None:
        return None
    if "://" not in text:
        host, colon, port = text.rpartition(":")
        host, port = (host, port) if colon and not text.endswith("]") else (text, _OLLAMA_PORT)
        text = f"http://{host or '127.0.0.1'}:{port}"
    return text.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]")


def _value(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def _key(given: str, usual: str | None, base_url: str) -> str | None:
    if key := os.environ.get(given):
        return key
    try:
        url = urlsplit(base_url)
    except ValueError:  # no address: whoever uses it says so
        return None
    safe = url.scheme == "https" or url.hostname in ("localhost", "127.0.0.1", "::1")
    return os.environ.get(usual) if usual and safe else None
