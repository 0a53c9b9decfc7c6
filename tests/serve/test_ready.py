"""An engine that is loaded: what it answers, and that threads take turns afterwards as before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sourcebook import Sourcebook
from sourcebook.models.local import LocalEmbedder
from sourcebook.serve.ready import Readiness
from tests.town import TOWN, opened


def test_loading_leaves_the_turns_of_threads_as_they_were(
    model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sys.getswitchinterval()
    turns: list[float] = []
    with opened(tmp_path, TOWN) as engine:
        search = Sourcebook.search

        def seen(*given: object, **options: object) -> object:
            turns.append(sys.getswitchinterval())
            return search(*given, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(Sourcebook, "search", seen)
        with Readiness(engine).loading() as ready:
            pass
        assert ready.problem() is None
        assert turns[0] == pytest.approx(0.001)
        assert sys.getswitchinterval() == before
        monkeypatch.setenv("SOURCEBOOK_MODELS", str(tmp_path / "nowhere"))
        engine.embedder = LocalEmbedder()
        assert "not installed" in str(Readiness(engine).problem())
    assert sys.getswitchinterval() == before
