"""An engine in; whether it can answer out: the store opened, the model loaded, once.

Loading begins when the server starts. If it fails it is tried again when somebody asks, so that a
server needs no restart once its model is there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from sourcebook.engine import Engine
from sourcebook.errors import SourcebookError
from sourcebook.serve import access_log

_WORD = "warm"


@dataclass(slots=True)
class Readiness:
    """Any thread may call."""

    engine: Engine
    _loaded: bool = False
    _failure: SourcebookError | None = None
    _loading: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def loading(self) -> Iterator[Readiness]:
        """Begin at once, beside what is done inside; the store may be closed after."""
        thread = threading.Thread(target=self._begin, name="loading")
        thread.start()
        try:
            yield self
        finally:
            thread.join()

    def _begin(self) -> None:
        try:
            self.load()
        except Exception as error:  # noqa: BLE001  whoever asks whether it is ready is told
            access_log.trouble({}, error)

    def load(self) -> None:
        """Who comes while it is being loaded does not wait for it."""
        if self._loaded or not self._loading.acquire(blocking=False):
            return
        try:
            self._warm()
            self._loaded, self._failure = True, None
        except SourcebookError as error:
            self._failure = error
        finally:
            self._loading.release()

    def _warm(self) -> None:
        """The full-text index is laid out while the model is opened and the vectors are read."""
        engine = self.engine.unlogged()
        with ThreadPoolExecutor(1) as pool:
            beside = pool.submit(engine.search, _WORD, 1, mode="sparse")
            engine.embedder.embed_query(_WORD)
            engine.search(_WORD, 1, mode="dense")
            beside.result()
        engine.search(_WORD, 1)

    def problem(self) -> str | None:
        """Why it cannot answer yet; None if it can."""
        self.load()
        if self._failure is not None:
            return str(self._failure)
        if not self._loaded:
            return "the model is being loaded; try again in a moment"
        try:
            self.engine.resolve()
        except SourcebookError as error:
            return str(error)
        return None
