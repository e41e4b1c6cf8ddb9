"""Bags of words: against plain loops, over pyramids, through caches, files and images that cannot be read."""

import pickle
import warnings
import weakref

import numpy as np
import pytest
from PIL import Image
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import mercer
from mercer import InputError
from mercer.vision import BagOfWords, DenseSIFT, SkippedImagesWarning
from mercer.vision.reading.batches import as_pictures
from tests.vision.patches import Patches, pictures

PYRAMID = ((1, 1), (2, 2), (3, 1))


def bag(**parameters):
    return BagOfWords(Patches(), **{"n_words": 9, "random_state": 0, "n_jobs": 1, **parameters})


@pytest.fixture
def images(rng):
    return pictures(rng, 14)


@pytest.fixture
def saveable(monkeypatch):
    for name in ("BagOfWords", "Vocabulary", "DenseSIFT"):
        monkeypatch.setitem(mercer._NAMES, name, "mercer.vision")


def plain_row(encoder, image):
    """The votes of an image, cell by cell and descriptor by descriptor."""
    found = encoder.descriptor_.describe(image)
    words = encoder.vocabulary_.words_.astype(np.float64)
    height, width = found.shape
    cells = []
    for rows, columns in encoder.pyramid:
        level = np.zeros((rows, columns, len(words)))
        for value, (x, y, _) in zip(found.values.astype(np.float64), found.frames, strict=True):
            if encoder.root:
                value = np.sqrt(value / value.sum())
            distances = ((value - words) ** 2).sum(axis=1)
            nearest = np.argsort(distances, kind="stable")[: encoder.n_nearest]
            shares = np.ones(1)
            if encoder.n_nearest > 1:
                shares = np.exp(-distances[nearest] / (2 * encoder.bandwidth_**2))
            level[int((y + 0.5) * rows / height), int((x + 0.5) * columns / width), nearest] += shares / shares.sum()
        cells.append(level.ravel())
    return cells


@pytest.mark.parametrize("parameters", [{}, {"n_nearest": 3}, {"n_nearest": 2, "bandwidth": 20.0}, {"root": True}])
@pytest.mark.parametrize("pyramid", [((1, 1),), PYRAMID])
def test_rows_are_the_votes_of_plain_loops(images, parameters, pyramid):
    encoder = bag(pyramid=pyramid, normalize=None, **parameters).fit(images)
    for got, image in zip(encoder.transform(images[:4]), images, strict=False):
        # float32 distances of values up to 255: 16 * 255^2 eps = 0.1 in 2 sigma^2
        np.testing.assert_allclose(got, np.concatenate(plain_row(encoder, image)), atol=0.02 if parameters else 0)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("weights", [None, (1, 2, 5)])
def test_a_level_has_its_weight_and_a_row_norm_one(images, norm, weights):
    encoder = bag(pyramid=PYRAMID, normalize=norm, level_weights=weights).fit(images)
    shares = np.array(weights or (1, 1, 1)) / sum(weights or (1, 1, 1))
    for got, image in zip(encoder.transform(images[:4]), images, strict=False):
        levels = plain_row(encoder, image)
        if norm == "l1":
            expected = [w * level / level.sum() for w, level in zip(shares, levels, strict=True)]
        else:
            expected = [np.sqrt(w) * level / np.linalg.norm(level) for w, level in zip(shares, levels, strict=True)]
        np.testing.assert_allclose(got, np.concatenate(expected), rtol=1e-5)
        assert np.linalg.norm(got.astype(np.float64), 1 if norm == "l1" else 2) == pytest.approx(1, abs=1e-6)


def test_the_typical_last_word_has_a_share_of_exp_minus_a_half(images):
    encoder = bag(n_nearest=4, n_samples=100_000).fit(images)
    values = np.concatenate([encoder.descriptor_.describe(image).values for image in images])
    distances = encoder.vocabulary_.nearest(values, 4)[1]
    assert np.mean(distances[:, 3] - distances[:, 0]) == pytest.approx(encoder.bandwidth_**2, rel=1e-4)


