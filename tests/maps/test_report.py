"""The approximation report: every number against its definition, and the picture."""

import json

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError
from mercer.kernels import Linear
from mercer.maps.base import FeatureMap
from mercer.maps.minhash import WeightedMinHash
from mercer.maps.report import approximation_report, ranking_recall
from mercer.spaces import Identity


class Scaled(FeatureMap):
    """phi(x) = factor x, in a file of 8 bytes per number."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y=None):
        self.fitted_rows_ = self._checked(X, reset=True).shape[0]
        self.kernel_ = Linear()
        self.inner_ = Identity(X.shape[1])
        return self

    def encode_rows(self, X):
        return self.factor * (X.toarray() if sparse.issparse(X) else X)

    def resolved_kernel(self):
        return Linear()


@pytest.fixture
def X(rng):
    return rng.random((60, 7))


def test_numbers_are_what_they_are_called(X):
    line = approximation_report(Scaled(1.1), X, n_rows=1000).maps["Scaled"]
    assert line.kernel == "linear"
    assert line.dimensions == 7
    assert line.relative_error == pytest.approx(0.21)
    assert line.largest_error == pytest.approx(0.21 * (X @ X.T).max())
    assert line.diagonal_bias == pytest.approx(0.21)
    assert line.recall == 1.0
    assert line.bytes_per_row == 56
    assert line.ms_per_1000_rows > 0
    np.testing.assert_allclose(line.approximate, 1.21 * line.exact)


def test_recall_counts_neighbours_other_than_the_row_and_admits_ties():
    K = np.array([[9.0, 3, 2, 1], [3, 9, 2, 2], [0, 1, 2, 9], [5, 5, 5, 0]])
    A = np.array([[0.0, 1, 2, 3], [3, 0, 1, 2], [9, 2, 9, 1], [1, 2, 3, 4]])
    # k = 1: wrong, right, wrong, right by a tie; k = 2: one of two, two (tie), one of two, two
    assert ranking_recall(K, A, 1) == 0.5
    assert ranking_recall(K, A, 2) == 0.75
    assert K[0, 0] == 9.0  # the arguments are left alone


def test_maps_are_fitted_if_they_are_not_and_stand_side_by_side(X):
    fitted = Scaled(1.0).fit(X[:10])
    unfitted = Scaled(0.5)
    report = approximation_report({"exact": fitted, "half": unfitted}, sparse.csr_matrix(X), n_rows=20, k=3)
    assert report.n_rows == 20
    assert fitted.fitted_rows_ == 10
    assert not hasattr(unfitted, "inner_")
    assert report.maps["exact"].relative_error == pytest.approx(0, abs=1e-12)
    assert report.maps["half"].relative_error == pytest.approx(0.75)
    document = json.loads(json.dumps(report.as_dict()))
    assert set(document["maps"]) == {"exact", "half"}
    title, *lines = str(report).split("\n")
    assert title == "linear, 20 rows"
    assert [line.split()[0] for line in lines] == ["map", "exact", "half"]
    assert "recall@3" in lines[0]
    assert "0.7500" in lines[2]
    assert "-75.00%" in lines[2]


def test_the_kernel_is_a_column_only_where_it_differs(X):
    one, two = Scaled(), WeightedMinHash(8, random_state=0)
    assert approximation_report({"one": one}, X).kernel == "linear"
    both = approximation_report({"one": one, "two": two}, X)
    assert both.kernel is None
    titles, lines = both.table()
    assert [line[titles.index("kernel")] for line in lines] == ["linear", "min-max"]
    assert "kernel" not in approximation_report({"one": one}, X).table()[0]


def test_the_sample_is_seeded(rng):
    X = rng.poisson(1.0, size=(300, 5))
    hashes = WeightedMinHash(32, random_state=0).fit(X)
    errors = [approximation_report(hashes, X, n_rows=50, random_state=seed).maps for seed in (0, 0, 1)]
    first, again, other = (one["WeightedMinHash"].relative_error for one in errors)
    assert first == again != other


def test_the_picture_is_written_and_may_go_into_given_axes(X, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    maps = {f"{i} percent": Scaled(1 + i / 100) for i in range(6)}
    report = approximation_report(maps, X)
    figure = report.plot(tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    visible = [axes for axes in figure.axes if axes.get_visible()]
    assert len(visible) == 12
    assert visible[0].get_title(loc="left").startswith("0 percent")
    axes = Figure().subplots()
    assert report.plot(axes) is axes
    assert len(axes.get_legend().get_texts()) == 6


def test_too_few_rows_and_strangers_are_refused(X):
    with pytest.raises(InputError, match="at least two rows"):
        approximation_report(Scaled(), X[:1])
    with pytest.raises(InputError, match="'mine' is 3"):
        approximation_report({"mine": 3}, X)
