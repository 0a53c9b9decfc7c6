"""What the evals share: their arguments, and how they report."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path


def arguments(about: str, **files: str) -> argparse.Namespace:
    """--data, --store and --json, and options that name `files`, each with its help; the first line
    of `about` is the help."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    default = os.environ.get("SOURCEBOOK_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--store", default="sqlite:///.sourcebook/eval.db")
    parser.add_argument("--json", type=Path)
    for name, told in files.items():
        parser.add_argument(f"--{name}", type=Path, help=told)
    return parser.parse_args()


def report(result: object, file: Path | None) -> None:
    text = json.dumps(result, indent=2)
    print(text)
    if file:
        file.write_text(text + "\n")
