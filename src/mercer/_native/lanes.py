"""Instructions that the compiler does not find by itself: several numbers at a time, and reading ahead.

LLVM turns a loop into vector instructions only where it runs long enough; over two to twenty classes it pays for its
checks and gains nothing (measured: half the speed), and a loop over exactly eight is unrolled before it is looked at.
These few steps say the instructions outright, for any processor: LLVM splits a vector that is too wide for it. All
arrays are flat and C-contiguous; positions are those of the first number. Without compilation the plain functions run.
"""

__all__ = [
    "LANES", "LONG", "ROWS", "STRIDE", "Vectors", "add_eight", "add_four", "add_lanes", "add_long_words",
    "add_products", "add_ramp", "add_words", "fetch", "inner_stride", "largest_sum", "lowest_bit", "multiply_strip",
    "phase_bits", "raise_eight", "turn_eight",
]  # fmt: skip

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LANES = 8  # numbers that the products of codes take at a time: a register of float32
LONG = 2 * LANES  # numbers of a long word: a cache line, and one register of the processors that have the longest
STRIDE = 4 * LANES  # numbers that an inner product takes at a time: enough registers to hide how long each step takes
ROWS = 2  # rows that a strip of 32 columns is multiplied with: eight registers of sums, four of columns, one of a row
FUSED = ("contract",)  # a product and a sum may become one instruction


def add_lanes(target, i, source, j):
    """target[i : i + 8] += source[j : j + 8]"""
    target[i : i + LANES] += source[j : j + LANES]


def add_words(target, i, tables, k0, k1, k2, k3):
    """target[i : i + 8] += (tables[k0 : k0 + 8] + tables[k1 : k1 + 8]) + (tables[k2 : k2 + 8] + tables[k3 : k3 + 8])"""
    first, second = (tables[k : k + LANES] + tables[q : q + LANES] for k, q in ((k0, k1), (k2, k3)))
    target[i : i + LANES] += first + second


def add_long_words(target, i, tables, k0, k1, k2, k3, k4, k5):
    """target[i : i + 16] += sum of tables[k : k + 16] over k = k0, ..., k5, in pairs"""
    w0, w1, w2, w3, w4, w5 = (tables[k : k + LONG] for k in (k0, k1, k2, k3, k4, k5))
    target[i : i + LONG] += ((w0 + w1) + (w2 + w3)) + (w4 + w5)


def turn_eight(target, i, step, count, source, j, stride):
    """target[i + b * step + t] = source[j + t * stride + b] for t < 8 and b < count <= 8"""
    for b in range(count):
        for t in range(LANES):
            target[i + b * step + t] = source[j + t * stride + b]


def raise_eight(best, i, where, values, j, cost, name):
    """best[i + t] = values[j + t] - cost and where[i + t] = name where that is more than before, for t < 8"""
    found = values[j : j + LANES] - cost
    is_better = found > best[i : i + LANES]
    best[i : i + LANES][is_better] = found[is_better]
    where[i : i + LANES][is_better] = name


def add_products(target, i, factors, q, stride, source, j):
    """target[i : i + 8] += sum of factors[q + t * stride] * source[j + 8 t : j + 8 t + 8] over t = 0, 1, 2, 3"""
    for t in range(4):
        target[i : i + LANES] += factors[q + t * stride] * source[j + t * LANES : j + (t + 1) * LANES]


def add_ramp(target, i, step, x, k):
    """target[i : i + 8] += step * min(k + [0, 1, ..., 7] - x, 0)"""
    for t in range(LANES):
        target[i + t] += step * min(k + t - x, 0)


def inner_stride(x, i, y, j):
    """sum of x[i + t] * y[j + t] over t = 0, 1, ..., 31"""
    return x[i : i + STRIDE] @ y[j : j + STRIDE]


def multiply_strip(out, x, i, width, strip, j):
    """out[32 r + t] = sum of x[i + r * width + k] * strip[j + 32 k + t] over k < width, for r = 0, 1 and t < 32"""
    rows = x[i : i + ROWS * width].reshape(ROWS, width)
    out[:] = (rows @ strip[j : j + STRIDE * width].reshape(width, STRIDE)).ravel()


