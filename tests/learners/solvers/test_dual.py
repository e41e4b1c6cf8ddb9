"""Dual coordinate descent: the optimum of LinearSVC and of an independent solver, with a gap that tells the truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC, LinearSVR

from mercer import InputError, thread_limit
from mercer._base.progress import show_progress
from mercer.learners.solvers.dual.solver import solve_dual
from mercer.learners.solvers.losses import LOSSES_WITH_FORM, get_loss
from mercer.learners.solvers.problem import Problem
from mercer.spaces import Factor, Identity
from mercer.spaces.design import Design
from tests.reference import solvers

N, D, P, SCALING = 80, 9, 3, 0.7


@pytest.fixture(autouse=True)
def one_thread():
    """The problems are small: threads would only wait for each other."""
    with thread_limit(1):
        yield


def make_problem(loss, C=1.0, intercept="scaled", kind="dense", dtype=np.float64, **parameters):
    """Rows with an empty one, targets that leave some rows out, weights of which some are 0."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N, D)) < 0.7, rng.standard_normal((N, D)), 0).astype(dtype)
    X[7] = 0
    loss = get_loss(loss, **parameters)
    targets = rng.integers(-1, 2, (N, P)).astype(np.int8)
    if loss.task == "regression":
        targets = X @ rng.standard_normal((D, P)) + rng.standard_normal((N, P)) + 1.0
    weights = rng.uniform(0, 2, N)
    weights[:5] = 0.0
    design = Design(sparse.csr_array(X) if kind == "csr" else X, Identity(D))
    return Problem(design, loss, targets, weights, P, C, intercept, SCALING)


def objectives(problem, found):
    """From the definition, at the weights that were found."""
    return solvers.objectives(
        problem.design.rows.toarray().astype(np.float64) @ found.u + found.intercept,
        found.u,
        found.intercept,
        problem.loss.name,
        problem.targets,
        problem.weights,
        problem.C,
        problem.intercept,
        problem.intercept_scaling,
        getattr(problem.loss, "epsilon", 0.0),
    )


@pytest.mark.parametrize("loss", LOSSES_WITH_FORM)
@pytest.mark.parametrize("intercept", ["scaled", "none"])
@pytest.mark.parametrize(("kind", "dtype"), [("dense", np.float32), ("csr", np.float64)])
def test_the_optimum_is_that_of_an_independent_solver(loss, intercept, kind, dtype):
    problem = make_problem(loss, 1.0, intercept, kind, dtype)
    found = solve_dual(problem, tol=1e-5)
    _, _, optimum = solvers.solve(
        problem.design.rows.toarray(),
        loss,
        problem.targets,
        problem.weights,
        P,
        problem.C,
        intercept,
        SCALING,
        getattr(problem.loss, "epsilon", 0.0),
    )
    assert found.converged
    assert found.gaps.max() <= 1e-5
    # dense rows of float32 are certified by products of float32, whose errors are a hundredth of this gap
    precision = 1e-7 if dtype == np.float32 and kind == "dense" else 1e-9
    np.testing.assert_allclose(found.objectives, objectives(problem, found), rtol=precision)
    # the optimum lies between the two values, up to the precision of the judge
    assert (found.objectives >= optimum * (1 - 1e-7)).all()
    assert (found.dual_objectives <= optimum * (1 + 1e-7)).all()


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_objective_is_that_of_linear_svc(kind, loss):
    problem = make_problem(loss, kind=kind, dtype=np.float32)
    problem = replace(problem, targets=np.where(problem.targets > 0, 1, -1).astype(np.int8), weights=np.ones(N))
    found = solve_dual(problem, tol=1e-6)
    for p in range(P):
        svc = LinearSVC(loss=loss, intercept_scaling=SCALING, tol=1e-10, max_iter=100_000, dual=True)
        svc.fit(problem.design.rows.X.astype(np.float64), problem.targets[:, p])
        scores = svc.decision_function(problem.design.rows.X.astype(np.float64))
        value, _, _ = problem.loss.evaluate(scores[:, None], problem.targets[:, [p]], np.ones(N))
        theirs = 0.5 * (svc.coef_**2).sum() + 0.5 * (svc.intercept_[0] / SCALING) ** 2 + value[0]
        assert found.objectives[p] == pytest.approx(theirs, rel=1e-6)


