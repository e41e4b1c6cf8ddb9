"""The bits of the Python client: against the oracle, by what must not change them, and at the thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import CompactEmbedding, QuantizedJL, UniversalEmbedding
from mercer.codes.wire.normal_table import TABLE
from mercer.serving import client
from mercer.serving.client import Embedding
from tests.serving.client.test_oracle import KNOWN, T, code_of, doubles, entries, projections, specification

STEPS = st.sampled_from([1, 2, 3, 64, 9000, 65537, 2**20, 2**33 + 5, 2**50])


@st.composite
def embeddings_and_rows(draw):
    """A specification of any kind, and rows that reach all of its range."""
    kind = draw(st.sampled_from(["universal", "qjl", "sigma-delta"]))
    bits = 1 if kind == "universal" else draw(st.integers(1, 8))
    d, M, L = draw(st.integers(1, 9)), draw(st.integers(1, 21)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scaled, centred, shifted = (draw(st.booleans()) for _ in range(3))
    matrix = draw(st.sampled_from(["dense", "structured", "learned"]))
    learned = {"entries": entries(rng.integers(-32767, 32768, (M, d)))} if matrix == "learned" else {}
    s = specification(
        kind=kind, matrix=matrix, **learned, bits=bits, features=d, projections=M, blocks=L,
        seed=f"{draw(st.integers(0, 2**64 - 1)):016x}", step=draw(STEPS),
        dither=kind == "universal" or draw(st.booleans()),
        exponent=None if scaled else draw(st.integers(-3, 20)),
        scale=doubles(rng.lognormal(3, 3, d)) if scaled else None,
        center=doubles(rng.normal(size=d)) if centred else None,
        offsets=doubles(rng.integers(-(2**30), 2**30, M)) if shifted and kind != "universal" else None,
    )  # fmt: skip
    rows = rng.normal(size=(1, L * d)) * 10.0 ** rng.integers(-3, 6)
    return s, rows


@given(embeddings_and_rows())
def test_the_bits_are_those_of_the_oracle(case):
    s, rows = case
    assert [code.tobytes() for code in Embedding(s).encode(rows)] == [code_of(s, row) for row in rows]


BELOW_HALF = 0.49999999999999994
EDGES = np.array([[0.5, -0.5, 1.5], [1e308, -1e308, 5e-324], [32767.4, -32767.5, 32768], [BELOW_HALF, -0.0, 2**53]])


@pytest.mark.parametrize("exponent", [0, 1, -1, 1023, -1022])
def test_halves_are_rounded_up_and_large_numbers_are_clipped(exponent):
    s = specification(exponent=exponent, projections=64, step=3000)
    assert [code.tobytes() for code in Embedding(s).encode(EDGES)] == [code_of(s, row) for row in EDGES]


@pytest.mark.parametrize(("d", "M"), [(5, 300), (256, 258), (300, 600)])
def test_structured_projections_of_several_groups(rng, d, M):
    s = specification(matrix="structured", features=d, projections=M)
    X = rng.normal(size=(1, d)) * 100
    assert Embedding(s).encode(X).tobytes() == code_of(s, X[0])


EMBEDDINGS = {
    "universal": UniversalEmbedding(500, random_state=0),
    "universal, structured and standardised": UniversalEmbedding(
        500, matrix="structured", standardize=True, random_state=0
    ),
    "universal of blocks": UniversalEmbedding(30, block_size=16, random_state=1),
    "qjl": QuantizedJL(100, bits=3, random_state=1),
    "qjl, structured": QuantizedJL(300, bits=1, matrix="structured", center=False, random_state=1),
    "dithered": QuantizedJL(100, bits=2, variant="dithered", random_state=1),
    "sigma-delta": QuantizedJL(100, bits=2, variant="sigma-delta", random_state=1),
    "compact": CompactEmbedding(100, random_state=1),
    "compact, of blocks": CompactEmbedding(5, block_size=12, standardize=True, random_state=1),
}


@pytest.mark.parametrize("embedding", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_the_bits_are_those_of_the_package(rng, embedding):
    X = rng.normal(size=(200, 48))
    fitted = embedding.fit(X)
    client_side = Embedding(fitted.specification_.to_dict())
    assert client_side.fingerprint == fitted.specification_.fingerprint
    np.testing.assert_array_equal(client_side.encode(X), fitted.transform(X))


def test_every_copy_of_the_table_is_the_printed_one():
    assert client.TABLE.tolist() == TABLE.tolist() == T


@pytest.mark.parametrize("line", KNOWN)
def test_the_known_answers_of_the_generator(line):
    k0, k1, c0, c1, *words = (int(word, 16) for word in line)
    assert [int(x[0]) for x in client._threefry((k0, k1), np.array([c0], dtype=np.uint32), c1)] == words


@pytest.mark.parametrize("matrix", ["dense", "structured"])
@pytest.mark.parametrize("kind", ["universal", "qjl", "sigma-delta"])
def test_a_shorter_code_is_the_beginning_of_a_longer_one(rng, kind, matrix):
    X = rng.normal(size=(5, 7)) * 100
    long, short = (
        np.unpackbits(
            Embedding(specification(kind=kind, matrix=matrix, features=7, projections=M)).encode(X), 1, M, "little"
        )
        for M in (40, 13)
    )
    np.testing.assert_array_equal(long[:, :13], short)


def test_blocks_are_coded_alike_and_stand_one_behind_the_other(rng):
    X = rng.normal(size=(4, 12)) * 50
    s = specification(kind="sigma-delta", features=4, projections=16, bits=3)
    alone = Embedding(s).encode(X.reshape(12, 4))
    np.testing.assert_array_equal(Embedding({**s, "blocks": 3}).encode(X), alone.reshape(4, 18))


def test_twice_the_row_with_half_the_factor_has_the_same_bits(rng):
    X = rng.normal(size=(6, 3))
    codes = [Embedding(specification(exponent=8 - k)).encode(X * 2.0**k) for k in (0, 1, -20)]
    np.testing.assert_array_equal(codes[0], codes[1])
    np.testing.assert_array_equal(codes[0], codes[2])
    by_scale = Embedding(specification(exponent=None, scale=doubles([256.0] * 3))).encode(X)
    np.testing.assert_array_equal(codes[0], by_scale)


def test_the_centre_is_taken_away_first(rng):
    X, c = rng.integers(-99, 99, (6, 3)), rng.integers(-99, 99, 3)
    plain, centred = Embedding(specification()), Embedding(specification(center=doubles(c)))
    np.testing.assert_array_equal(plain.encode(X), centred.encode(X + c))
    assert plain.fingerprint != centred.fingerprint


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, bool])
def test_the_type_of_the_numbers_does_not_matter(rng, dtype):
    X = rng.integers(0, 2, (4, 3)).astype(dtype)
    np.testing.assert_array_equal(Embedding(specification()).encode(X), Embedding(specification()).encode(X.tolist()))


@pytest.mark.parametrize("matrix", ["dense", "structured"])
def test_how_the_work_is_cut_does_not_matter(rng, monkeypatch, matrix):
    s = specification(kind="qjl", matrix=matrix, features=5, projections=37, bits=2, blocks=2)
    X = rng.normal(size=(9, 10)) * 3
    whole = Embedding(s).encode(X)
    monkeypatch.setattr(client, "CHUNK", 40)
    np.testing.assert_array_equal(Embedding(s).encode(X), whole)
    monkeypatch.setattr(client, "KEPT", 0)
    np.testing.assert_array_equal(Embedding(s).encode(X), whole)


def rows_at_thresholds(s, rng, count=400):
    """Rows of whole numbers, with the four residues (p + w) mod 2D next to a threshold for their first projection.

    Dense with a step that is a power of two: z_0 is drawn, and z_1 solves a_1 z_1 = target - a_0 z_0 modulo 2D.
    """
    D, embedding = s["step"], Embedding(s)
    a = embedding._part(client._entries, 0, 2 * s["projections"], 0).reshape(-1, 2).astype(int)
    rows, wanted = [], []
    for b in np.flatnonzero(a[:, 1] % 2):
        for residue in (0, D - 1, D, 2 * D - 1):
            z0 = rng.integers(-32767, 32768, count)
            inverse = pow(int(a[b, 1]), -1, 2 * D)
            z1 = (residue - int(embedding._shift[b]) - a[b, 0] * z0) * inverse % (2 * D)
            z1 = np.where(z1 >= D, z1 - 2 * D, z1)
            found = np.flatnonzero(abs(z1) <= 32767)[:2]
            rows += [[int(z0[i]), int(z1[i])] for i in found]
            wanted += [(b, residue)] * len(found)
    return np.array(rows), wanted


@pytest.mark.parametrize("step", [2**15, 2**20])
def test_values_exactly_at_a_threshold(rng, step):
    s = specification(features=2, projections=24, step=step)
    X, wanted = rows_at_thresholds(s, rng)
    assert {residue for _, residue in wanted} == {0, step - 1, step, 2 * step - 1}
    bits = np.unpackbits(Embedding(s).encode(X), axis=1, count=24, bitorder="little")
    w = Embedding(s)._shift
    for x, (b, residue), row in zip(X.tolist(), wanted, bits, strict=True):
        assert (projections(s, x)[b] + int(w[b])) % (2 * step) == residue
        assert row[b] == (residue >= step)


@pytest.mark.parametrize("D", [1, 7, 64])
def test_levels_exactly_at_a_threshold(D):
    # without dither, one projection of one feature: p = a z, and o moves it to a threshold and just below
    s = specification(kind="qjl", features=1, projections=1, bits=3, step=D, dither=False)
    p = projections(s, [5])[0]
    for k in range(-5, 6):
        for below in (0, 1):
            offset = p - k * D + below
            value = Embedding({**s, "offsets": doubles([offset])}).encode([[5]])[0, 0]
            assert value == min(max((k * D - below) // D + 4, 0), 7)


def test_a_row_with_nan_or_an_infinity_has_no_code():
    X = np.zeros((5, 3))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        Embedding(specification()).encode(X)
    X[3, 1] = -np.inf
    with pytest.raises(ValueError, match="row 3"):
        Embedding(specification()).encode(X)


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((2, 4)), np.array([["a"] * 3]), np.zeros((2, 3), dtype=complex)])
def test_rows_of_another_shape_or_type_are_refused(X):
    with pytest.raises(ValueError, match=r"\(rows, 3\)"):
        Embedding(specification()).encode(X)


WRONG = {
    "format": "mercer", "version": 2, "kind": "signs", "matrix": "sparse", "seed": "0123456789ABCDEF", "features": 0,
    "blocks": 2**32, "projections": 1.0, "bits": 2, "step": 2**50 + 1, "dither": False, "exponent": 1024,
    "scale": doubles([1.0] * 3), "center": doubles([1.0] * 2), "offsets": doubles([0.0] * 20),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused_by_name(name):
    with pytest.raises(ValueError, match="exponent" if name == "scale" else name):
        Embedding(specification(**{name: WRONG[name]}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", True),
        ("dither", 1),
        ("center", "?"),
        ("center", doubles([np.nan] * 3)),
        ("center", 3),
        ("bits", None),
    ],
)
def test_what_only_looks_right_is_refused_too(name, value):
    with pytest.raises(ValueError, match=name):
        Embedding(specification(**{name: value}))


@pytest.mark.parametrize("offsets", [[0.5] * 20, [2.0**52] * 20, [np.inf] * 20])
def test_offsets_are_whole_numbers(offsets):
    with pytest.raises(ValueError, match="offsets"):
        Embedding(specification(kind="qjl", offsets=doubles(offsets)))


@pytest.mark.parametrize("given", [[1] * 59, [-32768] * 60, [0] * 61])
def test_a_learned_matrix_is_whole_numbers_for_all_projections(given):
    with pytest.raises(ValueError, match="entries"):
        Embedding(specification(matrix="learned", entries=entries(given)))
    with pytest.raises(ValueError, match="keys"):
        Embedding(specification(entries=entries([1] * 60)))


def test_keys_that_are_missing_or_unknown_are_refused():
    s = specification()
    with pytest.raises(ValueError, match="keys"):
        Embedding({**s, "more": 1})
    del s["step"]
    with pytest.raises(ValueError, match="keys"):
        Embedding(s)
