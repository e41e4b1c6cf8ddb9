"""Fisher vectors: against plain loops and derivatives, over pyramids, and as estimators."""

import pickle

import numpy as np
import pytest
from scipy import optimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import mercer
from mercer import InputError
from mercer.vision import DenseSIFT, FisherVectors, SkippedImagesWarning, Vocabulary
from mercer.vision.reading.batches import as_pictures
from tests.vision.patches import Patches, pictures

PYRAMID = ((1, 1), (2, 2), (3, 1))


def fisher(**parameters):
    given = {"n_words": 4, "n_components": 5, "root": False, "random_state": 0, "n_jobs": 1, "n_iter": 20}
    return FisherVectors(Patches(), **{**given, **parameters})


@pytest.fixture
def images(rng):
    return pictures(rng, 14)


def log_joint(encoder, x):
    """log w_i N(x; mu_i, sigma_i) of one descriptor, for all words."""
    w, mu, variances = encoder.weights_, encoder.means_, encoder.variances_
    return np.log(w) - 0.5 * (np.log(2 * np.pi * variances) + (x - mu) ** 2 / variances).sum(axis=1)


def projected(encoder, values):
    """Descriptors in the space of the mixture, one by one."""
    rows = []
    for value in values.astype(np.float64):
        if encoder.root:
            value = np.sqrt(value / value.sum())
        value = value - encoder.mean_
        rows.append(value if encoder.components_ is None else encoder.components_.astype(np.float64) @ value)
    return np.array(rows)


def plain_cell(encoder, rows):
    """The vector of a cell by the equations of the paper, descriptor by descriptor, then its power and norm."""
    w, mu, sigma = encoder.weights_[:, None], encoder.means_, np.sqrt(encoder.variances_)
    by_mean, by_variance = np.zeros(mu.shape), np.zeros(mu.shape)
    for x in rows:
        joint = log_joint(encoder, x)
        gamma = np.exp(joint - logsumexp(joint))
        if encoder.assignment == "hard":
            gamma = (np.arange(len(w)) == gamma.argmax()).astype(float)
        z = (x - mu) / sigma
        by_mean += gamma[:, None] * z / (len(rows) * np.sqrt(w))
        by_variance += gamma[:, None] * (z**2 - 1) / (len(rows) * np.sqrt(2 * w))
    terms = {"both": [by_mean, by_variance], "mean": [by_mean], "variance": [by_variance]}[encoder.terms]
    vector = np.concatenate([term.ravel() for term in terms])
    vector = np.sign(vector) * np.abs(vector) ** encoder.power
    return vector / np.linalg.norm(vector) if vector.any() else vector


def plain_row(encoder, image):
    found = encoder.descriptor_.describe(image)
    rows, (height, width) = projected(encoder, found.values), found.shape
    x, y = found.frames[:, 0] + 0.5, found.frames[:, 1] + 0.5
    levels = encoder.pyramid
    shares = encoder.level_weights or [r * c for r, c in levels]
    parts = []
    for (n_rows, n_columns), share in zip(levels, shares, strict=True):
        row, column = (y * n_rows / height).astype(int), (x * n_columns / width).astype(int)
        for r in range(n_rows):
            for c in range(n_columns):
                cell = plain_cell(encoder, rows[(row == r) & (column == c)])
                parts.append(cell * np.sqrt(share / sum(shares) / (n_rows * n_columns)))
    return np.concatenate(parts)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"terms": "mean"},
        {"terms": "variance"},
        {"assignment": "hard"},
        {"assignment": "hard", "terms": "mean", "gmm": "kmeans"},
        {"power": 1.0},
        {"power": 0.3, "n_components": None},
        {"root": True},
        {"pyramid": PYRAMID},
        {"pyramid": PYRAMID, "level_weights": (1, 2, 3), "terms": "mean", "gmm": "kmeans"},
    ],
)
def test_rows_are_those_of_plain_loops(images, parameters):
    encoder = fisher(**parameters).fit(images)
    rows = encoder.transform(images[:3])
    assert rows.dtype == np.float32
    for got, image in zip(rows, images, strict=False):
        # float32 posteriors; powers below 1 magnify what is near zero
        np.testing.assert_allclose(got, plain_row(encoder, image), atol=3e-3)
        assert np.linalg.norm(got) == pytest.approx(1, abs=1e-5)


