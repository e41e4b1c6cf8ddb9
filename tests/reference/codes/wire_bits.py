"""Twins of `mercer._native.codes.wire_bits`, and docs/wire-format.md in whole numbers: what every client must do."""

import math
import re
from pathlib import Path

import numpy as np

from tests.reference.threefry import halfword

PAGE = Path(__file__).parents[3] / "docs" / "wire-format.md"


def printed_table():
    """T as the page prints it."""
    text = PAGE.read_text().split("## The table T")[1]
    return [int(number) for line in re.findall(r"^    ([\d ]+)$", text, re.M) for number in line.split()]


# ------------------------------------------------------------------------------------------------------- the page


def encode(specification, X):
    """Packed bits of rows, one number at a time."""
    return np.stack([_packed(specification, [float(x) for x in row]) for row in X])


def _packed(spec, row):
    bits = []
    for start in range(0, len(row), spec.features):
        z = [_rounded(spec, j, x) for j, x in enumerate(row[start : start + spec.features])]
        for value in _values(spec, projections(spec, z)):
            bits += [value >> k & 1 for k in range(spec.bits)]
    return np.packbits(bits, bitorder="little")


def _rounded(spec, j, x):
    difference = x - (0.0 if spec.center is None else float(spec.center[j]))
    product = difference * (2.0**spec.exponent if spec.scale is None else float(spec.scale[j]))
    return int(min(max(math.floor(product + 0.5), -32767), 32767))


def projections(spec, z):
    """p of whole numbers z."""
    key = spec.seed & 0xFFFFFFFF, spec.seed >> 32
    if spec.matrix == "learned":
        return [sum(a * number for a, number in zip(row, z, strict=True)) for row in spec.entries.tolist()]
    if spec.matrix == "dense":
        table = printed_table()
        return [
            sum(_entry(halfword(*key, 0, b * spec.features + j), table) * number for j, number in enumerate(z))
            for b in range(spec.projections)
        ]
    n = spec.padded
    out = []
    for group in range(-(-spec.projections // n)):
        y = z + [0] * (n - len(z))
        for r in range(3):
            places = [(3 * group + r) * n + i for i in range(n)]
            y = [-v if halfword(*key, 2, e // 16) >> e % 16 & 1 else v for v, e in zip(y, places, strict=True)]
            y = (_hadamard(n) @ np.array(y)).tolist()  # int64: exact
        out += y
    return out[: spec.projections]


def _hadamard(n):
    i = np.arange(n)
    return 1 - 2 * (np.bitwise_count(i[:, None] & i).astype(np.int64) % 2)


def _entry(u, table):
    return -table[u % 1024] if u >= 32768 else table[u % 1024]


def _values(spec, p):
    key, D = (spec.seed & 0xFFFFFFFF, spec.seed >> 32), spec.step
    dither = [halfword(*key, 1, b) * D // 65536 for b in range(spec.projections)]
    if spec.kind == "universal":
        return [int((value + w) % (2 * D) >= D) for value, w in zip(p, dither, strict=True)]
    out, missed, half = [], 0, 2 ** (spec.bits - 1)
    for b, value in enumerate(p):
        offset = 0 if spec.offsets is None else int(spec.offsets[b])
        t = value - offset + (dither[b] - D // 2 if spec.dither else 0) + missed
        level = min(max(t // D + half, 0), 2 * half - 1)
        out.append(level)
        if spec.kind == "sigma-delta":
            missed = min(max(t - (level - half) * D - D // 2, -2 * half * D), 2 * half * D)
    return out


# ---------------------------------------------------------------------------------------------------------- twins


def universal_bits(products, Z, A, phases, dither, step, factor, margins, codes):
    rest = (Z.astype(np.float64) @ A.T.astype(np.float64) + dither) % (2 * step)
    codes[:] = np.packbits(rest >= step, axis=1, bitorder="little")


def qjl_levels(products, Z, A, shifts, step, n_levels, margins, levels):
    exact = (Z.astype(np.float64) @ A.T.astype(np.float64))[:, : len(shifts)] + shifts
    levels[:] = np.clip(exact // step + n_levels // 2, 0, n_levels - 1)


def sigma_delta_levels(products, shifts, step, n_levels, levels):
    missed = np.zeros(len(products))
    for b in range(levels.shape[1]):
        value = products[:, b] + shifts[b] + missed
        level = np.clip(value // step + n_levels // 2, 0, n_levels - 1)
        missed = np.clip(value - (level - n_levels // 2) * step - step // 2, -n_levels * step, n_levels * step)
        levels[:, b] = level


def hadamard(rows):
    rows[:] = rows @ _hadamard(rows.shape[1])
