"""Names that people choose, of repositories and keys for example: which ones are accepted.

A name is shown in lists, logs and messages, so two that look alike should not differ, and none may
break a line, reverse the text around it or show nothing at all.
"""

from __future__ import annotations

import re

from sourcebook.errors import InvalidInput

LONGEST = 200
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that show nothing although `str.isprintable` accepts them: fillers, variation
selectors and the blank of Braille (Unicode: Default_Ignorable_Code_Point, and U+2800)."""


def check_name(text: str, what: str, field: str | None = None, *, longest: int = LONGEST) -> None:
    """Raise InvalidInput for a name that is empty, too long or not entirely visible. `what` says in
    the message whose name it is."""
    visible = text.isprintable() and not _UNSEEN.search(text)
    if not 1 <= len(text) <= longest or not visible or text != text.strip():
        raise InvalidInput(
            f"the {what} must have 1 to {longest} characters, no control characters, no invisible "
            f"characters and no blank at either end: {text[:40]!r}",
            field=field or what,
        )
