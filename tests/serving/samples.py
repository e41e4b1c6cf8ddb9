"""Models for the tests of the service, and what they are asked about."""

import functools
import io
import time

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

import mercer
from mercer.codes import UniversalEmbedding
from mercer.serving import WireClassifier
from tests.detection.scenes import scenes
from tests.detection.training.test_latent import QUICK


@functools.cache
def digits():
    """Rows of 64 counts, and their digits."""
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


class Slow:
    """A model that takes its time: as many seconds as the first number of the first row says."""

    n_features_in_ = 2
    classes_ = np.array(["no", "yes"])

    def __init__(self):
        self.batches = []

    def decision_function(self, X):
        self.batches.append(len(X))
        time.sleep(float(X[0, 0]))
        if (X[:, 1] < 0).any():
            raise mercer.InputError("A number is negative.")
        return X[:, 1] - 0.5

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@functools.cache
def ladder():
    """Two rates of one embedding, which has a few bits more than the higher of them."""
    embedding = UniversalEmbedding(204, delta=70.0, random_state=0)
    drawing = {"type": "drawing", "height": 8, "width": 8, "maximum": 16}
    return WireClassifier(embedding, rates=[64, 200], Cs=[0.1], cv=2, input=drawing).fit(*digits())


@functools.cache
def bits_model(seed=0):
    """A classifier that learns on bits, as a file may hold it."""
    X, y = digits()
    embedding = UniversalEmbedding(128, random_state=seed)
    return mercer.KernelClassifier(map=embedding, random_state=0).fit(X[:300], y[:300])


@functools.cache
def chi2_model():
    X, y = digits()
    return mercer.KernelClassifier("chi2", random_state=0).fit(X[:300], y[:300])


@functools.cache
def index():
    X, _ = digits()
    built = mercer.KernelIndex("chi2", effort="low", bytes_per_item=8, random_state=0).fit(X)
    built.add(X, ids=[f"image {i}" for i in range(len(X))])
    return built.remove(["image 5"])


@functools.cache
def pictures_model():
    """A classifier of pictures: stripes or noise."""
    rng = np.random.default_rng(0)
    noise = rng.integers(256, size=(8, 40, 48), dtype=np.uint8)
    stripes = np.broadcast_to(noise[:, :1], noise.shape)
    images, kinds = np.concatenate([noise, stripes]), ["noise"] * 8 + ["stripes"] * 8
    encoder = mercer.BagOfWords(mercer.DenseSIFT(sizes=(4,)), n_words=10)
    return mercer.ImageClassifier(encoder, C=10.0, random_state=0).fit(images, kinds)


@functools.cache
def detector():
    """A detector of bars with a foot."""
    return mercer.PartDetector(**QUICK, threshold=-0.25).fit(*scenes(0))


def picture(pixels, format="PNG"):
    """The bytes of a file."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format)
    return stream.getvalue()


def striped(seed=0):
    """A picture of stripes, 48 x 40."""
    return np.repeat(np.random.default_rng(seed).integers(256, size=(1, 48), dtype=np.uint8), 40, axis=0)
