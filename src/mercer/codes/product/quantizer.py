"""Product quantization: a row as one word per block of columns. [jegou11product], [vedaldi12sparse] Sec. 3

Notation ([vedaldi12sparse])
    paper      code            meaning                                                    shape
    G          block_size      columns of a block
    Z_m        codebooks_[m]   words of block m, one per row                              (words, G)
    Phi(x)     rows(X)         one-hot words of the nearest words, stored as numbers      (n, M)
    K_ZZ       inner_          block diagonal, Z_m Z_m' per block, kept as the factor     (D, D)
                               F_m = Z_m'
"""

__all__ = ["ProductQuantizer"]

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.codes import EXPANSION, PRODUCT_QUANTIZER
from mercer._base.validation import canonical, require_range
from mercer.codes.product.checks import as_code_rows, check_state, warn_few_words, warn_smaller
from mercer.codes.product.fitting import fit_words
from mercer.codes.product.kernel_space import check_kernel, coordinates, warn_beyond
from mercer.codes.product.layout import code_columns, code_type, pack_words
from mercer.codes.product.predictor import CodePredictor
from mercer.codes.product.reading import Sample, check_finite, chunks, dense_single, release_pages, rotated
from mercer.codes.product.rotations import block_sizes, check_width, find_rotation
from mercer.codes.product.training import nearest
from mercer.kernels import Linear
from mercer.maps.base import FeatureMap
from mercer.maps.dask import is_dask, rows_to_fit, transform_chunks
from mercer.maps.landmarks.choice import sample_rows
from mercer.spaces import BlockFactor, CodeRows, DenseRows, Identity
from mercer.spaces.decoded_rows import DecodedRows

SAMPLES_PER_WORD = 256  # training rows per word, beyond which faiss samples too


