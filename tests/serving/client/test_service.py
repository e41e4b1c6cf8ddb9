"""The Python client with the real service: its answers are those of the model, and changes of the model are noticed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import KernelClassifier, KernelIndex, UniversalEmbedding, save
from mercer.serving import WireClassifier
from mercer.serving.client import Client, FingerprintError, ServiceError
from tests.serving.http.test_page import served

digits = load_digits()
X, y = digits.data, digits.target
TOKEN = "a token of some length"


def fitted(seed):
    return KernelClassifier(map=UniversalEmbedding(256, random_state=seed), random_state=0).fit(X[:600], y[:600])


@pytest.fixture(scope="module")
def model():
    return fitted(0)


@pytest.fixture(scope="module")
def url(model, tmp_path_factory):
    """A service of a model file that `test_a_model_that_is_replaced` replaces; that test comes last."""
    place = tmp_path_factory.mktemp("model") / "digits.mercer"
    save(model, place)
    index = KernelIndex("intersection", random_state=0).fit(X[:400]).add(X[:400])
    with served(place, index, token=TOKEN) as address:
        client = Client(address, retries=20)  # 503 until the model is loaded
        client.model()
        yield address, place


def test_the_answers_are_those_of_the_model(url, model):
    client = Client(url[0], token=TOKEN)
    answer = client.classify(X[600:1200])
    np.testing.assert_array_equal(answer.labels, model.predict(X[600:1200]))
    np.testing.assert_allclose(answer.scores, model.decision_function(X[600:1200]), rtol=1e-9, atol=1e-12)
    assert answer.classes == list(range(10))
    assert answer.bits == 256
    card = client.model()
    assert (card["rates"], card["n_features"], card["sha256"]) == ([256], 64, answer.model)


def test_rows_of_the_index_find_themselves(url):
    found = Client(url[0], token=TOKEN).neighbors(X[:20], k=3)
    np.testing.assert_array_equal(found.ids[:, 0], np.arange(20))
    np.testing.assert_array_equal(found.similarity[:, 0], 1)


def test_several_threads_share_one_client(url, model):
    client = Client(url[0], token=TOKEN)
    parts = np.array_split(X[600:1000], 16)
    with ThreadPoolExecutor(4) as pool:
        labels = np.concatenate([answer.labels for answer in pool.map(client.classify, parts)])
    np.testing.assert_array_equal(labels, model.predict(X[600:1000]))


def test_every_rate_of_a_ladder_can_be_used():
    embedding = UniversalEmbedding(128, delta=70.0, random_state=0)
    ladder = WireClassifier(embedding, rates=[32, 128], Cs=[10.0], cv=2).fit(X[:200], y[:200])
    codes = ladder.embedding_.transform(X[300:400])
    with served(ladder) as address:
        for bits in (32, 128):
            answer = Client(address, bits=bits).classify(X[300:400])
            scores = ladder.decision_codes(np.ascontiguousarray(codes[:, : bits // 8]), bits)
            np.testing.assert_array_equal(answer.scores, scores)
            assert answer.bits == bits


def test_rows_with_several_labels_have_lists_of_them():
    both = np.column_stack([y % 2 == 0, y > 4]).astype(int)
    model = KernelClassifier(map=UniversalEmbedding(64, delta=70.0, random_state=0)).fit(X[:200], both[:200])
    with served(model) as address:
        labels = Client(address).classify(X[200:240]).labels
    assert labels.shape == (40,)
    assert [list(np.flatnonzero(row)) for row in model.predict(X[200:240])] == labels.tolist()


def test_refusals_have_a_status_a_code_and_a_request(url):
    with pytest.raises(ServiceError) as caught:
        Client(url[0], token="another token").classify(X[:1])
    assert caught.value.status == 401
    assert caught.value.code
    assert caught.value.request_id
    with pytest.raises(ServiceError, match="256") as caught:
        Client(url[0], bits=100).embedding  # noqa: B018
    assert caught.value.status == 404


def test_a_model_that_is_replaced_is_refused_until_refresh(url):
    address, place = url
    client = Client(address, token=TOKEN)
    client.classify(X[:1])
    other = fitted(1)
    save(other, place)
    client._request("POST", "/v1/reload", b"")
    with pytest.raises(FingerprintError):
        client.classify(X[:1])
    client.refresh()
    np.testing.assert_array_equal(client.classify(X[600:700]).labels, other.predict(X[600:700]))