def test_the_objective_of_regression_is_that_of_linear_svr():
    problem = replace(make_problem("epsilon_insensitive", C=0.5, epsilon=0.3), weights=np.ones(N))
    found = solve_dual(problem, tol=1e-6)
    svr = LinearSVR(epsilon=0.3, C=0.5, intercept_scaling=SCALING, tol=1e-10, max_iter=100_000, dual=True)
    svr.fit(problem.design.rows.X, problem.targets[:, 0])
    np.testing.assert_allclose(found.u[:, 0], svr.coef_, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES_WITH_FORM)
@pytest.mark.parametrize("C", [1e-6, 1e4])
def test_gaps_tell_the_truth_for_extreme_C(loss, C):
    problem = make_problem(loss, C)
    found = solve_dual(problem, max_iter=200)
    np.testing.assert_allclose(found.objectives, objectives(problem, found), rtol=1e-9)
    longer = solve_dual(problem, tol=1e-4, max_iter=600)
    assert (found.dual_objectives <= longer.objectives * (1 + 1e-9)).all()
    assert (longer.dual_objectives <= found.objectives * (1 + 1e-9)).all()
    assert found.converged == (found.gaps.max() <= 1e-3)
    assert found.converged or C > 1


def test_columns_with_one_class_or_no_rows_have_their_trivial_solution():
    problem = make_problem("hinge", C=1e3)
    targets = np.zeros((N, P), dtype=np.int8)
    targets[:, 0] = 1
    found = solve_dual(replace(problem, targets=targets), tol=1e-6)
    assert found.converged
    # with one class, the intercept alone reaches every margin: the cheapest constant plus a few weights
    scores = problem.design.scores(found.u) + found.intercept
    assert (scores[problem.weights > 0, 0] >= 1 - 1e-3).all()
    np.testing.assert_array_equal(found.objectives[1:], 0.0)
    np.testing.assert_array_equal(found.u[:, 1:], 0.0)
    assert found.gaps[1:].max() == 0.0


def test_rows_of_zeros_cost_what_the_loss_of_a_zero_score_costs():
    targets = np.array([[1], [-1], [1]], dtype=np.int8)
    design = Design(np.zeros((3, 4)), Identity(4))
    problem = Problem(design, get_loss("hinge"), targets, np.array([1.0, 2.0, 3.0]), 1, 5.0, "none")
    found = solve_dual(problem)
    assert found.converged
    np.testing.assert_array_equal(found.u, 0.0)
    assert found.objectives[0] == found.dual_objectives[0] == 30.0


def test_a_weight_of_two_is_the_row_twice():
    problem = make_problem("squared_hinge", kind="csr")
    problem = replace(problem, weights=np.where(np.arange(N) < 20, 2.0, 1.0))
    twice = np.r_[np.arange(N), np.arange(20)]
    repeated = replace(
        problem, design=problem.design.take(twice), targets=problem.targets[twice], weights=np.ones(N + 20)
    )
    np.testing.assert_allclose(solve_dual(problem, 1e-8).u, solve_dual(repeated, 1e-8).u, atol=1e-3)


def test_the_seed_and_not_the_number_of_threads_decides_the_bits():
    problem = make_problem("hinge", kind="csr", dtype=np.float32)
    with thread_limit(1):
        alone = solve_dual(problem, random_state=3)
    with thread_limit(2):
        together = solve_dual(problem, random_state=3)
    assert alone.u.tobytes() == together.u.tobytes()
    assert alone.u.tobytes() != solve_dual(problem, random_state=4).u.tobytes()