class ProductQuantizer(FeatureMap):
    """Encode rows as one codeword per block of columns, with an inner product that approximates a kernel.

    The columns are split into blocks, each with a codebook of 2**bits codewords found by k-means. A row is encoded by
    the nearest codeword of each block, which takes half a byte, one byte or two bytes. With the default kernel, the
    inner product of two codes is that of the decoded rows. With an additive kernel, codewords are means in the feature
    space of the kernel, and the codes approximate this kernel.

    Parameters
    ----------
    block_size : int
        Number of columns per block; the last block is smaller if the width is not a multiple. Larger blocks give
        shorter and coarser codes.
    n_blocks : int or None
        Number of blocks of nearly equal size, an alternative to ``block_size``.
    bits : int from 1 to 16
        Bits per codeword; each block has 2**bits codewords. Two 4-bit codewords share a byte: that of block m is in
        bits 0 to 3 of byte m // 2 for even m, and in bits 4 to 7 for odd m. Other codewords of up to 8 bits take one
        byte, longer ones two.
    kernel : str or Kernel
        ``"linear"``, or an additive kernel (chi2, intersection, Jensen-Shannon, ...), for which 3 tabulated coordinates
        replace each column, as in ``NystroemMap(per_dimension=True)``.
    rotation : {None, "permutation", "random", "opq", "allocation"}
        Transformation of the columns before they are split: a random permutation; a random rotation; a rotation learned
        with the codewords [ge13optimized]; or principal directions distributed so that blocks are equally hard to
        encode. The last three multiply every row by a matrix, are limited to 4096 columns, and support only the linear
        kernel.
    max_samples : int or None
        Maximum number of training rows, drawn without replacement. None uses 256 per codeword, as faiss does.
    n_iter : int
        Number of k-means iterations.
    random_state : int, RandomState or None
        Seed of the training sample, of the initial codewords and of random rotations. The initial rotation of ``"opq"``
        is the allocation if all blocks have the same size, and that of faiss otherwise.
    n_jobs : int or None
        Number of threads. It does not affect the codebooks.

    Attributes
    ----------
    kernel_ : Kernel
    inner_ : BlockFactor
        The inner product of one-hot words; it holds the codebooks, in float32.
    block_sizes_ : ndarray of shape (M,)
        Columns (with ``rotation="opq"``, coordinates) of each block.
    rotation_ : None, ndarray of shape (d,) or (coordinates, d)
        The column at each position, or the matrix that multiplies each row.
    reconstruction_ : None or BlockFactor
        For a kernel that is not linear, the mean training row of each codeword, which :meth:`inverse_transform`
        returns.
    points_, tables_ : None or ndarrays
        The coordinates of such a kernel, see :class:`NystroemMap`.

    See Also
    --------
    DecodedRows : codes that are decoded a few rows at a time.

    Notes
    -----
    A block with fewer different training rows than words has a word for each of them and no more; a warning says so.
    Sparse rows are accepted, and a warning says when they take less memory as they are than as codes. Training reads a
    strip of columns at a time, so a memory-mapped X is never copied.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 20)).astype("f4")
    >>> quantizer = ProductQuantizer(block_size=2, bits=5, random_state=0).fit(X)
    >>> codes = quantizer.transform(X)
    >>> codes.shape, codes.dtype
    ((500, 10), dtype('uint8'))
    >>> decoded = quantizer.inverse_transform(codes)
    >>> bool(((X - decoded) ** 2).sum() < 0.1 * (X**2).sum())
    True
    >>> np.allclose(quantizer.approximate_kernel(X), decoded @ decoded.T, atol=1e-5)
    True
    """

    _table = PRODUCT_QUANTIZER

    def __init__(
        self,
        block_size=8,
        *,
        n_blocks=None,
        bits=8,
        kernel="linear",
        rotation=None,
        max_samples=None,
        n_iter=25,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Learn the codewords of every block. ``y`` is ignored."""
        self.check_parameters()
        X = self._checked(X, reset=True)
        self._check_width(X.shape[1])
        kernel = self.resolved_kernel()
        random_state = check_random_state(self.random_state)
        n_words = 2 ** int(self.bits)
        most = SAMPLES_PER_WORD * n_words if self.max_samples is None else self.max_samples
        sample = Sample(X, sample_rows(X.shape[0], most, random_state) if X.shape[0] > most else None)
        sizes = block_sizes(X.shape[1], self.block_size, self.n_blocks)
        self.rotation_, self.block_sizes_ = find_rotation(
            self.rotation, sample, sizes, self.bits, random_state, self.n_jobs
        )
        additive = None if isinstance(kernel, Linear) else kernel
        words = fit_words(
            sample, self.rotation_, self.block_sizes_, n_words, self.n_iter, random_state, additive, self.n_jobs
        )
        self._keep(words, kernel)
        warn_few_words(self.n_words_, n_words)
        if sparse.issparse(X):
            warn_smaller(X, self.code_size_, self.inner_.layout.flat.nbytes)
        return self

    def transform(self, X):
        """Encode rows by the nearest codeword of each block; ties go to the first.

        Returns
        -------
        ndarray of shape (n, M), uint8, or above 8 bits uint16; with ``bits=4`` uint8 of shape (n, ceil(M / 2))
        """
        if is_dask(X):
            return transform_chunks(self, X)
        return self.encode_rows(self._checked(X, reset=False))

    def inverse_transform(self, codes):
        """Decode codes to approximate rows, float32 of shape (n, d).

        With the linear kernel, these are the codewords, rotated back. With other kernels, codewords are means in
        feature space, and the mean of the training rows with the same codeword is returned instead.

        Parameters
        ----------
        codes : what :meth:`transform` gave, as integers of any type; or CodeRows
        """
        rows = as_code_rows(codes, self.n_words_, self.bits)
        source = self.inner_ if self.reconstruction_ is None else self.reconstruction_
        decoded = DecodedRows(rows, source).toarray()
        if self.rotation_ is None:
            return decoded
        if self.rotation_.ndim == 1:
            out = np.empty_like(decoded)
            out[:, self.rotation_] = decoded
            return out
        return rotated(decoded, self.rotation_.T, self.n_jobs)

    def fold_factors(self, u):
        """The predictor x -> phi(x)' F' u on raw input, for weights u in factor space, (r,) or (r, classes).

        The same function as ``fold(inner_.lift(u))``, which would keep a weight per word: words / block size times as
        many numbers as u has.
        """
        check_is_fitted(self)
        return CodePredictor(self, u)

    def as_rows(self, X):
        """The codes as `mercer.spaces` rows, the form that learners and searchers work on."""
        return CodeRows(self._words(X), self.n_words_)

    def expanded_rows(self, X, expansion="delayed"):
        """(rows, inner product) with the same kernel, decoded at one of three times.

        Parameters
        ----------
        X : rows; or their codes, as CodeRows or as :meth:`transform` gives them
        expansion : {"delayed", "immediate", "dense"}
            ``"delayed"``: never, codes with ``inner_``. ``"immediate"``: a few rows at a time, in every pass.
            ``"dense"``: now and in full. The factor space of all three is the same.
        """
        EXPANSION.check(expansion, "ProductQuantizer.expanded_rows")
        check_is_fitted(self)
        is_coded = isinstance(X, CodeRows) or (
            getattr(X, "dtype", None) == code_type(self.bits) and X.shape[1:] == (self._n_features_out,)
        )
        rows = as_code_rows(X, self.n_words_, self.bits) if is_coded else self.rows(X)
        if expansion == "delayed":
            return rows, self.inner_
        decoded = DecodedRows(rows, self.inner_)
        return (decoded if expansion == "immediate" else DenseRows(decoded.toarray())), Identity(decoded.shape[1])

    def approximate_kernel(self, X, Y=None):
        """phi(X)' H phi(Y), the kernel of the codes. Compare it with ``self.kernel_(X, Y)``."""
        left = DecodedRows(self.rows(X), self.inner_)
        right = left if Y is None else DecodedRows(self.rows(Y), self.inner_)
        # through decoded rows: one-hot rows in full would be words / block size times as long
        return Identity(left.shape[1]).gram(left, right, self.n_jobs)

    @property
    def codebooks_(self):
        """The words of each block, a list of float32 arrays (words, coordinates): views of ``inner_``."""
        check_is_fitted(self)
        return [factor.T for factor in self.inner_.factors]

    @property
    def n_words_(self):
        """Words of each block, ndarray of shape (M,)."""
        check_is_fitted(self)
        return self.inner_.layout.widths

    @property
    def code_size_(self):
        """Bytes of the code of a row."""
        check_is_fitted(self)
        return self._n_features_out * code_type(self.bits).itemsize

    # ------------------------------------------------------------------------------------------------------ helpers

    @property
    def _n_features_out(self):
        return code_columns(len(self.block_sizes_), self.bits)

    def _keep(self, words, kernel):
        self.kernel_ = kernel
        self.inner_ = BlockFactor([codebook.T for codebook in words.codebooks])
        if isinstance(kernel, Linear):
            self.reconstruction_ = self.points_ = self.tables_ = None
        else:
            self.reconstruction_ = BlockFactor([means.T for means in words.means])
            self.points_, self.tables_ = np.concatenate(words.points), np.concatenate(words.tables, axis=1)

    def encode_rows(self, X):
        return pack_words(self._words(X), self.bits)

    def _words(self, X):
        """The word of each block of validated rows, (n, M)."""
        codes = np.empty((X.shape[0], len(self.block_sizes_)), dtype=code_type(self.bits))
        n_beyond = 0
        for part in chunks(X.shape, self.inner_.n_factors):
            rows = rotated(dense_single(X[part]), self.rotation_, self.n_jobs)
            if self.tables_ is not None:
                rows, beyond = coordinates(rows, self.points_, self.tables_, self.n_jobs)
                n_beyond += beyond
            codes[part] = nearest(rows, self.inner_, self.n_jobs)
            release_pages(X)
        warn_beyond(n_beyond)
        return codes

    def _checked(self, X, reset):
        """Validated rows of any type of number, C- or Fortran-ordered: they are read a part at a time."""
        if reset:
            X = rows_to_fit(self, X)
        else:
            check_is_fitted(self)
        X = self._validated(X, reset, dtype="numeric", ensure_all_finite=False)
        if not self._trusts_rows:
            check_finite(X)
        return self.admit(X, fitting=reset)

    def admit(self, X, fitting):
        X = canonical(X)
        require_range(X, type(self).__name__, fitting=fitting)
        kernel = self.resolved_kernel() if fitting else self.kernel_
        if not isinstance(kernel, Linear):
            kernel.check_values(X, "X")
        return X

    def check_parameters(self):
        """Refuse invalid parameters before any row is read."""
        super().check_parameters()
        kernel = self.resolved_kernel()
        if not isinstance(kernel, Linear):
            check_kernel(kernel, self.rotation)

    def _check_width(self, d):
        check_width(self.rotation, d)
        if self.n_blocks is not None and self.n_blocks > d:
            raise InputError(
                f"ProductQuantizer cannot split {d} columns into n_blocks={self.n_blocks} blocks. Use at most {d}."
            )

    def _check_loaded(self):
        self.check_parameters()
        check_state(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # codes are integers
        return tags
