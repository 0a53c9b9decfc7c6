"""Vectors of consecutive text units in, the topic boundaries between them out.

The units are sentences or the turns of a dialogue. A segmentation is scored by its *cohesion*: the
similarities of all pairs of units inside a segment, divided by the segment's weight plus `KAPPA`,
minus `PENALTY` for each boundary. The best segmentation is found by dynamic programming. Pairs more
than `REACH` units apart are left out, so the cost grows linearly with the document.

Similarities are relative to the document: the mean of the units around is subtracted, and what is
left is scaled to unit variance. So the same constants serve sentences and turns, and they depend
little on the model. A unit's similarity with itself is not counted: it would reward short segments
in a text without topics. The constants were chosen on one half of the data of evals/boundaries.py.

Sources of the idea: Utiyama and Isahara 2001 (the best path over segments), Alemi and Ginsparg 2015
(sums of word vectors as the score of a segment).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

KAPPA = 2.0  # units of weight: how much a short segment's cohesion is held back
PENALTY = 0.2  # price of a boundary at the default threshold, in units of the document's variance
DEFAULT = 0.35  # the threshold at which the price is PENALTY
REACH = 64  # units: pairs farther apart are not compared
BACKGROUND = 256  # units: the surroundings whose mean is what everything here has in common
BLOCK = 128  # units whose similarities are in memory at a time
TILE = 8  # units multiplied with those before them at a time; divides BLOCK
STRIDE = 2048  # units handled at a time where only neighbours matter
IDENTICAL = 1e-6  # cosine distance below which two units are the same text
USUAL = 0.2  # similarity of neighbours where there are topics
PRIOR = 10  # units: the strength of that expectation
LENGTH_POWER = 0.25  # a unit of 16 times the tokens counts twice


@dataclass(frozen=True, slots=True)
class Boundary:
    """What lies between units[index] and units[index + 1]."""

    index: int
    distance: float
    significant: bool


def detect(
    vectors: NDArray[np.floating],
    *,
    threshold: float = DEFAULT,
    lengths: NDArray[np.integer] | None = None,
    turns: bool = False,
) -> list[Boundary]:
    """Return the n - 1 boundaries between n units; the significant ones separate topics.

    `threshold` is the strength a boundary needs: the price of a boundary is proportional to it, and
    a document whose units differ from their common mean by less than it pays more. A higher value
    never gives more boundaries. `lengths` are token counts: longer units weigh a little more.
    `turns` says that the units are turns of a dialogue, where an answer is bound to its question.
    """
    units = np.ascontiguousarray(vectors, dtype=np.float32)
    if len(units) < 2:
        return []
    gaps = distances(units).tolist()
    chosen = cuts(units, threshold=threshold, lengths=lengths, turns=turns).tolist()
    return [Boundary(i, gap, cut) for i, (gap, cut) in enumerate(zip(gaps, chosen, strict=True))]


def distances(units: Floats) -> Floats:
    """Cosine distance, 0 to 1, of what stands just before and just after each of the n - 1 gaps.

    Either side is the nearest unit, half of the next one and a quarter of the third, so that one
    short unit does not decide. Empty units (zero vectors) are at no distance from anything.
    """
    result = np.zeros(len(units) - 1, dtype=np.float32)
    for start in range(0, len(result), STRIDE):
        stop = min(len(result), start + STRIDE)
        left, right = units[start:stop].copy(), units[start + 1 : stop + 1].copy()
        for back, share in ((1, 0.5), (2, 0.25)):
            skip = max(0, back - start)
            left[skip:] += share * units[start + skip - back : stop - back]
            ahead = units[start + 1 + back : stop + 1 + back]
            right[: len(ahead)] += share * ahead
        result[start:stop] = 1.0 - _cosines(left, right)
    return np.clip(result, 0.0, 1.0)


def _cosines(left: Floats, right: Floats) -> Floats:
    """Row by row cosines; 1 where a row is zero, for nothing tells an empty unit apart."""
    norms = np.sqrt(np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right))
    products = np.einsum("ij,ij->i", left, right)
    return np.where(norms > 0, products / np.where(norms > 0, norms, 1), 1).astype(np.float32)


def cuts(
    units: Floats,
    *,
    threshold: float = DEFAULT,
    lengths: NDArray[np.integer] | None = None,
    turns: bool = False,
) -> NDArray[np.bool_]:
    """For each of the n - 1 gaps, whether the best segmentation cuts there.

    Empty units say nothing, so they are left out; they stay with what stands before them.
    """
    filled = np.flatnonzero(units.any(axis=1))
    result = np.zeros(max(0, len(units) - 1), dtype=np.bool_)
    if len(filled) < 2:
        return result
    if len(filled) < len(units):
        lengths = None if lengths is None else np.asarray(lengths)[filled]
        units = units[filled]
    centred, variance = _standardise(units)
    prices = _prices(units, centred, threshold * max(1.0, threshold / max(variance, 1e-9)), turns)
    result[filled[1:] - 1] = _best_path(centred, _weights(lengths, len(units)), prices)
    return result


def _prices(units: Floats, centred: Floats, strength: float, turns: bool) -> Doubles:
    """What a boundary costs in each gap; between identical units there is none at any price."""
    alike = np.einsum("ij,ij->i", centred[:-1], centred[1:]).astype(np.float64)
    prices = np.full(len(alike), PENALTY * strength / DEFAULT * _doubt(alike))
    if turns:
        prices += _exchange_bonds(alike)
    prices[_cosines(units[:-1], units[1:]) > 1 - IDENTICAL] = np.inf
    return prices


def _standardise(units: Floats) -> tuple[Floats, float]:
    """Subtract the mean of the surroundings and scale to unit variance.

    Returns the new vectors and the variance they had: the mean squared distance from that mean.
    """
    centred = np.empty_like(units)
    for start in range(0, len(units), STRIDE):
        stop = min(len(units), start + STRIDE)
        centred[start:stop] = units[start:stop] - _surroundings(units, start, stop)
    variance = float(np.einsum("ij,ij->", centred, centred, dtype=np.float64)) / len(units)
    if variance > 0:
        centred /= np.float32(np.sqrt(variance))
    return centred, variance


def _surroundings(units: Floats, start: int, stop: int) -> Floats:
    """Mean of the BACKGROUND units around each unit of the block (of all, if there are fewer)."""
    total = len(units)
    lows = np.clip(np.arange(start, stop) - BACKGROUND // 2, 0, max(0, total - BACKGROUND))
    first, last = int(lows[0]), min(total, int(lows[-1]) + BACKGROUND)
    sums = np.zeros((last - first + 1, units.shape[1]))
    np.cumsum(units[first:last], axis=0, dtype=np.float64, out=sums[1:])
    size = min(total, BACKGROUND)
    return ((sums[lows - first + size] - sums[lows - first]) / size).astype(np.float32)


def _weights(lengths: NDArray[np.integer] | None, count: int) -> Doubles:
    """One weight a unit, 1 on average."""
    if lengths is None:
        return np.ones(count)
    raw = np.maximum(np.asarray(lengths, dtype=np.float64), 1.0) ** LENGTH_POWER
    return np.asarray(raw / raw.mean())


def _lift(count: int) -> float:
    """Centring makes unrelated units look opposed, by this much on average; it is put back."""
    return 1.0 / max(1, min(count, BACKGROUND) - 1)


def _doubt(alike: Doubles) -> float:
    """How much more a boundary costs, 1 or above, where there seem to be no topics at all.

    Where there are topics, neighbours are more alike than units far apart: by about USUAL in texts
    of known topics, by nothing if their sentences are shuffled. Few units prove little, so the
    usual value is mixed in as if it came from PRIOR more units.
    """
    count = len(alike) + 1
    excess = float(alike.mean()) + _lift(count)
    mixed = (count * excess + PRIOR * USUAL) / (count + PRIOR)
    return max(1.0, USUAL / 2 / max(mixed, 1e-3))


def _exchange_bonds(alike: Doubles) -> Doubles:
    """The extra price of cutting inside an exchange (a question and its answer), a gap each.

    Speakers take turns, so exchanges are every second gap. If neighbours are more alike on one
    parity than on the other, those are the exchanges, and the mean excess is what binds them.
    """
    bonds = np.zeros(len(alike))
    if len(alike) >= 2:
        excess = float(alike[0::2].mean() - alike[1::2].mean())
        bonds[0 if excess > 0 else 1 :: 2] = abs(excess)
    return bonds


def _similarities(centred: Floats, weights: Doubles) -> Iterator[Doubles]:
    """For each unit, the summed similarities with the units before it, block by block of rows.

    Column c of unit j's row is the sum over the units j - (REACH - 1) + c to j - 1: what j adds to
    a segment that begins there. Units before the document count as zero.
    """
    reach = REACH - 1
    factors = np.concatenate([np.zeros(reach), weights])
    for start in range(0, len(centred), BLOCK):
        own = weights[start : start + BLOCK, None]
        before = sliding_window_view(factors, reach)[start : start + len(own)]
        shares = (_band(centred, start)[: len(own)] + _lift(len(centred))) * before * own
        yield np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]


def _band(centred: Floats, start: int) -> Floats:
    """Similarities of BLOCK units with the REACH - 1 units before each, the farthest first.

    Multiplied in tiles of a few rows: little is computed outside the band, and a linear algebra
    library does not start threads for so small a product, which would cost more than they bring.
    """
    reach, stop = REACH - 1, min(len(centred), start + BLOCK)
    window = np.zeros((reach + BLOCK, centred.shape[1]), dtype=np.float32)
    skip = max(0, reach - start)
    window[skip : reach + stop - start] = centred[start - reach + skip : stop]
    row, item = window.strides
    spans = as_strided(
        window, (BLOCK // TILE, centred.shape[1], reach + TILE), (TILE * row, item, row)
    )
    products = window[reach:].reshape(BLOCK // TILE, TILE, -1) @ spans
    tile, row, item = products.strides
    band = as_strided(products, (BLOCK // TILE, TILE, reach), (tile, row + item, item))
    return band.reshape(BLOCK, reach)


def _masses(weights: Doubles) -> Iterator[Doubles]:
    """For each unit, the weights of the REACH segments that end with it, block by block of rows.

    Segments that would begin before the document have an infinite mass, hence no cohesion.
    """
    reached = np.concatenate([np.full(REACH - 1, -np.inf), [0.0], np.cumsum(weights)])
    starts = sliding_window_view(reached, REACH)
    for start in range(0, len(weights), BLOCK):
        stop = min(len(weights), start + BLOCK)
        yield reached[REACH + start : REACH + stop, None] - starts[start:stop]


def _best_path(centred: Floats, weights: Doubles, prices: Doubles) -> NDArray[np.bool_]:
    """Choose the segments of the highest total cohesion less prices; return the cuts.

    A segment longer than REACH gains by each further unit what the unit brings to the last REACH.
    """
    total = len(centred)
    entry = np.full(total + REACH + 1, -np.inf)  # entry[REACH + i]: best value of starting at i
    entry[REACH] = 0.0
    back = [0] * (total + 1)
    tolls = [*prices.tolist(), 0.0]
    long, origin, shorter = -np.inf, 0, 0.0  # the best segment of REACH units or more, its start
    for end, cohesion in enumerate(_cohesions(centred, weights), start=1):
        values = cohesion + entry[end : end + REACH]
        pick = int(values.argmax())
        value, start = float(values[pick]), end - REACH + pick
        long += float(cohesion[0]) - shorter
        if values[0] > long:
            long, origin = float(values[0]), end - REACH
        if long > value:
            value, start = long, origin
        shorter = float(cohesion[1])
        entry[REACH + end] = value - tolls[end - 1]
        back[end] = start
    return _trace(back)


def _cohesions(centred: Floats, weights: Doubles) -> Iterator[Doubles]:
    """For each end, 1 to n, the cohesions of the REACH segments that end there, longest first."""
    inner = np.zeros(REACH)  # the similarities of all pairs inside each of the segments
    for added, masses in zip(_similarities(centred, weights), _masses(weights), strict=True):
        for gain, scale in zip(added, 2.0 / (masses + KAPPA), strict=True):
            inner[:-1] = inner[1:] + gain
            yield inner * scale


def _trace(back: list[int]) -> NDArray[np.bool_]:
    """Follow the starts of the segments from the end; there is a cut before each but the first."""
    chosen = np.zeros(len(back) - 2, dtype=np.bool_)
    at = back[-1]
    while at > 0:
        chosen[at - 1] = True
        at = back[at]
    return chosen
