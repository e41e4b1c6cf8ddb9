"""Kernel principal component analysis through landmarks, with the residual of each row. [bourrier15explicit]

Notation
    paper          code             meaning                                                     shape
    M, Y           landmarks_       rows that span the subspace                                 (M, d)
    E              n_components     principal directions kept
    phi_i(x)       transform(X)     (11): projection of x on direction i                        (n, E)
    sigma_i^2      eigenvalues_     energy of the training rows along direction i, per row      (E,)
    R(x)           residual(X)      (21): what the projection loses                             (n,)
Deviation from the paper: (11) takes the principal directions of the landmarks, a uniform sample of the rows. Here they
are those of the training rows (a uniform sample of many more rows) inside the span of the landmarks. With all rows as
landmarks the two are the same; otherwise these lose less, and the landmarks need not be a uniform sample.
"""

__all__ = ["KernelPCA", "refuse_negative_energy"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.loaded import checked_array
from mercer._base.linalg import positive_eigenpairs
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import KERNEL_PCA
from mercer._base.threads import run_blocks, single_threaded, thread_limit
from mercer.maps.landmarks.base import LandmarkMap, fit_landmarks, landmark_blocks, orthonormal_functions
from mercer.maps.landmarks.choice import sample_rows
from mercer.spaces import Identity

DIRECTION_VALUES = 2**24  # training rows that decide the directions, times landmarks: 16,384 rows for 1,024 of them
COLUMN_BLOCK = 128  # columns of the second moment per task
NEGATIVE_ENERGY = 1e-6  # K(x, x) - |phi(x)|^2 below minus this share of K(x, x) is not rounding


class KernelPCA(LandmarkMap):
    """Kernel principal components, computed from landmarks, for any kernel.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel to approximate.
    n_components : int or None
        Number of components to keep; fewer if the landmarks span fewer dimensions. None keeps all.
    n_landmarks : int
        Number of landmarks that every row is compared with; more landmarks are closer to the kernel and slower. If
        there are fewer training rows, all of them are used.
    landmarks : {"rpcholesky", "kmeans++", "uniform"}, array of integers, or rows
        How landmarks are chosen: by randomly pivoted Cholesky [chen22randomly], by k-means++ seeding in feature space,
        or as a uniform sample; or row numbers of X; or the landmarks themselves, as an array or a sparse matrix.
    center : bool
        Subtract the mean in feature space, as in ordinary PCA. Inner products then approximate the centered kernel, and
        :meth:`residual` is the distance from the mean plus the span of the components.
    max_candidates : int or None
        Maximum number of rows to choose landmarks from, a uniform sample of X. None uses as many as fit in 256 MiB of
        working memory: 32,768 rows for 1,024 landmarks.
    random_state : int, RandomState or None
    n_jobs : int or None

    Attributes
    ----------
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
        The landmarks in the order in which they were chosen; fewer than requested if these already represent all rows.
    landmark_indices_ : ndarray or None
        Their positions in X; None if the landmarks were given as rows.
    normalization_ : ndarray of shape (n_landmarks, n_components)
        phi(x) is ``normalization_.T @ K(landmarks_, x)``, plus ``offset_`` if the features are centered.
    eigenvalues_ : ndarray of shape (n_components,)
        Mean energy of the training rows along each component, largest first.
    explained_energy_ : ndarray of shape (n_components,)
        The same as a share of the mean of K(x, x), or of the variance in feature space if the features are centered.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=300)
    >>> pca = KernelPCA("chi2", n_components=8, n_landmarks=50, random_state=0).fit(X)
    >>> pca.transform(X).shape
    (300, 8)
    >>> bool(pca.explained_energy_.sum() > 0.9)
    True

    |K(x, y) - phi(x)' phi(y)| is at most R(x) R(y), (22):

    >>> R = pca.residual(X)
    >>> bool(np.all(np.abs(pca.kernel_(X) - pca.approximate_kernel(X)) <= np.outer(R, R) + 1e-12))
    True
    """

    _table = KERNEL_PCA

    def __init__(
        self,
        kernel="chi2",
        n_components=64,
        n_landmarks=1024,
        landmarks="rpcholesky",
        center=False,
        max_candidates=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Choose landmarks, and compute the principal directions of X in their span. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        random_state = fit_landmarks(self, X, self.n_landmarks)
        _, functions = orthonormal_functions(self.kernel_, self.landmarks_, self.n_jobs)
        most = max(self.landmarks_.shape[0], DIRECTION_VALUES // self.landmarks_.shape[0])
        rows = X if X.shape[0] <= most else X[sample_rows(X.shape[0], most, random_state)]
        coordinates = self._coordinates(rows, functions)
        mean = coordinates.mean(axis=0)
        energy = float(self.kernel_.diagonal(rows.astype(np.float64)).mean())
        if self.center:
            coordinates -= mean
            energy -= mean @ mean
        values, directions = self._principal(coordinates)
        with single_threaded():
            self.normalization_ = functions @ directions
            self.offset_ = -(mean @ directions) if self.center else None
            self.mean_ = functions @ mean if self.center else None
        self.mean_energy_ = float(mean @ mean) if self.center else 0.0
        self.eigenvalues_ = values
        self.explained_energy_ = values / energy if energy > 0 else np.zeros_like(values)
        self.inner_ = Identity(len(values))
        return self

    def residual(self, X):
        """R(x) = sqrt(K(x, x) - |phi(x)|^2), the norm of what the components lose of each row. (21)

        Returns
        -------
        ndarray of shape (n,), float64 whatever the type of X

        Raises
        ------
        InputError
            If the difference is negative beyond rounding: the kernel is then not positive definite on this data, and
            no bound holds.
        """
        X = self._checked(X, reset=False)
        energy = np.empty(X.shape[0])
        left = np.empty(X.shape[0])

        def subtract(rows, kernel_values):
            energy[rows] = self.kernel_.diagonal(X[rows].astype(np.float64))
            features = kernel_values @ self.normalization_
            left[rows] = energy[rows]
            if self.offset_ is not None:
                features += self.offset_
                left[rows] += self.mean_energy_ - 2 * (kernel_values @ self.mean_)
            left[rows] -= np.einsum("ij,ij->i", features, features)

        landmark_blocks(subtract, self.kernel_, X, self.landmarks_.astype(np.float64), self.n_jobs)
        refuse_negative_energy(left, energy + self.mean_energy_, "KernelPCA.residual")
        return np.sqrt(np.maximum(left, 0.0))

    def _coordinates(self, X, functions):
        """The rows in the orthonormal functions of the landmarks, in float64."""
        out = np.empty((X.shape[0], functions.shape[1]))

        def project(rows, kernel_values):
            out[rows] = kernel_values @ functions

        landmark_blocks(project, self.kernel_, X, self.landmarks_.astype(np.float64), self.n_jobs)
        return out

    def _principal(self, coordinates):
        """(values, directions) of the second moment of the coordinates, at least one and at most n_components."""
        n, r = coordinates.shape
        second_moment = np.empty((r, r))

        def fill(columns):
            second_moment[columns] = coordinates[:, columns].T @ coordinates / n

        with thread_limit(self.n_jobs), single_threaded():
            run_blocks(fill, [slice(j, j + COLUMN_BLOCK) for j in range(0, r, COLUMN_BLOCK)])
        values, directions = positive_eigenpairs(second_moment)
        if not len(values):  # all rows are zero in feature space
            return np.zeros(1), np.zeros((r, 1))
        return values[: self.n_components], directions[:, : self.n_components]

    def _check_loaded(self):
        super()._check_loaded()
        if getattr(self, "offset_", None) is not None:
            checked_array(self, "mean_", "float64", shape=(self.landmarks_.shape[0],))


def refuse_negative_energy(left, energy, who, instead="Use a positive definite kernel"):
    """Raise where what a projection leaves of K(x, x) is negative beyond rounding."""
    worst = int(np.argmin(left + NEGATIVE_ENERGY * energy))
    if left[worst] < -NEGATIVE_ENERGY * energy[worst]:
        raise InputError(
            f"{who} found K(x, x) - |phi(x)|^2 = {left[worst]:.3g} for row {worst}: the kernel is not positive "
            f"definite on this data, so projections give no bounds. {instead}."
        )
