"""Rows as one byte per component, with what is needed to bound kernel values by them. [bourrier15explicit] App. A

Notation
    paper        code            meaning                                                            shape
    phi(x)       pca             projection on the first E principal directions                     (E,)
                 norms           rho = sqrt(K(x, x))
                 u               phi(x) / rho; v of a query: directions of unit length              (n, E)
    R(x)         tails           r_l = sqrt(1 - |u|^2) with the components up to level l            (levels, n)
                 bytes           c, t: of a component and of a tail, -127, ..., 127                 (n, width)

A component is kept as u_j ~ center_j + step_j c_j. What rounding loses of a group of components has a norm of at most
`errors` of that group; groups are the components of each level, and the first one, along which most rows are long, by
itself. A row for which this does not hold, or whose tail is longer than a byte can say, is *loose*: no bound is claimed
for it. A tail is rounded upwards, r_l <= origin_l + reach_l (t_l + 128). So

    K(q, x) / (rho_q rho_x) = <v, u> + <rest of q, rest of x>                                       (20)
        <= sum_j v_j center_j + sum_j (v_j step_j) c_j                                the components as they are kept
         + sum_g |v of group g| errors_g                                              their rounding, by Cauchy-Schwarz
         + R(q) (origin_l + 128 reach_l) + (R(q) reach_l) t_l                         the tails, (22)

at each level l, with sums over the components and groups up to it. The factors of bytes are integers g times a
step a of the query; with e what that rounding loses of each, at most a 128 sum(e) is added once more.

Rounding of what remains is in float64 and far below SLACK, but for the last steps in float32, which MARGIN covers, and
the computed directions, whose distance from orthonormal is measured after the fit: twice that is added.
"""

__all__ = ["WIDTHS", "Aim", "Coded", "Directions"]

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer._base.threads import single_threaded
from mercer._base.validation import canonical
from mercer._native.lanes import ROWS
from mercer.maps import KernelPCA
from mercer.maps.landmarks.kpca import refuse_negative_energy
from mercer.search.model.measure import as_double

WIDTHS = (32, 32, 64)  # bytes of each level: its components and, last, its tail
N_COMPONENTS = sum(WIDTHS) - len(WIDTHS)
SLACK = 1e-11  # of K(x, x): rounding of R(x)^2 in float64
MARGIN = 2e-6  # of sqrt(K(q, q) K(x, x)): a bound is four steps in float32
LARGEST_ENERGY = 1e37  # of K(x, x): bounds are float32
LARGEST_FACTOR = 2**15 - 1
ROOM = 1.1  # how far components, roundings and tails may go beyond those of the sample
LEAST_STEP = 2.0**-20


def level_ends(n_components):
    """Components used up to each level: those that fit its bytes beside a tail.

    >>> level_ends(125), level_ends(100), level_ends(20)
    ([31, 62, 125], [31, 62, 100], [20])
    """
    ends, room = [], 0
    for width in WIDTHS:
        room += width - 1
        ends.append(min(room, n_components))
        if room >= n_components:
            break
    return ends


@dataclass(frozen=True)
class Coded:
    """Rows as they are kept.

    Attributes
    ----------
    codes : int8 (n, width)
    norms : float32 (n,)
    loose : int64 (m,)
        Numbers of rows that bytes do not say well enough.
    plain : float32 (m, E + 2)
        Their components u, their tails, and 1.
    """

    codes: np.ndarray
    norms: np.ndarray
    loose: np.ndarray
    plain: np.ndarray

    @classmethod
    def of_parts(cls, parts):
        """The rows of all parts."""
        starts = np.cumsum([0, *(len(part.codes) for part in parts)])
        loose = [part.loose + start for part, start in zip(parts, starts, strict=False)]
        codes, norms, plain = ([getattr(part, name) for part in parts] for name in ("codes", "norms", "plain"))
        return cls(*(np.concatenate(column) for column in (codes, norms, loose, plain)))


