"""Codes of embedded rows, and what a query adds for each word of a code.

Every code is scanned the same way: the score of a row is a sum over its bytes of an entry of a table, one table of 256
entries per byte and query.

    code        byte m of a row                table entry of word w
    pq, opq     nearest word of block m        <q_m, z_w> - |z_w|^2 / (2 s)
    lsh         signs of eight projections     sum over its bits of +- <r_b, q>: the query is not quantised
    universal   eight universal bits           bits in which w and the code of the query agree

With s = 1 the first ranks by Euclidean distance. For rows of equal norm in feature space, -|z|^2 / 2 is what the
components and the code lose of a row, R^2 / 2, less a constant: of two rows with equal inner products the one of which
more is lost is nearer. How much of it to add depends on how much of what is lost the query shares; s is measured.
"""

__all__ = ["BitCoder", "FlatCoder", "WordCoder", "bit_tables"]

import numpy as np

WORDS = 256
GROUP = 8  # queries that are scanned together


class WordCoder:
    """Product-quantised rows.

    Parameters
    ----------
    quantizer : ProductQuantizer, fitted on embedded rows with the linear kernel
    scale : float, the s of the tables

    Attributes
    ----------
    words : float32 (blocks, 256, widest block), those of each block
    """

    def __init__(self, quantizer, scale=1.0):
        self.quantizer, self.scale = quantizer, scale
        self.words = _padded_words(quantizer)
        self._halves = 0.5 * np.einsum("mws,mws->mw", self.words, self.words)

    @property
    def n_bytes(self):
        return len(self.words)

    def encode(self, Z):
        """The bytes of embedded rows."""
        return self.quantizer.encode_rows(Z)

    def blocks(self, Z):
        """Embedded queries in the coordinates of the words, float32 (n, M, widest block)."""
        quantizer = self.quantizer
        rotation = quantizer.rotation_
        if rotation is not None:
            Z = Z[:, rotation] if rotation.ndim == 1 else Z @ rotation.T
        M, _, size = self.words.shape
        out = np.zeros((len(Z), M, size), dtype=np.float32)
        start = 0
        for m, width in enumerate(quantizer.block_sizes_):
            out[:, m, :width] = Z[:, start : start + width]
            start += width
        return out

    def decoded(self, codes):
        """The words of codes, float32 (n, M, widest block)."""
        return self.words[np.arange(len(self.words)), codes]

    def tables(self, Z):
        """Tables of embedded queries, float32 (groups, blocks rounded up to 4, 256, 8)."""
        blocks = self.blocks(Z)
        products = np.matmul(self.words, blocks.transpose(1, 2, 0))  # (M, 256, queries)
        products -= (self._halves / self.scale)[:, :, None].astype(np.float32)
        return _grouped(products)


def _padded_words(quantizer):
    """float32 (M, 256, widest block); words that no row has are zero."""
    words = np.zeros((len(quantizer.block_sizes_), WORDS, int(max(quantizer.block_sizes_))), dtype=np.float32)
    for m, codebook in enumerate(quantizer.codebooks_):
        words[m, : codebook.shape[0], : codebook.shape[1]] = codebook
    return words


class BitCoder:
    """Rows as packed bits, of a `SignHash` or a `UniversalEmbedding` of embedded rows."""

    def __init__(self, hasher, asymmetric):
        self.hasher, self.asymmetric = hasher, asymmetric

    @property
    def n_bytes(self):
        return self.hasher._n_features_out

    def encode(self, Z):
        """The bytes of embedded rows."""
        return self.hasher.encode_rows(Z)

    def tables(self, Z):
        """Tables of embedded queries."""
        if self.asymmetric:
            strengths = Z @ self.hasher.directions_
        else:
            bits = np.unpackbits(self.encode(Z), axis=1, bitorder="little", count=self.hasher.specification_.n_bits)
            strengths = 2.0 * bits - 1.0
        return _grouped(bit_tables(strengths))


def bit_tables(strengths):
    """float32 (bytes, 256, queries): sum over the bits of a byte of +strength where it is set, else -strength.

    >>> bit_tables(np.array([[1.0, 10.0]]))[0, :4, 0].tolist()
    [-11.0, -9.0, 9.0, 11.0]
    """
    n, n_bits = strengths.shape
    padded = np.zeros((n, -(-n_bits // 8) * 8))
    padded[:, :n_bits] = strengths
    signs = 2.0 * np.unpackbits(np.arange(WORDS, dtype=np.uint8)[:, None], axis=1, bitorder="little") - 1.0
    return np.einsum("wb,nmb->mwn", signs, padded.reshape(n, -1, 8)).astype(np.float32)


def _grouped(products):
    """(blocks, 256, queries) as groups of eight queries, blocks rounded up to a multiple of four, zero beyond."""
    M, _, n = products.shape
    groups = -(-n // GROUP)
    out = np.zeros((groups, -(-M // 4) * 4, WORDS, GROUP), dtype=np.float32)
    for g in range(groups):
        part = products[:, :, g * GROUP : (g + 1) * GROUP]
        out[g, :M, :, : part.shape[2]] = part
    return out


class FlatCoder:
    """Embedded rows as they are, float32, as bytes."""

    def __init__(self, width, scale=1.0):
        self.width, self.scale = width, scale

    @property
    def n_bytes(self):
        return 4 * self.width

    def encode(self, Z):
        """The bytes of embedded rows."""
        return np.ascontiguousarray(Z, dtype=np.float32).view(np.uint8)

    def scores(self, queries, codes):
        """<q, z> - |z|^2 / (2 s), float32 (queries, rows)."""
        rows = np.ascontiguousarray(codes).view(np.float32)
        halves = np.einsum("ij,ij->i", rows, rows) / np.float32(2 * self.scale)
        return queries @ rows.T - halves