def test_vectors_are_the_scaled_gradient_of_the_likelihood(images):
    encoder = fisher(power=1.0).fit(images)
    found = encoder.descriptor_.describe(images[0])
    rows = encoder.project(found.values).astype(np.float64)
    w, mu, sigma = encoder.weights_[:, None], encoder.means_, np.sqrt(encoder.variances_)

    def likelihood(parameters):
        mean, deviation = parameters.reshape(2, *mu.shape)
        parts = (np.log(2 * np.pi * deviation**2) + (rows[:, None] - mean) ** 2 / deviation**2).sum(axis=2)
        return logsumexp(np.log(w[:, 0]) - 0.5 * parts, axis=1).mean()

    at = np.concatenate([mu.ravel(), sigma.ravel()])
    by_mean, by_deviation = optimize.approx_fprime(at, likelihood, 1e-5).reshape(2, *mu.shape)
    # divided by the roots of the diagonal of the Fisher information, w / sigma^2 and 2 w / sigma^2
    gradient = np.concatenate([(by_mean * sigma / np.sqrt(w)).ravel(), (by_deviation * sigma / np.sqrt(2 * w)).ravel()])
    np.testing.assert_allclose(encoder.transform(images[:1])[0], gradient / np.linalg.norm(gradient), atol=1e-3)


def test_projections_are_principal_components(images):
    encoder = fisher(n_samples=10**6).fit(images)
    values = np.concatenate([Patches().describe(image).values for image in images]).astype(np.float64)
    oracle = PCA(5).fit(values)
    cosines = (oracle.components_ * encoder.components_).sum(axis=1)
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-5)
    np.testing.assert_allclose(encoder.project(values), oracle.transform(values) * np.sign(cosines), atol=0.01)


def test_a_mixture_of_given_clusters_has_their_moments(images):
    values = np.concatenate([Patches().describe(image).values for image in images])
    vocabulary = Vocabulary(6, random_state=0).fit(values)
    encoder = fisher(gmm="kmeans", words=vocabulary.words_, n_samples=10**6).fit(images)
    labels, rows = vocabulary.predict(values), encoder.project(values)
    np.testing.assert_allclose(encoder.weights_, np.bincount(labels) / len(labels), atol=1e-6)
    for i in range(6):
        np.testing.assert_allclose(encoder.means_[i], rows[labels == i].mean(axis=0), atol=0.01)
        np.testing.assert_allclose(encoder.variances_[i], rows[labels == i].var(axis=0), rtol=1e-3)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_shares_of_words_are_means_of_posteriors(images, assignment):
    encoder = fisher(assignment=assignment).fit(images)
    for found, image in zip(encoder.word_shares(images[:3]), images, strict=False):
        joint = np.array([log_joint(encoder, x) for x in projected(encoder, Patches().describe(image).values)])
        posteriors = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        if assignment == "hard":
            posteriors = np.eye(4)[joint.argmax(axis=1)]
        np.testing.assert_allclose(found, posteriors.mean(axis=0), atol=1e-3)


def test_a_restricted_encoder_is_that_of_the_mixture_of_these_words(images):
    encoder = fisher(gmm="kmeans").fit(images)
    restricted = encoder.restrict([3, 1])
    assert restricted.transform(images[:2]).shape == (2, 2 * 2 * 5)
    np.testing.assert_array_equal(restricted.means_, encoder.means_[[3, 1]])
    assert restricted.weights_.sum() == pytest.approx(1)
    np.testing.assert_allclose(restricted.transform(images[:1])[0], plain_row(restricted, images[0]), atol=3e-3)
    np.testing.assert_array_equal(encoder.restrict(np.arange(4)).transform(images[:1]), encoder.transform(images[:1]))
    assert encoder.n_words == 4
    for wrong in ([], [4], [-1], [1, 1], [0.5], [[1]]):
        with pytest.raises(InputError, match="restrict needs"):
            encoder.restrict(wrong)


def test_a_cell_without_descriptors_is_zero():
    class Left(Patches):
        """All in the left half."""

        def describe(self, image):
            found = super().describe(image)
            found.frames[:, 0] = 1
            return found

    images = list(np.random.default_rng(0).random((4, 16, 16)))
    rows = FisherVectors(Left(), 2, n_components=3, pyramid=((1, 2),), random_state=0).fit_transform(images)
    assert (rows[:, 12:] == 0).all()
    np.testing.assert_allclose((rows**2).sum(axis=1), 0.5, rtol=1e-5)


def test_threads_do_not_change_rows(images):
    one, two = (fisher(n_jobs=n, pyramid=PYRAMID).fit(images) for n in (1, 2))
    np.testing.assert_array_equal(one.transform(images), two.transform(images))


# -------------------------------------------------------------------------------------------------- as an estimator