@dataclass(frozen=True)
class Aim:
    """Queries as `keep_candidates` takes them; all but `plain` and `energy` with some more behind, which are zero.

    Attributes
    ----------
    factors : int16 (Q, bytes)
        Of components and tails, as integers.
    undone : int16 (Q, 2 levels)
        0 and the negative factor of each tail.
    slopes : float32 (Q,)
        What they count, times the norm of the query.
    intercepts : float32 (levels, Q)
        What is added at each level, times the norm of the query.
    plain : float64 (Q, E + 2)
        Components v, tails and what rounding may lose, times the norm of the query.
    energy : float64 (Q,)
    """

    factors: np.ndarray
    undone: np.ndarray
    slopes: np.ndarray
    intercepts: np.ndarray
    plain: np.ndarray
    energy: np.ndarray


class Directions:
    """Principal directions of rows, and how components are rounded.

    Parameters
    ----------
    measure : Measure
    n_landmarks, random_state, n_jobs : of the projection
    """

    def __init__(self, measure, n_landmarks=1024, random_state=None, n_jobs=None):
        self.measure = measure
        self._projection = {"n_landmarks": n_landmarks, "random_state": random_state, "n_jobs": n_jobs}
        self.digest = None  # of the file that holds them

    def fit(self, X):
        """Find the directions, from a sample of the rows."""
        pca = KernelPCA(self.measure.kernel, n_components=N_COMPONENTS, **self._projection).fit(as_double(X))
        self._set_projection(pca)
        u, _, tails = self.projected(X)
        low, high = u.min(axis=0), u.max(axis=0)
        self.center = (low + high) / 2
        self.step = np.maximum(ROOM * (high - low) / 2 / 127, LEAST_STEP)
        self.origin = tails.min(axis=1) / ROOM
        self.reach = np.maximum(ROOM * tails.max(axis=1) - self.origin, LEAST_STEP) / 255
        self.errors = ROOM * self._lost(u, self._rounded(u)).max(axis=1)
        return self

    @classmethod
    def restored(cls, measure, pca, rounding, digest):
        """Directions from a file; ``rounding`` has the arrays that `fit` finds, of any length."""
        self = cls(measure)
        self._set_projection(pca)
        lengths = {"origin": len(self.ends), "reach": len(self.ends), "errors": len(self.groups)}
        if pca.center or any(len(rounding[name]) != length for name, length in lengths.items()):
            raise FileProblem("has damaged bounds: they do not match the components.")
        vars(self).update(rounding, digest=digest)
        return self

    def _set_projection(self, pca):
        self.pca = pca
        self.ends = level_ends(pca.normalization_.shape[1])
        self.widths = widths = WIDTHS[: len(self.ends)]
        marks = [0, 1, *self.ends]
        self.groups = [slice(first, last) for first, last in pairwise(marks)]
        stops = np.cumsum(widths)
        self.width, self.tail_places = int(stops[-1]), stops - 1
        counts = np.diff([0, *self.ends])
        self.level_ends = np.asarray(stops, dtype=np.int64)  # in bytes
        self.places = np.concatenate([
            start + np.arange(count) for start, count in zip(stops - widths, counts, strict=True)
        ])  # fmt: skip
        self.margin = MARGIN + 2 * _distance_from_orthonormal(pca)

    @property
    def n_components(self):
        return self.ends[-1]

    def projected(self, X):
        """(directions of unit length u, norms, tails of each level), float64."""
        rows = canonical(as_double(X))
        features = self.pca.encode_rows(rows)
        energy = self.measure.energy(rows)
        if energy.max(initial=0.0) > LARGEST_ENERGY:
            raise InputError(
                f"Exact search supports kernel values up to {LARGEST_ENERGY:.0e}, but found K(x, x) = "
                f"{energy.max():.3g}. Scale the rows, or use normalize=True."
            )
        instead = "Use exact_knn, or a positive definite kernel"
        refuse_negative_energy(energy - np.einsum("ij,ij->i", features, features), energy, "An exact search", instead)
        norms = np.sqrt(np.maximum(energy, 0.0))
        u = np.divide(features, norms[:, None], out=np.zeros_like(features), where=norms[:, None] > 0)
        left = (norms > 0) - np.cumsum(u * u, axis=1)[:, [end - 1 for end in self.ends]].T
        return u, norms, np.sqrt(np.maximum(left, 0.0) + SLACK)

    # -------------------------------------------------------------------------------------------------------- of rows

    def coded(self, X):
        """`Coded` rows."""
        u, norms, tails = self.projected(X)
        codes = np.zeros((len(u), self.width), dtype=np.int8)
        rounded = self._rounded(u)
        codes[:, self.places] = rounded
        steps = np.ceil((tails - self.origin[:, None]) / self.reach[:, None] * (1 + 1e-12))
        codes[:, self.tail_places] = np.clip(steps, 0, 255).T - 128
        lost = self._lost(u, rounded) > self.errors[:, None]
        loose = np.flatnonzero(lost.any(axis=0) | (steps > 255).any(axis=0))
        last = np.nextafter(tails[-1, loose].astype(np.float32), np.float32(np.inf))
        plain = np.column_stack([u[loose].astype(np.float32), last, np.ones_like(last)])
        return Coded(codes, norms.astype(np.float32), loose, plain)

    def _rounded(self, u):
        return np.clip(np.rint((u - self.center) / self.step), -127, 127)

    def _lost(self, u, rounded):
        """Norm of what rounding loses of the components of each group."""
        return self._norms_by_group(u - (self.center + self.step * rounded))

    def _norms_by_group(self, values):
        return np.sqrt([(values[:, part] ** 2).sum(axis=1) for part in self.groups])

    # ----------------------------------------------------------------------------------------------------- of queries

    def aim(self, Q, share=1.0):
        """The `Aim` of queries; tails count ``share`` of themselves, see `mercer.search.exact.relaxed`."""
        v, norms, tails = self.projected(Q)
        tails = share * tails
        factors = np.zeros((len(v), self.width))
        factors[:, self.places] = v * self.step
        factors[:, self.tail_places] = (tails * self.reach[:, None]).T
        unit = np.abs(factors).max(axis=1, initial=0.0) / LARGEST_FACTOR
        unit[unit == 0] = 1.0
        whole = np.rint(factors / unit[:, None])
        lost = np.abs(factors - unit[:, None] * whole)
        center = np.cumsum(v * self.center, axis=1)[:, [end - 1 for end in self.ends]].T
        rounding = np.cumsum(self._norms_by_group(v) * self.errors[:, None], axis=0)[1:]
        coding = 128 * np.cumsum(lost, axis=1)[:, self.tail_places].T
        tail = tails * (self.origin + 128 * self.reach)[:, None]
        bound = center + rounding + coding + tail + self.margin
        plain = np.column_stack([v, tails[-1], np.full(len(v), self.margin)]) * norms[:, None]
        more = (0, -len(v) % ROWS)
        whole = np.pad(whole.astype(np.int16), (more, (0, 0)))
        undone = np.zeros((len(whole), 2 * len(self.ends)), dtype=np.int16)
        undone[:, 1::2] = -whole[:, self.tail_places]
        return Aim(
            whole,
            undone,
            np.pad((unit * norms).astype(np.float32), more),
            np.pad((bound * norms).astype(np.float32), ((0, 0), more)),
            plain,
            norms * norms,
        )


def _distance_from_orthonormal(pca):
    """Spectral norm of W' K_ZZ W - I, which is zero without rounding."""
    landmarks = as_double(pca.landmarks_)
    with single_threaded():
        gram = pca.kernel_.gram_block(landmarks, landmarks, None)
        product = pca.normalization_.T @ gram @ pca.normalization_
        live = np.diag(product) > 0.5  # a projection of nothing but empty rows has a column of zeros
        return float(np.linalg.norm(product[np.ix_(live, live)] - np.eye(live.sum()), 2)) if live.any() else 0.0
