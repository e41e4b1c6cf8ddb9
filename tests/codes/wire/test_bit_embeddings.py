"""Embeddings into bits: every bit is that of the published format, and codes tell what they should of rows."""

import base64
import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits

from mercer import (
    CompactEmbedding,
    InputError,
    KernelClassifier,
    QuantizedJL,
    Specification,
    UniversalEmbedding,
    UniversalRBF,
    load,
    save,
    thread_limit,
)
from mercer.codes.wire.normal_table import TABLE
from mercer.codes.wire.projecting import Projector
from tests.pairs import all_pairs
from tests.reference.codes import wire_bits as page

KINDS = {
    "universal": lambda M, **rest: UniversalEmbedding(M, **rest),
    "sign": lambda M, **rest: QuantizedJL(M, **rest),
    "three bits, dithered": lambda M, **rest: QuantizedJL(M, bits=3, variant="dithered", **rest),
    "two bits": lambda M, **rest: QuantizedJL(M, bits=2, center=False, **rest),
    "sigma-delta": lambda M, **rest: QuantizedJL(M, bits=2, variant="sigma-delta", **rest),
}


@pytest.fixture
def X(rng):
    return rng.gamma(0.7, size=(7, 12)) * rng.integers(1, 4, 12)


def test_the_table_is_the_one_that_the_page_prints_and_nearly_normal():
    assert TABLE.tolist() == page.printed_table()
    assert abs(np.mean(TABLE.astype(float) ** 2) / 8192**2 - 1) < 2e-6
    assert 2.99 < np.mean(TABLE.astype(float) ** 4) / 8192**4 < 3


@pytest.mark.parametrize(
    ("shape", "matrix", "kind"),
    all_pairs([(None, False), (4, True), (6, False)], ["dense", "structured"], list(KINDS)),
)
def test_bits_are_those_of_the_page(kind, matrix, shape, X):
    block_size, standardize = shape
    made = KINDS[kind](13, matrix=matrix, block_size=block_size, standardize=standardize, random_state=3).fit(X)
    far = np.concatenate([X[:3], 100 * X[3:5], -X[5:]])  # clipped ones too
    np.testing.assert_array_equal(made.transform(far), page.encode(made.specification_, far))
    np.testing.assert_array_equal(made.transform(sparse.csr_array(far)), made.transform(far))
    single = X[:2].astype(np.float32)
    np.testing.assert_array_equal(made.transform(single), page.encode(made.specification_, single))


