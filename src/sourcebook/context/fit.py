"""Text and a number of tokens in, text that fits out: cut at a word, or summarised as stated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Count = Callable[[Sequence[str]], list[int]]

_GAP = "\n[…]\n"


def clip(text: str, tokens: int, count: Count) -> str:
    """The longest start of the text, up to a white space, of at most so many tokens."""
    text = text[: tokens * 64]
    if not text or len(text.encode("utf-8", "replace")) <= tokens or count([text])[0] <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count([text[:middle]])[0] <= tokens:
            low = middle
        else:
            high = middle - 1
    space = max(text.rfind(c, 0, low) for c in " \n\t")
    return text[: space if space > low // 2 else low].rstrip()


def clip_end(text: str, tokens: int, count: Count) -> str:
    """The same from the end of the text."""
    tail = text[-tokens * 64 :]
    return clip(tail[::-1], tokens, lambda texts: count([t[::-1] for t in texts]))[::-1]


def summarize(
    text: str, headings: Callable[[], str], tokens: int, count: Count
) -> tuple[str, bool]:
    """The text itself where it fits; else its headings, its start and its end, and True."""
    if len(text) <= tokens * 16 and count([text])[0] <= tokens:
        return text, False
    outline = clip(headings(), tokens // 4, count)
    start = clip(text, tokens // 2, count)
    end = clip_end(text[len(start) :], tokens // 5, count)
    return _GAP.join(part for part in (outline, start, end) if part), True
