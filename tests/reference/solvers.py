"""An independent solver of the learning problem for small explicit features: slow, plain, and exact to 1e-8 or better.

    minimize over U (r, P) and b (P,)    1/2 |U|^2 (+ 1/2 |b|^2) + C sum_i w_i L_i(A U + s b)

Piecewise linear losses become quadratic programs with one slack per loss, for a primal-dual interior-point method;
smooth ones go to scipy's L-BFGS. The problems of a loss that is not joint are solved one column at a time.
"""

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from tests.reference.learners import losses

MARGIN = {name: getattr(losses, name) for name in ("hinge", "squared_hinge", "logistic", "huber_hinge")}
REGRESSION = {
    "squared": losses.squared,
    "absolute": lambda r, _: losses.epsilon_insensitive(r, 0.0),
    "epsilon_insensitive": losses.epsilon_insensitive,
}
JOINT = {"crammer_singer": losses.crammer_singer, "multinomial": losses.multinomial}
PIECEWISE_LINEAR = {"hinge", "absolute", "epsilon_insensitive", "crammer_singer"}


@threadpool_limits.wrap(limits=1)  # products of a few hundred numbers: threads would only wait for each other
def solve(A, loss, targets, weights, n_columns, C=1.0, intercept="scaled", scaling=1.0, epsilon=0.0):
    """(U, what is added to the scores, optimal value of each problem)."""
    A = np.asarray(A, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    # a constant column stands for the intercept; it is regularized unless the intercept is free
    column = {"scaled": scaling, "free": 1.0, "none": None}[intercept]
    X = A if column is None else np.hstack([A, np.full((len(A), 1), column)])
    penalty = np.ones(X.shape[1])
    if intercept == "free":
        penalty[-1] = 0.0
    solver = _solve_quadratic if loss in PIECEWISE_LINEAR else _solve_smooth
    if loss in JOINT:
        W = solver(X, penalty, loss, targets, weights, n_columns, C, epsilon)
    else:
        columns = [targets[:, p : p + 1] for p in range(n_columns)]
        W = np.hstack([solver(X, penalty, loss, column, weights, 1, C, epsilon) for column in columns])
    U, b = (W, np.zeros(n_columns)) if column is None else (W[:-1], column * W[-1])
    return U, b, objectives(A @ U + b, U, b, loss, targets, weights, C, intercept, scaling, epsilon)


def objectives(scores, U, b, loss, targets, weights, C=1.0, intercept="scaled", scaling=1.0, epsilon=0.0):
    """The value of each problem, from the definition, where weights U and intercepts b give these scores."""
    norms = (U**2).sum(axis=0) + ((b / scaling) ** 2 if intercept == "scaled" else 0.0)
    values, _ = _losses(loss, scores, targets, epsilon)
    if loss in JOINT:
        return np.atleast_1d(0.5 * norms.sum() + C * (weights @ values))
    return 0.5 * norms + C * (weights @ values)


def _losses(loss, scores, targets, epsilon):
    if loss in JOINT:
        return losses.row_losses(JOINT[loss], scores, targets)
    formula = MARGIN.get(loss) or REGRESSION[loss]
    return losses.column_losses(formula, loss in MARGIN, scores, targets, epsilon)


# ----------------------------------------------------------------------------------------------------- smooth losses


def _solve_smooth(X, penalty, loss, targets, weights, n_columns, C, epsilon):
    shape = (X.shape[1], n_columns)

    def value_and_gradient(flat):
        W = flat.reshape(shape)
        values, slopes = _losses(loss, X @ W, targets, epsilon)
        value = 0.5 * (penalty[:, None] * W**2).sum() + C * (weights @ values).sum()
        return value, (penalty[:, None] * W + C * X.T @ (weights[:, None] * slopes)).reshape(-1)

    # the regularizer makes the problem strongly convex: a gradient g leaves at most |g|^2 / 2 to be gained
    start = np.zeros(X.shape[1] * n_columns)
    small = 1e-8 * max(1.0, value_and_gradient(start)[0])
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 0.0, "gtol": small, "maxcor": 40}
    best = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    gradient = np.abs(value_and_gradient(best.x)[1]).max()
    assert gradient <= 100 * small, f"the reference solver stopped early: gradient {gradient}"
    return best.x.reshape(shape)


# ------------------------------------------------------------------------------------------- piecewise linear losses