@pytest.mark.parametrize("assignment", ["hnsw", "ivf"])
def test_approximate_assignment_gives_nearly_the_same_rows(images, assignment):
    exact = bag(n_words=40).fit(images)
    near = bag(n_words=40, assignment=assignment).fit(images)
    assert np.abs(exact.transform(images) - near.transform(images)).sum(axis=1).max() < 0.1


def test_sparse_rows_are_the_dense_ones(images):
    encoder = bag(pyramid=PYRAMID).fit(images)
    rows = clone(encoder).set_params(sparse_output=True).fit_transform(images)
    assert isinstance(rows, sparse.csr_array)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.toarray(), encoder.transform(images))


def test_threads_and_batches_do_not_change_rows(images):
    one, two = (bag(n_jobs=n, n_words=20, n_nearest=2).fit(images) for n in (1, 2))
    np.testing.assert_array_equal(one.transform(images), two.transform(images))
    np.testing.assert_array_equal(one.transform(images)[5:6], two.transform(images[5:6]))


def test_descriptors_are_let_go_image_by_image(rng):
    alive, most = weakref.WeakSet(), []

    class Living(Patches):
        def describe(self, image):
            found = super().describe(image)
            alive.add(found)
            most.append(len(alive))
            return found

    images = pictures(rng, 40)
    BagOfWords(Living(), 9, n_samples=80, random_state=0, n_jobs=1).fit(images).transform(images)
    assert len(most) == 80
    assert max(most) <= 2


def test_every_image_gives_as_many_samples(images):
    drawn = bag(n_samples=28).fit(images)
    assert drawn.vocabulary_.n_samples == 28
    every = bag(n_samples=10**6).fit(images)
    assert every.vocabulary_.n_samples == sum(len(Patches().describe(image).values) for image in images)
    few = bag(n_samples=10).fit(images)
    assert few.vocabulary_.n_samples == 10


# -------------------------------------------------------------------------------------------------- as an estimator


class AnyRows(BagOfWords):
    """Bags of words of rows of any width, which scikit-learn's checks give: each is seen as an image of some rows."""

    def _pictures(self, images, reset):
        X = validate_data(self, images, reset=reset, dtype=np.float64)
        return as_pictures([np.tile(row, (4, 4))[:4] for row in X], "BagOfWords")


@parametrize_with_checks([AnyRows(Patches(2), 3, pyramid=((1, 1), (1, 2)))])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the checks look at the class, hardly at its parameters
@parametrize_with_checks([AnyRows(Patches(2), 3, assignment="ivf", n_nearest=2, normalize="l2")])
def test_scikit_learns_checks_of_variants(estimator, check):
    check(estimator)


def test_it_stands_in_pipelines_and_searches(rng, tmp_path):
    paths, labels = [], []
    for i in range(24):  # fine stripes against coarse ones
        stripes = np.sin(np.arange(48) / (1 + 2 * (i % 2)) + rng.uniform(0, 6)) * np.ones((40, 1))
        image = np.clip(127 + 90 * stripes + rng.normal(0, 20, (40, 48)), 0, 255).astype(np.uint8)
        paths.append(tmp_path / f"{i}.png")
        Image.fromarray(image).save(paths[-1])
        labels.append(i % 2)
    pipeline = make_pipeline(BagOfWords(DenseSIFT(sizes=(4,)), 10, random_state=0), RidgeClassifier())
    assert cross_val_score(pipeline, paths, labels, cv=3).mean() > 0.9
    pipeline.set_params(bagofwords__descriptor__step=6)
    pipeline.fit(np.array([str(path) for path in paths]), labels)
    assert pipeline["bagofwords"].get_feature_names_out()[0] == "bagofwords0"


