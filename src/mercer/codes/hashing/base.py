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
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.parameters import Table, check_parameters
from mercer._base.validation import canonical, require_range
from mercer.kernels import Kernel, needs_non_negative


class BinaryHash(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the binary codes: a scikit-learn transformer from rows to packed bits.

    A subclass defines ``fit``, ``encode_rows(X)``, which gives the packed bits of validated rows, and ``_bits``, the
    number of bits it was fitted with. One that compares rows by a kernel defines ``resolved_kernel`` and sets
    ``kernel_``.
    """

    _table: Table = ()  # its parameters

    def check_parameters(self):
        """Refuse parameters that cannot be, before any row is seen."""
        check_parameters(self, self._table)

    def transform(self, X):
        """The codes of the rows of X.

        Returns
        -------
        ndarray of shape (n, ceil(n_bits / 8)), uint8
            Bit b of a row is bit b % 8 of byte b // 8; spare bits are zero.
        """
        return self.encode_rows(self._checked(X, reset=False))

    @property
    def _bits(self):
        raise NotImplementedError

    @property
    def _n_features_out(self):
        return -(-self._bits // 8)

    def _checked(self, X, reset):
        """Validated rows: C-contiguous float32/float64 or canonical CSR, inside the kernel's domain."""
        if reset:
            self.check_parameters()
        else:
            check_is_fitted(self)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        X = canonical(X)
        require_range(X, type(self).__name__, fitting=reset)
        kernel = self.resolved_kernel() if reset else getattr(self, "kernel_", None)
        if kernel is not None:
            kernel.check_values(X, "X")
        return X

    def resolved_kernel(self) -> Kernel | None:
        """The kernel object that the parameters stand for; None where rows are taken as they are."""
        return None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_non_negative(self.resolved_kernel)
        tags.transformer_tags.preserves_dtype = []  # codes are bytes
        return tags


def pack_bits(bits):
    """Booleans of shape (n, n_bits) as bytes, lowest bit first.

    >>> pack_bits(np.array([[True, False, False, False, False, False, False, False, True]]))
    array([[1, 1]], dtype=uint8)
    """
    return np.packbits(bits, axis=1, bitorder="little")
