"""Eight numbers at a time: explicit SIMD for rows of tables that are addressed by codes.

A row of eight classes is one AVX register of float32. The compiler does not see that by itself: the loop over eight
lanes is unrolled before the loop vectoriser runs, and numba leaves the vectoriser of straight code off. So these few
steps are written as vector instructions (LLVM splits them where registers are shorter). All arrays are flat and
C-contiguous; positions are those of the first of the eight numbers. Without compilation the plain functions run.
"""

__all__ = ["LANES", "add_lanes", "add_products", "add_words"]

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LANES = 8


def add_lanes(target, i, source, j):
    """target[i : i + 8] += source[j : j + 8]"""
    target[i : i + LANES] += source[j : j + LANES]


def add_words(target, i, tables, k0, k1, k2, k3):
    """target[i : i + 8] += (tables[k0 : k0 + 8] + tables[k1 : k1 + 8]) + (tables[k2 : k2 + 8] + tables[k3 : k3 + 8])"""
    first, second = (tables[k : k + LANES] + tables[q : q + LANES] for k, q in ((k0, k1), (k2, k3)))
    target[i : i + LANES] += first + second


def add_products(target, i, factors, q, stride, source, j):
    """target[i : i + 8] += sum of factors[q + t * stride] * source[j + 8 t : j + 8 t + 8] over t = 0, 1, 2, 3"""
    for t in range(4):
        target[i : i + LANES] += factors[q + t * stride] * source[j + t * LANES : j + (t + 1) * LANES]


# ------------------------------------------------------------------------------------------------- as instructions


@intrinsic
def _add_lanes(typingctx, target, i, source, j):
    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(context, builder, signature)
        at = lanes.pointer(0, arguments)
        lanes.store(builder.fadd(builder.load(at, align=4), lanes.load(2, arguments, 3)), at)
        return context.get_dummy_value()

    return types.void(target, i, source, j), codegen


@intrinsic
def _add_words(typingctx, target, i, tables, k0, k1, k2, k3):
    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(context, builder, signature)
        at = lanes.pointer(0, arguments)
        w0, w1, w2, w3 = (lanes.load(2, arguments, k) for k in (3, 4, 5, 6))
        total = builder.fadd(builder.fadd(w0, w1), builder.fadd(w2, w3))
        lanes.store(builder.fadd(builder.load(at, align=4), total), at)
        return context.get_dummy_value()

    return types.void(target, i, tables, k0, k1, k2, k3), codegen


@intrinsic
def _add_products(typingctx, target, i, factors, q, stride, source, j):
    def codegen(context, builder, signature, arguments):
        lanes = _Lanes(context, builder, signature)
        at = lanes.pointer(0, arguments)
        total = builder.load(at, align=4)
        for t in range(4):
            step = builder.mul(arguments[4], arguments[4].type(t))
            factor = lanes.broadcast(2, arguments, builder.add(arguments[3], step))
            row = lanes.load(5, arguments, 6, LANES * t)
            total = builder.fadd(total, builder.fmul(factor, row, flags=("contract",)), flags=("contract",))
        lanes.store(total, at)
        return context.get_dummy_value()

    return types.void(target, i, factors, q, stride, source, j), codegen


class _Lanes:
    """Loads and stores of eight numbers at positions of flat arrays."""

    def __init__(self, context, builder, signature):
        self.context, self.builder, self.types = context, builder, signature.args

    def element(self, array, arguments, position):
        data = self.context.make_array(self.types[array])(self.context, self.builder, arguments[array]).data
        return self.builder.gep(data, [position])

    def pointer(self, array, arguments, position=None, offset=0):
        at = arguments[array + 1] if position is None else arguments[position]
        if offset:
            at = self.builder.add(at, at.type(offset))
        scalar = self.element(array, arguments, at)
        kind = ir.VectorType(self.context.get_data_type(self.types[array].dtype), LANES)
        return self.builder.bitcast(scalar, kind.as_pointer())

    def load(self, array, arguments, position, offset=0):
        return self.builder.load(self.pointer(array, arguments, position, offset), align=4)

    def store(self, value, at):
        self.builder.store(value, at, align=4)

    def broadcast(self, array, arguments, position):
        number = self.builder.load(self.element(array, arguments, position))
        kind = ir.VectorType(number.type, LANES)
        single = self.builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), mask)


@overload(add_lanes, inline="always")
def _(target, i, source, j):
    return lambda target, i, source, j: _add_lanes(target, i, source, j)


@overload(add_words, inline="always")
def _(target, i, tables, k0, k1, k2, k3):
    return lambda target, i, tables, k0, k1, k2, k3: _add_words(target, i, tables, k0, k1, k2, k3)


@overload(add_products, inline="always")
def _(target, i, factors, q, stride, source, j):
    return lambda target, i, factors, q, stride, source, j: _add_products(target, i, factors, q, stride, source, j)
