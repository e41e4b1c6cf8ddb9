"""What `trust-flips` does in its processes: flip a bit of an index, use it, and say what came of it."""

import pickle
import random
import shutil
import warnings

import numpy as np
from scipy import sparse

from benchmarks.trust._indexes import fitted, rows
from mercer import KernelIndex
from mercer._base.errors import MercerError

N_ROWS = 40
BOUNDED = 0.2  # share of the flips that are followed by an exact search by range


def make_indexes(folder):
    """Names of the indexes that were made: dense, sparse, and of whole numbers that are kept in bytes."""
    rng = np.random.default_rng(0)
    X = rows(rng, N_ROWS)
    counts = rng.poisson(3.0, X.shape).astype(np.float32) + 1
    kinds = {"dense": X, "sparse": sparse.csr_array(X), "bytes": counts, "sparse bytes": sparse.csr_array(counts - 1)}
    for name, given in kinds.items():
        ids = [number if number % 3 else f"text {number}" for number in range(N_ROWS)]
        index = fitted(given).add(given, ids).persist(folder / name)
        index.remove([1, "text 3", 20, "text 39"]).close()
        with open(folder / f"{name}.queries", "wb") as file:
            pickle.dump(given[:3], file)
    return list(kinds)


def use_damaged(pipe, folder, name, verify, flips):
    """Send (outcome, note) of each flip."""
    warnings.simplefilter("ignore")
    with open(folder / f"{name}.queries", "rb") as file:
        Q = pickle.load(file)
    original = {file.relative_to(folder / name): file.read_bytes() for file in _files(folder / name)}
    scratch = folder / f"scratch {name} {verify}"
    _restore(scratch, original)
    expected = _used(scratch, Q, verify, True)
    _restore(scratch, original)
    for flip in flips:
        choose = random.Random(f"{name} {verify} {flip}")
        file, where = _flip(scratch, choose)
        outcome, note = _outcome(scratch, Q, verify, expected, where, choose.random() < BOUNDED)
        pipe.send((outcome, note))
        if outcome == "refused when opened":
            file.write_bytes(original[file.relative_to(scratch)])
        else:
            _restore(scratch, original)


def _files(path):
    return [file for file in sorted(path.rglob("*")) if file.is_file()]


def _restore(path, original):
    shutil.rmtree(path, ignore_errors=True)
    for name, data in original.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)


def _flip(path, choose):
    """Flip a bit of a file of the directory: (the file, which bit)."""
    file = choose.choice([file for file in _files(path) if file.stat().st_size])
    data = bytearray(file.read_bytes())
    used = [at for at, byte in enumerate(data) if byte] if choose.random() < 0.5 else None
    at, bit = choose.choice(used or range(len(data))), choose.randrange(8)
    data[at] ^= 1 << bit
    file.write_bytes(data)
    return file, f"bit {bit} of byte {at} of {file.relative_to(path)}"


def _outcome(path, Q, verify, expected, where, bounded):
    try:
        KernelIndex.open(path, verify=verify).close()
    except MercerError:
        return "refused when opened", ""
    except Exception as error:
        return "foreign", f"{where}: opening raised {error!r:.200}"
    try:
        found = _used(path, Q, verify, bounded)
    except MercerError:
        return "refused when used", ""
    except Exception as error:
        return "foreign", f"{where}: using raised {error!r:.200}"
    same = all(found[name] == expected[name] for name in found)
    return ("answers as before" if same else "other answers"), "" if same or not verify else f"{where}: other answers"


def _used(path, Q, verify, bounded):
    """All answers of an index by name, as lists; with bounds, which take longest, if ``bounded``."""
    with KernelIndex.open(path, "w", verify=verify, n_jobs=1) as index:
        answers = {
            "codes": index.search(Q, 5),
            "exact": index.search(Q, 5, exact="stored"),
            "range": index.range_search(Q, min_similarity=0.5),
        }
        if bounded:
            answers["exact range"] = index.range_search(Q, min_similarity=0.5, exact="stored")
        index.add(Q[:1], [900]).remove([2]).compact()
        answers["changed"] = index.search(Q, 5, exact="stored")
    with KernelIndex.open(path, verify=verify, n_jobs=1) as index:
        answers["opened again"] = index.search(Q, 5, exact="stored")
    return {name: [[np.asarray(part).tolist() for part in parts] for parts in found] for name, found in answers.items()}
