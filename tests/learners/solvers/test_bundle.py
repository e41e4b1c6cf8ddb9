"""The bundle solver where it is tried hardest, and its line search against a plain one."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_digits

from mercer import KernelClassifier
from mercer.learners.solvers.bundle.line_search import LEAST, PRECISION, search_line
from mercer.learners.solvers.losses import get_loss


@pytest.mark.parametrize(("n_class", "C"), [(10, 1.0), (3, 100.0)])
def test_a_smooth_loss_reaches_its_gap_from_far_away(n_class, C):
    """Counts have kernel values of some hundreds: the first small problems are solved a thousand steps away.

    Measured: 19 and 24 passes. With planes a tenth of the way, whatever the step, hundreds bring it nowhere.
    """
    X, y = load_digits(n_class=n_class, return_X_y=True)
    learner = KernelClassifier("chi2", loss="logistic", C=C, random_state=0)
    bundle = clone(learner).set_params(solver="bundle", max_iter=60).fit(X.astype(np.float32), y)
    newton = clone(learner).set_params(solver="newton", tol=1e-5).fit(X.astype(np.float32), y)
    assert bundle.gap_ <= 1e-3
    np.testing.assert_allclose(bundle.objective_.sum(), newton.objective_.sum(), rtol=1e-3)


def line(loss, rng, reach):
    """(losses_along, <u, d>, |d|^2, objective by k) of three problems whose minima lie about `reach` away."""
    n, P = 400, 3
    start, ahead = rng.standard_normal((2, n, P))
    targets = rng.choice([-1, 1], (n, P)).astype(np.int8)
    step = (ahead + targets) / reach
    weights, quadratic = rng.random(n), np.full(P, 1.0) / reach**2
    linear = np.full(P, -0.1) / reach

    def along(ks):
        along.questions += 1
        return [loss.along(start, step, k, targets, weights) for k in ks]

    along.questions = 0

    def objective(k):
        return 0.5 * k**2 * quadratic + k * linear + loss.along(start, step, k, targets, weights)[0]

    return along, linear, quadratic, objective


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("reach", [1e-3, 0.1, 0.7, 1.0, 20.0])
def test_a_line_search_ends_at_the_minimum(rng, name, reach):
    along, linear, quadratic, objective = line(get_loss(name), rng, reach)
    k, values = search_line(along, linear, quadratic, 1.0)
    reached = 0.5 * k**2 * quadratic + k * linear + values
    np.testing.assert_allclose(reached, objective(k), rtol=1e-12, err_msg="values are those at k")
    for q in range(len(k)):
        best = minimize_scalar(lambda x, q=q: objective(np.full(3, x))[q], bounds=(0, 100 * reach), method="bounded",
                               options={"xatol": 1e-9 * reach})  # fmt: skip
        # within the precision of k on the right of the minimum, where the function ascends
        width = 2 * PRECISION * max(best.x, LEAST)
        assert reached[q] <= objective(np.full(3, best.x + width))[q] + 1e-9 * abs(best.fun)


def test_a_usual_step_takes_three_questions(rng):
    for reach in (0.05, 0.1, 0.2):
        along, linear, quadratic, _ = line(get_loss("hinge"), rng, reach)
        k, _ = search_line(along, linear, quadratic, 1.0)
        assert ((k > 1 / 16) & (k < 1)).all()
        assert along.questions <= 3


def test_where_the_function_ascends_no_step_is_taken(rng):
    loss = get_loss("hinge")
    start, targets = np.full((50, 2), 2.0), np.ones((50, 2), dtype=np.int8)
    k, values = search_line(
        lambda ks: [loss.along(start, -start, k, targets, np.ones(50)) for k in ks], np.ones(2), np.ones(2), 1.0
    )
    np.testing.assert_array_equal(k, 0)
    np.testing.assert_array_equal(values, 0)
