"""From projections to bits, exactly. [boufounos15universal]; docs/wire-format.md, sections 3 to 5

Projections are whole numbers below 2^52. They come as float32 products with an error bound; where a threshold is within
the bound, the one product is made again in float64, which holds it exactly. Matrices of float32 hold 16-bit whole
numbers, so that their products in float64 are exact in any order.
"""

__all__ = ["hadamard", "qjl_levels", "sigma_delta_levels", "universal_bits"]

import math

import numpy as np

from mercer._native.jit import jit
from mercer._native.lanes import LANES, lowest_bit, phase_bits


@jit
def _exact_product(A, b, z):
    """sum_j A[b, j] z[j], whole numbers"""
    total = 0.0
    for j in range(z.shape[0]):
        total += np.float64(A[b, j]) * np.float64(z[j])
    return total


@jit
def universal_bits(products, Z, A, phases, dither, step, factor, margins, codes):
    """Bit b of row i: (p + w_b) mod 2D >= D

    products  (n, M')     float32   rows of Z times rows of A; M' is M rounded up to a multiple of 8
    Z, A      (n, d), (M', d)  float32   whole numbers
    phases    (M',)       float32   w_b / 2D
    dither    (M',)       float64   w_b
    step                  float64   D
    factor                float32   1 / 2D
    margins   (n,)        float32   how far the phase may be off, per row
    codes     (n, M' / 8) uint8     written
    """
    flat = products.reshape(-1)
    n, width = products.shape
    for i in range(n):
        for b in range(0, width, LANES):
            found = phase_bits(flat, np.uint64(i * width + b), phases, np.uint64(b), factor, margins[i])
            bits, near = found & np.uint32(255), found >> np.uint32(LANES)
            while near != 0:
                t = lowest_bit(near)
                near &= near - np.uint32(1)
                value = _exact_product(A, b + t, Z[i]) + dither[b + t]
                rest = value - 2 * step * math.floor(value / (2 * step))
                bits &= ~(np.uint32(1) << t)
                if rest >= step:
                    bits |= np.uint32(1) << t
            codes[i, b // LANES] = bits


@jit
def qjl_levels(products, Z, A, shifts, step, n_levels, margins, levels):
    """levels[i, b] = min(max(floor((p + shift_b) / D) + n_levels / 2, 0), n_levels - 1)

    products  (n, M')  float32   rows of Z times rows of A
    shifts    (M,)     float64   whole numbers
    step, margins      float64   D, and how far a quotient may be off, per row
    levels    (n, M)   uint8     written
    """
    half, inverse = n_levels // 2, 1 / step
    for i in range(levels.shape[0]):
        margin = margins[i]
        for b in range(levels.shape[1]):
            quotient = (products[i, b] + shifts[b]) * inverse
            level = math.floor(quotient)
            # beyond the last thresholds, -half + 1 and half - 1, nothing changes any more
            if abs(quotient - np.rint(quotient)) <= margin and abs(quotient) <= half + margin:
                level = math.floor((_exact_product(A, b, Z[i]) + shifts[b]) / step)
            levels[i, b] = min(max(level + half, 0), n_levels - 1)


@jit
def sigma_delta_levels(products, shifts, step, n_levels, levels):
    """As `qjl_levels` of exact products plus what the level before missed

    products  (n, M)  float64   whole numbers
    levels    (n, M)  uint8     written
    """
    half, most, middle = n_levels // 2, n_levels * step, math.floor(step / 2)
    for i in range(levels.shape[0]):
        missed = 0.0
        for b in range(levels.shape[1]):
            value = products[i, b] + shifts[b] + missed
            level = min(max(math.floor(value / step) + half, 0), n_levels - 1)
            missed = min(max(value - (level - half) * step - middle, -most), most)
            levels[i, b] = level


@jit
def hadamard(rows):
    """rows @ H in place, H the Hadamard matrix of the width, a power of two; (n, width) float64"""
    n, width = rows.shape
    for i in range(n):
        row = rows[i]
        half = 1
        while half < width:
            for start in range(0, width, 2 * half):
                for k in range(start, start + half):
                    a, b = row[k], row[k + half]
                    row[k] = a + b
                    row[k + half] = a - b
            half *= 2
