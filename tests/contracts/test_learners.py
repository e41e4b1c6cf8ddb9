"""What a solver of learning problems promises, for every loss, every geometry of rows and every kind of intercept.

The judge is an independent solver on explicit features A with A A' = Phi H Phi', made without the library.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from mercer import thread_limit
from mercer.learners.solvers.bundle.solver import solve_bundle
from mercer.learners.solvers.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES, get_loss
from mercer.learners.solvers.problem import Problem
from mercer.spaces import BlockFactor, CodeRows, Identity, hstack
from mercer.spaces.design import Design
from tests.pairs import all_pairs
from tests.reference import solvers
from tests.spaces.samples import make_inners, make_rows

N_ROWS, N_COLUMNS, SCALING = 40, 3, 2.0
TOL = 1e-5
LOSSES = [*CLASSIFICATION_LOSSES, *REGRESSION_LOSSES]
INTERCEPTS = ("scaled", "free", "none")
GEOMETRIES = (
    "identity, dense",
    "identity, dense float32",
    "identity, csr",
    "identity, bits",
    "sums along grids, csr",
    "factor per block, codes",
    "factor per block, float32 codes",
    "factor per dimension, csr",
    "factor, dense",
    "block diagonal, stack",
)


@pytest.fixture(autouse=True)
def one_thread():
    """The problems are small: threads would only wait for each other."""
    with thread_limit(1):
        yield


def code_rows(words, n=N_ROWS):
    codes = (np.random.default_rng(0).random((n, len(words))) * np.array(words)).astype(np.uint8)
    return CodeRows(codes, words), np.hstack([np.eye(count)[codes[:, m]] for m, count in enumerate(words)])


@cache
def geometry(name):
    """(rows, full matrix, inner product, its matrix)"""
    inners = make_inners()
    if name.startswith("identity"):
        kind, *dtype = name.split(", ")[1].split()
        return *make_rows(kind, N_ROWS, 11, np.dtype(dtype[0] if dtype else float)), Identity(11), np.eye(11)
    if name == "sums along grids, csr":
        return *make_rows("csr", N_ROWS, 8), *inners["grids"]
    if name == "factor per block, codes":
        return *code_rows([4] * 3), *inners["blocks"]
    if name == "factor per block, float32 codes":
        inner = BlockFactor(np.random.default_rng(1).random((3, 2, 4)).astype(np.float32))
        return *code_rows([4] * 3), inner, inner.matrix()
    if name == "factor per dimension, csr":
        return *make_rows("csr", N_ROWS, 12), *inners["shared block"]
    if name == "factor, dense":
        return *make_rows("dense", N_ROWS, 6), *inners["factor"]
    parts = [make_rows("csr", N_ROWS, 8), make_rows("dense", N_ROWS, 7), code_rows([3, 3, 5] * 2)]
    rows, full = zip(*parts, make_rows("dense", N_ROWS, 6, seed=1), strict=True)
    return hstack(*rows), np.hstack(full), *inners["block diagonal"]


def make_targets(loss, A):
    """Targets that the features explain in part."""
    rng = np.random.default_rng(3)
    scores = A @ rng.standard_normal((A.shape[1], N_COLUMNS))
    scores = scores / max(scores.std(), 1e-9) + 0.7 * rng.standard_normal(scores.shape)
    if loss.joint:
        return scores.argmax(axis=1)
    if loss.task == "regression":
        return scores + 0.5
    targets = np.where(scores > np.quantile(scores, 0.6, axis=0), 1, -1).astype(np.int8)
    targets[::9, 0] = 0  # these rows are not part of the first problem
    return targets


@dataclass
class Case:
    """A problem, and the same with explicit features for the judge."""

    problem: Problem
    full: np.ndarray  # Phi
    A: np.ndarray  # A A' = Phi H Phi'

    @property
    def rounding(self):
        """Relative error of an objective: sums of some 40 scores, slopes and planes in the type of the design."""
        return 1e-9 if self.problem.design.dtype == np.float64 else 3e-6

    def _definition(self):
        p = self.problem
        rest = p.C, p.intercept, p.intercept_scaling, getattr(p.loss, "epsilon", 0.0)
        return (p.loss.name, p.targets, p.weights), rest

    def optima(self):
        """The optimal value of each problem."""
        what, how = self._definition()
        return solvers.solve(self.A, *what, self.problem.n_columns, *how)[2]

    def objectives(self, solution):
        """The value of each problem at a solution, from the definition."""
        what, how = self._definition()
        scores = self.full @ self.problem.design.inner.lift(solution.u) + solution.intercept
        return solvers.objectives(scores, solution.u, solution.intercept, *what, *how)

    def take(self, which):
        p = self.problem
        targets, weights = p.targets[which], p.weights[which]
        problem = replace(p, design=p.design.take(which), targets=targets, weights=weights)
        return Case(problem, self.full[which], self.A[which])


def make_case(name, loss, intercept="scaled", C=1.0):
    rows, full, inner, H = geometry(name)
    loss, full = get_loss(loss), full.astype(np.float64)
    values, vectors = np.linalg.eigh(H)
    A = full @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    weights = np.random.default_rng(2).random(N_ROWS) + 0.5
    weights[3] = 0.0
    problem = Problem(Design(rows, inner), loss, make_targets(loss, A), weights, N_COLUMNS, C, intercept, SCALING)
    return Case(problem, full, A)


def check_optimal(case, solution, tol=TOL):
    """The bounds hold, enclose the optimum, and are as close as was asked for."""
    optima = case.optima()
    rounding = case.rounding * np.maximum(optima, 1.0)
    assert (solution.dual_objectives <= optima + rounding).all()
    assert (solution.objectives >= optima - rounding).all()
    assert (solution.objectives <= optima * (1 + 1e-4) + rounding).all()
    np.testing.assert_allclose(case.objectives(solution), solution.objectives, rtol=case.rounding, atol=case.rounding)
    relative = optima > rounding  # a relative gap to an optimum of 0 means nothing
    assert (solution.gaps[relative] <= tol).all()
    assert solution.converged or not relative.all()


# each loss with each intercept and each geometry with each intercept, which are 30 of the 270 combinations
COVERING = [
    (GEOMETRIES[(k + 3 * j) % len(GEOMETRIES)], LOSSES[k % len(LOSSES)], intercept)
    for j, intercept in enumerate(INTERCEPTS)
    for k in range(len(GEOMETRIES))
]


@pytest.mark.parametrize(("name", "loss", "intercept"), COVERING)
def test_the_solution_is_that_of_an_independent_solver(name, loss, intercept):
    case = make_case(name, loss, intercept)
    solution = solve_bundle(case.problem, tol=TOL)
    assert solution.u.shape == (case.problem.design.shape[1], N_COLUMNS)
    assert solution.intercept.shape == (N_COLUMNS,)
    if intercept == "none":
        assert not solution.intercept.any()
    check_optimal(case, solution)


def test_the_cases_cover_every_loss_and_every_geometry_with_every_intercept():
    assert {(loss, intercept) for _, loss, intercept in COVERING} == {(a, b) for a in LOSSES for b in INTERCEPTS}
    assert {(name, intercept) for name, _, intercept in COVERING} == {(a, b) for a in GEOMETRIES for b in INTERCEPTS}


@pytest.mark.parametrize("C", [1e-3, 1e3])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "crammer_singer", "absolute"])
def test_strong_and_weak_regularisation_are_solved_too(loss, C):
    case = make_case("identity, dense", loss, "free", C)
    check_optimal(case, solve_bundle(case.problem, tol=TOL))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_of_weight_two_is_the_row_twice(loss):
    case = make_case("factor per block, codes", loss)
    counts = np.where(np.arange(N_ROWS) % 3 == 0, 2, 1)
    weighted = replace(case.problem, weights=counts.astype(np.float64))
    twice = case.take(np.repeat(np.arange(N_ROWS), counts)).problem
    twice.weights = np.ones(len(twice.weights))
    a, b = solve_bundle(weighted, tol=TOL), solve_bundle(twice, tol=TOL)
    np.testing.assert_allclose(a.objectives, b.objectives, rtol=TOL)


@pytest.mark.parametrize("loss", ["hinge", "multinomial", "epsilon_insensitive"])
def test_the_order_of_the_rows_does_not_matter(loss):
    case = make_case("block diagonal, stack", loss)
    a = solve_bundle(case.problem, tol=TOL)
    b = solve_bundle(case.take(np.random.default_rng(4).permutation(N_ROWS)).problem, tol=TOL)
    np.testing.assert_allclose(a.objectives, b.objectives, rtol=TOL)
    # the objective grows at least as |u - u*|^2 / 2 around its minimum: two solutions are this close
    far = np.sqrt(((a.u - b.u) ** 2).sum())
    assert far <= 2 * np.sqrt(2 * TOL * a.objectives.sum())


@pytest.mark.parametrize("loss", ["hinge", "squared", "crammer_singer"])
@pytest.mark.parametrize("storage", ["dense", "codes"])
def test_threads_do_not_change_a_bit(loss, storage):
    n, P = 9000, 40  # rows and scores for several tasks
    rng = np.random.default_rng(0)
    if storage == "dense":
        rows, inner = rng.standard_normal((n, 5)), Identity(5)
    else:
        rows, inner = code_rows([4] * 9, n)[0], BlockFactor(rng.random((9, 2, 4)))
    loss = get_loss(loss)
    if loss.joint:
        targets = rng.integers(0, P, n)
    else:
        targets = rng.standard_normal((n, P)) if loss.task == "regression" else rng.choice([-1, 1], (n, P)).astype("i1")

    def solution(n_threads):
        with thread_limit(n_threads):
            return solve_bundle(Problem(Design(rows, inner), loss, targets, np.ones(n), P, C=0.1), tol=0, max_iter=4)

    one, two = solution(1), solution(2)
    assert one.n_iter == two.n_iter == 4
    for name in ("u", "intercept", "objectives", "dual_objectives"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "crammer_singer", "epsilon_insensitive"])
def test_a_path_of_C_gives_the_solutions_of_separate_runs(loss, intercept):
    state = None
    for C in (0.01, 1.0, 0.1):
        case = make_case("identity, csr", loss, intercept, C)
        solution = solve_bundle(case.problem, tol=TOL, start=state)
        check_optimal(case, solution)
        state = solution.state
    again = solve_bundle(case.problem, tol=TOL, start=state)
    check_optimal(case, again)
    assert again.n_iter <= 3, "planes of an earlier run were of no use"


@pytest.mark.parametrize("loss", ["hinge", "logistic", "crammer_singer"])
def test_few_planes_reach_the_same_solution(loss):
    case = make_case("identity, dense", loss)
    solution = solve_bundle(case.problem, tol=1e-4, max_planes=20)
    assert max(solution.history["planes"]) <= 20 * case.problem.n_problems
    check_optimal(case, solution, tol=1e-4)


TRIVIAL = {"zero": np.zeros((7, 4)), "constant": np.ones((7, 4)), "single row": np.arange(4.0)[None]}


@pytest.mark.parametrize(
    ("features", "loss", "intercept"),
    all_pairs(list(TRIVIAL), list(LOSSES), list(INTERCEPTS)),
)
def test_features_that_say_nothing_give_the_right_trivial_model(features, loss, intercept):
    A, loss, rng = TRIVIAL[features], get_loss(loss), np.random.default_rng(0)
    if features == "single row" and intercept == "free" and loss.name in ("logistic", "multinomial"):
        pytest.skip("one class and a free intercept: no model reaches the infimum 0")
    if loss.joint:
        targets = rng.integers(0, N_COLUMNS, len(A))
    elif loss.task == "regression":
        targets = rng.standard_normal((len(A), N_COLUMNS))
    else:
        targets = np.array([[1, -1, 1], [-1, 1, 1], [1, 1, -1], [1, -1, -1], [1, 1, -1], [1, 1, 1], [-1, 1, 1]], "i1")
        targets = targets[: len(A)]
    design = Design(A, Identity(4))
    case = Case(Problem(design, loss, targets, np.ones(len(A)), N_COLUMNS, 1.0, intercept, SCALING), A, A)
    solution = solve_bundle(case.problem, tol=TOL, max_iter=100)
    check_optimal(case, solution)
    if features == "zero":
        assert not solution.u.any()


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_zero_everywhere_cost_nothing(loss):
    case = make_case("identity, dense", loss)
    case.problem.weights = np.zeros(N_ROWS)
    solution = solve_bundle(case.problem)
    assert solution.converged
    assert not solution.objectives.any()
    assert not solution.u.any()
