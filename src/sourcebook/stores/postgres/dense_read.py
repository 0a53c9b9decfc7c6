"""Numbers of vectors or passages in, the vectors out, and their cosines with a question's: the same
bits as in the embedded store."""

from __future__ import annotations

from typing import NamedTuple

import numkong
import numpy as np
import numpy.typing as npt

from sourcebook.ports import Vectors
from sourcebook.stores import checksums
from sourcebook.stores.postgres.dense_numbers import VectorNumbers
from sourcebook.stores.postgres.search_lanes import Rows
from sourcebook.stores.postgres.search_statements import Packed, Session, run

Scores = npt.NDArray[np.float64]


class Place(NamedTuple):
    repository: int
    space: int


def read_vectors(session: Session, place: Place, numbers: VectorNumbers, passages: Rows) -> Vectors:
    """A row each, of zeros where a passage has none."""
    wanted, places = np.unique(numbers.of[passages], return_inverse=True)
    return read(place, numbers.dimensions, session, wanted)[places]


def read(place: Place, dimensions: int, session: Session, wanted: Rows) -> Vectors:
    """The vectors of these numbers, ascending; a row of zeros where there is none, or where it is
    damaged, which the session notes."""
    matrix = np.zeros((len(wanted), dimensions), np.float32)
    asked = {"space": place.space, "numbers": Packed(wanted[wanted >= 0])}
    found = run(session, "vectors", place.repository, asked, binary=True)
    at = np.searchsorted(wanted, np.array([number for number, _, _ in found], np.int64))
    # As pgvector sends it: two 16-bit numbers, then big-endian floats.
    data = b"".join(memoryview(data)[4:] for _, data, _ in found)
    vectors = np.frombuffer(data, ">f4").astype("<f4").reshape(len(found), dimensions)
    for n, (number, _, checksum) in enumerate(found):
        if not checksums.matches(checksum, checksums.of_bytes(vectors[n].data)):
            session.damaged.add(number)
            vectors[n] = 0
    matrix[at] = vectors
    return matrix


def cosines(query: Vectors, vectors: Vectors) -> Scores:
    """As cosine.py computes them: summed in double precision, row by row. NaN for rows of zeros."""
    if not len(vectors):
        return np.empty(0)
    found: Scores = np.array(numkong.cdist(query[None], vectors, metric="dot"))[0]
    found[~vectors.any(axis=1)] = np.nan
    return found