@pytest.mark.usefixtures("saveable")
@pytest.mark.parametrize(
    "parameters", [{"pyramid": PYRAMID}, {"n_nearest": 3, "method": "intersection", "assignment": "hnsw"}]
)
def test_files_and_copies_give_the_same_rows(images, parameters, tmp_path):
    folder = str(tmp_path / "cache")
    encoder = BagOfWords(DenseSIFT(6, (4,)), 12, random_state=0, cache=folder, **parameters).fit(images)
    file = tmp_path / "bag.mercer"
    mercer.save(encoder, file)
    assert mercer.load(file).cache is None  # a file does not decide where something is written
    for copied in (mercer.load(file), mercer.load(file, mmap=True), pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(copied.transform(images[:5]), encoder.transform(images[:5]))
        assert copied.descriptor_.step == 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bandwidth_", 0.5),
        ("bandwidth_", "a"),
        ("n_descriptor_values_", 3),
        ("n_words", 8),
        ("vocabulary_", None),
        ("descriptor_", None),
    ],
)
def test_a_loaded_encoder_that_does_not_fit_together_is_refused(images, name, value):
    encoder = bag().fit(images)
    encoder._check_loaded()
    setattr(encoder, name, value)
    with pytest.raises(ValueError, match=r"does not match|must be|different parameters"):
        encoder._check_loaded()


# ------------------------------------------------------------------------------------------------- images to blame


@pytest.fixture
def broken(images, tmp_path):
    """Paths of fourteen images, of which the files 3 and 8 are damaged."""
    paths = [tmp_path / f"{i:02}.png" for i in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    paths[3].write_bytes(paths[3].read_bytes()[:60])
    paths[8].unlink()
    return paths


def test_an_image_that_cannot_be_read_raises_by_name(images, broken):
    with pytest.raises(InputError, match=r"03\.png"):
        bag().fit(broken)
    with pytest.raises(InputError, match=r"08\.png"):
        bag().fit(images).transform(broken[5:])


def test_or_is_skipped_by_name_with_a_row_of_zeros(images, broken):
    encoder = bag(strict=False)
    with pytest.warns(SkippedImagesWarning, match=r"skipped 2 of 14 images; they were not used for training") as caught:
        encoder.fit(broken)
    assert caught[0].filename == __file__
    assert sorted(encoder.skipped_) == [3, 8]
    assert "03.png" in encoder.skipped_[3]
    with pytest.warns(SkippedImagesWarning, match=r"their rows are zero.*03\.png.*08\.png"):
        rows = encoder.transform(broken)
    assert np.flatnonzero(~rows.any(axis=1)).tolist() == [3, 8]
    np.testing.assert_array_equal(rows[[0, 4]], encoder.transform([images[0], images[4]]))


def test_encode_leaves_such_images_out_and_says_which(images, broken):
    for sparse_output in (False, True):
        encoder = bag(sparse_output=sparse_output).fit(images)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = encoder.encode(broken)
        assert np.flatnonzero(~found.kept).tolist() == sorted(found.skipped) == [3, 8]
        good = [path for path, kept in zip(broken, found.kept, strict=True) if kept]
        difference = found.features - encoder.transform(good)
        assert abs(difference).max() == 0


def test_not_a_single_usable_image_is_an_error_even_then(tmp_path):
    with pytest.raises(InputError, match=r"cannot use any of 2 images\. The first: .*0\.png"):
        bag(strict=False).fit([tmp_path / "0.png", tmp_path / "1.png"])


# ----------------------------------------------------------------------------------------------------------- cache


class Counting(Patches):
    """Counts its calls, in all copies."""

    calls = 0

    def describe(self, image):
        Counting.calls += 1
        return super().describe(image)


def calls_of(action):
    before = Counting.calls
    result = action()
    return result, Counting.calls - before


def test_a_cache_saves_describing_and_changes_nothing(images, tmp_path):
    def fit(**parameters):
        given = {"descriptor": Counting(), "cache": tmp_path, "n_words": 9, "random_state": 0, **parameters}
        return BagOfWords(**given).fit(images)

    plain = BagOfWords(Patches(), 9, random_state=0).fit_transform(images)
    encoder, n = calls_of(fit)
    assert n == len(images)
    rows, n = calls_of(lambda: encoder.transform(images))
    assert n == len(images)
    np.testing.assert_array_equal(rows, plain)
    again, n = calls_of(lambda: fit(n_jobs=2).transform(images))
    assert n == 0
    np.testing.assert_array_equal(again, plain)
    assert calls_of(lambda: fit(pyramid=PYRAMID))[1] == 0  # the same samples
    for changed in ({"random_state": 1}, {"descriptor": Counting(offset=1.0)}, {"n_samples": 40}):
        assert calls_of(lambda changed=changed: fit(**changed))[1] == len(images)
    for changed in ({"n_nearest": 2}, {"normalize": "l2"}, {"pyramid": PYRAMID}, {"n_iter": 1}):
        assert calls_of(lambda changed=changed: fit(**changed).transform(images))[1] == len(images)
    assert calls_of(lambda: encoder.transform([images[2] + np.uint8(1)]))[1] == 1


def test_damaged_entries_are_computed_again(images, tmp_path):
    encoder = bag(cache=tmp_path).fit(images)
    rows = encoder.transform(images)
    for i, file in enumerate(sorted(tmp_path.rglob("*.npy"))):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content if i % 2 else content[:50])
    np.testing.assert_array_equal(encoder.transform(images), rows)
    np.testing.assert_array_equal(bag(cache=tmp_path).fit_transform(images), rows)


