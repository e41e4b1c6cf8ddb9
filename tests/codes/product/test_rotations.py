"""Rotations before quantization: what they are for, and what they keep."""

import numpy as np
import pytest

from mercer import InputError
from mercer.codes import ProductQuantizer
from mercer.codes.product.rotations import WIDEST, _allocation


@pytest.fixture
def X(rng):
    """A few directions hold most of the variance, spread over columns unevenly."""
    scales = 0.75 ** np.arange(24)
    directions = np.linalg.qr(rng.standard_normal((24, 24)))[0] * np.repeat([1.0, 0.2], 12)[:, None]
    return (rng.standard_normal((2000, 24)) * scales @ directions.T + rng.standard_normal(24)).astype("f4")


def squared_error(X, **parameters):
    fitted = ProductQuantizer(4, bits=4, random_state=0, **parameters).fit(X)
    return float(((fitted.inverse_transform(fitted.transform(X)) - X) ** 2).sum())


def test_learnt_rotations_lose_less_on_correlated_columns(X):
    plain = squared_error(X)
    assert squared_error(X, rotation="allocation") < 0.9 * plain
    assert squared_error(X, rotation="opq") < 0.9 * plain


@pytest.mark.parametrize("rotation", ["random", "opq", "allocation"])
@pytest.mark.parametrize("n_blocks", [6, 5])
def test_rotations_keep_inner_products(X, rotation, n_blocks):
    R = ProductQuantizer(n_blocks=n_blocks, bits=2, rotation=rotation, random_state=0).fit(X).rotation_
    assert R.dtype == np.float32
    np.testing.assert_allclose(R.T.astype("f8") @ R, np.eye(24), atol=1e-5)


def test_allocation_balances_the_products_of_variances(rng):
    variances = 2.0 ** -np.arange(8)
    rows = rng.standard_normal((20000, 8)) * np.sqrt(variances)
    R = _allocation(rows.astype("f4"), np.array([4, 4]), None)
    # each principal direction is a column, up to noise; 1/2^0 goes to one block, 1/2^1 and 1/2^2 to the other, ...
    blocks = [np.sort(np.abs(part).argmax(axis=1)) for part in (R[:4], R[4:])]
    products = [np.prod(variances[block]) for block in blocks]
    assert sorted(np.concatenate(blocks)) == list(range(8))
    assert max(products) <= 4 * min(products)
    # where a block is small, it fills up and the rest goes to the other
    R = _allocation(rows.astype("f4"), np.array([6, 2]), None)
    np.testing.assert_array_equal(np.sort(np.abs(R[6:]).argmax(axis=1)), [1, 2])


def test_random_rotations_differ_by_seed_and_repeat(X):
    one, same, other = (
        ProductQuantizer(4, bits=1, rotation="random", random_state=seed).fit(X).rotation_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0.1


@pytest.mark.parametrize("rotation", ["opq", "allocation"])
def test_learnt_rotations_do_not_depend_on_the_unit(X, rotation):
    same = [
        ProductQuantizer(4, bits=2, rotation=rotation, random_state=0).fit(np.ldexp(X, exponent)).rotation_
        for exponent in (0, -80, 80)
    ]
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], same[2])


@pytest.mark.filterwarnings("ignore:ProductQuantizer")  # few rows
@pytest.mark.parametrize("n", [1, 2, 9, 23])
def test_opq_takes_fewer_rows_than_columns(X, n):
    R = ProductQuantizer(5, bits=3, rotation="opq", random_state=0).fit(X[:n]).rotation_
    np.testing.assert_allclose(R.T.astype("f8") @ R, np.eye(24), atol=1e-4)


@pytest.mark.parametrize("rotation", ["random", "opq", "allocation"])
def test_rotations_of_wide_rows_name_the_permutation(rotation):
    wide = np.zeros((3, WIDEST + 1), dtype="f4")
    with pytest.raises(InputError, match=r"limited to 4096 columns\. Use rotation='permutation' or None"):
        ProductQuantizer(rotation=rotation).fit(wide)


@pytest.mark.parametrize("rotation", ["random", "opq", "allocation"])
def test_rotations_are_refused_for_kernels_they_change(X, rotation):
    with pytest.raises(InputError, match=r"mixes columns.* use rotation='permutation' or None"):
        ProductQuantizer(kernel="chi2", rotation=rotation).fit(np.abs(X))
