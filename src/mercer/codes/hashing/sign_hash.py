"""Signs of random projections of explicit features: locality-sensitive hashing for angles. [charikar02similarity]

Two vectors at an angle theta fall on different sides of a random hyperplane with probability theta / pi, so that

    E[Hamming distance] = n_bits theta / pi,    cos theta = <phi(x), phi(y)> / (|phi(x)| |phi(y)|).

With the features phi of a map, theta is the angle of the kernel that the map stands for. KernelPCA gives the KPCA+LSH
of [bourrier15explicit] Sec. 5.2.2.
"""

__all__ = ["SignHash"]

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, checked_array
from mercer._base.memory import row_chunks
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.codes import SIGN_HASH
from mercer._base.threads import single_threaded, thread_limit
from mercer.codes.hashing.base import BinaryHash, pack_bits
from mercer.kernels import Kernel, Linear
from mercer.maps.base import FeatureMap
from mercer.spaces import as_rows

CHUNK_ROWS = 8192  # rows whose features exist at once, if the working memory allows as many


class SignHash(BinaryHash):
    """Signs of random projections, of the rows or of their features under a map, as packed bits.

    Hamming distances estimate angles: their mean is n_bits theta / pi.

    Parameters
    ----------
    map : FeatureMap or None
        Map whose features are projected; ``fit`` clones and fits it. None projects the rows themselves. For dense rows,
        ``KernelPCA(kernel, n_components=E, center=True)`` is a good choice, with E equal to n_bits, or from 128 bits
        on, to a half or a quarter of it. Without ``center``, the features of a non-negative kernel are within a right
        angle of each other, so most directions have them on the same side.
    n_bits : int
        Bits per code.
    orthogonal : bool
        Draw directions that are orthogonal in groups as large as the number of dimensions [ji12super], which keeps the
        mean and lowers the variance for angles below pi / 2. Otherwise, directions are independent.
    random_state : int, RandomState or None
        Seed of the directions. The map has its own seed.
    n_jobs : int or None
        Number of threads. It does not affect the codes.

    Attributes
    ----------
    map_ : the fitted map, or None
    kernel_ : Kernel
        The kernel whose angles the codes estimate.
    directions_ : ndarray of shape (features, n_bits)
        Bit b of x is 1 where phi(x)' directions_[:, b] > 0. With the inner product H = F'F of the map these are F' r
        for normal r.

    See Also
    --------
    KLSH, RMMH : bits for any kernel without a map.
    hamming_top_k : the nearest codes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=300)
    >>> hashed = SignHash(KernelPCA("chi2", n_components=6, n_landmarks=50, random_state=0), n_bits=20, random_state=0)
    >>> hashed.fit_transform(X).shape
    (300, 3)

    A right angle is half of the bits:

    >>> codes = SignHash(n_bits=8000, random_state=0).fit_transform(np.eye(2))
    >>> int(np.bitwise_count(codes[0] ^ codes[1]).sum())
    4000
    """

    _table = SIGN_HASH

    def __init__(self, map=None, n_bits=64, *, orthogonal=True, random_state=None, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Fit the map and draw the directions."""
        X = self._checked(X, reset=True)
        with thread_limit(self.n_jobs):
            self.map_ = None if self.map is None else clone(self.map).fit(X, y)
        self.kernel_ = Linear() if self.map_ is None else self.map_.kernel_
        draw = orthogonal_directions if self.orthogonal else normal_directions
        n_factors = X.shape[1] if self.map_ is None else self.map_.inner_.n_factors
        directions = draw(n_factors, int(self.n_bits), check_random_state(self.random_state))
        self.directions_ = directions if self.map_ is None else self.map_.inner_.lift(directions)
        return self

    def encode_rows(self, X):
        codes = np.empty((X.shape[0], self._n_features_out), dtype=np.uint8)
        directions = self.directions_.astype(X.dtype)
        with thread_limit(self.n_jobs):
            for part in row_chunks(X.shape[0], 8 * sum(directions.shape), most=CHUNK_ROWS):
                rows = as_rows(X[part]) if self.map_ is None else self.map_.rows(X[part])
                codes[part] = pack_bits(rows.scores(directions) > 0)
        return codes

    @property
    def _bits(self):
        return self.directions_.shape[1]

    def resolved_kernel(self):
        if self.map is None:
            return Linear()
        if not isinstance(self.map, FeatureMap):
            raise InputError(f"SignHash needs a map of Mercer, such as KernelPCA('chi2'), or None; got {self.map!r}.")
        return self.map.resolved_kernel()

    def _check_loaded(self):
        check_kind(self, "kernel_", Kernel)
        fitted = check_kind(self, "map_", FeatureMap, optional=True)
        if fitted is not None and fitted.n_features_in_ != self.n_features_in_:
            raise ValueError("map_ was fitted on rows of a different width.")
        width = self.n_features_in_ if fitted is None else fitted.inner_.n_features
        if not checked_array(self, "directions_", "float64", shape=(width, None)).size:
            raise ValueError("directions_ must have at least one column.")


def normal_directions(width, count, random_state):
    """Independent standard normal columns, shape (width, count)."""
    return random_state.standard_normal((width, count))


def orthogonal_directions(width, count, random_state):
    """Columns of unit length and uniform direction, orthogonal within groups of ``width``, shape (width, count).

    The Q of the QR factorization of a normal matrix, made unique (and uniformly distributed) by R_kk > 0.
    """
    groups = []
    with single_threaded():
        for first in range(0, count, width):
            normals = random_state.standard_normal((width, min(width, count - first)))
            directions, triangle = np.linalg.qr(normals)
            groups.append(directions * np.sign(np.diag(triangle)))
    return np.hstack(groups)
