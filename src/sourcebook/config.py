"""Settings from sourcebook.toml and the environment, read once and checked.

Every key can also be given as SOURCEBOOK_SECTION__KEY. Secrets come only from the environment.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from sourcebook import environment
from sourcebook.errors import ConfigError
from sourcebook.model import ChunkOptions, Factors, Metadata, Scope

DEFAULT_STORE = "sqlite:///.sourcebook/sourcebook.db"
CONFIG_FILE = "sourcebook.toml"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Provider = Literal["local", "ollama", "openai", "azure", "cohere"]
_MODELS = {
    "ollama": "nomic-embed-text",
    "openai": "text-embedding-3-small",
    "cohere": "embed-v4.0",
}
"""What each provider embeds with unless told; Azure's is the name of the deployment."""


class Embedding(_Section):
    """The model that embeds. What stands below `model` is for services alone; their keys are in the
    environment alone: see environment.py."""

    provider: Provider = "local"
    model: str = Field("gte-small", min_length=1)
    base_url: str | None = Field(None, description="of a service that is not at its usual place")
    dimensions: int | None = Field(None, ge=1, le=65_536, description="asked of the service")
    query_prefix: str | None = Field(None, description="None: what the model is known to want")
    document_prefix: str | None = None
    max_tokens: int | None = Field(None, ge=128, description="what the model takes")
    timeout_s: float = Field(60.0, gt=0, le=600)
    concurrency: int = Field(4, ge=1, le=64, description="requests at once")
    batch_texts: int | None = Field(None, ge=1, description="texts in a request, at most")
    price_per_million_tokens: float | None = Field(None, ge=0, description="in US dollars")
    api_version: str = Field("2024-10-21", pattern=r"^[\w.-]+$", description="Azure's")

    @model_validator(mode="before")
    @classmethod
    def _usual_model(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("model"):
            return given
        provider = str(given.get("provider", "local"))
        azure = provider == "azure"
        usual = environment.deployment() if azure else _MODELS.get(provider)
        if azure and not usual:
            name = environment.DEPLOYMENT
            raise ValueError(f"azure needs a deployment: set {name} or embedding.model")
        return {**given, "model": usual} if usual else given

    def beside(self, provider: str, model: str, dimensions: int | None = None) -> Embedding:
        """The settings of another model: what was said of this one alone is left out."""
        if (provider, model) == (self.provider, self.model):
            return self.model_copy(update={"dimensions": dimensions or self.dimensions})
        kept = {"timeout_s", "concurrency"}
        if provider == self.provider:
            kept |= {"base_url", "api_version", "batch_texts"}
        named = {"provider": provider, "model": model, "dimensions": dimensions}
        return Embedding.model_validate(named | self.model_dump(include=kept))


class Chunking(_Section):
    strategy: Literal["semantic", "fixed"] = "semantic"
    min_tokens: int = Field(100, ge=1)
    target_tokens: int = Field(512, ge=1)
    max_tokens: int = Field(768, ge=1)
    overlap_tokens: int = Field(50, ge=0)
    threshold: float = Field(0.35, ge=0, le=2)

    def options(self) -> ChunkOptions:
        return ChunkOptions(**self.model_dump(exclude={"strategy"}))


class Generator(_Section):
    """A language model behind an OpenAI-compatible chat service; without an address there is none.
    Its key is in the environment alone: see environment.py."""

    base_url: str | None = Field(None, description="such as http://127.0.0.1:11434/v1")
    model: str = ""
    timeout_s: float = Field(15.0, gt=0, le=600)
    contexts: bool = Field(False, description="at ingest, a sentence that situates each chunk")
    split: bool = Field(False, description="take compound questions apart, beside the rules")

    @model_validator(mode="after")
    def _complete(self) -> Generator:
        if self.base_url and not self.model:
            raise ValueError("generator.base_url needs generator.model")
        for name in ("contexts", "split"):
            if getattr(self, name) and not self.base_url:
                raise ValueError(f"generator.{name} needs generator.base_url and generator.model")
        return self


class DocumentRule(_Section):
    """What holds for the documents whose source matches `path`, unless they say otherwise."""

    path: str = Field(min_length=1)
    document_type: str | None = None
    is_binding: bool | None = None
    effective_date: datetime.date | None = None
    superseded_by: str | None = None
    meta: dict[str, str | int | float | bool] = {}

    def values(self) -> Metadata:
        given = self.model_dump(mode="json", exclude={"path", "meta"}, exclude_none=True)
        return {**self.meta, **given}


class Search(_Section):
    depth: int = Field(100, ge=1, le=10_000, description="candidates of each search")
    rerank: Literal["none", "local", "late", "llm"] = "local"
    cache: bool = True
    full_text: Literal["bm25", "ts_rank_cd"] = Field(
        "bm25", description="ts_rank_cd is PostgreSQL's own ranking, for a store there"
    )
    rrf_k: int = Field(60, ge=1)
    dense_weight: float = Field(1.0, ge=0)
    sparse_weight: float = Field(1.0, ge=0)
    staged_weight: float = Field(
        0.3, ge=0, description="staged search repeats what dense search says; chosen on LoCoMo"
    )
    combined_weight: float = Field(
        8.0, ge=0, description="chosen on the training claims of SciFact"
    )


class Monitoring(_Section):
    log: bool = Field(True, description="a row about every question that is asked")
    query_text: bool = Field(True, description="with its words; otherwise only their hash")


class Context(_Section):
    max_tokens: int = Field(4000, ge=1, le=1_000_000)
    max_sources: int = Field(8, ge=1, le=100)
    neighbours: int = Field(1, ge=0, le=10, description="passages before and after a hit")
    hops: int = Field(1, ge=0, le=3, description="links to follow from a hit")


class Adjust(_Section):
    """What a document's standing changes, by factors of its passages' worth."""

    binding: float = Field(1.1, gt=0)
    primary: float = Field(1.05, gt=0)
    superseded: float = Field(0.5, gt=0)
    asked_type: float = Field(1.1, gt=0, description="of the type that the question names")
    primary_types: tuple[str, ...] = ("design_guidelines",)

    def factors(self) -> Factors:
        return Factors(**self.model_dump())


class Quality(_Section):
    """What an agent's hits must have."""

    min_quality: float = Field(0.4, ge=0, le=1)
    min_words: int = Field(30, ge=0)
    exclude_stubs: tuple[str, ...] = ("breadcrumb",)


class Serve(_Section):
    """What one server takes on. Hosts and ports are options of the command."""

    require_keys: bool = Field(False, description="also where the store holds no key yet")
    allowed_hosts: tuple[str, ...] = Field((), description="names that it is asked by")
    max_body_bytes: int = Field(16_777_216, ge=1024, le=1_073_741_824)
    timeout_s: float = Field(60.0, gt=0, le=3600, description="until a request is given up")
    shutdown_s: float = Field(30.0, gt=0, le=3600, description="for what runs when it is stopped")
    running: int = Field(8, ge=1, le=1000, description="requests answered at a time")
    waiting: int = Field(64, ge=0, le=10_000, description="requests that wait for their turn")
    per_tenant_share: float = Field(0.75, gt=0, le=1, description="of both, for one tenant")
    per_key_share: float = Field(0.5, gt=0, le=1, description="of both, for one key")
    ingests: int = Field(2, ge=1, le=1000, description="of these, with a key, that bring documents")
    per_key_per_minute: int | None = Field(None, ge=1, description="requests")
    log_queries: bool = Field(False, description="the words of questions in the access log")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="SOURCEBOOK_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    store: str = DEFAULT_STORE
    store_read: str | None = Field(None, description="a replica of the store, for searches")
    tenant: str = Field("default", min_length=1)
    organization: str = Field("default", min_length=1)
    repository: str = Field("default", min_length=1)
    busy_timeout_s: float = Field(10.0, ge=0)
    embedding: Embedding = Embedding()
    chunking: Chunking = Chunking()
    search: Search = Search()
    adjust: Adjust = Adjust()
    quality: Quality = Quality()
    context: Context = Context()
    generator: Generator = Generator()
    documents: tuple[DocumentRule, ...] = ()
    monitoring: Monitoring = Monitoring()
    serve: Serve = Serve()

    @property
    def scope(self) -> Scope:
        return Scope(self.tenant, self.organization, self.repository)


def load(file: str | Path | None = None, **given: Any) -> Settings:
    """What was given beats the environment, which beats the file, which beats the defaults."""
    path = Path(file) if file else Path(CONFIG_FILE)
    if file and not path.is_file():
        raise ConfigError(f"there is no configuration file {path}; check --config")

    class FromFile(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            named = environment.provider()
            known = {"embedding": {"provider": named}} if named else {}
            chosen = InitSettingsSource(settings_cls, known)
            return init_settings, env_settings, chosen, TomlConfigSettingsSource(settings_cls, path)

    try:
        return FromFile(**{key: value for key, value in given.items() if value is not None})
    except ValidationError as error:
        raise ConfigError(_sentence(error, path)) from error
    except ValueError as error:  # not TOML, or an environment value that is not JSON
        raise ConfigError(f"the configuration cannot be read ({path}): {error}") from error


def _sentence(error: ValidationError, path: Path) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    variable = "SOURCEBOOK_" + key.replace(".", "__").upper()
    message = first["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f"the setting {key} ({path} or {variable}) is not valid: {message}"
