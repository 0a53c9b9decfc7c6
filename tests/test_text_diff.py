"""Diffs as `diff -u` writes them, and the bounds of what is compared and shown."""

from __future__ import annotations

import random
import re
import time
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from sourcebook.text_diff import text_diff

lines = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30)


def test_one_line_of_many() -> None:
    old = [str(n) for n in range(1, 21)]
    new = [*old[:9], "ten", *old[10:]]
    told, cut = text_diff("\n".join(old), "\n".join(new))
    assert told == "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13"
    assert not cut


def test_texts_that_are_empty() -> None:
    assert text_diff("", "") == ("", False)
    assert text_diff("", "one\ntwo") == ("@@ -0,0 +1,2 @@\n+one\n+two", False)
    assert text_diff("one", "") == ("@@ -1 +0,0 @@\n-one", False)


@given(old=lines, new=lines)
def test_it_leads_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    told, cut = text_diff("\n".join(old), "\n".join(new))
    assert not cut
    old, new = "\n".join(old).splitlines(), "\n".join(new).splitlines()
    assert applied(old, told) == new
    assert (told == "") == (old == new)
    size = len([x for x in told.splitlines() if x[:1] in "+-"])
    reference = list(unified_diff(old, new, lineterm="", n=3))[2:]
    if old[: len(new)] == new or new[: len(old)] == old:  # lines at the end alone: one best way
        assert size == len([x for x in reference if x[:1] in "+-"])


def applied(old: list[str], told: str) -> list[str]:
    """What `patch` makes of it; every line that it names must be there."""
    made: list[str] = []
    at = 0
    for line in told.splitlines():
        if hunk := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            start = int(hunk[1]) - (hunk[2] != "0")
            made += old[at:start]
            at = start
        elif line[:1] == "+":
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            made += [line[1:]] if line[0] == " " else []
    return made + old[at:]


def test_a_small_change_in_a_long_text_is_shown_whole() -> None:
    old = [f"line {n}" for n in range(50_000)]
    new = [*old[:30_000], "new", *old[30_001:]]
    told, cut = text_diff("\n".join(old), "\n".join(new))
    assert told.splitlines()[0] == "@@ -29998,7 +29998,7 @@"
    assert not cut


def test_what_is_not_compared_is_not_called_different() -> None:
    """Many lines before the others: the end of the window holds lines that only moved."""
    old = [f"line {n}" for n in range(6000)]
    new = [f"first {n}" for n in range(100)] + old[:-1] + ["last"]
    told, cut = text_diff("\n".join(old), "\n".join(new))
    assert cut
    assert not [line for line in told.splitlines() if line.startswith("-")]
    assert len([line for line in told.splitlines() if line.startswith("+")]) == 100


def test_it_is_bounded_in_length_and_time() -> None:
    told, cut = text_diff("\n".join(map(str, range(999))), "\n".join(map(str, range(999, 2000))))
    assert (len(told.splitlines()), cut) == (400, True)
    told, cut = text_diff("x" * 500_000, "y" * 500_000)
    assert (len(told), cut) == (40_000, True)
    rng = random.Random(1)
    texts = ["\n".join(str(rng.randrange(300)) for _ in range(50_000)) for _ in range(2)]
    start = time.process_time()
    assert text_diff(*texts)[1]
    assert time.process_time() - start < 10
