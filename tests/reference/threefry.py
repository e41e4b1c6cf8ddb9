"""Twins of `mercer._native.threefry`, in Python's whole numbers."""

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
WORD = 2**32 - 1


def threefry(k0, k1, c0, c1):
    keys = (k0, k1, 0x1BD11BDA ^ k0 ^ k1)
    x0, x1 = (c0 + k0) & WORD, (c1 + k1) & WORD
    for r in range(20):
        x0 = (x0 + x1) & WORD
        turn = ROTATIONS[r % 8]
        x1 = ((x1 << turn | x1 >> (32 - turn)) & WORD) ^ x0
        if r % 4 == 3:
            t = r // 4 + 1
            x0, x1 = (x0 + keys[t % 3]) & WORD, (x1 + keys[(t + 1) % 3] + t) & WORD
    return x0, x1


def halfword(k0, k1, stream, e):
    x0, x1 = threefry(k0, k1, e // 4, stream)
    return (x0 & 0xFFFF, x0 >> 16, x1 & 0xFFFF, x1 >> 16)[e % 4]


def fill_halfwords(k0, k1, stream, first, out):
    out[:] = [halfword(k0, k1, stream, first + i) for i in range(len(out))]
