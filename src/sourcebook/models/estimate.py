"""Texts in, their numbers of tokens out, for models whose tokenizer is not on this machine.

Many open models use BERT's English vocabulary, which the static model has too: for these the number
is exact. For all others it is an estimate that is rather too high, so that a text that fits by it
fits the model: the word pieces of each word, more where a word has letters that the vocabulary
does not know, the white space that byte-level tokenizers count, and a margin on all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from sourcebook.models.words import ROOM, WordTokens

MARGIN = 1.15
"""Measured on prose, chat, law, XML and program code against OpenAI's cl100k_base."""
_WORD = re.compile(r"[^ \t\r\n]+")
_GAP = re.compile(r"[\t\r\n]\s*|  +")
_UNKNOWN = "[UNK]"


class TokenCount:
    """Counts by a WordPiece tokenizer. Any thread may call."""

    def __init__(self, tokenizer: Any, *, exact: bool) -> None:
        """`exact` where the model has the tokenizer's own vocabulary."""
        self._words = WordTokens(tokenizer)
        self._exact = exact
        self._unknown = tokenizer.token_to_id(_UNKNOWN)
        self._costs: dict[str, float] = {}
        self._size = 0

    def __call__(self, texts: Sequence[str]) -> list[int]:
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        if self._exact:
            return self._words.count(clean)
        split = [_WORD.findall(text) for text in clean]
        costs = self._learn(set(chain.from_iterable(split)))
        return [
            int(MARGIN * (sum(costs[word] for word in words) + len(_GAP.findall(text)))) + 1
            if text
            else 0
            for text, words in zip(clean, split, strict=True)
        ]

    def _learn(self, words: set[str]) -> dict[str, float]:
        """As WordTokens does: a memory that is full is left to those who still read it."""
        costs = self._costs
        fresh = [word for word in words if word not in costs]
        costs.update(zip(fresh, map(self._cost, fresh, self._words.ids(fresh)), strict=True))
        self._size += sum(map(len, fresh))
        if self._size > ROOM:
            self._costs, self._size = {}, 0
        return costs

    def _cost(self, word: str, ids: list[int]) -> float:
        """The space before a number is a token of its own; before a letter it is none."""
        space = word[0].isdigit()
        if word.isascii() and self._unknown not in ids:
            return len(ids) + space
        size = len(word.encode())
        return max(len(ids), size * 2 / 3 if self._unknown in ids else size / 2) + space
