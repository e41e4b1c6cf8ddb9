"""The list of solvers, and which of them for a problem.

- falkon: rows that are compared with many landmarks in every pass
- dual: coordinate descent, for plain rows (H = I) that are not many more than features: text, dense features, bits; for
  words of a product quantizer; and for levels, where a step changes few entries of a table
- newton: few factors and many rows, where second derivatives pay
- projected: at least as many factors as rows, through any H
- bundle: everything, through any H: joint losses, a free intercept, what the others do not do
"""

__all__ = ["SOLVERS", "Choice", "choose", "named"]

from dataclasses import dataclass

from mercer._base.errors import InputError, did_you_mean
from mercer.learners.solvers.bundle.solver import BundleSolver
from mercer.learners.solvers.dual.descent import DualSolver
from mercer.learners.solvers.falkon.solver import FalkonSolver
from mercer.learners.solvers.newton.solver import NewtonSolver
from mercer.learners.solvers.projected import ProjectedSolver
from mercer.learners.solvers.solver import Solver

# the first that suits is chosen, and those that take over do so in this order
SOLVERS = (FalkonSolver(), DualSolver(), NewtonSolver(), ProjectedSolver(), BundleSolver())


@dataclass(frozen=True)
class Choice:
    """Solvers for a problem, to be tried one after the other: the likely quickest, then the more robust.

    Parameters
    ----------
    solvers : tuple of Solver
    is_free : whether they were chosen here; rows may then be rewritten for them, and may speak against the first
    """

    solvers: tuple[Solver, ...]
    is_free: bool

    @property
    def name(self):
        """That of the first."""
        return self.solvers[0].name


def choose(rows, inner, loss, intercept, solver="auto"):
    """The Choice for a problem.

    Parameters
    ----------
    rows, inner : rows, or their RowShape, and their inner product
    loss : Loss
    intercept : ``"scaled"``, ``"free"`` or ``"none"``
    solver : ``"auto"``, or the name of the one that is wanted
    """
    if solver != "auto":
        return Choice((named(solver),), is_free=False)
    return in_turn(next(one for one in SOLVERS if one.suits(rows, inner, loss, intercept)), inner, loss)


def in_turn(first, inner, loss):
    """The Choice that begins with this solver."""
    others = () if first.is_last(inner) else (one for one in SOLVERS if one.takes_over(inner, loss))
    return Choice((first, *(one for one in others if one is not first)), is_free=True)


def named(name):
    """The solver of that name."""
    known = {one.name: one for one in SOLVERS}
    if name not in known:
        names = ["auto", *sorted(known)]
        raise InputError(f"There is no solver {name!r}. {did_you_mean(name, names)}Solvers: {', '.join(names)}.")
    return known[name]