class AnyRows(FisherVectors):
    """Fisher vectors of rows of any width, which scikit-learn's checks give: each is seen as an image of some rows."""

    def _pictures(self, images, reset):
        X = validate_data(self, images, reset=reset, dtype=np.float64)
        return as_pictures([np.tile(row, (4, 4))[:4] for row in X], "FisherVectors")


@parametrize_with_checks([AnyRows(Patches(2), 2, n_components=2, root=False)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the checks look at the class, hardly at its parameters
@parametrize_with_checks(
    [AnyRows(Patches(2), 2, n_components=2, root=False, gmm="kmeans", assignment="hard", pyramid=((1, 2),))]
)
def test_scikit_learns_checks_of_variants(estimator, check):
    check(estimator)


def test_files_and_copies_give_the_same_rows(images, tmp_path, monkeypatch):
    for name in ("FisherVectors", "DenseSIFT"):
        monkeypatch.setitem(mercer._NAMES, name, "mercer.vision")
    for parameters in ({"pyramid": PYRAMID}, {"n_components": None, "gmm": "kmeans", "assignment": "hard"}):
        encoder = FisherVectors(DenseSIFT(6, (4,)), 3, random_state=0, **parameters).fit(images).restrict([2, 0])
        mercer.save(encoder, tmp_path / "f.mercer")
        loaded = [mercer.load(tmp_path / "f.mercer", mmap=mmap) for mmap in (False, True)]
        for copied in (*loaded, pickle.loads(pickle.dumps(encoder))):
            np.testing.assert_array_equal(copied.transform(images[:3]), encoder.transform(images[:3]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mean_", np.zeros(3)),
        ("components_", None),
        ("weights_", np.zeros(4)),
        ("variances_", np.full((4, 5), np.nan)),
        ("terms", "all"),
    ],
)
def test_a_loaded_encoder_that_does_not_fit_together_is_refused(images, name, value):
    encoder = fisher().fit(images)
    encoder._check_loaded()
    setattr(encoder, name, value)
    with pytest.raises(ValueError, match=r"must have shape|do not match|must be|needs terms"):
        encoder._check_loaded()


def test_a_cache_changes_nothing(images, tmp_path):
    plain = fisher().fit_transform(images)
    for _ in range(2):
        np.testing.assert_array_equal(fisher(cache=tmp_path).fit_transform(images), plain)
    assert len(list(tmp_path.rglob("*.npy"))) == 2 * len(images)
    np.testing.assert_array_equal(
        fisher(cache=tmp_path, power=1.0).fit_transform(images), fisher(power=1.0).fit_transform(images)
    )


def test_images_that_cannot_be_read_are_skipped(images, tmp_path):
    mixed = [*images[:5], tmp_path / "missing.png"]
    with pytest.warns(SkippedImagesWarning, match=r"FisherVectors skipped 1 of 6 images.*missing\.png"):
        encoder = fisher(strict=False).fit(mixed)
    found = encoder.encode(mixed)
    assert found.kept.tolist() == [True] * 5 + [False]
    np.testing.assert_array_equal(found.features, encoder.transform(images[:5]))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_words": 0}, "`n_words` must be an integer >= 1"),
        ({"n_words": 10**6}, "as many descriptors as words"),
        ({"n_components": 17}, "n_components=17 of descriptors of 16 values"),
        ({"n_components": 0}, "`n_components` must be an integer >= 1, or None"),
        ({"terms": "mu"}, "'both', 'mean', 'variance'"),
        ({"assignment": "exact"}, "'soft', 'hard'"),
        ({"gmm": "vb"}, "'em', 'kmeans'"),
        ({"words": np.zeros((3, 16))}, "with gmm='kmeans'"),
        ({"words": np.zeros((3, 5)), "gmm": "kmeans"}, "finite rows of 16 values"),
        ({"power": 0}, "`power` must be a number > 0 and <= 1"),
        ({"power": 2}, "`power` must be a number > 0 and <= 1"),
        ({"pyramid": 2}, "FisherVectors needs pyramid"),
        ({"level_weights": [1, 1]}, "1 numbers"),
        ({"n_iter": 0}, "n_iter"),
        ({"root": "yes"}, "`root` must be True or False"),
    ],
)
def test_parameters_without_a_meaning_are_refused(images, parameters, words):
    with pytest.raises(InputError, match=words):
        fisher(**parameters).fit(images)


def test_rooted_descriptors_must_not_be_negative(images):
    encoder = clone(fisher()).set_params(root=True, descriptor__offset=-300.0)
    with pytest.raises(InputError, match=r"root=True\) needs descriptors >= 0.*Pass root=False"):
        encoder.fit(images)
