"""HTML in, HTML of bounded nesting out.

The HTML5 algorithm walks the stack of open elements at each tag, and opens formatting elements
again in each new paragraph; the parser compares each attribute of a tag with all others. So a
file of a few hundred kilobytes can keep it busy for minutes. The work is estimated beforehand;
where it is out of all proportion, elements that only wrap others are taken out, and what is then
still too deep is refused.
"""

from __future__ import annotations

import re
from collections import Counter

from sourcebook.errors import UnreadableSource

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_VOID = frozenset(
    """area base br col embed hr img input link meta param source track wbr
    p li dt dd tr td th option""".split()
)
"""Tags that stay alone or are closed by the next one of their kind."""
_FORMATTING = "a b big code em font i nobr s small strike strong tt u".split()
_WRAPPERS = """abbr article aside bdi bdo blockquote center cite del details dfn dir div dl fieldset
    figure footer form header ins kbd label main mark menu ol q samp section span sub summary sup
    ul var""".split()
_WRAPPER_TAG = re.compile(rf"</?(?:{'|'.join(_WRAPPERS)})(?![\w-])[^<>]{{0,2000}}>", re.IGNORECASE)
_FORMATTING_TAG = re.compile(
    rf"</?(?:{'|'.join(_FORMATTING)})(?![\w-])[^<>]{{0,2000}}>", re.IGNORECASE
)
_OPEN_TAG = re.compile(r"<[a-zA-Z](?>[^>=]++|=\s*+(?>\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)*+")
_VALUE = re.compile(r"=\s*+(?>\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)")
_MAX_ATTRIBUTES = 1_000
_MAX_STEPS = 200_000_000
_MAX_COPIES = 2_000_000


def bounded(html: str) -> str:
    """The same page, if it can be parsed in reasonable time; else a flatter one."""
    _check_attributes(html)
    if not _is_excessive(html):
        return html
    flat = _FORMATTING_TAG.sub("", _WRAPPER_TAG.sub("<br><br>", html))
    if _is_excessive(flat):
        raise UnreadableSource("its tags are nested too deeply")
    return flat


def _is_excessive(html: str) -> bool:
    """Add up the depth at each tag, and the open formatting at each tag that begins a block."""
    opened: Counter[str] = Counter()
    depth = formatting = steps = copies = 0
    for match in _TAG.finditer(html):
        tag = match[2].lower()
        steps += depth
        copies += formatting if tag in _VOID else 0
        if tag in _VOID or (match[1] and not opened[tag]):
            continue
        change = -1 if match[1] else 1
        opened[tag] += change
        depth += change
        formatting += change if tag in _FORMATTING else 0
    return steps > _MAX_STEPS or copies > _MAX_COPIES


def _check_attributes(html: str) -> None:
    for tag in _OPEN_TAG.finditer(html):
        if tag.end() - tag.start() <= 2 * _MAX_ATTRIBUTES:
            continue
        names = _VALUE.sub("= ", tag[0])
        if len(re.findall(r"[\s/]+", names)) > _MAX_ATTRIBUTES:
            raise UnreadableSource("a tag in it has too many attributes")
