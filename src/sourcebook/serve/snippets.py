"""A passage and a question in, the lines of the passage that matter out, with the words marked.

Words are marked by the same analysis that found them: a question for "paying" marks "paid" only if
the index saw it so. Without a question a passage is shown from its start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from sourcebook.serve.render import INDENT, safe

if TYPE_CHECKING:
    from sourcebook.model import PreparedQuery

LINES = 6
_WIDEST = 110
_LOOKED_AT = 20_000
"""Characters of a passage that are looked at for its best lines: a whole document may be a hit."""
_WORD = re.compile(r"\w+(?:[-_./:@#+&'’]\w+)*")
_SOFT_BREAK = re.compile(r"(?<=[^\n|])\n(?=[^\W\d_]|[(\"'“‘£$€]|\d+ )")
"""A line that ends inside a paragraph: the next one goes on with a word or a figure, not with the
mark of a list item."""


def snippet(text: str, query: PreparedQuery, out: Console) -> list[Text]:
    """The passage, wrapped, cut to the lines that hold most of the query's words."""
    clean = re.sub(r"\n\s*\n+", "\n\n", safe(text[:_LOOKED_AT]).strip())
    clean = _SOFT_BREAK.sub(" ", clean).replace("\n\n", "\n")
    width = max(20, min(out.width, _WIDEST) - len(INDENT) - 2)
    lines = _marked(clean, frozenset(query.terms)).wrap(out, width)
    first = _best_window([len(line.spans) for line in lines])
    shown = list(lines[first : first + LINES])
    for line in shown:
        line.rstrip()
    if first:
        shown[0] = Text("… ").append_text(shown[0])
    if first + LINES < len(lines) or len(text) > _LOOKED_AT:
        shown[-1].append(" …")
    return shown


def _marked(text: str, terms: frozenset[str]) -> Text:
    from sourcebook.analysis import STOP_TERMS, analyze

    marked = Text(text)
    for word in _WORD.finditer(text) if terms else ():
        found = analyze(word[0])
        if (terms & {*found.terms, *found.compounds}) - STOP_TERMS:
            marked.stylize("bold yellow", word.start(), word.end())
    return marked


def _best_window(weights: list[int]) -> int:
    """Where the LINES lines with most marks begin; the first such place."""
    starts = range(max(1, len(weights) - LINES + 1))
    return max(starts, key=lambda start: (sum(weights[start : start + LINES]), -start))
