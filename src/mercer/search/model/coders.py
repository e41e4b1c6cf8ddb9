"""Codes of embedded rows, and what a query adds for each word of a code.

Every code is scanned the same way: the score of a row is a sum over its bytes of an entry of a table, one table of 256
entries per byte and query.

    code        byte m of a row                table entry of word w
    pq, opq     nearest word of block m        <q_m, z_w> - |z_w|^2 / (2 s)
      of 4 bits those of blocks 2m and 2m+1    the same, w a pair of words
    lsh         signs of eight projections     sum over its bits of +- <r_b, q>: the query is not quantized
    universal   eight universal bits           bits in which w and the code of the query agree

With s = 1 the first ranks by Euclidean distance. For rows of equal norm in feature space, -|z|^2 / 2 is what the
components and the code lose of a row, R^2 / 2, less a constant: of two rows with equal inner products the one of which
more is lost is nearer. How much of it to add depends on how much of what is lost the query shares; s is measured.
"""

__all__ = ["GROUP", "WORDS", "BitCoder", "FlatCoder", "WordCoder", "bit_tables"]

import numpy as np

from mercer.codes.product.layout import unpack_words

WORDS = 256
GROUP = 8  # queries that are scanned together


class WordCoder:
    """Product-quantised rows, of at most 8 bits per word.

    Two words of 4 bits that share a byte are one word of both blocks to all that reads codes: 256 pairs.

    Parameters
    ----------
    quantizer : ProductQuantizer, fitted on embedded rows with the linear kernel
    scale : float, the s of the tables

    Attributes
    ----------
    words : float32 (bytes, 256, width), what each byte stands for in the coordinates of its blocks, zeros beyond
    """

    def __init__(self, quantizer, scale=1.0):
        self.quantizer, self.scale = quantizer, scale
        self._widest = int(max(quantizer.block_sizes_))
        self.words = _paired(self.block_words) if self.packed else self.block_words
        self._halves = 0.5 * np.einsum("mws,mws->mw", self.words, self.words)

    @property
    def packed(self):
        """Whether two words share a byte."""
        return self.quantizer.bits == 4

    @property
    def block_words(self):
        """float32 (blocks, words, widest block); words that no row has are zero. An even number of packed blocks."""
        blocks = [*self.quantizer.codebooks_]
        if self.packed and len(blocks) % 2:
            blocks.append(np.zeros((1, 1), dtype=np.float32))
        words = np.zeros((len(blocks), 16 if self.packed else WORDS, self._widest), dtype=np.float32)
        for m, codebook in enumerate(blocks):
            words[m, : codebook.shape[0], : codebook.shape[1]] = codebook
        return words

    @property
    def n_bytes(self):
        return len(self.words)

    def encode(self, Z):
        """The bytes of embedded rows."""
        return self.quantizer.encode_rows(Z)

    def names_words(self, codes):
        """Whether every word of the codes is one that the quantizer has."""
        n_words = self.quantizer.n_words_
        return not (unpack_words(codes, len(n_words), self.quantizer.bits).max(axis=0) >= n_words).any()

    def blocks(self, Z):
        """Embedded queries in the coordinates of the words, float32 (n, bytes, width)."""
        quantizer = self.quantizer
        rotation = quantizer.rotation_
        if rotation is not None:
            Z = Z[:, rotation] if rotation.ndim == 1 else Z @ rotation.T
        out = np.zeros((len(Z), (1 + self.packed) * self.n_bytes, self._widest), dtype=np.float32)
        start = 0
        for m, width in enumerate(quantizer.block_sizes_):
            out[:, m, :width] = Z[:, start : start + width]
            start += width
        return out.reshape(len(Z), self.n_bytes, -1)

    def decoded(self, codes):
        """The words of codes, float32 (n, bytes, width)."""
        return self.words[np.arange(len(self.words)), codes]

    def tables(self, Z):
        """Tables of embedded queries, float32 (groups, bytes rounded up to 4, 256, 8)."""
        blocks = self.blocks(Z)
        products = np.matmul(self.words, blocks.transpose(1, 2, 0))  # (bytes, 256, queries)
        products -= (self._halves / self.scale)[:, :, None].astype(np.float32)
        return _grouped(products)


def _paired(words):
    """(M, 16, s) as the words of pairs of blocks, (M / 2, 256, 2 s): that of the even block is in the lowest bits."""
    M, K, size = words.shape
    pairs = np.empty((M // 2, K, K, 2 * size), dtype=np.float32)
    pairs[..., :size], pairs[..., size:] = words[::2, None], words[1::2, :, None]
    return pairs.reshape(M // 2, K * K, 2 * size)


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
