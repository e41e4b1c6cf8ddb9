"""Inner products of bytes with whole numbers of 16 bits, 32 rows at a time, as instructions.

Two products of neighbors are added up in one instruction where the processor has one for it (LLVM finds it in a product
of widened numbers whose even and odd places are added), which is twice as many products as in float32. Sums are whole
numbers, so they are exact, and the same on any processor. See `mercer._native.lanes`.
"""

__all__ = ["add_bytes", "multiply_bytes", "reaching"]

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from mercer._native.lanes import ROWS, STRIDE, Vectors

SIDE = STRIDE // 2  # sums of pairs that a vector holds
HALF, WORD = ir.IntType(16), ir.IntType(32)


def multiply_bytes(out, p, x, i, step, width, strip, j):
    """out[p + 32 r + t] = sum of x[i + r * step + k] * strip[j + 64 (k // 2) + 2 t + k % 2] over k < width

    for r < 2 and t < 32
    """
    out[p : p + ROWS * STRIDE] = 0
    for r in range(ROWS):
        add_bytes(out, p + r * STRIDE, x, i + r * step, width, strip, j)


def add_bytes(out, p, x, i, width, strip, j):
    """out[p + t] += sum of x[i + k] * strip[j + 64 (k // 2) + 2 t + k % 2] over k < width, t < 32"""
    columns = strip[j : j + STRIDE * width].reshape(width // 2, STRIDE, 2).transpose(0, 2, 1).reshape(width, STRIDE)
    out[p : p + STRIDE] += x[i : i + width].astype(np.int32) @ columns.astype(np.int32)


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


def _add_products(builder, vectors, sums, factors, width, strip):
    """Add products of some rows of factors and the bytes of a strip; rows and the strip by argument and place."""
    (_, *rows), (x, first) = factors, strip
    with cgutils.for_range(builder, builder.udiv(width, width.type(2))) as loop:
        at = builder.add(first, builder.mul(loop.index, width.type(2 * STRIDE)))
        bytes_ = [
            _load(builder, vectors.number(x, builder.add(at, at.type(h * STRIDE)), STRIDE), ir.IntType(8), STRIDE)
            for h in range(2)
        ]
        pairs = [builder.sext(column, ir.VectorType(HALF, STRIDE)) for column in bytes_]
        for r, row in enumerate(rows):
            place = builder.add(row, builder.mul(loop.index, width.type(2)))
            factor = _repeated_pair(builder, vectors.number(factors[0], place, 2))
            for h, column in enumerate(pairs):
                total = builder.add(builder.load(sums[r, h]), _pair_products(builder, column, factor))
                builder.store(total, sums[r, h])


def _sum_places(builder, vectors, begin, n_rows):
    """By row and half, where sums are in memory."""
    kind = ir.VectorType(WORD, SIDE).as_pointer()
    places = [(r, h) for r in range(n_rows) for h in range(2)]
    return {
        (r, h): builder.bitcast(vectors.number(0, builder.add(begin, begin.type(r * STRIDE + h * SIDE)), SIDE), kind)
        for r, h in places
    }


@intrinsic
def _multiply_bytes(typing_context, out, p, x, i, step, width, strip, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, p, _, i, step, width, _, j = arguments
        zero = ir.Constant(ir.VectorType(WORD, SIDE), [0] * SIDE)
        places = _sum_places(builder, vectors, p, ROWS)
        sums = {place: cgutils.alloca_once_value(builder, zero) for place in places}  # LLVM keeps them in registers
        rows = [builder.add(i, builder.mul(step, step.type(r))) for r in range(ROWS)]
        _add_products(builder, vectors, sums, (2, *rows), width, (6, j))
        for place, address in places.items():
            builder.store(builder.load(sums[place]), address, align=4)
        return context.get_dummy_value()

    place = types.uintp
    return types.void(out, place, x, place, place, place, strip, place), generate


@overload(multiply_bytes, inline="always")
def _compiled_multiply(out, p, x, i, step, width, strip, j):
    return lambda out, p, x, i, step, width, strip, j: _multiply_bytes(out, p, x, i, step, width, strip, j)


@intrinsic
def _add_bytes(typing_context, out, p, x, i, width, strip, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, p, _, i, width, _, j = arguments
        places = _sum_places(builder, vectors, p, 1)
        sums = {
            place: cgutils.alloca_once_value(builder, builder.load(address, align=4))
            for place, address in places.items()
        }
        _add_products(builder, vectors, sums, (2, i), width, (5, j))
        for place, address in places.items():
            builder.store(builder.load(sums[place]), address, align=4)
        return context.get_dummy_value()

    place = types.uintp
    return types.void(out, place, x, place, place, strip, place), generate


@overload(add_bytes, inline="always")
def _compiled_add(out, p, x, i, width, strip, j):
    return lambda out, p, x, i, width, strip, j: _add_bytes(out, p, x, i, width, strip, j)


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
