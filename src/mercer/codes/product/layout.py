"""How the words of a row lie in the bytes of its code.

    bits of a word   type     columns     where the word of block m is
    1 to 3, 5 to 8   uint8    M           column m
    4                uint8    ceil(M/2)   column m // 2: bits 0 to 3 of the byte for even m, bits 4 to 7 for odd m
    9 to 16          uint16   M           column m

With an odd number of blocks, bits 4 to 7 of the last byte are zero, and what stands there does not matter to whoever
reads a code. This is also the order in which faiss packs words of four bits.
"""

__all__ = ["code_columns", "code_type", "pack_words", "unpack_words"]

import numpy as np

PACKED = 4  # bits of the words that share a byte


def code_type(bits):
    """The type of the numbers of a code."""
    return np.dtype(np.uint8 if bits <= 8 else np.uint16)


def code_columns(n_blocks, bits):
    """How many of these numbers a code has.

    >>> code_columns(5, bits=4), code_columns(5, bits=8), code_columns(5, bits=12)
    (3, 5, 5)
    """
    return -(-n_blocks // 2) if bits == PACKED else n_blocks


def pack_words(words, bits):
    """Codes of words, (n, M) of the type of codes.

    >>> pack_words(np.array([[1, 2, 15]], dtype=np.uint8), bits=4).tolist()  # 1 + 16 * 2, 15
    [[33, 15]]
    """
    if bits != PACKED:
        return words
    codes = words[:, ::2].copy()
    codes[:, : words.shape[1] // 2] |= words[:, 1::2] << PACKED
    return codes


def unpack_words(codes, n_blocks, bits):
    """The words of codes, (n, n_blocks)."""
    if bits != PACKED:
        return codes
    words = np.empty((len(codes), n_blocks), dtype=np.uint8)
    words[:, ::2] = codes & 15
    words[:, 1::2] = codes[:, : n_blocks // 2] >> PACKED
    return words
