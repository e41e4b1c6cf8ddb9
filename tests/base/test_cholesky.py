"""A factorization that no rounding breaks, and that refuses what is no Gram matrix."""

import numpy as np
import pytest

from mercer._base.cholesky import stable_cholesky


@pytest.mark.parametrize("rank", [1, 5, 20])
def test_what_rounding_made_indefinite_is_factored_all_the_same(rng, rank):
    A = rng.standard_normal((20, rank))
    A = A @ A.T
    A[np.diag_indices(20)] -= 1e-13 * np.trace(A)
    L = stable_cholesky(A)
    # shares grow by ten: at most ten times what was missing is added
    np.testing.assert_allclose(L @ L.T, A, atol=1e-11 * np.trace(A))
    np.testing.assert_array_equal(L, np.tril(L))


def test_a_matrix_that_is_no_gram_matrix_is_not_factored():
    for A in (np.full((3, 3), np.nan), np.array([[1.0, 1e9], [1e9, 1.0]])):
        with pytest.raises(np.linalg.LinAlgError):
            stable_cholesky(A)
