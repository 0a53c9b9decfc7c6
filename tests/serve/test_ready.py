"""An engine that is loaded, and one that cannot be: what the server says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcebook.models.local import LocalEmbedder
from sourcebook.serve.ready import Readiness
from tests.town import TOWN, opened


def test_it_is_ready_when_loaded_and_says_why_when_it_cannot_be(
    model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, TOWN) as engine:
        with Readiness(engine).loading() as ready:
            pass
        assert ready.problem() is None
        monkeypatch.setenv("SOURCEBOOK_MODELS", str(tmp_path / "nowhere"))
        engine.embedder = LocalEmbedder()
        assert "not installed" in str(Readiness(engine).problem())
