"""What this machine can do at best: arithmetic from registers, and memory bandwidth.

A time alone does not say whether a loop is good. These probes measure the attainable limit in the same process and on
the same number of threads, so that a benchmark can state which fraction of it a loop reaches.

The arithmetic probes are written as LLVM vectors rather than as Python loops: twelve independent accumulators stay in
registers (enough to hide the latency of every instruction probed, few enough for the sixteen registers of AVX2),
whatever the optimiser thinks of the loop. Nothing may be folded away: operands are run-time values, accumulators start
from different values, and floating-point arithmetic without fast-math is not reassociated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

N_ACCUMULATORS = 12


def _lanes() -> int:
    """Single-precision numbers in the widest vector register."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx") else 4


LANES = _lanes()
VECTOR = ir.VectorType(ir.FloatType(), LANES)


def _fused(builder, a, b, c):
    function_type = ir.FunctionType(VECTOR, [VECTOR] * 3)
    function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.fma.v{LANES}f32")
    return builder.call(function, [a, b, c])


def _minimum(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


# name -> one step of an accumulator, given the run-time vectors one (all 1) and small (all 1e-9)
STEPS: dict[str, Callable] = {
    "add": lambda builder, total, one, small: builder.fadd(total, small),
    "multiply": lambda builder, total, one, small: builder.fmul(total, one),
    "fused multiply-add": lambda builder, total, one, small: _fused(builder, total, one, small),
    "divide": lambda builder, total, one, small: builder.fdiv(one, total),
    "minimum and add": lambda builder, total, one, small: builder.fadd(_minimum(builder, total, one), small),
    "minimum and fused multiply-add": lambda builder, total, one, small: _fused(
        builder, _minimum(builder, total, one), one, small
    ),
}


def _splat(builder, scalar):
    vector = ir.Constant(VECTOR, ir.Undefined)
    for lane in range(LANES):
        vector = builder.insert_element(vector, scalar, ir.Constant(ir.IntType(32), lane))
    return vector


def _build_probe(step):
    """A compiled function (count, one, small) -> float32 that takes `step` count * N_ACCUMULATORS times."""

    @intrinsic
    def steps(typing_context, count, one, small):
        def generate(context, builder, signature, arguments):
            count, one, small = arguments[0], _splat(builder, arguments[1]), _splat(builder, arguments[2])
            totals = []
            for number in range(N_ACCUMULATORS):
                start = ir.Constant(VECTOR, [float(number)] * LANES)
                totals.append(cgutils.alloca_once_value(builder, builder.fadd(one, start)))
            with cgutils.for_range(builder, count):
                for total in totals:
                    builder.store(step(builder, builder.load(total), one, small), total)
            joined = builder.load(totals[0])
            for total in totals[1:]:
                joined = builder.fadd(joined, builder.load(total))
            result = builder.extract_element(joined, ir.Constant(ir.IntType(32), 0))
            for lane in range(1, LANES):
                result = builder.fadd(result, builder.extract_element(joined, ir.Constant(ir.IntType(32), lane)))
            return result

        return types.float32(types.int64, types.float32, types.float32), generate

    @njit(types.float32(types.int64, types.float32, types.float32), nogil=True)
    def probe(count, one, small):
        return steps(count, one, small)

    return probe


@njit(nogil=True, fastmath=True)
def _triad(a, b, c, scale):
    """a = b + scale * c"""
    for i in range(a.shape[0]):
        a[i] = b[i] + scale * c[i]


def _best_seconds(job: Callable[[int], object], threads: int, repeats: int) -> float:
    """Least wall time of job(0), ..., job(threads - 1), each on a thread of its own."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(job, range(threads)))
        best = float("inf")
        for _ in range(repeats):
            start = time.perf_counter()
            list(pool.map(job, range(threads)))
            best = min(best, time.perf_counter() - start)
    return best


def arithmetic_limit(step: str, threads: int, repeats: int = 5, count: int = 2_000_000) -> float:
    """Steps per second, on single-precision numbers, of all threads together. `step` is a name in STEPS.

    "minimum and add" counts the pair of instructions as one step, as histogram intersection needs them.
    """
    probe = _build_probe(STEPS[step])
    one, small = np.float32(1), np.float32(1e-9)
    seconds = _best_seconds(lambda _: probe(count, one, small), threads, repeats)
    return threads * count * N_ACCUMULATORS * LANES / seconds


def bandwidth_limit(threads: int, repeats: int = 5, mebibytes: int = 96) -> float:
    """Bytes per second of a = b + s * c over arrays far larger than the caches, counted as three streams."""
    size = mebibytes * 2**20 // 4
    a, b, c = (np.full(size, value, dtype=np.float32) for value in (0, 1, 2))
    edges = np.linspace(0, size, threads + 1).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(edges)]
    scale = np.float32(3)
    seconds = _best_seconds(lambda i: _triad(a[parts[i]], b[parts[i]], c[parts[i]], scale), threads, repeats)
    return 3 * a.nbytes / seconds


def machine_limits(threads: int, repeats: int = 5) -> dict[str, float]:
    """Every limit by name: steps per second for the names in STEPS, and bytes per second for "memory"."""
    limits = {step: arithmetic_limit(step, threads, repeats) for step in STEPS}
    limits["memory"] = bandwidth_limit(threads, repeats)
    return limits
