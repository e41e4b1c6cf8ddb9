"""Classes as columns of scores, and scores as classes.

    one-vs-rest    a column per class: its rows against all others; two classes need a single column
    one-vs-one     a column per pair a < b: +1 for the rows of b, -1 for those of a, 0 for all others
    joint          a column per class, all in one problem: Crammer-Singer, multinomial
    labels         a column per label of an indicator matrix
    targets        a column per target of a regression

Every column has a positive side; what is known of a column is turned into what is known of the classes.

Notation
    K, P     classes, columns
    codes    class numbers, int64 (n,); of labels, the indicator matrix (n, P)
    q        probability of the positive side of each column, (n, P)
"""

__all__ = ["ClassColumns", "Targets", "center_and_spread", "choose_columns", "class_columns", "refuse_missing"]

from functools import cached_property, lru_cache

import numpy as np
from scipy.special import logit, softmax

from mercer._base.errors import InputError

# One-vs-one is the more accurate with additive kernels, whose functions tell two classes apart better than one from a
# mixture of all others; it has (K - 1) / 2 times as many columns. "auto" takes it up to this many classes and weights.
MOST_CLASSES = 20
MOST_WEIGHTS = 2**21
ROUNDING = 1e-13  # of a mean, as a share of the largest target: less than this is no spread
LEAST_PROBABILITY = 2.0**-52  # of a side of a pair: both have to be possible


def refuse_missing(y, who):
    """Refuse classes of which some are missing among texts or other objects; of numbers, validation does."""
    if not isinstance(y, (list, tuple)):
        if getattr(getattr(y, "dtype", None), "kind", "") != "O" or y.ndim != 1:
            return
        y = np.asarray(y)
    missing = [i for i, label in enumerate(y) if _is_missing(label)]
    if missing:
        raise InputError(
            f"{who}: y[{missing[0]}] is {y[missing[0]]!r}, which is no class ({len(missing)} of {len(y)} labels are "
            "missing). Leave these rows out, or name their class."
        )


def _is_missing(label):
    is_nan = isinstance(label, float) and np.isnan(label)
    return label is None or is_nan or type(label).__name__ in ("NAType", "NaTType")


class ClassColumns:
    """How K classes become P columns of scores, and back.

    Parameters
    ----------
    n_classes : K, or the number of labels
    """

    name: str
    title: str
    row_share = 1.0  # of the rows, that have a part in a column

    def __init__(self, n_classes):
        self.n_classes = self.n_columns = n_classes

    def targets(self, codes):
        """What the loss compares the scores with: int8 (n, P) of -1, 0, +1, or class numbers for a joint loss."""
        return self.signs(codes)

    def signs(self, codes):
        """+1, -1 or, for rows that have no part in a column, 0: int8 (n, P)."""
        return _signs_where(codes[:, None] == np.arange(self.n_classes))

    def decision(self, scores):
        """What ``decision_function`` returns: (n,) for two classes, else (n, K)."""
        return scores

    def choose(self, decision, classes):
        """The classes of the largest decisions."""
        return self.named((decision > 0).astype(np.int64) if decision.ndim == 1 else decision.argmax(axis=1), classes)

    def named(self, codes, classes):
        """What y said, for class numbers."""
        return classes[codes]

    def labels(self, classes):
        """What the columns of :meth:`by_class` are called."""
        return [str(name) for name in classes]

    def by_class(self, scores):
        """Scores of the classes, linear in those of the columns: (n, K), or (n, 1) for two classes."""
        return scores

    def probabilities(self, q):
        """Probabilities of the classes, (n, K), from those of the columns: in proportion to them."""
        total = q.sum(axis=1, keepdims=True)
        return np.divide(q, total, out=np.full_like(q, 1 / q.shape[1]), where=total > 0)


class OneVsRest(ClassColumns):
    """Each class against all others."""

    name, title = "ovr", "one-vs-rest"

    def __init__(self, n_classes):
        super().__init__(n_classes)
        self.n_columns = 1 if n_classes == 2 else n_classes

    def signs(self, codes):
        return _signs_where(codes[:, None] == np.arange(self.n_classes)[-self.n_columns :])

    def decision(self, scores):
        return scores[:, 0] if self.n_columns == 1 else scores

    def labels(self, classes):
        return _versus(classes) if self.n_columns == 1 else super().labels(classes)

    def probabilities(self, q):
        return np.hstack([1 - q, q]) if self.n_columns == 1 else super().probabilities(q)


