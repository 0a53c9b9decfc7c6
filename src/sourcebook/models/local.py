"""Text in, unit vectors out, on this machine's processor: a model that the installation put there.

Eight-bit models choose their activation scales from everything in a batch, so a neighbour would
change a text's vector. Texts therefore go through the model one at a time, side by side in threads:
the same text has the same vector, byte for byte, however it arrives. On processors this is also
about as fast as batches are, for nothing is padded.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sourcebook.errors import InvalidInput, ModelUnavailable
from sourcebook.models.install import advice, locate
from sourcebook.models.late import TokenCodec
from sourcebook.models.manifest import DEFAULT_MODEL, entry_of
from sourcebook.models.usage import Meter
from sourcebook.ports import EmbeddedQuery, Usage, Vectors

Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all)."""

_SPECIAL_TOKENS = 2
_SLICE = 256
"""Texts tokenised at once; bounds the memory that encodings take."""


class LocalEmbedder:
    """An encoder from the manifest. Files are opened at first use; any thread may call."""

    provider = "local"

    def __init__(self, model: str = DEFAULT_MODEL, *, threads: int | None = None) -> None:
        entry = entry_of(model)
        if entry.kind != "encoder":
            raise InvalidInput(f"{model} is not an encoder; choose another model.", field="model")
        self.model = entry.name
        self.dimensions = entry.dimensions
        self.max_tokens = entry.max_length - _SPECIAL_TOKENS
        self._entry = entry
        self._threads = threads or _usable_cores()
        self._loading = threading.Lock()
        self._meter = Meter(price=0.0)
        self._tokenizer: Any = None
        self._session: Any = None

    @property
    def usage(self) -> Usage:
        """It costs nothing but time."""
        return self._meter.total

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        tokenizer = self.tokenizer
        return [
            len(encoding)
            for start in range(0, len(texts), _SLICE)
            for encoding in _encode(tokenizer, texts[start : start + _SLICE], special=False)
        ]

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """One row a text, in the given order. A text that the model would have to cut is refused
        before any work is done."""
        return self._each(texts, lambda ids: (self._pooled(self._hidden(ids)), b""), progress)[0]

    def embed_late(
        self, texts: Sequence[str], progress: Progress | None = None
    ) -> tuple[Vectors, list[bytes]]:
        """The same, and each text's coded token vectors from the same pass of the model."""
        late = self.late
        assert late is not None

        def both(ids: list[int]) -> tuple[Vectors, bytes]:
            hidden = self._hidden(ids)
            return self._pooled(hidden), late.encode(ids[1:-1], _units(hidden[1:-1]))

        return self._each(texts, both, progress)

    def embed_query(self, text: str) -> EmbeddedQuery:
        """The query is cut to what the model takes."""
        ids = self._ids(self._entry.query_prefix + text)
        hidden = self._hidden(ids)
        late = self.late
        tokens = late.weighed(ids[1:-1], _units(hidden[1:-1])) if late is not None else None
        return EmbeddedQuery(self._pooled(hidden), tokens)

    def token_vectors(self, text: str) -> tuple[list[int], Vectors]:
        """The ids of a text's tokens and their vectors, of length 1."""
        ids = self._ids(text)
        return ids[1:-1], _units(self._hidden(ids)[1:-1])

    @cached_property
    def late(self) -> TokenCodec | None:
        """How token vectors are kept, None for a model that was not fitted for it."""
        return TokenCodec.of(self.model, self.tokenizer)

    def _each(
        self,
        texts: Sequence[str],
        work: Callable[[list[int]], tuple[Vectors, bytes]],
        progress: Progress | None,
    ) -> tuple[Vectors, list[bytes]]:
        self._refuse_too_long(texts)
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        coded = []
        with ThreadPoolExecutor(self._threads) as pool:
            for row, (vector, code) in enumerate(pool.map(lambda t: work(self._ids(t)), texts)):
                vectors[row] = vector
                coded.append(code)
                if progress:
                    progress(row + 1, len(texts))
        return vectors, coded

    def _ids(self, text: str) -> list[int]:
        [encoding] = _encode(self.tokenizer, [text], special=True)
        return _cut(encoding.ids, self._entry.max_length)

    def _hidden(self, ids: list[int]) -> Vectors:
        """The model's vectors of one token sequence, one row a token."""
        tokens = np.asarray([ids], dtype=np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        hidden: Vectors = self._load_session().run(None, inputs)[0][0]
        self._meter.add(texts=1, tokens=len(ids) - _SPECIAL_TOKENS)
        return hidden

    def _pooled(self, hidden: Vectors) -> Vectors:
        """One vector of length 1."""
        pooled = hidden[0] if self._entry.pooling == "cls" else hidden.mean(axis=0)
        unit: Vectors = _units(pooled[None])[0]
        return unit

    def _refuse_too_long(self, texts: Sequence[str]) -> None:
        for position, tokens in enumerate(self.count(texts)):
            if tokens > self.max_tokens:
                raise InvalidInput(
                    f"Text {position} has {tokens} tokens, but {self.model} takes "
                    f"{self.max_tokens}; cut it into smaller chunks.",
                    field="text",
                )

    @property
    def tokenizer(self) -> Any:
        """The model's own; opened at first use."""
        with self._loading:
            if self._tokenizer is None:
                self._tokenizer = self._opened("tokenizer.json", open_tokenizer)
            return self._tokenizer

    def _load_session(self) -> Any:
        with self._loading:
            if self._session is None:
                self._session = self._opened("model.onnx", _open_session)
            return self._session

    def _opened(self, name: str, opener: Callable[[Path], Any]) -> Any:
        """The file, opened. Both libraries raise bare exceptions on damaged files."""
        path = locate(self.model) / name
        try:
            return opener(path)
        except Exception as error:
            raise ModelUnavailable(
                f"{name} of the model {self.model} cannot be read; {advice(self.model)}."
            ) from error


def _units(rows: Vectors) -> Vectors:
    """The rows, each of length 1."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Vectors = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled


def _usable_cores() -> int:
    """Cores that this process may use, which a container may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def open_tokenizer(path: Path) -> Any:
    """The tokenizer without its own cutting and padding, and blind to special tokens in texts:
    a document that talks about `[SEP]` means the word."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _open_session(path: Path) -> Any:
    """One core a run: parallel runs use the cores better than one run on all of them does."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _encode(tokenizer: Any, texts: Sequence[str], *, special: bool) -> list[Any]:
    """Encodings of the texts. Lone surrogates, which no tokenizer takes, read as unknown."""
    clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    encodings: list[Any] = tokenizer.encode_batch_fast(clean, add_special_tokens=special)
    return encodings


def _cut(ids: list[int], length: int) -> list[int]:
    """At most `length` tokens, with the closing special token kept."""
    return ids if len(ids) <= length else [*ids[: length - 1], ids[-1]]
