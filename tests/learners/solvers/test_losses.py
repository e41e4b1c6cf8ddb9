"""Losses as functions: convex, never negative, with the slopes and sums that solvers build on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import InputError, thread_limit
from mercer.learners.solvers import losses as _losses
from mercer.learners.solvers.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES, get_loss
from tests.reference.learners import losses as reference

NAMES = [*CLASSIFICATION_LOSSES, *REGRESSION_LOSSES]
SMOOTH = ["squared_hinge", "logistic", "huber_hinge", "multinomial", "squared"]
MARGIN = ["hinge", "squared_hinge", "logistic", "huber_hinge"]

every_loss = pytest.mark.parametrize("name", NAMES)
shapes = st.tuples(st.integers(1, 9), st.integers(1, 5))


def case(loss, shape, seed=0, scale=2.0, dtype=np.float64):
    """(scores, targets, weights); a third of the targets of a margin loss are 0."""
    rng = np.random.default_rng(seed)
    scores = (scale * rng.standard_normal(shape)).astype(dtype)
    if loss.joint:
        targets = rng.integers(0, shape[1], shape[0])
    elif loss.task == "regression":
        targets = rng.standard_normal(shape)
    else:
        targets = rng.integers(-1, 2, shape).astype(np.int8)
    return scores, targets, rng.random(shape[0]) + 0.1


def total(loss, scores, targets, weights):
    return loss.evaluate(scores, targets, weights)[0].sum()


def test_what_is_said_of_each_loss_is_true():
    assert [name for name in NAMES if get_loss(name).is_smooth] == SMOOTH
    assert [name for name in NAMES if get_loss(name).joint] == ["crammer_singer", "multinomial"]
    for task, losses in (("classification", CLASSIFICATION_LOSSES), ("regression", REGRESSION_LOSSES)):
        assert all(loss.task == task and loss.name == name for name, loss in losses.items())


@every_loss
@given(shape=shapes, seed=st.integers(0, 99), scale=st.sampled_from([0.3, 3.0, 1e3]))
def test_the_touching_line_is_the_loss_at_its_point_and_below_it_elsewhere(name, shape, seed, scale):
    loss = get_loss(name)
    scores, targets, weights = case(loss, shape, seed, scale)
    values, offsets, slopes = loss.evaluate(scores, targets, weights)
    assert values.shape == offsets.shape == ((1,) if loss.joint else shape[1:])
    assert (values >= 0).all()

    def line_at(points):
        products = (slopes * points).sum(axis=0)
        return offsets + (products.sum(keepdims=True) if loss.joint else products)

    rounding = 1e-13 * (1 + values + np.abs(offsets))
    assert (np.abs(line_at(scores) - values) <= rounding).all()
    for elsewhere in (scores + 0.1, -scores, np.zeros(shape), case(loss, shape, seed + 1, scale)[0]):
        there = loss.evaluate(elsewhere, targets, weights)[0]
        assert (line_at(elsewhere) <= there + 1e-13 * (1 + there + np.abs(offsets)) * shape[0]).all()


@every_loss
def test_slopes_are_finite_differences(name):
    loss = get_loss(name)
    scores, targets, weights = case(loss, (7, 3))
    slopes, h = loss.evaluate(scores, targets, weights)[2], 1e-6
    for i, p in np.ndindex(scores.shape):
        shift = np.zeros_like(scores)
        shift[i, p] = h
        difference = total(loss, scores + shift, targets, weights) - total(loss, scores - shift, targets, weights)
        assert difference / (2 * h) == pytest.approx(slopes[i, p], abs=1e-7)


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "multinomial"])
def test_curvatures_are_finite_differences_of_slopes(name):
    loss = get_loss(name)
    scores, targets, weights = case(loss, (30, 3))
    higher, lower = (loss.evaluate(scores + h, targets, weights)[2] for h in (1e-6, -1e-6))
    np.testing.assert_allclose((higher - lower) / 2e-6, loss.curvature(scores, targets, weights), atol=1e-7)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SMOOTH or name == "multinomial"])
def test_a_loss_without_second_derivative_says_so(name):
    loss = get_loss(name)
    with pytest.raises(InputError, match=f"{name}.*second derivative"):
        loss.curvature(*case(loss, (4, 3)))


@every_loss
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(shape=shapes, seed=st.integers(0, 99))
def test_along_is_evaluate_at_start_plus_k_steps(name, dtype, shape, seed):
    loss = get_loss(name)
    start, targets, weights = case(loss, shape, seed, dtype=dtype)
    step = case(loss, shape, seed + 1, dtype=dtype)[0]
    k = np.random.default_rng(seed).standard_normal(1 if loss.joint else shape[1])
    values, derivatives = loss.along(start, step, k, targets, weights)
    there = start.astype(np.float64) + k * step.astype(np.float64)
    expected, _, slopes = loss.evaluate(there, targets, weights)
    products = (slopes * step).sum(axis=0)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    # a kink within rounding of the point would allow two derivatives; none of these examples has one
    np.testing.assert_allclose(derivatives, products.sum(keepdims=True) if loss.joint else products, atol=1e-11)
    further = loss.along(start, step, k + 0.5, targets, weights)
    assert (further[1] >= derivatives - 1e-11).all()
    together = loss.along(start, step, np.stack([k, k + 0.5]), targets, weights)
    np.testing.assert_array_equal(together[0], np.stack([values, further[0]]))
    np.testing.assert_array_equal(together[1], np.stack([derivatives, further[1]]))


@every_loss
def test_a_row_of_weight_two_is_the_row_twice(name):
    loss = get_loss(name)
    scores, targets, _ = case(loss, (6, 3))
    twice = np.repeat(np.arange(6), [1, 2, 1, 1, 2, 1])
    weighted = loss.evaluate(scores, targets, np.bincount(twice).astype(float))
    repeated = loss.evaluate(scores[twice], targets[twice], np.ones(8))
    np.testing.assert_allclose(weighted[:2], repeated[:2], rtol=1e-14)
    np.testing.assert_allclose(weighted[2].sum(axis=0), repeated[2].sum(axis=0), atol=1e-14)


@pytest.mark.parametrize("name", MARGIN)
def test_rows_with_target_zero_are_not_part_of_the_problem(name):
    loss = get_loss(name)
    scores, _, weights = case(loss, (8, 1))
    targets = np.array([1, 0, -1, 0, 0, 1, 1, 0], dtype=np.int8)[:, None]
    present = targets[:, 0] != 0
    values, offsets, slopes = loss.evaluate(scores, targets, weights)
    assert (slopes[~present] == 0).all()
    without = loss.evaluate(scores[present], targets[present], weights[present])
    np.testing.assert_allclose([values, offsets], without[:2], rtol=1e-14)
    np.testing.assert_array_equal(slopes[present], without[2])
    if loss.is_smooth:
        assert (loss.curvature(scores, targets, weights)[~present] == 0).all()


@every_loss
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_scores_give_finite_numbers(name, dtype):
    loss = get_loss(name)
    _, targets, weights = case(loss, (6, 3))
    signs = np.random.default_rng(0).choice([-1, 1], (6, 3))
    scores = (1e4 * signs).astype(dtype)
    for numbers in (*loss.evaluate(scores, targets, weights), *loss.along(scores, scores, 1.0, targets, weights)):
        assert np.isfinite(numbers).all()


def test_two_classes_of_the_multinomial_loss_are_the_logistic_loss():
    rng = np.random.default_rng(0)
    scores, y = rng.standard_normal((20, 2)), rng.integers(0, 2, 20)
    joint = get_loss("multinomial").evaluate(scores, y, np.ones(20))[0]
    margin = (scores[:, 1:] - scores[:, :1], (2 * y - 1).astype(np.int8)[:, None])
    np.testing.assert_allclose(joint, get_loss("logistic").evaluate(*margin, np.ones(20))[0])
    hinges = get_loss("hinge").evaluate(*margin, np.ones(20))[0]
    np.testing.assert_allclose(get_loss("crammer_singer").evaluate(scores, y, np.ones(20))[0], hinges)


def test_equal_scores_give_the_first_rival_of_crammer_and_singer():
    slopes = get_loss("crammer_singer").evaluate(np.zeros((2, 3)), np.array([0, 2]), np.ones(2))[2]
    np.testing.assert_array_equal(slopes, [[-1, 1, 0], [1, 0, -1]])
    at_the_corner = get_loss("crammer_singer").evaluate(np.array([[1.0, 0.0]]), np.array([0]), np.ones(1))
    assert [numbers.any() for numbers in at_the_corner] == [False, False, False]


@every_loss
@pytest.mark.parametrize("width", [1, 3])
def test_blocks_change_nothing_and_threads_not_a_bit(name, width, monkeypatch):
    loss = get_loss(name)
    scores, targets, weights = case(loss, (1000, width), dtype=np.float32)
    step = case(loss, (1000, width), seed=1, dtype=np.float32)[0]

    def results():
        numbers = [*loss.evaluate(scores, targets, weights), *loss.along(scores, step, 0.7, targets, weights)]
        return numbers + ([loss.curvature(scores, targets, weights)] if loss.is_smooth and not loss.joint else [])

    whole = results()
    monkeypatch.setattr(_losses, "BLOCK_NUMBERS", 300 * width)
    with thread_limit(1):
        one = results()
    with thread_limit(2):
        two = results()
    for a, b, c in zip(whole, one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-10)
        np.testing.assert_array_equal(b, c)


@every_loss
def test_no_rows_and_no_columns_cost_nothing(name):
    loss = get_loss(name)
    for shape in [(0, 3), (0, 0)]:
        targets = np.zeros(shape[:1] if loss.joint else shape, dtype=np.int64)
        values, offsets, slopes = loss.evaluate(np.zeros(shape), targets, np.zeros(0))
        assert values.shape == offsets.shape == ((1,) if loss.joint else shape[1:])
        assert not values.any()
        assert slopes.shape == shape


def test_the_absolute_loss_is_insensitive_to_nothing():
    case_ = case(get_loss("absolute"), (9, 2))
    absolute, insensitive = (
        loss.evaluate(*case_) for loss in (get_loss("absolute"), get_loss("epsilon_insensitive", epsilon=0))
    )
    for a, b in zip(absolute, insensitive, strict=True):
        np.testing.assert_array_equal(a, b)
    expected = reference.column_losses(reference.epsilon_insensitive, False, *case_[:2], 0.7)
    wide = get_loss("epsilon_insensitive", epsilon=0.7).evaluate(*case_)[0]
    np.testing.assert_allclose(wide, case_[2] @ expected[0])


def test_errors_name_what_there_is():
    with pytest.raises(
        InputError, match=r"no loss 'hindge'. Did you mean 'hinge'\? Losses: hinge, .*epsilon_insensitive"
    ):
        get_loss("hindge")
    with pytest.raises(InputError, match=r"no classification loss 'squared'. Did you mean 'squared_hinge'\?"):
        get_loss("squared", task="classification")
    with pytest.raises(InputError, match="'hinge' got epsilon; it takes no parameters"):
        get_loss("hinge", epsilon=1)
    with pytest.raises(InputError, match="'epsilon_insensitive' got eps; it takes epsilon"):
        get_loss("epsilon_insensitive", eps=1)
    for epsilon in (-0.1, np.nan, np.inf):
        with pytest.raises(InputError, match="finite epsilon >= 0"):
            get_loss("epsilon_insensitive", epsilon=epsilon)
