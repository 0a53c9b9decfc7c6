"""What the page is tried on: the example corpus at two points in time, a chat with a branch, a PDF
with pages, and texts that want to be more than texts."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from sourcebook import Sourcebook
from tests.serve.running import Running
from tests.sources.pdf_files import lines, pdf

EXAMPLES = Path(__file__).parents[2] / "examples" / "corpus"
QUORUM = "How many members must take part for the general meeting to take decisions?"
LATE = "What do I pay when I bring a tool back late?"
OFF_TOPIC = "What is the capital of Mongolia?"
NEW_RULE = "Who returns a power tool more than a week late pays three euros a day."
NEW_BYLAWS, OLD_BYLAWS = "corpus/governance/bylaws-2025.md", "corpus/governance/bylaws-2023.md"
LENDING = "corpus/governance/guideline-lending.md"
BASELINE = "2025-spring"
CHAT = "7b0c5e1a-0000-4000-8000-000000000001"
ATTACK = "<script>window.__owned = 1</script><img src=x onerror='window.__owned = 2'>"
BIDI = "rotartsinimda \u202eadministrator\u202c and \u2066isolated\u2069 \u200fשלום\u200f end"
LONG_WORD = "x" * 1_000_000
SAILING = "Who sails alone tells the harbour master before. " * 40


@dataclass(frozen=True)
class Site:
    """A running server, and the store that it serves."""

    server: Running
    store: str

    @property
    def url(self) -> str:
        return self.server.url


def build(folder: Path) -> str:
    """The URL of a store with two revisions; the first is published."""
    shutil.copytree(EXAMPLES, folder / "corpus")
    store = f"sqlite:///{folder / 'store.db'}"
    with Sourcebook.open(store) as sb:
        sb.ingest(folder / "corpus", message="the example corpus")
        sb.create_baseline(BASELINE)
        sb.publish(BASELINE)
        guideline = folder / LENDING
        guideline.write_text(f"{guideline.read_text()}\n## Late returns\n\n{NEW_RULE}\n")
        _more(folder)
        sb.ingest(folder / "corpus", folder / "more", message="a stricter guideline, and a chat")
    return store


def _more(folder: Path) -> None:
    more = folder / "more"
    more.mkdir()
    (more / "chat.json").write_text(json.dumps([_chat()]))
    (more / "manual.pdf").write_bytes(_manual())
    title = json.dumps(f"Payroll {ATTACK}")
    (more / "hostile.md").write_text(f"---\ntitle: {title}\n---\nThe payroll of gnomes. {ATTACK}\n")
    (more / "bidi.md").write_text(f"# Elven names\n\nElven names are {BIDI}.\n")
    (more / "long.txt").write_text(f"Troll inventory begins here. {LONG_WORD} and it ends here.")
    (more / "emoji.md").write_text(
        "# Boats\n\n🚤🚤🚤 Every boat has a number.\n\n"
        f"## Mooring\n\n{'A boat 🚤 is moored by two lines. ' * 60}\n\n## Sailing\n\n{SAILING}\n"
    )


def _message(name: str, parent: str | None, children: list[str], role: str, text: str) -> object:
    content = {"content_type": "text", "parts": [text]}
    said = {"id": name, "author": {"role": role}, "create_time": 1767261600.0, "content": content}
    return {"id": name, "parent": parent, "children": children, "message": said}


def _chat() -> object:
    asked = "Which battery suits a barn roof of forty kilowatts?"
    again = "Take a lithium iron phosphate battery of sixty kilowatt hours."
    first = "A lead battery would do, though it wears out sooner."
    thanks = "And how warm may it get?"
    mapping = {
        "u1": _message("u1", None, ["a1", "a2"], "user", asked),
        "a1": _message("a1", "u1", [], "assistant", first),
        "a2": _message("a2", "u1", ["u2"], "assistant", again),
        "u2": _message("u2", "a2", ["a3"], "user", thanks),
        "a3": _message("a3", "u2", [], "assistant", "Keep it below thirty-five degrees."),
    }
    return {
        "title": "A battery for the barn",
        "conversation_id": CHAT,
        "create_time": 1767261600.0,
        "update_time": 1767261700.0,
        "current_node": "a3",
        "mapping": mapping,
    }


def _manual() -> bytes:
    """Two pages, each with a heading of its own."""
    texts = (
        ("Starting the chipper", "The wood chipper is started with the red lever held down."),
        ("Stopping the chipper", "The wood chipper is stopped by letting the red lever go."),
    )

    def page(number: int, title: str, text: str):  # type: ignore[no-untyped-def]
        def draw(canvas):  # type: ignore[no-untyped-def]
            y = lines(canvas, [f"{number}. {title}"], size=18, font="Helvetica-Bold")
            lines(canvas, [text] * 30, y=y - 20)

        return draw

    return pdf(*(page(n, *each) for n, each in enumerate(texts, start=1)))
