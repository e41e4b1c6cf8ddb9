"""The nearest spectra of a query: exact, by bounds over blocks of peaks, or pair by pair where few may be found."""

__all__ = ["Question", "nearest"]

from dataclasses import dataclass

import numpy as np

from mercer._native.spectra import matching, windows
from mercer.spectra.index.blocks import BLOCK_ROWS

FEW = 50  # one row in so many: below, rows are matched one by one


@dataclass(frozen=True)
class Question:
    """What is asked about every query; ``k`` None: all that reach ``least``."""

    kind: int
    mode: int
    tolerance: float
    ppm: bool
    k: int | None
    least: float
    least_matched: int


class Scratch:
    """Sums over the rows of a block, matches if they are ``counted``, and room for contributions."""

    def __init__(self, counted):
        self.sums = np.empty(BLOCK_ROWS, dtype=np.float32)
        self.counts = np.empty(BLOCK_ROWS if counted else 0, dtype=np.uint16)
        self.contributions = np.empty(windows.STRETCH, dtype=np.float32)


def nearest(question, mz, intensity, precursor, peaks, losses, allowed):
    """(scores, matched peaks, positions) of the rows that are found for one query, best first, ties by position.

    Parameters
    ----------
    mz, intensity, precursor : the query, prepared
    peaks : list of PeakBlock
    losses : list of PeakBlock, None if losses are not asked for
    allowed : bool for every position, None for all
    """
    if question.mode != matching.FRAGMENTS and not np.isfinite(precursor):
        return _ordered([], question.k)
    query = question.kind, question.mode, mz, intensity, float(precursor), float(question.tolerance), question.ppm
    if allowed is not None and np.count_nonzero(allowed) * FEW <= len(allowed):
        parts = [_by_pairs(question, query, block, allowed) for block in peaks]
        return _ordered(parts, question.k)
    return _by_windows(question, query, peaks, losses, allowed)


def _by_pairs(question, query, block, allowed, rows=None):
    """Those of some rows of a block that are good enough."""
    if rows is None:
        rows = np.flatnonzero(allowed[block.first : block.first + block.n_rows])
    kind, mode, mz, intensity, precursor, tolerance, ppm = query
    rows = rows + block.start
    values, offsets = block.segment.arrays["intensity"]
    scores, matched = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
    matching.match_pairs(
        kind, mode, mz, intensity, np.array([0, len(mz)]), np.zeros(len(rows), dtype=np.int64),
        block.segment.arrays["mz"][0], values, offsets, rows, precursor - block.precursors[rows], tolerance, ppm,
        scores, matched,
    )  # fmt: skip
    good = (scores >= question.least) & (matched >= question.least_matched)
    return scores[good], matched[good], rows[good] + block.segment.first


def _by_windows(question, query, peaks, losses, allowed):
    kind, mode, mz, intensity, precursor, tolerance, ppm = query
    widths = mz * tolerance * 1e-6 if ppm else np.full(len(mz), tolerance)
    asked = []  # (blocks, centers, their widths, their intensities)
    if mode != matching.LOSSES:
        asked.append((peaks, mz, widths, intensity))
    if mode != matching.FRAGMENTS:
        asked.append((losses, *(np.ascontiguousarray(part[::-1]) for part in (precursor - mz, widths, intensity))))
    scratch, parts = Scratch(question.least_matched > 1), []
    k = question.k or 0
    best, n = (np.empty(k), np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)), 0
    for number, block in enumerate(peaks):
        scratch.sums.fill(0)
        scratch.counts.fill(0)
        for blocks, centers, half, values in asked:
            found = blocks[number].arrays
            windows.add_windows(
                kind, centers, half, values, found["masses"], found["values"], found["rows"], scratch.contributions,
                scratch.sums, scratch.counts,
            )  # fmt: skip
        here = slice(block.first, block.first + block.n_rows)
        open_to = np.ones(block.n_rows, dtype=np.uint8) if allowed is None else allowed[here].view(np.uint8)
        if question.k is None:
            enough = (scratch.sums[: block.n_rows] * 1.001 + 1e-6 >= question.least) & (open_to > 0)
            if question.least_matched > 1:
                enough &= scratch.counts[: block.n_rows] >= question.least_matched
            rows = np.flatnonzero(enough)
            parts.append(_by_pairs(question, query, block, allowed, rows))
            continue
        values, offsets = block.segment.arrays["intensity"]
        n = windows.match_candidates(
            *query, block.segment.arrays["mz"][0], values, offsets, block.precursors, block.segment.first, block.start,
            open_to, question.least, question.least_matched, scratch.sums, scratch.counts, *best, n,
        )  # fmt: skip
    return tuple(part[:n] for part in best) if question.k is not None else _ordered(parts, None)


def _ordered(parts, k):
    empty = np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    scores, matched, places = (np.concatenate(each) for each in zip(*[empty, *parts], strict=True)) if parts else empty
    order = np.lexsort((places, -scores))[:k]
    return scores[order], matched[order], places[order]