def largest_sum(x, y, i):
    """The largest of x[i + t] + abs(y[i + t]), t = 0, 1, ..., 31"""
    return (x[i : i + STRIDE] + np.abs(y[i : i + STRIDE])).max()


def phase_bits(products, i, phases, j, factor, margin):
    """Of the phases t = products[i + b] * factor + phases[j + b] mod 1, b = 0, ..., 7: bit b is t >= 1/2, and bit 8 + b
    is whether t is within the margin of 0, 1/2 or 1
    """
    t = products[i : i + LANES] * factor + phases[j : j + LANES]
    distance = t - np.floor(t) - np.float32(0.5)
    near = (np.abs(distance) <= margin) | (np.abs(distance) >= np.float32(0.5) - margin)
    return sum(1 << b for b in range(LANES) if distance[b] >= 0) | sum(256 << b for b in range(LANES) if near[b])


def lowest_bit(mask):
    """The number of the lowest bit that is set, of 32."""
    return (int(mask) & -int(mask)).bit_length() - 1


def fetch(array, k):
    """Bring array[k] into the cache, to be changed soon. A hint: it computes nothing."""


# ------------------------------------------------------------------------------------------------- as instructions


class Vectors:
    """Loads and stores of ``width`` numbers of flat arrays; ``array`` counts the arguments of the intrinsic."""

    def __init__(self, context, builder, signature, arguments, width=LANES):
        self.context, self.builder, self.width = context, builder, width
        self.types, self.arguments = signature.args, arguments

    def number(self, array, position, count=1):
        """The address of one number, or of the first of several."""
        flat = self.context.make_array(self.types[array])(self.context, self.builder, self.arguments[array])
        if self.context.enable_boundscheck and count:
            self._check(position, flat.nitems, count)
        return self.builder.gep(flat.data, [position])

    def at(self, array, position, offset=0):
        """The address of a vector."""
        if offset:
            position = self.builder.add(position, position.type(offset))
        kind = ir.VectorType(self.context.get_data_type(self.types[array].dtype), self.width)
        return self.builder.bitcast(self.number(array, position, self.width), kind.as_pointer())

    def _check(self, position, size, count):
        """Leave the loop with an IndexError unless all numbers are inside: the build with bounds checks only."""
        first = self.builder.sext(position, size.type) if position.type.width < size.type.width else position
        last = self.builder.add(first, size.type(count - 1))
        for each in (first, last):
            cgutils.do_boundscheck(self.context, self.builder, each, size)

    def load(self, address):
        return self.builder.load(address, align=4)

    def store(self, value, address):
        self.builder.store(value, address, align=4)

    def repeated(self, number):
        """A vector of equal numbers."""
        undefined = ir.Constant(ir.VectorType(number.type, self.width), ir.Undefined)
        single = self.builder.insert_element(undefined, number, ir.IntType(32)(0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), self.width), [0] * self.width)
        return self.builder.shuffle_vector(single, undefined, first)

    def sum(self, vector):
        """The sum of a vector's numbers: halves are added until one is left."""
        width = self.width
        while width > 1:
            width //= 2
            low, high = (
                ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width)))
                for start in (0, width)
            )
            low, high = (self.builder.shuffle_vector(vector, vector, half) for half in (low, high))
            vector = self.builder.fadd(low, high)
        return self.builder.extract_element(vector, ir.IntType(32)(0))

    def largest(self, vectors):
        """The largest number of several vectors: halves are compared until one is left."""
        while len(vectors) > 1:
            half = len(vectors) // 2
            vectors = [self._larger(*pair) for pair in zip(vectors[:half], vectors[half:], strict=True)]
        (vector,), width = vectors, self.width
        while width > 1:
            width //= 2
            low, high = (
                ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width)))
                for start in (0, width)
            )
            vector = self._larger(*(self.builder.shuffle_vector(vector, vector, half) for half in (low, high)))
        return self.builder.extract_element(vector, ir.IntType(32)(0))

    def _larger(self, x, y):
        return self.builder.select(self.builder.fcmp_ordered(">", x, y), x, y)

    def apply(self, name, vector):
        """A function of LLVM's on each number of a vector of float32."""
        kind = ir.FunctionType(vector.type, [vector.type])
        called = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}.v{self.width}f32")
        return self.builder.call(called, [vector])

    def plus_product(self, total, x, y):
        return self.builder.fadd(total, self.builder.fmul(x, y, flags=FUSED), flags=FUSED)


