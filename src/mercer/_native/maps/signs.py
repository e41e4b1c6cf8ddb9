"""Rows of a Hadamard matrix with random signs, computed where they are needed: a projection that is never stored.

The sign of feature j for component m is that of bit m of

    tables[0][byte 0 of j]  ^  tables[1][byte 1 of j]  ^  ...  ^  flip(j)

The Hadamard matrix is (-1)^popcount(i & j), and the parity of i & j is the exclusive or of the parities of its bytes:
bit m of tables[b][v] is the parity of v & (byte b of row i_m), where i_m is the row that component m takes. flip(j) is
a random bit of feature j, another one in each block of ``groups_per_block`` groups of components.
"""

__all__ = ["add_signed_csr", "fill_signs", "parity_tables"]

import numpy as np

from mercer._native.counter import bits_of
from mercer._native.jit import jit

GROUP = 32  # components of a group, the bits of a word: arrays of signs and sums are whole groups wide
# Masks in memory: with shifts, or a loop of a length known to the compiler, the loops below do not vectorise.
BIT_MASKS = (np.uint32(1) << np.arange(GROUP, dtype=np.uint32)).view(np.int32)


@jit
def parity_tables(hadamard_rows, tables):
    """tables[b, v] = packed bits of popcount(v & (hadamard_rows >> 8 b)) % 2

    hadamard_rows  (m,)                    int64   the row that each component takes
    tables         (bytes, 256, groups)    int32   written
    """
    tables[:] = 0
    for b in range(tables.shape[0]):
        for m in range(hadamard_rows.shape[0]):
            row = (hadamard_rows[m] >> (8 * b)) & 255
            for v in range(256):
                parity = row & v
                parity ^= parity >> 4
                parity ^= parity >> 2
                parity ^= parity >> 1
                tables[b, v, m // GROUP] |= np.int32(np.uint32(parity & 1) << np.uint32(m % GROUP))


@jit
def fill_signs(key, first_feature, first_group, groups_per_block, tables, masks, out):
    """out[j, m] = sign of feature first_feature + j for component GROUP * first_group + m

    key    uint64, of the flips
    masks  (GROUP,) int32                      BIT_MASKS
    out    (features, GROUP * groups)  float   written in place
    """
    one = out.dtype.type(1)
    for j in range(out.shape[0]):
        feature = np.int64(first_feature + j)
        stream = bits_of(key, feature)
        flip, left = np.int32(0), 0  # groups left in the block
        for g in range(out.shape[1] // GROUP):
            group = first_group + g
            if left == 0:
                flip = -np.int32(bits_of(stream, group // groups_per_block) & np.uint64(1))
                left = groups_per_block - group % groups_per_block
            left -= 1
            bits = flip
            for b in range(tables.shape[0]):
                bits ^= tables[b, (feature >> (8 * b)) & 255, group]
            signs = out[j, GROUP * g : GROUP * (g + 1)]
            for c in range(masks.shape[0]):
                signs[c] = -one if bits & masks[c] else one


@jit
def add_signed_csr(key, indptr, indices, data, groups_per_block, tables, masks, out):
    """out += X @ signs

    indptr, indices, data         rows of X as in CSR
    masks  (GROUP,) int32         BIT_MASKS
    out    (n, GROUP * groups)    float, the type of data; written in place
    """
    for i in range(out.shape[0]):
        for q in range(indptr[i], indptr[i + 1]):
            feature = np.int64(indices[q])
            stream = bits_of(key, feature)
            x = data[q]
            flip, left = np.int32(0), 0
            for g in range(out.shape[1] // GROUP):
                if left == 0:
                    flip = -np.int32(bits_of(stream, g // groups_per_block) & np.uint64(1))
                    left = groups_per_block
                left -= 1
                bits = flip
                for b in range(tables.shape[0]):
                    bits ^= tables[b, (feature >> (8 * b)) & 255, g]
                sums = out[i, GROUP * g : GROUP * (g + 1)]
                for c in range(masks.shape[0]):
                    sums[c] += -x if bits & masks[c] else x
