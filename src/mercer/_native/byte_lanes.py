"""Inner products of bytes with whole numbers of 16 bits, 32 rows at a time, as instructions.

Two products of neighbors are added up in one instruction where the processor has one for it (LLVM finds it in a product
of widened numbers whose even and odd places are added), which is twice as many products as in float32. Sums are whole
numbers, so they are exact, and the same on any processor. See `mercer._native.lanes`.
"""

__all__ = ["inner_bytes", "multiply_bytes", "reaching"]

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from mercer._native.lanes import ROWS, STRIDE, Vectors

SIDE = STRIDE // 2  # sums of pairs that a vector holds
HALF, WORD = ir.IntType(16), ir.IntType(32)


def multiply_bytes(out, x, i, width, strip, j):
    """out[32 r + t] = sum of x[i + r * width + k] * strip[j + 64 (k // 2) + 2 t + k % 2] over k, r = 0, 1, t < 32"""
    rows = x[i : i + ROWS * width].reshape(ROWS, width).astype(np.int32)
    columns = strip[j : j + STRIDE * width].reshape(width // 2, STRIDE, 2).transpose(0, 2, 1).reshape(width, STRIDE)
    out[:] = (rows @ columns.astype(np.int32)).ravel()


def inner_bytes(x, i, y, j):
    """sum of x[i + t] * y[j + t] over t = 0, 1, ..., 31"""
    return np.int32(x[i : i + STRIDE].astype(np.int32) @ y[j : j + STRIDE].astype(np.int32))


def reaching(sums, p, norms, j, slope, intercept, half, threshold):
    """Bit t: whether (sums[p + t] slope + intercept - half norms[j + t]) norms[j + t] >= threshold, for t < 32"""
    norm = norms[j : j + STRIDE]
    bounds = (sums[p : p + STRIDE].astype(np.float32) * slope + intercept - half * norm) * norm
    return sum(1 << t for t in range(STRIDE) if bounds[t] >= threshold)


# ------------------------------------------------------------------------------------------------- as instructions


def _pair_products(builder, x, y):
    """x[2t] * y[2t] + x[2t + 1] * y[2t + 1] of two vectors of 32 whole numbers."""
    wide = ir.VectorType(WORD, STRIDE)
    products = builder.mul(builder.sext(x, wide), builder.sext(y, wide))
    places = (ir.Constant(ir.VectorType(WORD, SIDE), list(range(first, STRIDE, 2))) for first in (0, 1))
    return builder.add(*(builder.shuffle_vector(products, products, place) for place in places))


def _load(builder, address, number, width):
    """A vector at any address."""
    return builder.load(builder.bitcast(address, ir.VectorType(number, width).as_pointer()), align=1)


def _repeated_pair(builder, address):
    """Two numbers of 16 bits, sixteen times."""
    kind = ir.VectorType(WORD, SIDE)
    nothing = ir.Constant(kind, ir.Undefined)
    pair = builder.load(builder.bitcast(address, WORD.as_pointer()), align=1)
    first = builder.insert_element(nothing, pair, WORD(0))
    repeated = builder.shuffle_vector(first, nothing, ir.Constant(kind, [0] * SIDE))
    return builder.bitcast(repeated, ir.VectorType(HALF, STRIDE))


@intrinsic
def _multiply_bytes(typing_context, out, x, i, width, strip, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, _, i, width, _, j = arguments
        zero = ir.Constant(ir.VectorType(WORD, SIDE), [0] * SIDE)
        places = [(r, h) for r in range(ROWS) for h in range(2)]
        sums = {place: cgutils.alloca_once_value(builder, zero) for place in places}  # LLVM keeps them in registers
        with cgutils.for_range(builder, builder.udiv(width, width.type(2))) as loop:
            at = builder.add(j, builder.mul(loop.index, width.type(2 * STRIDE)))
            pairs = [
                _load(builder, vectors.number(4, builder.add(at, at.type(h * STRIDE)), STRIDE), ir.IntType(8), STRIDE)
                for h in range(2)
            ]
            pairs = [builder.sext(column, ir.VectorType(HALF, STRIDE)) for column in pairs]
            for r in range(ROWS):
                row = builder.add(i, builder.mul(width, width.type(r)))
                place = builder.add(row, builder.mul(loop.index, width.type(2)))
                factor = _repeated_pair(builder, vectors.number(1, place, 2))
                for h, column in enumerate(pairs):
                    total = builder.add(builder.load(sums[r, h]), _pair_products(builder, column, factor))
                    builder.store(total, sums[r, h])
        for r, h in places:
            at = vectors.number(0, i.type(r * STRIDE + h * SIDE), SIDE)
            builder.store(builder.load(sums[r, h]), builder.bitcast(at, zero.type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(out, x, types.uintp, types.uintp, strip, types.uintp), generate


@overload(multiply_bytes, inline="always")
def _compiled_multiply(out, x, i, width, strip, j):
    return lambda out, x, i, width, strip, j: _multiply_bytes(out, x, i, width, strip, j)


@intrinsic
def _inner_bytes(typing_context, x, i, y, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, i, _, j = arguments
        first = _load(builder, vectors.number(0, i, STRIDE), HALF, STRIDE)
        second = _load(builder, vectors.number(2, j, STRIDE), ir.IntType(8), STRIDE)
        total = _pair_products(builder, first, builder.sext(second, first.type))
        width = SIDE
        while width > 1:  # halves are added until one is left
            width //= 2
            low, high = (
                ir.Constant(ir.VectorType(WORD, width), list(range(start, start + width))) for start in (0, width)
            )
            total = builder.add(*(builder.shuffle_vector(total, total, half) for half in (low, high)))
        return builder.extract_element(total, WORD(0))

    return types.int32(x, types.uintp, y, types.uintp), generate


@overload(inner_bytes, inline="always")
def _compiled_inner(x, i, y, j):
    return lambda x, i, y, j: _inner_bytes(x, i, y, j)


@intrinsic
def _reaching(typing_context, sums, p, norms, j, slope, intercept, half, threshold):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments, SIDE)
        _, p, _, j, *numbers = arguments
        slope, intercept, half, threshold = map(vectors.repeated, numbers)
        mask = WORD(0)
        for h in range(0, STRIDE, SIDE):
            whole, norm = vectors.load(vectors.at(0, p, h)), vectors.load(vectors.at(2, j, h))
            score = vectors.plus_product(intercept, builder.sitofp(whole, norm.type), slope)
            bound = builder.fmul(builder.fsub(score, builder.fmul(half, norm)), norm)
            bits = builder.bitcast(builder.fcmp_ordered(">=", bound, threshold), ir.IntType(SIDE))
            mask = builder.or_(mask, builder.shl(builder.zext(bits, WORD), WORD(h)))
        return mask

    number = norms.dtype
    return types.uint32(sums, types.uintp, norms, types.uintp, number, number, number, number), generate


@overload(reaching, inline="always")
def _compiled_reaching(sums, p, norms, j, slope, intercept, half, threshold):
    return lambda sums, p, norms, j, slope, intercept, half, threshold: _reaching(
        sums, p, norms, j, slope, intercept, half, threshold
    )
