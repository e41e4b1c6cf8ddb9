"""Rows to bits by a specification: rounding to 16 bits, projections, quantizers. docs/wire-format.md, sections 2 to 5

What is exact, and how it is fast: rows and matrix are integers of 16 bits, so a product in float64 is exact. A
product in float32 errs by at most (d + 2) 2^-24 |z| |a|, in any order of summation; only projections that a threshold
is so near to are computed again.
"""

__all__ = ["Projector"]

import numpy as np
from scipy import sparse

from mercer._base.threads import run_row_blocks
from mercer._native.codes import wire_bits
from mercer._native.threefry import fill_halfwords
from mercer.codes.wire.normal_table import TABLE

MATRIX, DITHER, SIGNS = (np.uint32(stream) for stream in (0, 1, 2))
LARGEST = 32767  # of a rounded number
TASK_PRODUCTS = 2**18  # of a task: they stay in the cache
MOST_NEAR = 0.02  # of the phases may be near a threshold; if more are, all products are exact ones
FLOAT32 = 2.0**-24


class Projector:
    """The arrays of a specification, made once from its seed.

    Parameters
    ----------
    specification : Specification
    """

    def __init__(self, specification):
        self.specification = spec = specification
        self.key = np.uint32(spec.seed & 0xFFFFFFFF), np.uint32(spec.seed >> 32)
        M = spec.projections
        self.padded = -(-M // 8) * 8
        self.dither = np.zeros(self.padded)
        if spec.dither:
            self.dither[:M] = np.floor(self._halfwords(DITHER, M) * float(spec.step) / 65536)
        if spec.matrix != "structured":
            self.matrix = np.zeros((self.padded, spec.features), dtype=np.float32)
            learned = spec.matrix == "learned"
            self.matrix[:M] = spec.entries if learned else self._normal(M * spec.features).reshape(M, spec.features)
            self.largest_norm = float(np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64).max()))
        else:
            n_groups = -(-M // spec.padded)
            bits = np.unpackbits(self._halfwords(SIGNS, -(-3 * n_groups * spec.padded // 16)).view(np.uint8),
                                 bitorder="little")  # fmt: skip
            self.signs = 1.0 - 2.0 * bits[: 3 * n_groups * spec.padded].reshape(n_groups, 3, spec.padded)

    def _halfwords(self, stream, n):
        out = np.empty(n, dtype="<u2")
        fill_halfwords(*self.key, stream, 0, out)
        return out

    def _normal(self, n):
        words = self._halfwords(MATRIX, n)
        values = TABLE[words & 1023]
        return np.where(words < 2**15, values, -values)

    @property
    def shifts(self):
        """What is added to projections before they are divided by the step: dither about zero, minus offsets."""
        spec = self.specification
        shifts = self.dither[: spec.projections] - (spec.step // 2 if spec.dither else 0)
        return shifts if spec.offsets is None else shifts - spec.offsets

    # --------------------------------------------------------------------------------------------------- whole rows

    def encode(self, X, n_jobs=None):
        """Packed bits of validated rows, uint8 (n, bytes)."""
        spec = self.specification
        codes = np.empty((X.shape[0], spec.n_bytes), dtype=np.uint8)

        def encode(rows):
            codes[rows] = self._packed(self.rounded(X[rows]))

        step = int(np.clip(TASK_PRODUCTS // (self.padded * spec.blocks), 1, 1024))
        run_row_blocks(encode, X.shape[0], step, n_jobs)
        return codes

    def rounded(self, X):
        """Blocks of rows as 16-bit integers in float32, shape (rows * blocks, features)."""
        spec = self.specification
        X = X.toarray() if sparse.issparse(X) else X
        Z = X.reshape(-1, spec.features).astype(np.float64)
        if spec.center is not None:
            Z -= spec.center
        Z *= 2.0**spec.exponent if spec.scale is None else spec.scale
        Z += 0.5
        np.floor(Z, out=Z)
        return np.clip(Z, -LARGEST, LARGEST, out=Z).astype(np.float32)

    def exact(self, Z):
        """Projections of rounded blocks, float64 integers, shape (blocks, projections)."""
        spec = self.specification
        if spec.matrix != "structured":
            return Z.astype(np.float64) @ self.matrix[: spec.projections].T.astype(np.float64)
        rows = np.zeros((len(Z), spec.padded))
        rows[:, : spec.features] = Z
        parts = []
        for signs in self.signs:
            part = rows
            for own in signs:
                part = part * own
                wire_bits.hadamard(part)
            parts.append(part)
        return np.concatenate(parts, axis=1)[:, : spec.projections]

    # -------------------------------------------------------------------------------------------------------- bits

    def _packed(self, Z):
        spec = self.specification
        if spec.kind == "universal":
            return self._stacked(self._universal(Z))
        levels = self._levels(Z)
        bits = (levels[:, :, None] >> np.arange(spec.bits, dtype=np.uint8)) & 1
        return np.packbits(bits.reshape(-1, spec.n_bits), axis=1, bitorder="little")

    def _stacked(self, codes):
        """Codes of blocks one after the other, without spare bits between them."""
        spec = self.specification
        if spec.blocks == 1 or spec.projections % 8 == 0:
            return codes.reshape(-1, spec.n_bytes)
        bits = np.unpackbits(codes, axis=1, bitorder="little", count=spec.projections)
        return np.packbits(bits.reshape(-1, spec.n_bits), axis=1, bitorder="little")

    def _universal(self, Z):
        spec, step = self.specification, float(self.specification.step)
        margins = self._relative_errors(Z, 2 * step)
        if margins is None or np.median(margins) > MOST_NEAR:
            value = self.exact(Z) + self.dither[: spec.projections]
            rest = value - 2 * step * np.floor(value / (2 * step))
            return np.packbits(rest >= step, axis=1, bitorder="little")
        codes = np.empty((len(Z), self.padded // 8), dtype=np.uint8)
        phases, factor = (self.dither / (2 * step)).astype(np.float32), np.float32(1 / (2 * step))
        wire_bits.universal_bits(
            Z @ self.matrix.T, Z, self.matrix, phases, self.dither, step, factor, margins.astype(np.float32), codes
        )
        spare = self.padded - spec.projections
        codes[:, -1] &= 255 >> spare
        return codes

    def _levels(self, Z):
        spec, step, n_levels = self.specification, float(self.specification.step), 2**self.specification.bits
        levels = np.empty((len(Z), spec.projections), dtype=np.uint8)
        if spec.kind == "sigma-delta":
            wire_bits.sigma_delta_levels(self.exact(Z), self.shifts, step, n_levels, levels)
        elif spec.matrix == "structured":
            exact = np.floor((self.exact(Z) + self.shifts) / step) + n_levels // 2
            levels[:] = np.clip(exact, 0, n_levels - 1)
        else:
            margins = self._relative_errors(Z, step)
            wire_bits.qjl_levels(Z @ self.matrix.T, Z, self.matrix, self.shifts, step, n_levels, margins, levels)
        return levels

    def _relative_errors(self, Z, step):
        """How far a float32 product plus a dither, divided by ``step``, may be off; None if products are exact."""
        if self.specification.matrix == "structured":
            return None
        largest = np.sqrt(np.einsum("ij,ij->i", Z, Z, dtype=np.float64)) * self.largest_norm  # |z| |a|
        return (self.specification.features + 10) * 1.05 * FLOAT32 * (largest / step + 1)
