"""Twin of `mercer._native.counter`, in Python's integers."""

MASK = 2**64 - 1


def bits_of(key, i):
    """SplitMix64, as published: the state advances by the golden ratio, the output is mixed."""
    z = (int(key) + 0x9E3779B97F4A7C15 * (int(i) + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform_of(key, i):
    return ((bits_of(key, i) >> 12) + 0.5) / 2**52
