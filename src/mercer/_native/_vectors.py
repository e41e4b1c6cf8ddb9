"""Instructions that the compiler does not find by itself: vectors of float64, and reading ahead.

``add_four`` and ``add_eight``: total[k : k + width] += x * row[c : c + width]. LLVM turns a loop into vector
instructions only where it runs long enough; over two to twenty classes it pays for its checks and gains nothing
(measured: half the speed). These say the instruction outright, for any processor: LLVM splits a vector that is too wide
for it. Arrays are flat and C-contiguous.
"""

__all__ = ["add_eight", "add_four", "fetch"]

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from mercer._native._jit import FLOATING_POINT


def _adder(width):
    def add_scaled(total, k, x, row, c):  # what runs when numba is switched off
        total[k : k + width] += x * row[c : c + width]

    @intrinsic
    def add_vector(typing_context, total, k, x, row, c):
        return types.void(total, types.uintp, types.float64, row, types.uintp), _generator(width)

    @overload(add_scaled, inline="always")
    def compiled(total, k, x, row, c):
        return lambda total, k, x, row, c: add_vector(total, k, x, row, c)

    return add_scaled


def _generator(width):
    def generate(context, builder, signature, arguments):
        total, k, x, row, c = arguments
        vector = ir.VectorType(ir.DoubleType(), width)

        def pointer(position, array, start):
            data = context.make_array(signature.args[position])(context, builder, array).data
            return builder.bitcast(builder.gep(data, [start]), vector.as_pointer())

        undefined = ir.Constant(vector, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
        factors = builder.shuffle_vector(builder.insert_element(undefined, x, ir.IntType(32)(0)), undefined, lanes)
        target = pointer(0, total, k)
        flags = tuple(sorted(FLOATING_POINT))
        product = builder.fmul(factors, builder.load(pointer(3, row, c), align=8), flags=flags)
        builder.store(builder.fadd(builder.load(target, align=8), product, flags=flags), target, align=8)
        return context.get_dummy_value()

    return generate


add_four, add_eight = map(_adder, (4, 8))


def fetch(array, k):
    """Bring array[k] into the cache, to be changed soon. A hint: it computes nothing."""


@intrinsic
def _prefetch(typing_context, array, k):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(hint, [address, number(1), number(3), number(1)])  # to write, into every cache, data
        return context.get_dummy_value()

    return types.void(array, types.uintp), generate


@overload(fetch, inline="always")
def _compiled_fetch(array, k):
    return lambda array, k: _prefetch(array, k)