def _solve_quadratic(X, penalty, loss, targets, weights, n_columns, C, epsilon):
    """Variables are the weights, class by class, and a slack xi per row with xi >= each piece of its loss."""
    pieces, counts = _pieces(X, loss, targets, n_columns, epsilon)  # xi_i >= constant - row @ weights
    n, size = len(X), X.shape[1] * n_columns
    rows, constants, owners = (np.concatenate(part) for part in zip(*pieces, strict=True))
    kept = weights[owners] * counts[owners] > 0  # what costs nothing would leave its slack without a bound
    used = np.unique(owners[kept])
    slack_of = np.full(n, -1)
    slack_of[used] = np.arange(len(used))
    slacks = np.eye(len(used))
    G = np.vstack(
        [np.hstack([rows[kept], slacks[slack_of[owners[kept]]]]), np.hstack([np.zeros((len(used), size)), slacks])]
    )
    h = np.concatenate([constants[kept], np.zeros(len(used))])
    q = np.concatenate([np.tile(penalty, n_columns), np.zeros(len(used))])
    if loss in JOINT:
        # only differences of a row's scores matter, so that a free intercept of the last class may as well be 0
        q[size - 1] = 1.0
    cost = np.concatenate([np.zeros(size), C * weights[used]])
    return interior_point(q, cost, G, h)[:size].reshape(n_columns, X.shape[1]).T


def _pieces(X, loss, targets, n_columns, epsilon):
    """[(rows, constants, owner of each row)], one entry per piece of the loss, and which rows count at all."""
    n, width = X.shape
    owners, counts = np.arange(n), np.ones(n, dtype=bool)
    if loss == "hinge":
        y = targets[:, 0].astype(np.float64)
        return [(y[:, None] * X, np.ones(n), owners)], y != 0
    if loss in REGRESSION:
        y, epsilon = targets[:, 0], 0.0 if loss == "absolute" else epsilon
        return [(X, y - epsilon, owners), (-X, -y - epsilon, owners)], counts
    pieces = []
    for c in range(n_columns):
        rows = np.zeros((n, n_columns, width))
        rows[:, c] -= X
        rows[owners, targets] += X
        rivals = targets != c
        pieces.append((rows.reshape(n, -1)[rivals], np.ones(rivals.sum()), owners[rivals]))
    return pieces, counts


def interior_point(q, cost, G, h, accuracy=1e-10, most=100):
    """Minimize 1/2 x' diag(q) x + cost'x subject to G x >= h, with Mehrotra's predictor and corrector."""
    q, cost = q / np.abs(cost).max(), cost / np.abs(cost).max()  # multipliers of size 1
    x, m = np.zeros(len(q)), len(h)
    s, z = np.maximum(1.0, np.abs(h)), np.ones(m)  # slacks of the constraints and their multipliers
    for _ in range(most):
        dual_error, primal_error = q * x + cost - G.T @ z, G @ x - s - h
        gap, size = s @ z, 1 + abs(0.5 * q @ x**2 + cost @ x)
        # the errors of the linear equations stall at roundings, somewhat above the gap
        if gap <= accuracy * size and max(np.abs(dual_error).max(), np.abs(primal_error).max()) <= 1e-8 * size:
            return x
        K = np.diag(q) + G.T @ ((z / s)[:, None] * G)

        def direction(excess, K=K, dual_error=dual_error, primal_error=primal_error, s=s, z=z):
            # ds = G dx + primal_error and s dz + z ds = -excess
            dx = np.linalg.solve(K, -dual_error - G.T @ ((excess + z * primal_error) / s))
            ds = G @ dx + primal_error
            return dx, ds, -(excess + z * ds) / s

        _, ds, dz = direction(s * z)
        predicted = (s + _step(s, ds) * ds) @ (z + _step(z, dz) * dz)
        dx, ds, dz = direction(s * z + ds * dz - (predicted / gap) ** 3 * gap / m)
        length = 0.995 * min(_step(s, ds), _step(z, dz))
        x, s, z = x + length * dx, s + length * ds, z + length * dz
    raise AssertionError(f"the reference solver did not converge: duality gap {gap}")


def _step(values, change):
    """How far non-negative values can go, at most 1."""
    falling = change < 0
    return min(1.0, (-values[falling] / change[falling]).min(initial=np.inf))