# -------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_words": 0}, "`n_words` must be an integer >= 1"),
        ({"n_words": 10**6}, "as many descriptors as words"),
        ({"n_nearest": 10}, "n_words=9, got n_nearest=10"),
        ({"n_nearest": 0}, "`n_nearest` must be an integer >= 1"),
        ({"bandwidth": 0}, "`bandwidth` must be a number > 0, or None"),
        ({"pyramid": ()}, r"BagOfWords needs pyramid"),
        ({"level_weights": (1, 2)}, "1 numbers"),
        ({"level_weights": (1,), "normalize": None}, "normalize=None"),
        ({"normalize": "max"}, "'l1', 'l2'"),
        ({"method": "gmm"}, "`method` must be one of 'kmeans', 'intersection'"),
        ({"assignment": "fast"}, "`assignment` must be one of 'exact', 'hnsw', 'ivf'"),
        ({"sparse_output": 1}, "`sparse_output` must be True or False"),
        ({"strict": None}, "`strict` must be True or False"),
        ({"n_samples": 0}, "`n_samples` must be an integer >= 1, or None"),
        ({"descriptor": 3}, "BagOfWords needs a descriptor"),
        ({"descriptor": Patches(offset=-300.0), "root": True}, r"root=True\) needs descriptors >= 0"),
        ({"descriptor": Patches(offset=np.nan)}, "finite descriptors"),
        ({"cache": 5}, "`cache` must be a path, or None"),
    ],
)
def test_parameters_without_a_meaning_are_refused(images, parameters, words):
    with pytest.raises(InputError, match=words):
        BagOfWords(**{"descriptor": Patches(), "n_words": 9, **parameters}).fit(images)


def test_parameters_that_changed_after_the_fit_are_refused(images):
    for changed in ({"n_words": 5}, {"n_nearest": 2}, {"assignment": "ivf"}, {"method": "intersection"}):
        with pytest.raises(InputError, match="Call fit again"):
            bag().fit(images).set_params(**changed).transform(images)


def test_descriptors_of_another_length_are_refused(images):
    encoder = bag().fit(images)
    encoder.descriptor_.side = 3
    with pytest.raises(InputError, match="descriptors of 16 values, but those of image 0 have 9"):
        encoder.transform(images)
