"""Which patches of an image belong to the words, or to the columns that a reduction has left."""

import numpy as np
import pytest
from PIL import Image

from mercer import ConvexReduction, InputError
from mercer.vision import BagOfWords, FisherVectors, ImageClassifier, locate_words
from tests.vision.patches import Patches, pictures


@pytest.fixture(scope="module")
def images():
    return pictures(np.random.default_rng(7))


def bags(images, **parameters):
    return BagOfWords(Patches(), n_words=15, random_state=0, n_jobs=1, **parameters).fit(images)


def test_selected_words_are_found_by_their_weights(images):
    encoder = bags(images)
    reduction = ConvexReduction(n_dims=5, method="convex", random_state=0).fit(encoder.transform(images))
    found = locate_words(images[0], encoder, reduction)
    words = encoder.vocabulary_.predict(Patches().describe(images[0]).values)
    occurring = [word for word in reduction.selected_ if word in words]
    weight = dict(zip(reduction.selected_, reduction.weights_, strict=True))
    assert [int(word) for (word,) in found.words] == sorted(occurring, key=weight.get, reverse=True)
    np.testing.assert_array_equal(found.weights, [weight[word] for (word,) in found.words])
    np.testing.assert_array_equal(found.kept, np.isin(words, reduction.selected_))
    for i, (word,) in enumerate(found.words):
        np.testing.assert_array_equal(found.place == i, words == word)
    assert locate_words(images[0], encoder, reduction, n=1).columns.tolist() == found.columns[:1].tolist()


def test_merged_words_of_one_weight_are_found_by_their_patches(images):
    encoder = bags(images)
    reduction = ConvexReduction("chi2", n_dims=4).fit(encoder.transform(images))
    found = locate_words(images[1], encoder, reduction)
    words = encoder.vocabulary_.predict(Patches().describe(images[1]).values)
    groups = reduction.groups_[words]
    assert found.kept.all()
    assert found.counts.tolist() == sorted(np.bincount(groups)[np.unique(groups)], reverse=True)
    np.testing.assert_array_equal(found.columns[found.place], groups)
    for column, members in zip(found.columns, found.words, strict=True):
        np.testing.assert_array_equal(members, np.flatnonzero(reduction.groups_ == column))


def test_in_a_pyramid_a_patch_counts_for_the_columns_of_its_cells(images):
    encoder = bags(images, pyramid=((1, 1), (1, 2)))
    rows = encoder.transform(images)
    reduction = ConvexReduction(n_dims=8, method="convex", random_state=0).fit(rows)
    found = locate_words(images[2], encoder, reduction)
    patches = Patches().describe(images[2])
    words = encoder.vocabulary_.predict(patches.values)
    is_right = patches.frames[:, 0] + 0.5 >= images[2].shape[1] / 2
    columns = np.stack([words, 15 * (1 + is_right) + words], axis=1)
    np.testing.assert_array_equal(found.kept, np.isin(columns, reduction.selected_).any(axis=1))
    best = found.place >= 0
    shown = reduction.selected_[found.columns]
    assert all(shown[i] in of_patch for i, of_patch in zip(found.place[best], columns[best], strict=True))


def test_a_classifier_draws_its_words_for_any_image(images, tmp_path):
    kinds = np.arange(12) % 2
    for encoder, reduce in (("bow", 6), ("bow", None), ("fisher", None)):
        parts = {"n_words": 8, "n_jobs": 1}
        made = BagOfWords(Patches(), **parts) if encoder == "bow" else FisherVectors(Patches(), n_components=4, **parts)
        model = ImageClassifier(made, C=1.0, reduce=reduce, random_state=0).fit(images, kinds)
        colours = np.repeat(images[3][:, :, None], 3, axis=2) / 255
        found = model.locate_words(colours)
        assert 0 < len(found.columns) <= (reduce or 8)
        assert found.counts.sum() == len(found.place)  # nothing is left out
        found.plot(tmp_path / "words.png")
        with Image.open(tmp_path / "words.png") as picture:
            assert picture.width > 1000


def test_what_does_not_belong_together_is_refused(images):
    encoder = bags(images)
    other = ConvexReduction(n_dims=2).fit(np.eye(4))
    fisher = FisherVectors(Patches(), n_words=2, n_components=4).fit(images)
    for arguments, words in [
        ((encoder, other), "15 columns; got one with 4"),
        ((fisher, other), "rows of a BagOfWords"),
        ((encoder, "merge"), "needs a ConvexReduction"),
        (("bow",), "needs an image encoder"),
        ((encoder, None, 11), "`n` must be an integer >= 1 and <= 10"),
    ]:
        with pytest.raises(InputError, match=words):
            locate_words(images[0], *arguments)


def test_an_image_without_any_of_the_words_is_drawn(images):
    encoder, flat = bags(images), np.full((40, 48), 127, dtype=np.uint8)
    rows = encoder.transform(images)
    rows[:, encoder.transform([flat])[0] > 0] = 0
    found = locate_words(flat, encoder, ConvexReduction(n_dims=3, method="energy").fit(rows))
    assert len(found.columns) == 0
    assert not found.kept.any()
    assert "None" in found.plot().get_suptitle()
