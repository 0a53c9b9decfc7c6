"""Texts of strangers in; out come the same texts between marks that none of them can hold.

The marks carry a code that is a hash of all that stands between them: a text cannot hold its own
hash, so it can neither close its fence nor open another one. The same texts have the same code, so
a prompt can be made again to the letter.
"""

from __future__ import annotations

from itertools import count

from sourcebook.hashing import digest

_DIGITS = 12


def code_for(*texts: str) -> str:
    """A code that is in none of the texts."""
    folded = [text.casefold() for text in texts]
    codes = (digest("fence", number, *texts)[:_DIGITS] for number in count())
    return next(code for code in codes if not any(code in text for text in folded))


def fenced(name: str, code: str, text: str) -> str:
    return f"<{name}-{code}>\n{text}\n</{name}-{code}>"


def cut(text: str, longest: int) -> str:
    """Its start, as it can be sent: half characters are replaced."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8")
