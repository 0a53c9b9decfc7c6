"""Texts in, the ids of their tokens out, each different word tokenised once.

A WordPiece tokenizer never looks across white space, so a text's tokens are those of its words, one
after the other. Most words of a text were seen before: remembering them is several times as fast as
tokenising every sentence anew.
"""

import re
from collections.abc import Sequence
from itertools import chain

from tokenizers import Tokenizer

ROOM = 4_000_000  # characters of words that are remembered
_WORD = re.compile(r"[^ \t\r\n]+")  # other white space may be dropped by a tokenizer, and join


class WordTokens:
    """The tokens of texts by a WordPiece tokenizer. Any thread may call."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}
        self._size = 0

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """One list a text, special tokens left out."""
        split = [_WORD.findall(text) for text in texts]
        known = self._learn(set(chain.from_iterable(split)))
        return [[one for word in words for one in known[word]] for words in split]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [len(ids) for ids in self.ids(texts)]

    def _learn(self, words: set[str]) -> dict[str, list[int]]:
        """What is known, with all these words. A memory that is full is left to those who still
        read it and a new one begun."""
        known = self._known
        fresh = [word for word in words if word not in known]
        if not fresh:
            return known
        encoded = self._tokenizer.encode_batch_fast(fresh, add_special_tokens=False)
        known.update(zip(fresh, (one.ids for one in encoded), strict=True))
        self._size += sum(map(len, fresh))
        if self._size > ROOM:
            self._known, self._size = {}, 0
        return known