@intrinsic
def _add_lanes(typing_context, target, i, source, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        at = vectors.at(0, arguments[1])
        vectors.store(builder.fadd(vectors.load(at), vectors.load(vectors.at(2, arguments[3]))), at)
        return context.get_dummy_value()

    return types.void(target, i, source, j), generate


@intrinsic
def _add_words(typing_context, target, i, tables, k0, k1, k2, k3):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        at = vectors.at(0, arguments[1])
        w0, w1, w2, w3 = (vectors.load(vectors.at(2, position)) for position in arguments[3:])
        total = builder.fadd(builder.fadd(w0, w1), builder.fadd(w2, w3))
        vectors.store(builder.fadd(vectors.load(at), total), at)
        return context.get_dummy_value()

    return types.void(target, i, tables, k0, k1, k2, k3), generate


@intrinsic
def _add_long_words(typing_context, target, i, tables, k0, k1, k2, k3, k4, k5):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments, LONG)
        at = vectors.at(0, arguments[1])
        w0, w1, w2, w3, w4, w5 = (vectors.load(vectors.at(2, position)) for position in arguments[3:])
        total = builder.fadd(builder.fadd(builder.fadd(w0, w1), builder.fadd(w2, w3)), builder.fadd(w4, w5))
        vectors.store(builder.fadd(vectors.load(at), total), at)
        return context.get_dummy_value()

    return types.void(target, i, tables, k0, k1, k2, k3, k4, k5), generate


@intrinsic
def _turn_eight(typing_context, target, i, step, count, source, j, stride):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, i, step, count, _, j, stride = arguments
        rows = [vectors.load(vectors.at(4, builder.add(j, builder.mul(stride, stride.type(t))))) for t in range(LANES)]
        for b, column in enumerate(_turned(builder, rows)):
            with builder.if_then(builder.icmp_unsigned("<", count.type(b), count), likely=True):
                vectors.store(column, vectors.at(0, builder.add(i, builder.mul(step, step.type(b)))))
        return context.get_dummy_value()

    place = types.uintp
    return types.void(target, place, place, place, source, place, place), generate


def _turned(builder, rows):
    """Eight vectors of eight, transposed: pairs of numbers change places, then pairs of pairs, then halves."""
    for size in (1, 2, 4):
        masks = [
            [k if not k & size else k - size + LANES for k in range(LANES)],
            [k + size if not k & size else k + LANES for k in range(LANES)],
        ]
        changed = list(rows)
        for t in range(LANES):
            if not t & size:
                for mask, at in zip(masks, (t, t + size), strict=True):
                    kind = ir.Constant(ir.VectorType(ir.IntType(32), LANES), mask)
                    changed[at] = builder.shuffle_vector(rows[t], rows[t + size], kind)
        rows = changed
    return rows


@intrinsic
def _raise_eight(typing_context, best, i, where, values, j, cost, name):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, i, _, _, j, cost, name = arguments
        best_at, where_at = vectors.at(0, i), vectors.at(2, i)
        before, known = vectors.load(best_at), vectors.load(where_at)
        found = builder.fsub(vectors.load(vectors.at(3, j)), vectors.repeated(cost))
        is_better = builder.fcmp_ordered(">", found, before)
        vectors.store(builder.select(is_better, found, before), best_at)
        vectors.store(builder.select(is_better, vectors.repeated(name), known), where_at)
        return context.get_dummy_value()

    place = types.uintp
    return types.void(best, place, where, values, place, best.dtype, where.dtype), generate


