"""Twin of `mercer._native.maps.signs`: signs one by one, from the definition of the Hadamard matrix."""

import numpy as np

from tests.reference.counter import bits_of


def sign(key, feature, component, hadamard_rows, block):
    """(-1)^popcount(row & feature), flipped at random for the feature in each block of components"""
    flip = bits_of(bits_of(key, feature), component // block) % 2
    return 1 - 2 * ((int(hadamard_rows[component] & feature).bit_count() + flip) % 2)


def parity_tables(hadamard_rows, tables):
    tables[:] = 0
    words = tables.view(np.uint32)
    for b in range(tables.shape[0]):
        for v in range(256):
            for m, row in enumerate(hadamard_rows):
                parity = int(v & (row >> 8 * b) & 255).bit_count() % 2
                words[b, v, m // 32] |= np.uint32(parity << (m % 32))


def _bit(tables, feature, m):
    """Bit m of the word that a feature selects from the tables."""
    words = tables.view(np.uint32)
    return sum(int(words[b, (feature >> 8 * b) & 255, m // 32]) >> (m % 32) & 1 for b in range(len(tables))) % 2


def _sign(key, feature, m, groups_per_block, tables):
    flip = bits_of(bits_of(key, feature), m // (32 * groups_per_block)) % 2
    return 1 - 2 * ((_bit(tables, feature, m) + flip) % 2)


def fill_signs(key, first_feature, first_group, groups_per_block, tables, masks, out):
    for j in range(out.shape[0]):
        for m in range(out.shape[1]):
            out[j, m] = _sign(key, first_feature + j, 32 * first_group + m, groups_per_block, tables)


def add_signed_csr(key, indptr, indices, data, groups_per_block, tables, masks, out):
    for i in range(len(out)):
        for q in range(indptr[i], indptr[i + 1]):
            signs = [_sign(key, int(indices[q]), m, groups_per_block, tables) for m in range(out.shape[1])]
            out[i] += data[q] * np.array(signs, dtype=out.dtype)
