"""The bits by the letter of docs/wire-format.md, in Python's own whole numbers; and the known answers of that page.

`code_of` is the oracle of both clients: one number at a time, no arrays, nothing shared with them.
"""

import base64
import functools
import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/wire-format.md").read_text(encoding="utf-8")
T = [int(number) for number in PAGE.partition("sixteen to a line.")[2].split()]
WORD = 2**32
R = 13, 15, 26, 6, 17, 29, 16, 24


@functools.lru_cache(2**16)
def threefry(k0, k1, c0, c1):
    k = k0, k1, 0x1BD11BDA ^ k0 ^ k1
    x0, x1 = (c0 + k0) % WORD, (c1 + k1) % WORD
    for r in range(20):
        x0 = (x0 + x1) % WORD
        x1 = ((x1 << R[r % 8]) % WORD + (x1 >> (32 - R[r % 8]))) ^ x0
        if r in (3, 7, 11, 15, 19):
            t = (r + 1) // 4
            x0 = (x0 + k[t % 3]) % WORD
            x1 = (x1 + k[(t + 1) % 3] + t) % WORD
    return x0, x1


def half_word(s, stream, e):
    seed = int(s["seed"], 16)
    x0, x1 = threefry(seed % WORD, seed // WORD, e // 4, stream)
    return [x0 % 65536, x0 // 65536, x1 % 65536, x1 // 65536][e % 4]


def numbers(text, count):
    return struct.unpack(f"<{count}d", base64.b64decode(text))


def whole_numbers(s, block):
    d = s["features"]
    factors = [2.0 ** s["exponent"]] * d if s["scale"] is None else numbers(s["scale"], d)
    centers = [0.0] * d if s["center"] is None else numbers(s["center"], d)
    z = []
    for x, c, f in zip(block, centers, factors, strict=True):
        scaled = (float(x) - c) * f + 0.5
        z.append(math.floor(min(max(scaled, -32767), 32767)))
    return z


def projections(s, z):
    """p_0, ..., p_(M-1) of one block."""
    d, M = s["features"], s["projections"]
    if s["matrix"] == "learned":
        a = struct.unpack(f"<{M * d}h", base64.b64decode(s["entries"]))
        return [sum(a[b * d + j] * z[j] for j in range(d)) for b in range(M)]
    if s["matrix"] == "dense":
        return [sum(entry(s, b * d + j) * z[j] for j in range(d)) for b in range(M)]
    n = max(256, 2 ** math.ceil(math.log2(d)))
    p = []
    for g in range(math.ceil(M / n)):
        v = z + [0] * (n - d)
        for r in range(3):
            signed = [-x if sign_bit(s, (3 * g + r) * n + i) else x for i, x in enumerate(v)]
            wanted = range(n if r < 2 else min(n, M - g * n))
            v = [hadamard_sum(signed, i) for i in wanted]
        p += v
    return p


def hadamard_sum(v, i):
    return sum(-x if (i & k).bit_count() % 2 else x for k, x in enumerate(v) if x)


def entry(s, e):
    u = half_word(s, 0, e)
    return -T[u % 1024] if u >= 32768 else T[u % 1024]


def sign_bit(s, e):
    return half_word(s, 2, e // 16) >> (e % 16) & 1


def values(s, p):
    D, B = s["step"], s["bits"]
    offsets = [0] * len(p) if s["offsets"] is None else [int(o) for o in numbers(s["offsets"], len(p))]
    e, out = 0, []
    for b in range(len(p)):
        w = half_word(s, 1, b) * D // 65536
        if s["kind"] == "universal":
            out.append(int((p[b] + w) % (2 * D) >= D))
            continue
        t = p[b] - offsets[b] + (w - D // 2 if s["dither"] else 0) + (e if s["kind"] == "sigma-delta" else 0)
        q = min(max(t // D + 2 ** (B - 1), 0), 2**B - 1)
        e = min(max(t - (q - 2 ** (B - 1)) * D - D // 2, -(2**B) * D), 2**B * D)
        out.append(q)
    return out


def code_of(s, row):
    """The bytes of one row."""
    d, B = s["features"], s["bits"]
    bits = []
    for block in range(s["blocks"]):
        p = projections(s, whole_numbers(s, row[block * d : (block + 1) * d]))
        bits += [value >> k & 1 for value in values(s, p) for k in range(B)]
    bits += [0] * (-len(bits) % 8)
    return bytes(sum(bits[i + k] << k for k in range(8)) for i in range(0, len(bits), 8))


def doubles(array):
    """An array as a specification holds it."""
    return base64.b64encode(np.asarray(array, dtype="<f8").tobytes()).decode("ascii")


def entries(array):
    """A learned matrix as a specification holds it."""
    return base64.b64encode(np.asarray(array, dtype="<i2").tobytes()).decode("ascii")


def specification(**changes):
    """A specification of version 1, with changes."""
    return {
        "format": "mercer-embedding", "version": 1, "kind": "universal", "matrix": "dense", "seed": "0123456789abcdef",
        "features": 3, "blocks": 1, "projections": 20, "bits": 1, "step": 9000, "dither": True, "exponent": 0,
        "scale": None, "center": None, "offsets": None, **changes,
    }  # fmt: skip


KNOWN = re.findall(r"^\| ([0-9a-f]{8}) ([0-9a-f]{8}) \| (\w{8}) (\w{8}) \| (\w{8}) (\w{8}) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("line", KNOWN)
def test_the_known_answers_of_the_page(line):
    *given, x0, x1 = (int(word, 16) for word in line)
    assert threefry(*given) == (x0, x1)


def test_the_page_has_known_answers_and_a_whole_table():
    assert len(KNOWN) == 3
    assert len(T) == 1024
    assert sorted(T) == T


def test_a_code_by_hand():
    # one feature, one projection, no dither: p = a z against 0, and against the step
    s = specification(kind="qjl", features=1, projections=1, bits=2, dither=False, step=1000)
    a = entry(s, 0)
    assert [code_of(s, [x])[0] for x in (0, math.copysign(1, a), -math.copysign(1, a))] == [
        2, min(2 + abs(a) // 1000, 3), max(2 + -abs(a) // 1000, 0),
    ]  # fmt: skip