@settings(deadline=None, max_examples=30)
@given(
    numbers=st.lists(st.floats(-4, 4, width=32), min_size=2, max_size=2),
    step=st.integers(1, 2**40),
    kind=st.sampled_from(["universal", "qjl", "sigma-delta"]),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_specification_gives_the_bits_of_the_page(numbers, step, kind, seed):
    bits = 1 if kind == "universal" else 3
    spec = Specification(kind, "dense", seed, 2, 1, 19, bits, step, kind == "universal", 10)
    rows = np.array([numbers])
    np.testing.assert_array_equal(Projector(spec).encode(rows), page.encode(spec, rows))


def test_projections_exactly_at_thresholds_fall_on_the_right_side(rng):
    """Steps that divide p + w, or p + w + 1: one bit of rounding anywhere would show."""
    for seed in range(40):
        z = rng.integers(-3000, 3000, (1, 30)).astype(np.float64)
        p = abs(
            page.projections(Specification("qjl", "dense", seed, 30, 1, 1, 1, 1, False, 0), z[0].astype(int).tolist())[
                0
            ]
        )
        for step in (p, p + 1, p - 1, max(1, p // 3)):
            for kind in ("universal", "qjl"):
                spec = Specification(kind, "dense", seed, 30, 1, 1, 1 if kind == "universal" else 4, step,
                                     kind == "universal", 0)  # fmt: skip
                np.testing.assert_array_equal(Projector(spec).encode(z), page.encode(spec, z))


@pytest.mark.parametrize("kind", KINDS)
def test_a_shorter_code_is_the_beginning_of_a_longer_one(kind, X):
    long = KINDS[kind](32, random_state=1).fit(X)
    short = Projector(long.specification_.shortened(8)).encode(X)
    np.testing.assert_array_equal(long.transform(X)[:, : short.shape[1]], short)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("exponent", [-60, 60])
def test_units_do_not_matter(kind, exponent, X):
    """Rows of millimetres or of light years have the same codes; powers of two are exact."""
    codes, again = (KINDS[kind](40, random_state=1).fit(rows).transform(rows) for rows in (X, X * 2.0**exponent))
    np.testing.assert_array_equal(again, codes)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads_batches_pickling_or_files(kind, X, tmp_path):
    made = KINDS[kind](21, random_state=0).fit(X)
    rows = np.tile(X, (300, 1)) * np.linspace(0.1, 2, 2100)[:, None]
    codes = made.transform(rows)
    with thread_limit(1):
        np.testing.assert_array_equal(made.transform(rows), codes)
    np.testing.assert_array_equal(
        np.concatenate([made.transform(rows[i : i + 1]) for i in range(0, 2100, 300)]), codes[::300]
    )
    save(made, tmp_path / "code.mercer")
    for again in (pickle.loads(pickle.dumps(made)), load(tmp_path / "code.mercer")):
        np.testing.assert_array_equal(again.transform(rows), codes)
        assert again.specification_.fingerprint == made.specification_.fingerprint
    assert len(pickle.dumps(made)) < 4000  # a seed, not a matrix


# ------------------------------------------------------------------------------------------- what codes tell of rows


def pairs_at(rng, distances, d=20):
    """Rows and others, at these distances of them."""
    left = rng.standard_normal((len(distances), d))
    step = rng.standard_normal((len(distances), d))
    return left, left + step / np.linalg.norm(step, axis=1, keepdims=True) * distances[:, None]


@pytest.mark.parametrize("matrix", ["dense", "structured"])
def test_kernels_of_codes_are_those_of_distances(rng, matrix):
    """The bars: M = 16,384, 10,000 pairs, largest error 2.5 / sqrt(M), mean 0.45 / sqrt(M); another delta fails."""
    M, d = 16384, rng.uniform(0, 2.0, 10_000 if matrix == "dense" else 1000)
    left, right = pairs_at(rng, d)
    made = UniversalEmbedding(M, delta=1.3, matrix=matrix, random_state=0).fit(np.concatenate([left, right]))
    a, b = made.transform(left), made.transform(right)
    kernel = 0.5 - np.bitwise_count(a ^ b).sum(axis=1) / M
    error = np.abs(kernel - (0.5 - made.expected_distance(d)))
    assert error.max() <= 2.5 / np.sqrt(M)
    assert error.mean() <= 0.45 / np.sqrt(M)
    wrong = np.abs(kernel - UniversalRBF(1.3 * 1.03).pair_values(left, right))
    assert wrong.mean() > 0.45 / np.sqrt(M)


def test_near_the_origin_the_kernel_is_a_line_and_not_a_gaussian():
    d = np.array([0.001, 0.002, 0.004])
    kernel = UniversalRBF(1.0).pair_values(np.zeros((3, 1)), d[:, None])
    np.testing.assert_allclose(0.5 - kernel, np.sqrt(2 / np.pi) * d, rtol=1e-12)
    gaussian = 0.5 - 0.5 * np.exp(-((np.pi * d) ** 2) / 2)
    assert (0.5 - kernel > 50 * gaussian).all()
    far = UniversalRBF(1.0).pair_values(np.zeros((3, 1)), np.array([[0.4], [0.6], [1.0]]))
    bound = np.exp(-((np.pi * np.array([0.4, 0.6, 1.0])) ** 2) / 2)
    assert (
        (4 / np.pi**2 * bound - 1e-9 <= far) & (far <= 0.5 * bound)
    ).all()  # (22), its constants the right way round


def test_distances_come_back_with_an_interval_that_holds(rng):
    d = np.concatenate([np.linspace(0.01, 0.6, 100), [50.0]])
    left, right = pairs_at(rng, d)
    made = UniversalEmbedding(2048, delta=1.0, random_state=2).fit(np.concatenate([left, right]))
    told, low, high = (
        matrix.diagonal() for matrix in made.distance_from_codes(made.transform(left), made.transform(right), 0.9)
    )
    assert np.mean((low <= d) & (d <= high)) >= 0.9
    assert np.abs(told[:50] - d[:50]).max() < 0.05
    assert np.isinf(high[-1])
    assert low[-1] > 0.7
    same = made.distance_from_codes(made.transform(left[:2]))
    assert same[0].diagonal().tolist() == [0, 0]


def test_levels_stand_for_inner_products_better_with_more_bits(rng):
    X = rng.standard_normal((60, 40))
    errors = []
    for bits in (1, 2, 4, 8):
        made = QuantizedJL(1000, bits=bits, center=False, random_state=0).fit(X)
        errors.append(np.abs(made.approximate_kernel(X) - X @ X.T).mean())
    assert errors == sorted(errors, reverse=True)
    projection_only = np.sqrt(40 * 40 / 1000)  # what 1,000 projections without quantizer leave
    assert errors[-1] < 1.1 * projection_only
    odd = QuantizedJL(301, bits=3, center=False, random_state=0).fit(X)
    even = QuantizedJL(301, bits=4, center=False, random_state=0).fit(X)
    assert abs(odd.approximate_kernel(X) - X @ X.T).mean() < 2 * abs(even.approximate_kernel(X) - X @ X.T).mean()


def test_a_linear_machine_on_bits_is_an_rbf_machine_and_takes_a_32nd_of_the_memory():
    X, y = load_digits(return_X_y=True)
    made = KernelClassifier(map=UniversalEmbedding(512, delta=70.0, random_state=0)).fit(X[:1000], y[:1000])
    assert made.score(X[1000:], y[1000:]) > 0.9
    rows = made.map_.rows(X)
    assert rows.nbytes == len(X) * 512 / 8
    np.testing.assert_allclose(made.map_.approximate_kernel(X[:5]).diagonal(), 0.5, rtol=1e-12)


# ------------------------------------------------------------------------------------------------- the specification


def test_a_specification_survives_its_text_and_the_fingerprint_tells_any_change(X):
    made = QuantizedJL(9, bits=2, standardize=True, random_state=0).fit(X).specification_
    again = Specification.from_dict(json.loads(made.to_json()))
    assert again.to_json() == made.to_json()
    assert again.fingerprint == made.fingerprint
    text = json.loads(made.to_json())
    for key, value in (("step", text["step"] + 1), ("seed", "0" * 16), ("projections", 8), ("offsets", None)):
        changed = {**text, key: value}
        if key == "projections":
            changed["offsets"] = None
        assert Specification.from_dict(changed).fingerprint != made.fingerprint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 1"),
        ({"kind": "magic"}, "kind from universal"),
        ({"seed": "xyz"}, "16 hexadecimal digits"),
        ({"step": 0}, "step as an integer from 1"),
        ({"step": 1.5}, "step as an integer"),
        ({"bits": 9}, "bits as an integer from 1 to 8"),
        ({"features": 2**23}, "features as an integer"),
        ({"offsets": "AAAA"}, "base64 of float64"),
        ({"matrix": "learned"}, "the keys"),
        ({"matrix": "learned", "entries": "AAA="}, "entries for every projection"),
        ({"matrix": "learned", "entries": base64.b64encode(b"\x00\x80" * 108).decode()}, "16-bit integers"),
        ({"entries": None}, "the keys"),
        ({"scale": "!"}, "scale as base64"),
        ({"exponent": None}, "exponent or scale"),
        ({"dither": 1}, "dither as true or false"),
        ({"more": 1}, "the keys"),
    ],
)
def test_a_specification_that_is_none_is_refused(change, message, X):
    text = json.loads(QuantizedJL(9, random_state=0).fit(X).specification_.to_json())
    with pytest.raises(InputError, match=message):
        Specification.from_dict({**text, **change})


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (QuantizedJL(bits=9), "`bits` must be an integer >= 1 and <= 8"),
        (QuantizedJL(variant="x"), "`variant` must be one of 'plain', 'dithered', 'sigma-delta'"),
        (QuantizedJL(saturation=-1.0), "`saturation` must be a number > 0, or 'auto'"),
        (QuantizedJL(matrix="sparse"), "`matrix` must be one of 'dense', 'structured'"),
        (UniversalEmbedding(block_size=5), "blocks of 5 columns"),
        (UniversalEmbedding(delta=0), "`delta` must be a number > 0, or 'auto'"),
        (UniversalEmbedding(0), "n_bits"),
        (CompactEmbedding(0), "n_bits"),
        (CompactEmbedding(2**23), "2\\^26 numbers"),
    ],
)
def test_bad_parameters_are_named(made, message, X):
    with pytest.raises(InputError, match=message):
        made.fit(X)


def test_rows_that_are_all_equal_or_zero_have_codes():
    for X in (np.zeros((4, 3)), np.ones((4, 3))):
        for kind in (*KINDS.values(), CompactEmbedding):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                codes = kind(16, random_state=0).fit(X).transform(X)
            assert (codes == codes[0]).all()


def test_codes_of_another_embedding_are_refused(X):
    made = UniversalEmbedding(16, random_state=0).fit(X)
    with pytest.raises(InputError, match="codes of 2 bytes per row"):
        made.rows_of_codes(np.zeros((3, 3), np.uint8))
