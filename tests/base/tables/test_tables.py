"""Input rules: what each format gives, and the sentence each mistake gets."""

import gzip
import io
import lzma
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from mercer._base.errors import InputError
from mercer._base.tables import (
    ArgumentError,
    format_of,
    open_rows,
    read_table,
    read_tables,
    write_columns,
    write_rows,
)

X = np.array([[0.5, 1.0, 0.0], [2.0, 0.25, 8.0], [0.0, 4.0, 0.125]], dtype=np.float32)
y = np.array([1, 0, 1])


def csv(text, **rules):
    return read_table(io.BytesIO(text.encode()), format="csv", **rules)


@contextmanager
def refused(kind, *words):
    """The error is of this very kind, and its message is one line that holds the words and ends as a sentence."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert caught.type is kind, message
    assert all(word in message for word in words), message
    assert message.endswith(".")
    assert "\n" not in message


# ---- what each format gives


def save_npy(path):
    np.save(path, X)


def save_npz(path):
    np.savez(path, X=X, y=y)


def save_csv(path):
    rows = "\n".join(",".join(map(str, [label, *row])) for label, row in zip(y, X.tolist(), strict=True))
    path.write_text("label,a,b,c\n" + rows)


def save_parquet(path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"label": y, "v": pa.FixedSizeListArray.from_arrays(X.ravel(), 3)}), path)


def save_svmlight(path):
    dump_svmlight_file(X, y, str(path), zero_based=False)


@pytest.mark.parametrize(
    ("name", "save", "label", "names"),
    [
        ("t.npy", save_npy, None, None),
        ("t.npz", save_npz, None, None),
        ("t.csv", save_csv, "label", ("a", "b", "c")),
        ("t.parquet", save_parquet, "label", ("v[0]", "v[1]", "v[2]")),
        ("t.svm", save_svmlight, None, None),
    ],
)
def test_every_format_gives_back_the_same_float32_numbers_and_labels(tmp_path, name, save, label, names):
    save(tmp_path / name)
    table = read_table(tmp_path / name, label=label)
    assert table.X.dtype == np.float32
    assert sp.issparse(table.X) == (name == "t.svm")
    np.testing.assert_array_equal(table.X.toarray() if sp.issparse(table.X) else table.X, X)
    assert table.y is None if name == "t.npy" else table.y.tolist() == y.tolist()
    assert table.feature_names == names


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (np.array([[1, 255]], np.uint8), np.float32),
        (np.array([[1, 65535]], np.uint16), np.float32),
        (np.array([[1, 2**24]], np.int64), np.float32),
        (np.array([[1, 2**24 + 1]], np.int64), np.float64),
        (np.array([[-(2**63), 0]], np.int64), np.float64),
        (np.array([[True, False]]), np.float32),
        (np.array([[0.1, 0.2]], np.float16), np.float32),
        (np.array([[0.1, 0.2]], np.float64), np.float64),
        (np.array([[0.1, 0.2]], ">f8"), np.float64),
    ],
)
def test_the_type_of_the_numbers_follows_the_rule_and_loses_nothing(tmp_path, stored, expected):
    np.save(tmp_path / "t.npy", stored)
    read = read_table(tmp_path / "t.npy").X
    assert read.dtype == np.dtype(expected)
    assert read.dtype.isnative
    np.testing.assert_array_equal(read, stored)
    assert read_table(tmp_path / "t.npy", dtype="float64").X.dtype == np.float64


def test_text_is_float32_unless_that_overflows():
    assert csv("1,2").X.dtype == np.float32
    assert csv("1,1e39").X.dtype == np.float64
    assert csv("1,inf").X.dtype == np.float32


def test_a_sparse_matrix_of_any_kind_is_read_as_csr(tmp_path):
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_array):
        sp.save_npz(tmp_path / "t.npz", kind(X))
        table = read_table(tmp_path / "t.npz")
        assert table.X.format == "csr"
        np.testing.assert_array_equal(table.X.toarray(), X)
    table = read_table(tmp_path / "t.npz", label=-1)
    np.testing.assert_array_equal(table.X.toarray(), X[:, :2])
    np.testing.assert_array_equal(table.y, X[:, 2])


def test_a_member_of_an_npz_file_is_chosen_by_path_or_by_rule(tmp_path):
    np.savez_compressed(tmp_path / "t.npz", train=X, test=2 * X, kind=np.array(["a", "b", "c"]))
    path = str(tmp_path / "t.npz")
    np.testing.assert_array_equal(read_table(f"{path}::test").X, 2 * X)
    table = read_table(path, array="train", label="kind")
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == ["a", "b", "c"]
    with refused(ArgumentError, "train, test, kind", "no X"):
        read_table(path)
    with refused(ArgumentError, "no member 'valid'", "train, test, kind"):
        read_table(f"{path}::valid")


@pytest.mark.parametrize("opener", [gzip.open, lzma.open])
def test_compressed_text_is_expanded(tmp_path, opener):
    path = tmp_path / ("t.csv.gz" if opener is gzip.open else "t.tsv.xz")
    with opener(path, "wt") as stream:
        stream.write("1,2\n3,4\n".replace(",", "\t" if "tsv" in path.name else ","))
    assert read_table(path).X.tolist() == [[1, 2], [3, 4]]
    path.write_bytes(path.read_bytes()[:-9])
    with refused(InputError, path.name, "not a complete"):
        read_table(path)


# ---- csv


@pytest.mark.parametrize(
    ("text", "label", "names"),
    [
        ("a,b\n1,2\n3,4", None, ("a", "b")),
        ("1,2\n3,4", None, None),
        ("1,2,cat\n3,4,dog", 2, None),  # words above words are labels
        ("a,b,kind\n1,2,cat\n3,4,dog", "kind", ("a", "b")),
        ("a,b,7\n1,2,cat\n3,4,dog", "7", ("a", "b")),  # a name wins over a position
        ("0,1,kind\n1,2,cat\n3,4,dog", "kind", ("0", "1")),
        ('"a;x";"b"\n1;2\n3;4', None, ("a;x", "b")),
        ("a\tb\n1\t2\n3\t4", None, ("a", "b")),
        ("\ufeffa,b\r\n1, 2\r\n\r\n3, 4\r\n", None, ("a", "b")),
    ],
)
def test_header_and_delimiter_are_told_from_the_first_lines(text, label, names):
    table = csv(text, label=label)
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.feature_names == names
    if label is not None:
        assert table.y.tolist() == ["cat", "dog"]


def test_header_and_delimiter_can_be_said():
    assert csv("1,2\n3,4", header=True).X.tolist() == [[3, 4]]
    assert csv("1:2\n3:4", delimiter=":").X.tolist() == [[1, 2], [3, 4]]
    assert csv("1   2\n3 4", delimiter="space").X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(["7", "-1"], [7, -1]), (["0.5", "1"], [0.5, 1.0]), (["7", "x"], ["7", "x"])],
)
def test_labels_are_numbers_when_all_of_them_are(labels, expected):
    assert csv(f"{labels[0]},5\n{labels[1]},6", label=0, header=False).y.tolist() == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3,red\n", ["line 3", "column 1 ('b')", "'red'", "not a number"]),
        ("a,b\n1,2\n\n3,\n", ["line 4", "column 1 ('b')", "missing value", "--missing fill:0", "drop-rows"]),
        ("1,2\n3,4,5\n", ["line 2", "3 columns", "2"]),
        ("1,2,3\n3,4\n", ["line 2", "2 columns", "3"]),
        ("a,b,c\n1,2\n3,4\n", ["columns", "3", "2"]),
        ("", ["empty"]),
        ("\n \n", ["empty"]),
        ("a,b\n", ["no rows"]),
    ],
)
def test_a_mistake_in_a_csv_file_is_named_by_line_and_column(text, words):
    with refused(InputError, "stream", *words):
        list(open_rows(io.BytesIO(text.encode()), format="csv").blocks())


def test_a_label_that_is_not_there_is_answered_with_those_that_are():
    with refused(ArgumentError, "'knd'", "'a', 'b', 'kind'"):
        csv("a,b,kind\n1,2,cat", label="knd")
    with refused(ArgumentError, "2 columns named 'a'"):
        csv("a,a\n1,2", label="a")
    with refused(ArgumentError, "2 columns", "5"):
        csv("a,b\n1,2", label=5)
    with refused(ArgumentError, "'kind'", "no names"):
        csv("1,2\n3,4", label="kind")


# ---- svmlight


def test_svmlight_files_read_together_share_width_and_counting():
    base, query = b"1 0:1 3:2\n", b"1 1:5\n"
    tables = read_tables([io.BytesIO(base), io.BytesIO(query)], format="svmlight")
    assert [table.X.toarray().tolist() for table in tables] == [[[1, 0, 0, 2]], [[0, 5, 0, 0]]]
    assert read_table(io.BytesIO(query), format="svmlight").X.toarray().tolist() == [[5]]
    assert read_table(io.BytesIO(query), format="svmlight", n_features=3).X.toarray().tolist() == [[5, 0, 0]]
    with refused(ArgumentError, "at least 4", "not 2"):
        read_tables([io.BytesIO(base), io.BytesIO(query)], format="svmlight", n_features=2)
    with refused(ArgumentError, "starts with its label"):
        read_table(io.BytesIO(query), format="svmlight", label=0)
    with refused(InputError, "not an svmlight file"):
        read_table(io.BytesIO(b"a,b\n1,2\n"), format="svmlight")


# ---- parquet


def test_parquet_columns_and_lists_stand_side_by_side_and_what_is_no_number_is_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def read(**columns):
        parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
        return read_table(tmp_path / "t.parquet", label="kind" if "kind" in columns else None)

    table = read(
        a=pa.array([1, 2], pa.int8()), v=pa.array([[3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float32())), kind=["x", "y"]
    )
    assert table.X.tolist() == [[1, 3, 4], [2, 5, 6]]
    assert table.X.dtype == np.float32
    assert table.y.tolist() == ["x", "y"]
    assert table.feature_names == ("a", "v[0]", "v[1]")
    assert read(a=[1.0, 2.0]).X.dtype == np.float64
    with refused(InputError, "t.parquet", "'word'", "string"):
        read(a=[1.0], word=["x"])
    assert np.isnan(read(a=[1.0, None]).X[1, 0])
    with refused(InputError, "'v'", "row 1 holds 1 numbers", "row 0 holds 2"):
        read(v=[[1.0, 2.0], [3.0]])


# ---- files that are not what they seem


def test_pickled_objects_are_refused_unread(tmp_path):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("the pickle was executed",)

    np.save(tmp_path / "t.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    with refused(InputError, "t.npy", "pickled"):
        read_table(tmp_path / "t.npy")
    np.savez(tmp_path / "t.npz", X=np.array([[Trap()]], dtype=object))
    with refused(InputError, "t.npz::X", "pickled"):
        read_table(tmp_path / "t.npz")


def test_a_header_that_promises_more_than_the_file_holds_is_not_believed(tmp_path):
    np.save(tmp_path / "t.npy", X)
    content = (tmp_path / "t.npy").read_bytes()
    (tmp_path / "t.npy").write_bytes(content[:-1])
    with refused(InputError, "t.npy", "truncated"):
        read_table(tmp_path / "t.npy")
    huge = content.replace(b"(3, 3), }" + b" " * 12, b"(3000000000000, 3), }")
    assert len(huge) == len(content)
    (tmp_path / "t.npy").write_bytes(huge)
    with refused(InputError, "36000000000000 bytes"):
        read_table(tmp_path / "t.npy")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", huge)
    with refused(InputError, "36000000000000 bytes"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "svm"])
@pytest.mark.parametrize("content", [b"", b"hello, this is plain text\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04PAR1"])
def test_a_file_of_another_format_is_refused_by_name(tmp_path, suffix, content):
    (tmp_path / f"t.{suffix}").write_bytes(content)
    with refused(InputError, f"t.{suffix}"):
        read_table(tmp_path / f"t.{suffix}")


@pytest.mark.filterwarnings("ignore::UserWarning")  # numpy guesses at headers of very old versions
@pytest.mark.parametrize("name", ["t.npy", "t.npz", "sparse.npz", "t.csv", "t.svm"])
def test_a_damaged_file_is_read_or_refused_but_nothing_else(tmp_path, name):
    path = tmp_path / name
    if name == "sparse.npz":
        sp.save_npz(path, sp.csr_matrix(X))
    else:
        {".npy": save_npy, ".npz": save_npz, ".csv": save_csv, ".svm": save_svmlight}[path.suffix](path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refusals = []
    for _ in range(300):
        position = int(rng.integers(len(whole)))
        damage = [bytes(rng.integers(0, 256, size=2, dtype=np.uint8)), b"", b"(" * 3][rng.integers(3)]
        damaged = whole[:position] + damage + whole[position + int(rng.integers(4)) :]
        try:
            read_table(io.BytesIO(damaged[: position if rng.random() < 0.1 else None]), format=format_of(name))
        except InputError as error:
            refusals.append(str(error))
    assert len(refusals) > 50
    assert not any("\n" in message for message in refusals)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), ["(3,)", "two dimensions"]),
        (np.zeros((0, 3)), ["no data", "0 rows"]),
        (np.zeros((2, 2), complex), ["complex128", "real numbers"]),
        (np.array([["a", "b"]]), ["<U1", "real numbers"]),
    ],
)
def test_arrays_that_are_no_table_of_numbers_are_refused(tmp_path, array, words):
    np.save(tmp_path / "t.npy", array)
    with refused(InputError, "t.npy", *words):
        read_table(tmp_path / "t.npy")


def test_arguments_that_cannot_be_followed_say_what_can(tmp_path):
    np.save(tmp_path / "t.npy", X)
    with refused(ArgumentError, "no file", "nowhere.npy"):
        read_table(tmp_path / "nowhere.npy")
    with refused(ArgumentError, "directory"):
        read_table(tmp_path, format="npy")
    with refused(ArgumentError, "t.xyz", "svmlight"):
        read_table(tmp_path / "t.xyz")
    with refused(ArgumentError, "of -", "svmlight"):
        read_table("-")
    with refused(ArgumentError, "'excel'", "npy"):
        read_table(tmp_path / "t.npy", format="excel")
    with refused(ArgumentError, "float32 or float64", "int8"):
        read_table(tmp_path / "t.npy", dtype="int8")
    with refused(ArgumentError, "one character", "', '"):
        read_table(tmp_path / "t.npy", delimiter=", ")
    with refused(ArgumentError, "only npz files have members"):
        read_table(tmp_path / "t.npy", array="X")


# ---- writing


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "tsv"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_written_in_blocks_reads_back_to_the_last_bit(tmp_path, suffix, dtype):
    K = np.random.default_rng(0).lognormal(size=(5, 3)).astype(dtype)
    write_rows(tmp_path / f"K.{suffix}", [K[:2], K[2:].copy(order="F")], K.shape, K.dtype, name="K")
    table = read_table(tmp_path / f"K.{suffix}", dtype=K.dtype.name)
    np.testing.assert_array_equal(table.X, K)


def test_columns_keep_their_names(tmp_path):
    columns = {"row": np.array([0, 1]), "score": np.array([0.1, 0.2], np.float32)}
    write_columns(tmp_path / "t.csv", columns)
    assert (tmp_path / "t.csv").read_text() == "row,score\n0,0.1\n1,0.2\n"
    write_columns(tmp_path / "t.npz", columns)
    with np.load(tmp_path / "t.npz") as stored:
        assert stored["score"].dtype == np.float32
        assert stored["row"].tolist() == [0, 1]
    with refused(ArgumentError, "npy", "npz"):
        write_columns(tmp_path / "t.npy", columns)


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path):
    def blocks():
        yield X
        raise KeyboardInterrupt

    (tmp_path / "K.npy").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_rows(tmp_path / "K.npy", blocks(), (6, 3), X.dtype)
    assert [path.name for path in tmp_path.iterdir()] == ["K.npy"]
    assert (tmp_path / "K.npy").read_text() == "old"
    with refused(ArgumentError, "no directory"):
        write_rows(tmp_path / "nowhere" / "K.npy", [X], X.shape, X.dtype)