def test_a_path_of_C_starts_where_the_last_one_ended():
    problem = make_problem("hinge", C=1.0)
    first = solve_dual(problem, tol=1e-5)
    again = solve_dual(problem, tol=1e-5, start=first.state)
    assert again.n_iter == 0
    larger = replace(problem, C=1.05)
    warm, cold = solve_dual(larger, tol=1e-4, start=first.state), solve_dual(larger, tol=1e-4)
    np.testing.assert_allclose(warm.objectives, cold.objectives, rtol=2e-4)
    assert warm.n_iter < cold.n_iter


class Impatient:
    """A display that presses Ctrl-C after some rounds of the loops that are called so; None: of all loops."""

    def __init__(self, rounds, title=None):
        self.left, self.title, self.seen = rounds, title, []

    def add_task(self, description, *, total):
        self.seen.append((description, total))
        return description

    def advance(self, task, advance=1):
        if self.title in (None, task):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    def remove_task(self, task):
        pass


def test_an_interrupt_keeps_the_best_weights_so_far():
    problem = make_problem("hinge", C=100.0)
    with show_progress(Impatient(3, "Dual coordinate descent")):
        found = solve_dual(problem, tol=1e-9)
    assert found.interrupted
    assert not found.converged
    np.testing.assert_allclose(found.objectives, objectives(problem, found), rtol=1e-9)
    assert found.history["objective"][-1] < found.history["objective"][0]
    assert len({len(values) for values in found.history.values()}) == 1


@pytest.mark.parametrize("n_threads", [1, 2])
def test_columns_of_a_step_are_told_and_ctrl_c_takes_effect_between_them(monkeypatch, n_threads):
    monkeypatch.setattr("mercer.learners.solvers.dual.solver.SMALL", 0)  # so that small problems use threads too
    problem = make_problem("hinge", C=100.0)
    display = Impatient(2, "Training columns of scores")  # the second of the first step
    with thread_limit(n_threads), show_progress(display):
        found = solve_dual(problem, tol=1e-9)
    assert display.seen == [("Dual coordinate descent", None), ("Training columns of scores", P), ("Weights", P)]
    assert found.interrupted
    np.testing.assert_allclose(found.objectives, objectives(problem, found), rtol=1e-9)


def test_a_second_ctrl_c_does_not_wait_for_the_weights():
    class MoreImpatient(Impatient):
        def advance(self, task, advance=1):
            if task in ("Dual coordinate descent", "Weights"):
                raise KeyboardInterrupt

    with show_progress(MoreImpatient(0)), pytest.raises(KeyboardInterrupt):
        solve_dual(make_problem("hinge", C=100.0), tol=1e-9)


def test_what_it_cannot_do_is_refused_with_what_can():
    problem = make_problem("hinge")
    with pytest.raises(InputError, match="solver='bundle'"):
        solve_dual(replace(problem, intercept="free"))
    with pytest.raises(InputError, match="does not support the loss 'logistic'"):
        solve_dual(replace(problem, loss=get_loss("logistic")))
    with pytest.raises(InputError, match="identity as inner product"):
        solve_dual(replace(problem, design=Design(problem.design.rows, Factor(np.eye(D)))))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_words_of_a_quantiser_have_the_optimum_of_the_rows_they_stand_for(rng, loss):
    from mercer import KernelClassifier, ProductQuantizer

    X, y = rng.random((150, 12)), rng.integers(0, 3, 150)
    quantizer = ProductQuantizer(block_size=3, bits=4, random_state=0).fit(X)
    decoded = quantizer.inverse_transform(quantizer.transform(X))
    options = {"loss": loss, "C": 0.5, "tol": 1e-6, "max_iter": 5000, "multi_class": "ovr"}
    words = KernelClassifier(map=quantizer, solver="dual", **options).fit(X, y)
    plain = KernelClassifier("linear", solver="dual", **options).fit(decoded, y)
    assert words.plan_.solver == "dual"
    np.testing.assert_allclose(words.objective_, plain.objective_, rtol=1e-5)
