"""Levels of values that the quantizer was not fitted on."""

import numpy as np
import pytest
from scipy import sparse

from mercer import LevelQuantizer


@pytest.mark.parametrize("binning", ["global", "column", "adaptive"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_above_those_of_fit_have_the_highest_level(binning, form, rng):
    X = rng.random((50, 3))
    quantizer = LevelQuantizer(8, binning).fit(form(X))
    highest, above = (quantizer.rows(form(rows)) for rows in (X.max(axis=0)[None], np.full((1, 3), 1e6)))
    weights = rng.random((quantizer.inner_.n_features, 2))
    np.testing.assert_array_equal(above.scores(weights), highest.scores(weights))
