"""What every solver says of itself: what it suits, how it solves, and what state it leaves.

A solver is one object, listed in `mercer.learners.solvers.registry`. It sees rows through a design (`scores`,
`accumulate`), asks rows and inner product what they are, and knows nothing of kernels.
"""

__all__ = ["Solver", "are_many"]

from abc import ABC, abstractmethod
from typing import ClassVar

# rows per factor from which second derivatives beat coordinates and planes, for losses with a corner and without
ROWS_PER_FACTOR = {False: 100, True: 30}


class Solver(ABC):
    """One way to minimize a :class:`mercer.learners.solvers.problem.Problem`.

    Attributes
    ----------
    name : what users call it
    leaves : an entry that the states of its solutions have and those of other solvers have not
    """

    name: ClassVar[str]
    leaves: ClassVar[str]

    @abstractmethod
    def suits(self, rows, inner, loss, intercept):
        """Whether it can solve such a problem, and quickly.

        Parameters
        ----------
        rows, inner : rows, or their RowShape, and their inner product
        loss : Loss
        intercept : ``"scaled"``, ``"free"`` or ``"none"``
        """

    @abstractmethod
    def solve(self, problem, tol, max_iter, random_state, start):
        """The Solution, or InputError if there is no way.

        Parameters
        ----------
        problem : Problem
        tol : relative duality gap, (primal - dual) / primal, at which the work ends
        max_iter : passes over the rows at most
        random_state : order in which rows are visited, where there is one
        start : None, or a state that it left, or what :meth:`start_at` gave
        """

    def suits_rows(self, design):
        """Whether the rows themselves, of a problem that suits, speak for it too."""
        return True

    def takes_over(self, inner, loss):
        """Whether it goes on where another has spent its passes."""
        return False

    def is_last(self, inner):
        """Whether nothing else would be quicker where this one, which suits, is slow."""
        return False

    def start_at(self, u, intercept):
        """A start from weights that another solver has found; None if it makes no use of them."""
        return None

    def left(self, state):
        """Whether a state is its own."""
        return state is not None and self.leaves in state


def are_many(n_rows, n_factors, loss):
    """Whether rows are so many more than factors that second derivatives pay."""
    return n_rows >= ROWS_PER_FACTOR[loss.is_smooth] * n_factors
