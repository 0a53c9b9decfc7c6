"""Lines that may be numbered headings in; those whose numbers follow each other out.

Sections begin again under each higher heading, and everything begins again in an appendix. Numbers
without depth ("1. Title") are headings only above deeper ones or with text between them; otherwise
they are a list.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set

from sourcebook.sources.numbering import APPENDIX, SECTION, Numbered

_GAP = 3
"""How far a number may jump: a heading in between may not have been recognised."""
_TEXT_BETWEEN = 200
"""Characters between two headings, on average, that tell them from a list."""


def in_sequence(
    options: Mapping[int, Numbered],
    starts: Sequence[int],
    named: Set[int],
    ends: Mapping[int, int],
) -> dict[int, Numbered]:
    """`options` by line, `starts` of all lines, `ends` of options; `named` are headings anyway."""
    accepted: dict[int, Numbered] = {}
    last: dict[int, tuple[int, ...]] = {}
    listed: tuple[int, str] | None = None  # the number and the mark of an inner list's last item
    for at in sorted(options):
        found = options[at]
        if at not in named:
            listed_next = _is_in_list(found, last.get(SECTION), listed)
            if listed_next:
                listed = (found.number[0], found.mark)
                continue
            if not _follows(found, last):
                continue
        accepted[at] = found
        last = _after(found, last)
        listed = None if len(found.number) == 1 else listed
    return _without_lists(accepted, starts, named, ends)


def _is_in_list(
    found: Numbered, section: tuple[int, ...] | None, listed: tuple[int, str] | None
) -> bool:
    """Whether a plain number counts the items of a list inside a section: it begins at 1 where the
    sections are further, or goes on from there."""
    if not found.plain or len(found.number) > 1 or section is None:
        return False
    if found.number == (1,):
        return True
    return listed is not None and listed == (found.number[0] - 1, found.mark)


def _after(found: Numbered, last: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    if found.kind == APPENDIX:
        return {}
    return {**{k: n for k, n in last.items() if k < found.kind}, found.kind: found.number}


def _follows(found: Numbered, last: Mapping[int, tuple[int, ...]]) -> bool:
    if found.kind == APPENDIX:
        return not found.run_in
    before = last.get(found.kind)
    if before is None:
        return _begins(found, last)
    return _is_next(before, found)


def _begins(found: Numbered, last: Mapping[int, tuple[int, ...]]) -> bool:
    """Whether a number may be the first of its kind: 1, the number of what stands above, or, with
    a word or some depth, any (an excerpt begins anywhere)."""
    first, deeper = found.number[0], found.number[1:]
    above = [number[-1] for kind, number in last.items() if kind < found.kind]
    if first in (0, 1, *above) and all(part in (0, 1) for part in deeper):
        return True
    return not above and (not found.plain or len(found.number) > 2 or deeper == (1,))


def _is_next(before: tuple[int, ...], found: Numbered) -> bool:
    number = found.number
    same = 0
    while same < min(len(before), len(number)) and before[same] == number[same]:
        same += 1
    if same == len(number):
        return False
    if same == len(before):
        return all(part in (0, 1) for part in number[same:])
    step = number[same] - before[same]
    is_code = not found.plain or len(number) > 2
    rest = all(part in (0, 1) for part in number[same + 1 :])
    return step > 0 and rest and (step <= _GAP or (is_code and same == len(number) - 1))


def _without_lists(
    accepted: dict[int, Numbered], starts: Sequence[int], named: Set[int], ends: Mapping[int, int]
) -> dict[int, Numbered]:
    """Without plain numbers of depth one that have nothing below and hardly text between."""
    flat = [at for at, n in accepted.items() if n.plain and len(n.number) == 1 and at not in named]
    if not flat:
        return accepted
    parents = {n.number[0] for n in accepted.values() if len(n.number) > 1}
    has_children = sum(accepted[at].number[0] in parents for at in flat)
    if has_children * 2 >= len(flat):
        return accepted
    whole = [at for at in flat if not accepted[at].run_in]
    between = sum(starts[b] - ends[a] for a, b in itertools.pairwise(flat))
    if len(whole) == len(flat) >= 3 and between >= _TEXT_BETWEEN * (len(flat) - 1):
        return accepted
    dropped = frozenset(flat)
    return {at: n for at, n in accepted.items() if at not in dropped}