@intrinsic
def _add_products(typing_context, target, i, factors, q, stride, source, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, i, _, q, stride, _, j = arguments
        at = vectors.at(0, i)
        total = vectors.load(at)
        for t in range(4):
            factor = builder.load(vectors.number(2, builder.add(q, builder.mul(stride, stride.type(t)))))
            total = vectors.plus_product(total, vectors.repeated(factor), vectors.load(vectors.at(5, j, LANES * t)))
        vectors.store(total, at)
        return context.get_dummy_value()

    return types.void(target, i, factors, q, stride, source, j), generate


@intrinsic
def _add_ramp(typing_context, target, i, step, x, k):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, i, step, x, k = arguments
        at = vectors.at(0, i)
        number = step.type
        ramp = ir.Constant(ir.VectorType(number, LANES), [float(t) for t in range(LANES)])
        rise = builder.fadd(vectors.repeated(builder.fsub(k, x)), ramp)
        zero = ir.Constant(rise.type, [0.0] * LANES)
        rise = builder.select(builder.fcmp_ordered("<", rise, zero), rise, zero)
        vectors.store(vectors.plus_product(vectors.load(at), vectors.repeated(step), rise), at)
        return context.get_dummy_value()

    number = target.dtype
    return types.void(target, types.uintp, number, number, number), generate


@overload(add_lanes, inline="always")
def _compiled_lanes(target, i, source, j):
    return lambda target, i, source, j: _add_lanes(target, i, source, j)


@overload(add_ramp, inline="always")
def _compiled_ramp(target, i, step, x, k):
    return lambda target, i, step, x, k: _add_ramp(target, i, step, x, k)


@overload(add_words, inline="always")
def _compiled_words(target, i, tables, k0, k1, k2, k3):
    return lambda target, i, tables, k0, k1, k2, k3: _add_words(target, i, tables, k0, k1, k2, k3)


@overload(add_long_words, inline="always")
def _compiled_long_words(target, i, tables, k0, k1, k2, k3, k4, k5):
    return lambda target, i, tables, k0, k1, k2, k3, k4, k5: _add_long_words(target, i, tables, k0, k1, k2, k3, k4, k5)


@overload(raise_eight, inline="always")
def _compiled_raise(best, i, where, values, j, cost, name):
    return lambda best, i, where, values, j, cost, name: _raise_eight(best, i, where, values, j, cost, name)


@overload(turn_eight, inline="always")
def _compiled_turn(target, i, step, count, source, j, stride):
    return lambda target, i, step, count, source, j, stride: _turn_eight(target, i, step, count, source, j, stride)


@overload(add_products, inline="always")
def _compiled_products(target, i, factors, q, stride, source, j):
    return lambda target, i, factors, q, stride, source, j: _add_products(target, i, factors, q, stride, source, j)


def _adder(width):
    """total[k : k + width] += x * row[c : c + width], in float64"""

    def add_scaled(total, k, x, row, c):
        total[k : k + width] += x * row[c : c + width]

    @intrinsic
    def add_vector(typing_context, total, k, x, row, c):
        def generate(context, builder, signature, arguments):
            vectors = Vectors(context, builder, signature, arguments, width)
            _, k, x, _, c = arguments
            at = vectors.at(0, k)
            total = vectors.plus_product(vectors.load(at), vectors.repeated(x), vectors.load(vectors.at(3, c)))
            vectors.store(total, at)
            return context.get_dummy_value()

        return types.void(total, types.uintp, types.float64, row, types.uintp), generate

    @overload(add_scaled, inline="always")
    def compiled(total, k, x, row, c):
        return lambda total, k, x, row, c: add_vector(total, k, x, row, c)

    return add_scaled


add_four, add_eight = map(_adder, (4, 8))


@intrinsic
def _inner_stride(typing_context, x, i, y, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, i, _, j = arguments
        products = []
        for t in range(0, STRIDE, LANES):
            first, second = vectors.load(vectors.at(0, i, t)), vectors.load(vectors.at(2, j, t))
            products.append(builder.fmul(first, second, flags=FUSED))
        halves = (builder.fadd(*products[:2], flags=FUSED), builder.fadd(*products[2:], flags=FUSED))
        return vectors.sum(builder.fadd(*halves, flags=FUSED))

    return x.dtype(x, types.uintp, y, types.uintp), generate


@overload(inner_stride, inline="always")
def _compiled_inner(x, i, y, j):
    return lambda x, i, y, j: _inner_stride(x, i, y, j)


@intrinsic
def _multiply_strip(typing_context, out, x, i, width, strip, j):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, _, i, width, _, j = arguments
        kind = ir.VectorType(context.get_data_type(signature.args[0].dtype), LANES)
        zero = ir.Constant(kind, [0.0] * LANES)
        places = [(r, t) for r in range(ROWS) for t in range(0, STRIDE, LANES)]
        sums = {place: cgutils.alloca_once_value(builder, zero) for place in places}  # LLVM keeps them in registers
        with cgutils.for_range(builder, width) as loop:
            at = builder.add(j, builder.mul(loop.index, width.type(STRIDE)))
            columns = {t: vectors.load(vectors.at(4, at, t)) for t in range(0, STRIDE, LANES)}
            for r in range(ROWS):
                place = builder.add(builder.add(i, builder.mul(width, width.type(r))), loop.index)
                factor = vectors.repeated(builder.load(vectors.number(1, place)))
                for t, column in columns.items():
                    total = vectors.plus_product(builder.load(sums[r, t]), factor, column)
                    builder.store(total, sums[r, t])
        for r, t in places:
            vectors.store(builder.load(sums[r, t]), vectors.at(0, i.type(r * STRIDE + t)))
        return context.get_dummy_value()

    return types.void(out, x, types.uintp, types.uintp, strip, types.uintp), generate


@overload(multiply_strip, inline="always")
def _compiled_multiply(out, x, i, width, strip, j):
    return lambda out, x, i, width, strip, j: _multiply_strip(out, x, i, width, strip, j)


@intrinsic
def _largest_sum(typing_context, x, y, i):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, _, i = arguments
        sums = [
            builder.fadd(vectors.load(vectors.at(0, i, t)), vectors.apply("fabs", vectors.load(vectors.at(1, i, t))))
            for t in range(0, STRIDE, LANES)
        ]
        return vectors.largest(sums)

    return x.dtype(x, y, types.uintp), generate


@overload(largest_sum, inline="always")
def _compiled_largest(x, y, i):
    return lambda x, y, i: _largest_sum(x, y, i)


@intrinsic
def _phase_bits(typing_context, products, i, phases, j, factor, margin):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        _, i, _, j, factor, margin = arguments
        phase, product = vectors.load(vectors.at(2, j)), vectors.load(vectors.at(0, i))
        t = vectors.plus_product(phase, product, vectors.repeated(factor))
        t = builder.fsub(t, vectors.apply("floor", t))
        half, margin = ir.Constant(t.type, [0.5] * LANES), vectors.repeated(margin)
        away = builder.fsub(half, margin)
        distance = vectors.apply("fabs", builder.fsub(t, half))
        near = builder.or_(
            builder.fcmp_ordered("<=", distance, margin), builder.fcmp_ordered(">=", distance, away)
        )  # |t - 1/2| >= 1/2 - margin: near 0 or 1
        word = ir.IntType(32)
        bits, flags = (
            builder.zext(builder.bitcast(mask, ir.IntType(LANES)), word)
            for mask in (builder.fcmp_ordered(">=", t, half), near)
        )
        return builder.or_(bits, builder.shl(flags, word(LANES)))

    number = products.dtype
    return types.uint32(products, types.uintp, phases, types.uintp, number, number), generate


@overload(phase_bits, inline="always")
def _compiled_phases(products, i, phases, j, factor, margin):
    return lambda products, i, phases, j, factor, margin: _phase_bits(products, i, phases, j, factor, margin)


@intrinsic
def _lowest_bit(typing_context, mask):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint32(types.uint32), generate


@overload(lowest_bit, inline="always")
def _compiled_lowest(mask):
    return lambda mask: _lowest_bit(mask)


@intrinsic
def _prefetch(typing_context, array, k):
    def generate(context, builder, signature, arguments):
        vectors = Vectors(context, builder, signature, arguments)
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        address = builder.bitcast(vectors.number(0, arguments[1], count=0), byte)
        builder.call(hint, [address, number(1), number(3), number(1)])  # to write, into every cache, data
        return context.get_dummy_value()

    return types.void(array, types.uintp), generate


@overload(fetch, inline="always")
def _compiled_fetch(array, k):
    return lambda array, k: _prefetch(array, k)
