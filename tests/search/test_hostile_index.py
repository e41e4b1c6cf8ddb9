"""Directories of an index that were written by a stranger, checksums and all: refused by name, and never a crash."""

import json
import random
import shutil
import sqlite3
import zlib

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, KernelIndex, ModelFileError
from tests.search.index_samples import histograms, index

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")

WIDTH, N_ROWS = 8, 40
X = histograms(N_ROWS, WIDTH, seed=5)
IDS = [*range(30), *(f"text {i}" for i in range(10))]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Directories of a dense and of a sparse index."""
    place = tmp_path_factory.mktemp("hostile")
    for name, rows in (("dense", X), ("sparse", sparse.csr_array(X))):
        small = index(rows, ids=IDS, n_components=6, n_landmarks=24, bytes_per_item=2).persist(place / name)
        small.remove([4, "text 3"]).close()
    return place


@pytest.fixture
def forged(made, tmp_path):
    """A copy of one of them, to be altered."""

    def copy(name):
        return shutil.copytree(made / name, tmp_path / "index")

    return copy


def part_of(path, part, dtype):
    return np.fromfile(path / f"generation-1/segment-000000.{part}", dtype)


def write_part(path, part, values):
    """Put values in the place of a part, with their checksum."""
    data = values.tobytes()
    (path / f"generation-1/segment-000000.{part}").write_bytes(data)
    _execute(path, "UPDATE part SET n_bytes=?, crc32=? WHERE name=?", (len(data), zlib.crc32(data), part))


def edit_document(path, edit):
    """Alter the description in the catalogue, with its checksum."""
    ((text,),) = _execute(path, "SELECT document FROM generation")
    document = json.loads(text)
    edit(document)
    text = json.dumps(document)
    _execute(path, "UPDATE generation SET document=?, crc32=?", (text, zlib.crc32(text.encode())))


def _execute(path, sql, values=()):
    connection = sqlite3.connect(path / "catalogue.sqlite")
    with connection:
        found = connection.execute(sql, values).fetchall()
    connection.close()
    return found


def use(found):
    """Everything that reads rows or codes."""
    Q = X[:3]
    found.search(Q, 3)
    found.search(Q, 3, exact="stored")
    found.range_search(Q, min_similarity=0.5)
    found.range_search(Q, min_similarity=0.5, exact="stored")
    found.add(X[:1], [900]).remove([900]).compact()
    found.stats()


HEADERS = {
    "kept": ("float64", "rows cannot be stored as 'float64'"),
    "sparse": (1, "sparse cannot be 1"),
    "highest_id": ("7", "highest_id cannot be '7'"),
    "oversample": ("x", "`oversample` must be a number >= 1"),
    "n_lists": ([], "`n_lists` must be an integer >= 0"),
    "vectors": ({}, "`vectors` must be one of"),
}


@pytest.mark.parametrize("verify", [True, False])
def test_a_forged_header_is_refused_by_name(forged, verify):
    path = forged("dense")
    for name, (value, message) in HEADERS.items():
        edit_document(path, lambda document, name=name, value=value: document["header"].update({name: value}))
        with pytest.raises(ModelFileError, match=f"index' has a damaged catalogue: .*{message}.* Restore"):
            KernelIndex.open(path, verify=verify)
        shutil.rmtree(path)
        forged("dense")
        if name != "highest_id":  # older indexes have none
            edit_document(path, lambda document, name=name: document["header"].pop(name))
            with pytest.raises(ModelFileError, match=f"its header has no '{name}'"):
                KernelIndex.open(path, verify=verify)
        shutil.rmtree(path)
        forged("dense")


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(("name", "width", "dtype"), [("codes", 200, "u1"), ("codes", 1, "u1"), ("vectors", 3, "<f4")])
def test_columns_that_the_model_does_not_need_are_refused(forged, name, width, dtype, verify):
    path = forged("dense")
    edit_document(path, lambda document: [c.update(shape=[width]) for c in document["columns"] if c["name"] == name])
    write_part(path, name, np.zeros(N_ROWS * width, dtype))
    with pytest.raises(ModelFileError, match=f"column . is '{name}' of {width} .* but its model needs '{name}' of"):
        KernelIndex.open(path, verify=verify)


def test_columns_in_another_order_and_missing_ones_are_refused(forged):
    path = forged("dense")
    edit_document(path, lambda document: document["columns"].reverse())
    with pytest.raises(ModelFileError, match=r"column 1 is 'vectors' .* needs 'codes'"):
        KernelIndex.open(path)
    edit_document(path, lambda document: document["columns"].reverse())
    edit_document(path, lambda document: document["columns"].pop())
    _execute(path, "DELETE FROM part WHERE name='vectors'")
    with pytest.raises(ModelFileError, match=r"its columns are .*id_text, but its model needs .*vectors"):
        KernelIndex.open(path)


ROWS = {
    "beyond the last column": ("sparse", "columns", "<i4", lambda v: v + 10**6, "a column is not one of 0 to 7"),
    "before the first": ("sparse", "columns", "<i4", lambda v: v - 5, "a column is not one of 0 to 7"),
    "not ascending": ("sparse", "columns", "<i4", lambda v: v * 0 + 3, "the columns of a row do not ascend"),
    "not a number": ("dense", "vectors", "<f4", lambda v: v * np.float32("nan"), "a value is not a finite number"),
    "infinite": ("sparse", "values", "<f4", lambda v: v + np.float32("inf"), "a value is not a finite number"),
    "negative": ("dense", "vectors", "<f4", lambda v: -v, "Negative values in data: Chi2"),
}


@pytest.mark.parametrize("what", ROWS)
def test_rows_that_no_call_could_have_added_are_refused_when_opened_or_before_they_are_used(forged, what):
    name, part, dtype, change, message = ROWS[what]
    path = forged(name)
    write_part(path, part, change(part_of(path, part, dtype)))
    with pytest.raises(ModelFileError, match=rf"index' has damaged rows in segment 0: .*{message}.* Restore"):
        KernelIndex.open(path)
    with KernelIndex.open(path, verify=False) as found:
        for exact in (False, "stored"):
            with pytest.raises(ModelFileError, match=f"index' has damaged rows: .*{message}"):
                found.search(X[:2], 3, exact=exact)


@pytest.mark.parametrize("verify", [True, False])
def test_a_row_has_as_many_columns_as_values(forged, verify):
    path = forged("sparse")
    write_part(path, "columns", np.empty(0, "<i4"))
    write_part(path, "columns.offsets", np.zeros(N_ROWS + 1, "<i8"))
    with pytest.raises(ModelFileError, match="segment 0: rows have more values than columns, or fewer"):
        KernelIndex.open(path, verify=verify)


def test_forged_codes_and_ids_are_refused(forged):
    path = forged("dense")
    write_part(path, "codes", part_of(path, "codes", "u1") * 0 + np.uint8(255))
    with pytest.raises(
        ModelFileError, match="codes in segment 0: a code refers to a word that its model does not have"
    ):
        KernelIndex.open(path)
    shutil.rmtree(path)
    forged("dense")
    write_part(path, "id_number", part_of(path, "id_number", "<i8") * 0 + 1)
    with pytest.raises(ModelFileError, match="has two rows with the id 1"):
        KernelIndex.open(path)
    write_part(path, "id_text", part_of(path, "id_text", "u1") | np.uint8(128))
    for verify in (True, False):
        with pytest.raises(ModelFileError, match=r"has a damaged id: .* is not UTF-8 text"):
            KernelIndex.open(path, verify=verify)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_flipped_bits_are_found_or_change_nothing_or_are_refused(made, tmp_path, name, verify):
    """With ``verify=True`` no answer changes; without, it may, and nothing but errors of ours comes of it."""
    choose = random.Random(f"{name} {verify}")
    with KernelIndex.open(made / name) as found:
        expected = found.search(X[:3], 3, exact="stored")
    files = [file for file in sorted((made / name).rglob("*")) if file.is_file() and file.stat().st_size]
    path, n_refused = tmp_path / "index", 0
    for _ in range(40):
        shutil.copytree(made / name, path)
        file = path / choose.choice(files).relative_to(made / name)
        data = bytearray(file.read_bytes())
        used = [at for at, byte in enumerate(data) if byte] or [0]
        data[choose.choice(used)] ^= 1 << choose.randrange(8)
        file.write_bytes(data)
        try:
            with KernelIndex.open(path, "w", verify=verify) as found:
                answer = found.search(X[:3], 3, exact="stored")
                if verify:
                    assert [part.tolist() for part in answer] == [part.tolist() for part in expected]
                use(found)
        except (ModelFileError, InputError):
            n_refused += 1
        shutil.rmtree(path)
    assert n_refused > 5
