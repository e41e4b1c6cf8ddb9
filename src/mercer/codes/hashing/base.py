"""What binary codes share: one bit per hash function, packed into bytes, and the checks at the door.

Layout of a code of ``n_bits`` bits
    row of ceil(n_bits / 8) bytes; bit b is bit b % 8 of byte b // 8, lowest bit first (``numpy.packbits(...,
    bitorder="little")``); the spare bits of the last byte are zero, so they never count in a Hamming distance.

    code                class               bit b of x is 1 where
    signs               SignHash            <r_b, phi(x)> > 0, r_b normal, phi an explicit map
    KLSH, RMMH          LandmarkHash        sum_i c_ib K(x, z_i) + a_b > 0, z_i landmarks
    universal           UniversalEmbedding  floor((<r_b, x> + w_b) / delta) is odd
"""

__all__ = ["BinaryHash", "pack_bits"]

import numpy as np

from mercer.maps.base import FeatureMap
from mercer.maps.dask import is_dask, transform_chunks
from mercer.spaces import BitRows, Identity


class BinaryHash(FeatureMap):
    """Base class of the binary codes: a scikit-learn transformer from rows to packed bits, and a map for learners.

    The inner product of two codes b, taken as signs, stands for the share of bits that are equal:

        phi(x) = (2 b(x) - 1) / sqrt(n_bits),    phi(x)' phi(y) = 1 - 2 Hamming(x, y) / n_bits,

    which for signs of random projections is 1 - 2 theta / pi in the mean, theta the angle under ``kernel_``.

    A subclass defines ``fit``, ``encode_rows(X)``, which gives the packed bits of validated rows, and ``_bits``, the
    number of bits it was fitted with.
    """

    def transform(self, X):
        """The codes of the rows of X.

        Returns
        -------
        ndarray of shape (n, ceil(n_bits / 8)), uint8
            Bit b of a row is bit b % 8 of byte b // 8; spare bits are zero.
        """
        if is_dask(X):
            return transform_chunks(self, X)
        return self.encode_rows(self._checked(X, reset=False))

    def as_rows(self, X):
        """The codes as `mercer.spaces` rows, the form that learners and searchers work on."""
        return BitRows(self.encode_rows(X), self._bits, 1 / np.sqrt(self._bits))

    @property
    def inner_(self):
        """The inner product of `rows`: the plain one."""
        return Identity(self._bits)

    @property
    def _bits(self):
        raise NotImplementedError

    @property
    def _n_features_out(self):
        return -(-self._bits // 8)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # codes are bytes
        return tags


def pack_bits(bits):
    """Booleans of shape (n, n_bits) as bytes, lowest bit first.

    >>> pack_bits(np.array([[True, False, False, False, False, False, False, False, True]]))
    array([[1, 1]], dtype=uint8)
    """
    return np.packbits(bits, axis=1, bitorder="little")
