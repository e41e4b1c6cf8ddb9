"""Random numbers from counters: the i-th number of a stream is a function of (key, i), with no state to carry along.

Any number can be had at any time by any thread, for any number of columns, without tables. Streams with different keys
are runs of one Weyl sequence through the 64-bit finaliser of SplitMix64 ([steele14fast]), at starting points so far
apart that two of them meet with a probability of their length over 2^64.
"""

__all__ = ["bits_of", "uniform_of"]

import numpy as np

from mercer._native.jit import inline

WEYL = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd
MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inline
def bits_of(key, i):
    """64 random bits: number i (any integer) of the stream ``key`` (uint64). They may be the key of a new stream."""
    z = key + WEYL * (np.uint64(i) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * MULTIPLIERS[0]
    z = (z ^ (z >> np.uint64(27))) * MULTIPLIERS[1]
    return z ^ (z >> np.uint64(31))


@inline
def uniform_of(key, i):
    """Number i of the stream, uniform on the midpoints of 2^52 equal parts of (0, 1): never 0, never 1."""
    return (np.float64(bits_of(key, i) >> np.uint64(12)) + 0.5) * 2.0**-52
