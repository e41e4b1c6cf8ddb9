"""What ProductQuantizer checks of parameters, codes and loaded state, and what it warns of."""

__all__ = ["as_code_rows", "check_state", "warn_few_words", "warn_smaller"]

import warnings

import numpy as np

from mercer._base.errors import ApproximationWarning, InputError
from mercer.codes.product.kernel_space import COMPONENTS, check_kernel
from mercer.codes.product.layout import code_columns, code_type, unpack_words
from mercer.kernels import Kernel, Linear
from mercer.maps.tables import check_tables
from mercer.spaces import BlockFactor, CodeRows


def as_code_rows(codes, n_words, bits):
    """Codes as CodeRows with these words per block: CodeRows, or what `transform` gives, as numbers of any type."""
    if not isinstance(codes, CodeRows):
        codes, dtype, width = np.asarray(codes), code_type(bits), code_columns(len(n_words), bits)
        if codes.ndim != 2 or codes.shape[1] != width or not _are_codes(codes, dtype):
            raise InputError(
                f"The codes of this ProductQuantizer have {width} integers from 0 to {np.iinfo(dtype).max} per row, "
                f"got an array of shape {codes.shape} and type {codes.dtype}."
            )
        codes = CodeRows(unpack_words(codes.astype(dtype, copy=False), len(n_words), bits), n_words)
    if not np.array_equal(codes.n_words, n_words):
        raise InputError(
            f"These CodeRows do not belong to this ProductQuantizer, which has {len(n_words)} blocks and "
            f"{int(n_words.sum())} words; they have {codes.codes.shape[1]} and {codes.shape[1]}."
        )
    return codes


def _are_codes(codes, dtype):
    if codes.dtype.kind not in "iuf":
        return False
    largest = np.iinfo(dtype).max
    return codes.dtype == dtype or bool(((codes >= 0) & (codes <= largest) & (codes == np.rint(codes))).all())


# ------------------------------------------------------------------------------------------------- loaded state


def check_state(quantizer):
    """Raise ValueError unless compiled loops can trust what a file brought."""
    sizes, d, kernel = quantizer.block_sizes_, quantizer.n_features_in_, quantizer.kernel_
    if not isinstance(kernel, Kernel):
        raise ValueError("kernel_ must be a kernel.")
    if not isinstance(sizes, np.ndarray) or sizes.dtype != np.int64 or sizes.ndim != 1 or sizes.min(initial=1) < 1:
        raise ValueError("block_sizes_ must be a vector of integers >= 1.")
    if type(d) is not int or int(sizes.sum()) != _n_coordinates(quantizer.rotation_, d):
        raise ValueError("block_sizes_, rotation_ and n_features_in_ are inconsistent.")
    is_linear = isinstance(kernel, Linear)
    most = 2 ** int(quantizer.bits)
    _check_codebooks(quantizer.inner_, sizes if is_linear else sizes * COMPONENTS, most)
    if is_linear != (quantizer.tables_ is None) or is_linear != (quantizer.reconstruction_ is None):
        raise ValueError("tables_ and reconstruction_ are only for kernels that are not linear.")
    if not is_linear:
        _check_kernel_state(quantizer, sizes, d, most)


def _n_coordinates(rotation, d):
    """The number of coordinates after the rotation, if it is one."""
    if rotation is None:
        return d
    if not isinstance(rotation, np.ndarray):
        raise ValueError("rotation_ must be None or an array.")
    if rotation.ndim == 1:
        if rotation.dtype != np.int64 or not np.array_equal(np.sort(rotation), np.arange(d)):
            raise ValueError("rotation_ must be a permutation of the columns.")
        return d
    if rotation.dtype != np.float32 or rotation.ndim != 2 or rotation.shape[1] != d or not np.isfinite(rotation).all():
        raise ValueError("rotation_ must be a finite float32 matrix with one column per column of X.")
    return len(rotation)


def _check_codebooks(inner, sizes, most):
    if not isinstance(inner, BlockFactor) or inner.repeat != 1 or inner.layout.flat.dtype != np.float32:
        raise ValueError("codebooks must be a BlockFactor of float32.")
    n_words = inner.layout.widths
    if not np.array_equal(inner.layout.ranks, sizes) or n_words.min() < 1 or n_words.max() > most:
        raise ValueError(f"codebooks must have from 1 to {most} words per block, as long as the block is wide.")
    if not np.isfinite(inner.layout.flat).all():
        raise ValueError("codebooks must be finite.")


def _check_kernel_state(quantizer, sizes, d, most):
    rotation, inner, means = quantizer.rotation_, quantizer.inner_, quantizer.reconstruction_
    if rotation is not None and rotation.ndim == 2:
        raise ValueError("rotation_ must not mix columns unless the kernel is linear.")
    check_kernel(quantizer.kernel_, None)
    check_tables(quantizer.points_, quantizer.tables_, d)
    sides = 1 if quantizer.kernel_.positive_definite_on == "non-negative" else 2
    if quantizer.tables_.shape[0] != sides or quantizer.tables_.shape[3] != COMPONENTS:
        raise ValueError(f"tables_ must have {sides} sides and {COMPONENTS} functions per column.")
    if not np.isfinite(quantizer.tables_).all():
        raise ValueError("tables_ must be finite.")
    _check_codebooks(means, sizes, most)
    if not np.array_equal(means.layout.starts, inner.layout.starts):
        raise ValueError("reconstruction_ must have one row per word.")


# ----------------------------------------------------------------------------------------------------- warnings


def warn_few_words(n_words, wanted):
    """Say that blocks have fewer words than asked for."""
    few = n_words < wanted
    if few.any():
        warnings.warn(
            f"ProductQuantizer: {np.count_nonzero(few)} of {len(n_words)} blocks have fewer than {wanted} different "
            f"training rows (the minimum is {n_words.min()}), so they have fewer words. Use fewer bits, larger blocks "
            "or more rows.",
            ApproximationWarning,
            stacklevel=3,
        )


def warn_smaller(X, bytes_per_row, codebook_bytes):
    """Say that sparse rows take less memory than their codes."""
    csr_bytes, code_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, X.shape[0] * bytes_per_row
    if csr_bytes < code_bytes:
        warnings.warn(
            f"ProductQuantizer: these rows take {csr_bytes:,} bytes as a CSR matrix and {code_bytes:,} bytes as "
            f"codes, plus {codebook_bytes:,} bytes of codebooks. Keep them sparse, or use larger blocks.",
            ApproximationWarning,
            stacklevel=3,
        )
