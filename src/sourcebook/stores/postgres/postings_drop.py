"""A repository in, its postings without those of passages that retention has dropped out.

Every block is looked at, some thousand at a time: which terms a dropped passage had is no longer
known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sourcebook.stores.postgres.postings_codec import NARROW, WIDE
from sourcebook.stores.postgres.postings_write import Block, write_blocks
from sourcebook.stores.postgres.search_statements import Session, integers, stream

Kept = npt.NDArray[np.bool_]
_ROWS = 2000


def drop_passages(session: Session, repository: int) -> None:
    """Take out the postings of passages that are no longer there."""
    (numbers,) = integers(session, "passage_numbers", repository)
    kept = np.zeros(int(numbers.max(initial=0)) + 1, bool)
    kept[numbers] = True
    for rows in stream(session, "all_blocks", repository, _ROWS):
        changed: defaultdict[int, list[tuple[Block, Block | None]]] = defaultdict(list)
        for part, *columns in rows:
            block = Block(*columns)
            left = _left(block, kept)
            if left is not block:
                changed[part].append((block, left))
        for part, pairs in changed.items():
            _replace(session, repository, part, pairs)


def _left(block: Block, kept: Kept) -> Block | None:
    """The block without what is gone; itself where nothing is."""
    records = np.frombuffer(block.data, WIDE if block.wide else NARROW)
    numbers = records["number"]
    stays = numbers < len(kept)
    stays[stays] = kept[numbers[stays]]
    if stays.all():
        return block
    if not stays.any():
        return None
    first, last = numbers[stays][[0, -1]].tolist()
    return block._replace(first=first, last=last, data=records[stays].tobytes())


def _replace(
    session: Session, repository: int, part: int, pairs: Sequence[tuple[Block, Block | None]]
) -> None:
    write_blocks(session, "drop_blocks", repository, part, [old for old, _ in pairs])
    if left := [new for _, new in pairs if new is not None]:
        write_blocks(session, "add_blocks", repository, part, left)
