"""Files with a valid checksum that would load and then kill, or take for ever: refused, or used without harm."""

import numpy as np
import pytest

import mercer
from tests.golden.test_golden import FOLDER

X = np.random.default_rng(0).random((60, 4))


@pytest.fixture
def loaded(tmp_path):
    """The model as it comes back from a file."""

    def round_trip(model):
        mercer.save(model, tmp_path / "forged.mercer")
        return mercer.load(tmp_path / "forged.mercer")

    return round_trip


def shortened_tables(model):
    """Points so close together that their logarithms in float32 say nothing, or the wrong thing."""
    p = 1 + 4e-8
    model.points_ = np.array([[0, p, np.nextafter(p, 2)]] * 4)
    model.tables_ = np.ascontiguousarray(model.tables_[:, :, :3])
    return model


@pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
def test_points_that_float32_cannot_tell_apart_lead_no_loop_outside_its_table(loaded):
    model = shortened_tables(mercer.NystroemMap("chi2", n_components=3, per_dimension=True).fit(X))
    for value in (2, 1, 1e-30):
        assert loaded(model).transform(np.full((3, 4), value, "f4")).shape == (3, 12)
    quantizer = shortened_tables(mercer.ProductQuantizer(2, bits=2, kernel="chi2", random_state=0).fit(4 * X))
    assert loaded(quantizer).transform(np.full((3, 4), 2, "f4")).shape == (3, 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda model: model.codebook_[1:].fill(3e38), "codebook_ must be numbers"),
        (lambda model: model.deformations_[0][:, ::2].fill(5e-324), "squared displacements must cost"),
        (lambda model: model.set_params(padding=20_000), "`padding` must be an integer >= 0 and <="),
        (lambda model: model.set_params(interval=100_000), "`interval` must be an integer >= 1 and <="),
        (lambda model: model.anchors_[0].fill(10_000), "anchors must be numbers"),
    ],
    ids=["codebook", "deformations", "padding", "interval", "anchors"],
)
def test_a_detector_that_would_place_parts_outside_or_fill_the_memory_is_refused(loaded, change, reason):
    model = mercer.load(FOLDER / "v1" / "detector-codes.mercer")
    change(model)
    with pytest.raises(mercer.ModelFileError, match=reason):
        loaded(model)


def test_numbers_that_are_not_finite_are_refused_wherever_they_stand(loaded):
    landmarks = mercer.SparseMap("chi2", n_landmarks=3, n_nonzero=2, random_state=0).fit(X)
    landmarks.landmarks_[:], landmarks.gram_[:] = np.nan, 0
    with pytest.raises(mercer.ModelFileError, match="landmarks_ must be finite"):
        loaded(landmarks)
    inside = mercer.KernelClassifier("chi2").fit(X, X[:, 0] > 0.5)
    inside.map_.coefficients_[0] = np.inf
    with pytest.raises(mercer.ModelFileError, match=r"valid HomogeneousMap.*coefficients_ must be finite"):
        loaded(inside)
    assert loaded(mercer.PowerMean(p=-np.inf)).p == -np.inf  # where infinity has a meaning


@pytest.mark.parametrize("n_neighbors", [66, 4000, 30_000])
def test_windows_of_many_points_are_refused_before_their_matrices_are_made(loaded, n_neighbors):
    predictor = mercer.SparseAdditiveMap("chi2", n_points=4).fit(X).fold(np.ones(16))
    predictor.n_neighbors = n_neighbors
    with pytest.raises(mercer.ModelFileError, match="at most 64 points"):
        loaded(predictor)
    with pytest.raises(mercer.InputError, match="more than 1048576 in all"):
        mercer.GridPredictor(mercer.JensenShannon(), np.arange(1.0, 5000.0), np.ones(4999), n_neighbors=16)


def test_more_hashes_than_a_row_can_have_words_are_refused(loaded):
    model = mercer.WeightedMinHash(8, random_state=0).fit(X)
    model.inner_ = mercer.SignedWords(2**32, model.inner_.n_words)
    with pytest.raises(mercer.ModelFileError, match="n_blocks must be at most 65536"):
        loaded(model)


def test_words_and_rows_whose_distances_are_no_numbers_never_reach_faiss(loaded):
    rows = np.random.default_rng(0).random((400, 16))
    with pytest.raises(mercer.InputError, match="Vocabulary needs values of at most 1e\\+15"):
        mercer.Vocabulary(20, assignment="ivf", random_state=0).fit((rows * 1e25).astype("f4"))
    model = mercer.Vocabulary(20, assignment="ivf", random_state=0).fit(rows)
    with pytest.raises(mercer.InputError, match="Scale the descriptors"):
        model.predict(rows[:2] * 1e19)
    model.words_[:] = 1e30
    with pytest.raises(mercer.ModelFileError, match="words_ must be numbers"):
        loaded(model)


def test_an_empty_array_does_not_claim_a_long_side(loaded):
    inner = mercer.BlockFactor(np.ones((2, 2, 2)))
    inner.factors = np.empty((2**40, 2, 0))
    with pytest.raises(TypeError, match="is empty but has a nonzero dimension"):
        loaded(inner)
