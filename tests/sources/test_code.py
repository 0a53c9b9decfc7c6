"""Programs: blocks of code, found by what they stand in."""

from __future__ import annotations

from pathlib import Path

from sourcebook import Sourcebook
from sourcebook.model import Document
from sourcebook.sources import read_text

SOURCE = "class Mill:\n    def open(self):\n        self.lift()\n\n        return True\n\n\nx = 1\n"


def test_blocks_are_runs_of_lines() -> None:
    (document,) = read_text(SOURCE, source="src/mill.py", format="code")
    assert isinstance(document, Document)
    assert (document.title, document.format) == ("mill.py", "code")
    assert [(b.kind, document.text[b.start : b.end]) for b in document.blocks] == [
        ("code", "class Mill:\n    def open(self):\n        self.lift()"),
        ("code", "return True"),
        ("code", "x = 1"),
    ]


def test_a_method_is_shown_to_the_model_with_its_class(tmp_path: Path, model_dir: Path) -> None:
    body = "\n".join(f"        total += self.weigh(sack_{n}, scale_{n})" for n in range(60))
    methods = "\n\n".join(f"    def load_{n}(self):\n{body}" for n in range(4))
    (tmp_path / "granary.py").write_text(f"class Granary:\n{methods}\n")
    sb = Sourcebook.open(f"sqlite:///{tmp_path}/store.db")
    sb.ingest(tmp_path / "granary.py")
    hits = sb.search("load_2", k=20).results
    inside = [hit for hit in hits if hit.node.start > 100]
    assert inside
    assert all("class Granary:" in hit.context for hit in inside)