class OneVsOne(ClassColumns):
    """Each pair of classes by itself. Decisions are votes, ties being broken by the sums of the scores."""

    name, title = "ovo", "one-vs-one"

    def __init__(self, n_classes):
        super().__init__(n_classes)
        self.n_columns = n_classes * (n_classes - 1) // 2
        self.row_share = 2 / n_classes

    @cached_property
    def _pairs(self):
        """Classes a < b of the columns, in the order of a, then b; made when needed: a plan asks for their number."""
        return np.triu_indices(self.n_classes, 1)

    @property
    def first(self):
        """a of each pair."""
        return self._pairs[0]

    @property
    def second(self):
        """b of each pair."""
        return self._pairs[1]

    def signs(self, codes):
        is_second = (codes[:, None] == self.second).astype(np.int8)
        return is_second - (codes[:, None] == self.first).astype(np.int8)

    def decision(self, scores):
        if self.n_columns == 1:
            return scores[:, 0]
        sides, wins = self._sides, (scores > 0).astype(np.float64)
        votes = wins @ (sides > 0) + (1 - wins) @ (sides < 0)
        confidence = scores @ sides
        # squeezed into (-1/3, 1/3), so that scores never outweigh a vote: as scikit-learn's OneVsOneClassifier
        return votes + confidence / (3 * (np.abs(confidence) + 1))

    def by_class(self, scores):
        return scores if self.n_columns == 1 else scores @ self._sides / (self.n_classes - 1)

    def labels(self, classes):
        return _versus(classes) if self.n_columns == 1 else super().labels(classes)

    @cached_property
    def _sides(self):
        """Which side of each pair a class is on: +1, -1 or 0, (P, K)."""
        sides, pairs = np.zeros((self.n_columns, self.n_classes)), np.arange(self.n_columns)
        sides[pairs, self.second], sides[pairs, self.first] = 1, -1
        return sides

    def probabilities(self, q):
        """softmax(l), where l fits the log odds of all pairs best: minimize sum_{a < b} (l_b - l_a - logit q_ab)^2.

        The largest is the class of the largest of :meth:`by_class` of these log odds.
        """
        if self.n_columns == 1:
            return np.hstack([1 - q, q])
        q = np.clip(q, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        return softmax(logit(q) @ self._sides / self.n_classes, axis=1)


class Joint(ClassColumns):
    """A column per class, which one loss looks at together."""

    name, title = "joint", "joint"

    def targets(self, codes):
        return codes

    def decision(self, scores):
        return scores[:, 1] - scores[:, 0] if self.n_classes == 2 else scores


class Labels(ClassColumns):
    """Labels that a row may have or not, independently."""

    name, title = "labels", "one per label"

    def signs(self, codes):
        return _signs_where(codes > 0)

    def choose(self, decision, classes):
        return (decision > 0).astype(np.int64)

    def named(self, codes, classes):
        return codes

    def probabilities(self, q):
        return q


class Targets(ClassColumns):
    """The targets of a regression, which are their own scores."""

    name = "targets"

    @property
    def title(self):
        """How they are learned."""
        return "the target" if self.n_columns == 1 else "one per target"

    def labels(self, classes):
        return [f"target {k}" for k in range(self.n_columns)]


COLUMNS = {columns.name: columns for columns in (OneVsRest, OneVsOne, Joint, Labels)}


def class_columns(name, n_classes):
    """The columns of that name.

    >>> class_columns("ovo", 4).n_columns
    6
    """
    return (_few_classes if n_classes <= MOST_CLASSES else _new_columns)(name, int(n_classes))


def _new_columns(name, n_classes):
    return COLUMNS[name](n_classes)


_few_classes = lru_cache(_new_columns)  # pairs of few classes take little room, and longer to list than to use


def choose_columns(multi_class, loss, n_classes, n_factors, are_labels, who):
    """The columns for the parameters of an estimator and the sizes of its problem.

    Parameters
    ----------
    multi_class : ``"auto"``, ``"ovr"`` or ``"ovo"``
    loss : the loss, which may be joint
    n_classes, n_factors : K and r
    are_labels : whether y is an indicator matrix
    who : name of the estimator, for errors
    """
    if are_labels:
        if loss.joint or multi_class == "ovo":
            raise InputError(
                f"{who} trains a separate problem for each column of an indicator y, which loss={loss.name!r} with "
                f"multi_class={multi_class!r} does not allow. Use multi_class='ovr' and a loss that is not joint."
            )
        return Labels(n_classes)
    if loss.joint:
        return Joint(n_classes)
    if multi_class == "auto":
        n_pairs = n_classes * (n_classes - 1) // 2
        multi_class = "ovo" if n_classes <= MOST_CLASSES and n_pairs * n_factors <= MOST_WEIGHTS else "ovr"
    return class_columns(multi_class, n_classes)


def center_and_spread(targets, weights, is_centered):
    """(weighted mean, weighted standard deviation) of each target; 0 and root mean square where nothing is centered.

    A target that is constant, up to the rounding of its mean, has spread 1.

    >>> center_and_spread(np.array([[1.0, 7.0], [3.0, 7.0]]), np.ones(2), True)
    (array([2., 7.]), array([1., 1.]))
    """
    center = np.average(targets, axis=0, weights=weights) if is_centered else np.zeros(targets.shape[1])
    largest = np.abs(targets).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)  # squares stay within the range of numbers
    spread = unit * np.sqrt(np.average(np.square((targets - center) / unit), axis=0, weights=weights))
    return center, np.where(spread > ROUNDING * largest, spread, 1.0)


def _versus(classes):
    """What the single column of two classes is called."""
    return [f"{classes[1]} against {classes[0]}"]


def _signs_where(is_positive):
    return np.where(is_positive, np.int8(1), np.int8(-1))
