"""Every manifest entry is complete: an installation can make all of its files."""

from __future__ import annotations

import pytest

from sourcebook.models.manifest import DEFAULT_MODELS, MODELS, ModelEntry


@pytest.mark.parametrize("entry", MODELS.values(), ids=MODELS.keys())
def test_every_file_comes_from_the_package(entry: ModelEntry) -> None:
    made = {"model.onnx"} if entry.quantised_from else set()
    fetched = {file.name for file in entry.files} - made
    if entry.quantised_from:
        fetched.add(entry.quantised_from.name)
    assert set(entry.origin.members) == fetched


@pytest.mark.parametrize("entry", MODELS.values(), ids=MODELS.keys())
def test_hashes_and_sizes_are_pinned(entry: ModelEntry) -> None:
    for file in entry.files:
        assert len(file.sha256) == 64
        assert set(file.sha256) <= set("0123456789abcdef")
        assert file.size > 0


def test_licences_are_permissive() -> None:
    assert {entry.licence for entry in MODELS.values()} <= {"MIT", "Apache-2.0"}


def test_defaults_are_one_encoder_and_one_static_model() -> None:
    assert [MODELS[name].kind for name in DEFAULT_MODELS] == ["encoder", "static"]
