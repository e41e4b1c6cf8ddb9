"""Rows on disk: the bits of rows in memory, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
from collections import namedtuple

import numpy as np
import pytest
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import thread_limit
from mercer.spaces import CodeRows, CSRRows, DenseRows, Design, as_rows, hstack, stored
from mercer.spaces import blocks as cutting
from mercer.spaces.factored import BlockFactor
from mercer.spaces.stored import StorageError, store_rows
from tests.spaces.samples import DTYPES, ROW_KINDS, make_rows

kinds = pytest.mark.parametrize("kind", ROW_KINDS)


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def arrays_of(rows):
    """The large arrays that rows consist of."""
    if hasattr(rows, "parts"):
        return [array for part in rows.parts for array in arrays_of(part)]
    names = [name for name in ("codes", "packed") if hasattr(rows, name)]
    if names:
        return [getattr(rows, names[0])]
    return [rows.X.data, rows.X.indices] if isinstance(rows, CSRRows) else [rows.X]


@kinds
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tail", [(), (3,)])
def test_products_have_the_bits_of_rows_in_memory_and_read_the_files(kind, dtype, tail, monkeypatch):
    monkeypatch.setattr(cutting, "TASK_ROWS", 64)
    rows, full = make_rows(kind, 1000, 30, dtype)
    on_disk = store_rows(rows.blocks(size=130))
    assert isinstance(on_disk, type(rows))
    assert (on_disk.shape, on_disk.dtype, on_disk.nbytes) == (rows.shape, rows.dtype, rows.nbytes)
    assert all(map(is_mapped, arrays_of(on_disk)))
    rng = np.random.default_rng(1)
    v = rng.standard_normal((full.shape[1], *tail)).astype(dtype)
    r = rng.standard_normal((1000, *tail)).astype(dtype)
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            np.testing.assert_array_equal(on_disk.scores(v), rows.scores(v))
            np.testing.assert_array_equal(on_disk.accumulate(r), rows.accumulate(r))
    np.testing.assert_array_equal(on_disk.squared_norms(None), rows.squared_norms(None))
    np.testing.assert_array_equal(on_disk.toarray(), full)
    columns, values = rows.entries(-1)
    np.testing.assert_array_equal(on_disk.entries(-1), (columns, values))


@kinds
@pytest.mark.parametrize("taken_bytes", [0, 2**26], ids=["to disk", "to memory"])
def test_rows_are_taken_as_a_view_of_the_files_or_into_memory_or_to_disk(kind, taken_bytes, monkeypatch):
    monkeypatch.setattr(stored, "TAKEN_BYTES", taken_bytes)
    rows, full = make_rows(kind, 40, 30)
    on_disk = store_rows(rows.blocks(size=13))
    for which in (np.array([7, 1, 1, 39]), np.arange(40) % 3 == 0, slice(5, 30)):
        taken = on_disk.take(which)
        np.testing.assert_array_equal(taken.toarray(), full[which])
        expected = isinstance(which, slice) or not taken_bytes
        # scipy copies a slice of a few entries rather than keep all of them alive
        if kind in ("dense", "codes", "bits"):
            assert all(is_mapped(array) == expected for array in arrays_of(taken))
    np.testing.assert_array_equal(np.vstack([part.toarray() for part, _ in on_disk.blocks(size=9)]), full)
    assert len(on_disk.take(np.array([], dtype=int))) == 0


def test_codes_on_disk_are_learnt_on_as_codes_in_memory(rng):
    codes = CodeRows(rng.integers(0, 16, (300, 6), dtype=np.uint8), 16)
    inner = BlockFactor(rng.standard_normal((6, 4, 16)).astype(np.float32))
    u = rng.standard_normal((24, 2)).astype(np.float32)
    in_memory, on_disk = Design(codes, inner), Design(store_rows(codes.blocks(size=70)), inner)
    np.testing.assert_array_equal(on_disk.scores(u), in_memory.scores(u))
    scores = in_memory.scores(u)
    np.testing.assert_array_equal(on_disk.accumulate(scores), in_memory.accumulate(scores))


def test_more_entries_than_int32_counts_make_all_indices_int64(monkeypatch):
    monkeypatch.setattr(stored, "LARGEST_INT32", 100)
    monkeypatch.setattr(stored, "TAKEN_BYTES", 8 * 30)
    rows, full = make_rows("csr", 50, 20)
    assert rows.X.nnz > 100
    on_disk = store_rows(rows.blocks(size=7))
    assert on_disk.X.indices.dtype == on_disk.X.indptr.dtype == np.int64
    np.testing.assert_array_equal(on_disk.toarray(), full)
    np.testing.assert_array_equal(on_disk.accumulate(np.ones(50)), rows.accumulate(np.ones(50)))


def test_rows_without_slices_and_rows_without_entries_are_stored():
    blocks = [sparse.csr_array((2, 3)), sparse.csr_array((1, 3))]
    assert store_rows(blocks).toarray().tolist() == np.zeros((3, 3)).tolist()
    assert store_rows([np.ones((0, 4))]).shape == (0, 4)
    assert store_rows([np.ones((2, 0))]).scores(np.ones(0)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("blocks", "arguments", "message"),
    [
        ([], {}, "at least one block of rows"),
        ([(DenseRows(np.ones((2, 3))), slice(0, 2)), (DenseRows(np.ones((2, 3))), slice(3, 5))], {}, "order.*after 2"),
        ([np.ones((2, 3)), np.ones((2, 4))], {}, "DenseRows of 4 features, float64 at row 2, after .* 3 features"),
        ([np.ones((2, 3)), np.ones((2, 3), np.float32)], {}, "float32 at row 2, after .*float64"),
        ([np.ones((2, 3)), sparse.csr_array((2, 3))], {}, "CSRRows .*after DenseRows"),
        ([hstack(np.ones((2, 2)), np.ones((2, 1))), hstack(*[np.ones((2, 1))] * 3)], {}, "3 parts .*after .*2 parts"),
        ([CodeRows(np.zeros((1, 2), np.uint8), words) for words in ([3, 4], [4, 3])], {}, "words of different blocks"),
        ([np.ones((2, 3))], {"n_rows": 3}, "expected 3 rows, but got 2"),
        ([np.ones((2, 3))], {"directory": "nowhere"}, "nowhere is not a directory"),
    ],
)
def test_what_cannot_be_stored_is_refused_in_words(blocks, arguments, message):
    with pytest.raises(InputError, match=message):
        store_rows(blocks, **arguments)


def test_rows_of_an_unknown_kind_are_refused():
    class Strange(DenseRows.__base__):
        shape, dtype, nbytes = (2, 3), np.dtype(float), 48

    with pytest.raises(InputError, match=r"supports dense, CSR, code and bit rows .* got Strange"):
        store_rows([Strange()])


# ---- the disk


def test_nothing_is_left_behind_by_an_error_or_an_interrupt(tmp_path):
    names = []

    def blocks(error):
        for _ in range(3):
            yield DenseRows(np.ones((100, 50)))
            names.append(os.listdir(tmp_path))
        raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            store_rows(blocks(error), directory=tmp_path)
    rows = store_rows(as_rows(np.ones((100, 50))).blocks(), directory=tmp_path)
    names.append(os.listdir(tmp_path))
    assert rows.scores(np.ones(50)).sum() == 5000
    assert names == [[]] * 7


@pytest.mark.process
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a system that kills")
def test_nothing_is_left_behind_by_a_process_that_is_killed(tmp_path):
    code = """
        import os, signal, sys
        import numpy as np
        from mercer.spaces.stored import store_rows

        def blocks():
            for k in range(4):
                yield np.ones((1000, 100))
            print("written", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

        store_rows(blocks(), directory=sys.argv[1])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert (answer.stdout, answer.returncode) == ("written\n", -signal.SIGKILL), answer.stderr
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_too_small_is_noticed_before_writing(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(stored.shutil, "disk_usage", lambda place: usage(2**40, 2**40 - 2**20, 2**20))
    block = np.ones((10, 1024))
    with pytest.raises(StorageError) as caught:
        store_rows([block], n_rows=10_000, directory=tmp_path)
    message = str(caught.value)
    for words in ("about 78.1 MiB", str(tmp_path), "1.0 MiB are free", "TMPDIR", "directory"):
        assert words in message
    assert store_rows([block], directory=tmp_path).shape == (10, 1024), "small enough, though the total was not said"


def test_a_disk_that_fills_up_while_writing_is_explained(tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, hard))  # a file may not grow beyond one MiB
    try:
        with pytest.raises(StorageError) as caught:
            store_rows([np.ones((100, 1024))] * 2, directory=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    message = str(caught.value)
    for words in ("at least 1.6 MiB", str(tmp_path), "writing failed", "TMPDIR"):
        assert words in message
    assert os.listdir(tmp_path) == []


@pytest.mark.process
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of memory")
def test_rows_on_disk_are_written_and_passed_over_in_a_small_part_of_their_size():
    code = """
        import threading, time
        import numpy as np
        from mercer.spaces.stored import store_rows

        def anonymous():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) // 1024

        peak, done = [0], threading.Event()

        def watch():
            while not done.wait(0.002):
                peak[0] = max(peak[0], anonymous())

        n_blocks, size, width = 100, 1000, 1000  # 400 MB in all
        block = np.random.default_rng(0).random((size, width), dtype=np.float32)
        start = anonymous()
        threading.Thread(target=watch).start()
        try:
            rows = store_rows((block for _ in range(n_blocks)), n_rows=n_blocks * size)
            v = np.ones((width, 3), dtype=np.float32)
            rows.accumulate(rows.scores(v))
            last = rows.take(slice(99_000, None)).scores(v)
        finally:
            done.set()
        assert rows.nbytes == 400_000_000
        np.testing.assert_allclose(last, block @ v, rtol=1e-4)
        print(peak[0] - start)
    """
    environment = {**os.environ, "MERCER_NUM_THREADS": "2"}
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment
    )
    assert answer.returncode == 0, answer.stderr
    assert int(answer.stdout) < 40, "MiB of memory for 381 MiB of rows"
