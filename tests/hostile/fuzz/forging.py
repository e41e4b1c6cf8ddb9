"""Forged model files: a golden file taken apart, changed in one to three places, and sealed with a valid checksum.

What a case changes follows from its number alone, so that a case is told by its number.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mercer._base.files import container
from tests.hostile.forge import entry, header, seal

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = 20_261_118  # of all cases
MOST_BYTES = 2**20  # of an array that a mutation makes

WHOLE = (0, 1, -1, 2, 3, 7, 63, 64, 65, 255, 256, 257, 1000, 4000, 20_000, 65_536, 100_000, 2**24, 2**31 - 1, 2**31,
         2**32, 2**62, 2**63 - 1, -(2**63))  # fmt: skip
REAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 5e-324, 2.3e-308, 1e15, 1e19, 3e38, 1e150, 1e300, 1.7e308, -1e300,
        float("nan"), float("inf"), float("-inf"))  # fmt: skip
WORDS = (
    "auto", "linear", "chi2", "intersection", "js", "rbf", "codes", "exact", "ivf", "hnsw", "kmeans", "dense", "bytes",
    "ovr", "ovo", "hinge", "logistic", "adaptive", "uniform", "structured", "learned", "universal", "sigma-delta",
    "orthogonal", "matching", "lasso", "soft", "hard", "mean", "variance", "both", "convex", "merge", "flat",
    "gaussian", "l1", "l2", "pq", "opq", "lsh", "map", "kpca", "", "x" * 300,
)  # fmt: skip
TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")


@dataclass(frozen=True)
class Seed:
    """A golden file: its document as text, its arrays, and what it is asked."""

    name: str
    document: str
    arrays: dict
    method: str
    rows: np.ndarray


@dataclass
class Forgery:
    """A changed file: its bytes, and what was changed, in words."""

    seed: Seed
    content: bytes
    changes: list


def read_seeds():
    """All golden files, smallest first."""
    seeds = []
    for path in sorted(GOLDEN.glob("v*/*.mercer")):
        found, arrays = container.read(path)
        asked = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        text = json.dumps(found.document)
        seeds.append(Seed(path.stem, text, arrays, asked["method"], np.array(asked["input"])))
    return seeds


def forge(seeds, case):
    """The forgery of that number."""
    rng = np.random.default_rng([SEED, case])
    seed = seeds[int(rng.integers(len(seeds)))]
    work = _Work(json.loads(seed.document), dict(seed.arrays), rng, seeds)
    for _ in range(int(rng.choice([1, 1, 1, 2, 2, 3]))):
        work.change()
    return Forgery(seed, sealed(work.document, work.arrays), work.changes)


def sealed(document, arrays):
    """The bytes of a file with this document and these arrays; the checksum is right."""
    letters, entries, data = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}, {}, []
    stop = 0
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        code = letters[array.dtype.kind] + ("" if array.dtype.kind == "b" else str(8 * array.dtype.itemsize))
        start, stop = stop, stop + array.nbytes
        entries[name] = entry(code, array.shape, (start, stop))
        data.append(array.tobytes())
    return seal(header({"format": container.FORMAT_VERSION, **document}, entries), b"".join(data))


class _Work:
    """A document and its arrays, while they are changed."""

    def __init__(self, document, arrays, rng, seeds):
        self.document, self.arrays, self.rng, self.seeds = document, arrays, rng, seeds
        self.changes = []

    def change(self):
        """One change of a random kind; a kind that finds nothing to change leaves the turn to the next one."""
        kinds = [self._values, self._form, self._scalar, self._parameter, self._swap, self._side, self._length]
        weights = np.array([34, 16, 20, 10, 8, 8, 4])
        for kind in self.rng.choice(len(kinds), size=len(kinds), replace=False, p=weights / weights.sum()):
            done = kinds[kind]()
            if done:
                self.changes.append(done)
                return

    # ------------------------------------------------------------------------------------------------------- arrays

    def _values(self):
        name = self._any_array()
        if name is None or not self.arrays[name].size:
            return None
        array = self.arrays[name].copy()
        flat, rng = array.reshape(-1), self.rng
        many = int(rng.choice([1, 1, 2, max(1, array.size // 4), array.size]))
        where = rng.choice(array.size, size=min(many, array.size), replace=False)
        kind = array.dtype.kind
        if rng.random() < 0.12:
            how = self._rearranged(flat)
        elif kind == "f":
            value = self._real(flat)
            with np.errstate(all="ignore"):
                flat[where] = value
            how = f"{len(where)} numbers {value!r:.40}"
        elif kind in "iu":
            value = self._whole(flat)
            info = np.iinfo(array.dtype)
            flat[where] = min(max(value, info.min), info.max)
            how = f"{len(where)} numbers {value}"
        else:
            flat[where] = ~flat[where]
            how = f"{len(where)} turned"
        self.arrays[name] = array
        return f"{name}: {how}"

    def _real(self, flat):
        choice = self.rng.random()
        if choice < 0.7:
            return REAL[int(self.rng.integers(len(REAL)))]
        if choice < 0.85:
            finite = flat[np.isfinite(flat)]
            largest = float(np.abs(finite).max()) if finite.size else 1.0
            with np.errstate(all="ignore"):
                return float(largest * 10.0 ** self.rng.integers(-40, 40))
        width = {2: "u2", 4: "u4", 8: "u8"}[flat.dtype.itemsize]
        bits = self.rng.integers(np.iinfo(width).max, dtype=width, endpoint=True)
        return float(np.array(bits, dtype=width).view(flat.dtype))

    def _whole(self, flat):
        near = [int(flat.min()) - 1, int(flat.max()) + 1, int(flat.max()), int(flat[0]), len(flat), -len(flat)]
        if self.rng.random() < 0.5:
            return near[int(self.rng.integers(len(near)))]
        return WHOLE[int(self.rng.integers(len(WHOLE)))]

    def _rearranged(self, flat):
        how = ("sorted", "reversed", "shuffled", "equal", "zero")[int(self.rng.integers(5))]
        if how == "equal":
            flat[:] = flat[int(self.rng.integers(len(flat)))]
        elif how == "zero":
            flat[:] = 0
        else:
            orders = {"sorted": np.sort(flat), "reversed": flat[::-1].copy(), "shuffled": self.rng.permutation(flat)}
            flat[:] = orders[how]
        return how

    def _form(self):
        name = self._any_array()
        if name is None:
            return None
        array, rng = self.arrays[name], self.rng
        how = ("type", "shorter", "longer", "turned", "flat", "empty", "deeper", "hollow")[int(rng.integers(8))]
        axis = int(rng.integers(array.ndim)) if array.ndim else None
        if how == "type":
            dtype = np.dtype(TYPES[int(rng.integers(len(TYPES)))])
            with np.errstate(all="ignore"):
                changed = array.astype(dtype)
            how = f"type {dtype.name}"
        elif how in ("shorter", "longer") and axis is not None and array.shape[axis]:
            step = int(rng.choice([1, 1, max(1, array.shape[axis] // 2)]))
            size = array.shape[axis] + (step if how == "longer" else -step)
            changed = _resized(array, axis, max(size, 0))
        elif how == "turned":
            changed = array.T.copy()
        elif how == "flat":
            changed = array.reshape(-1)
        elif how == "empty":
            changed = array.reshape(-1)[:0]
        elif how == "hollow":  # no bytes, and a side that says there were many
            shape = list(array.shape) or [1]
            side = (1000, 2**20, 2**40)[int(rng.integers(3))]
            shape[0], shape[-1] = (0, side) if rng.random() < 0.5 else (side, 0)
            changed = np.empty(tuple(shape) if 0 in shape else (0,), array.dtype)
        else:
            changed = array[..., None]
        self.arrays[name] = changed
        return f"{name}: {how}, now {changed.shape}"

    def _side(self):
        """One size that several arrays and numbers share becomes another, everywhere."""
        sizes = sorted({side for array in self.arrays.values() for side in array.shape if side > 1})
        if not sizes:
            return None
        old = sizes[int(self.rng.integers(len(sizes)))]
        new = max(0, old + int(self.rng.choice([-1, 1, -old + 1, old, -old])))
        if self.rng.random() < 0.5:
            for parent, key in self._places(lambda value: type(value) is int and value == old):
                parent[key] = new
        for name, array in self.arrays.items():
            for axis, side in enumerate(array.shape):
                if side == old and array.nbytes * max(1, new) // old <= MOST_BYTES:
                    array = _resized(array, axis, new)
            self.arrays[name] = array
        return f"sides of {old} are {new}"

    def _any_array(self):
        names = list(self.arrays)
        return names[int(self.rng.integers(len(names)))] if names else None

    # ----------------------------------------------------------------------------------------------------- document

    def _scalar(self):
        """A number, a word or a switch anywhere in the document."""

        def is_scalar(value):
            return value is None or isinstance(value, (bool, int, float, str))

        return self._replace(self._places(is_scalar, inside=("parameters", "state", "items", "values", "value")))

    def _parameter(self):
        """A number where a parameter, or the state, has one: these decide how long things take."""
        return self._replace(self._places(lambda value: type(value) in (int, float), inside=("parameters", "state")))

    def _replace(self, places):
        if not places:
            return None
        parent, key = places[int(self.rng.integers(len(places)))]
        before, parent[key] = parent[key], self._other(parent[key])
        return f"{key}: {str(before)[:40]} is {str(parent[key])[:60]}"

    def _other(self, value):
        rng = self.rng
        if rng.random() < 0.12:  # another type
            return [
                None,
                True,
                0,
                -1,
                1e300,
                "linear",
                [],
                {"$": "tuple", "items": []},
                [1, 2],
                {"$": "float", "value": "nan"},
                {"$": "scalar", "type": "int64", "value": 5},
            ][int(rng.integers(11))]
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            near = [value + 1, value - 1, 2 * value, -value, value + 2]
            return near[int(rng.integers(5))] if rng.random() < 0.4 else WHOLE[int(rng.integers(len(WHOLE)))]
        if isinstance(value, float):
            number = REAL[int(rng.integers(len(REAL)))]
            return number if np.isfinite(number) else {"$": "float", "value": str(number)}
        return WORDS[int(rng.integers(len(WORDS)))] if rng.random() < 0.8 else int(rng.integers(1, 100_000))

    def _swap(self):
        """An object in the place of another: of this file, or of another one."""

        def is_object(value):
            return isinstance(value, dict) and value.get("$") == "object"

        places = self._places(is_object)
        if not places:
            return None
        parent, key = places[int(self.rng.integers(len(places)))]
        other = self.seeds[int(self.rng.integers(len(self.seeds)))]
        if self.rng.random() < 0.4 and len(places) > 1:
            source, name = places[int(self.rng.integers(len(places)))]
            found = json.loads(json.dumps(source[name]))
        else:
            found = _renamed(json.loads(other.document)["object"], "swapped.")
            self.arrays |= {f"swapped.{name}": array for name, array in other.arrays.items()}
        before = parent[key]["class"]
        parent[key] = found
        self._drop_unused()
        return f"{key}: {before} is {found['class']} of {other.name}"

    def _length(self):
        """A list that is shorter, longer, empty or in another order."""
        places = self._places(lambda value: isinstance(value, list) and len(value) > 0)
        if not places:
            return None
        parent, key = places[int(self.rng.integers(len(places)))]
        items = parent[key]
        how = int(self.rng.integers(4))
        parent[key] = [items[:-1], items + json.loads(json.dumps(items[-1:])), [], items[::-1]][how]
        self._drop_unused()
        return f"{key}: list of {len(items)} is {('shorter', 'longer', 'empty', 'reversed')[how]}"

    def _places(self, wanted, inside=None):
        """(parent, key) of the values that are wanted; `inside` names the keys below which they count."""
        found = []

        def walk(node, counts):
            pairs = node.items() if isinstance(node, dict) else enumerate(node)
            for key, value in pairs:
                below = counts or inside is None or key in inside
                if below and key not in ("$", "class", "of", "type", "name", "shape", "keys") and wanted(value):
                    found.append((node, key))
                if isinstance(value, (dict, list)):
                    walk(value, below)

        walk(self.document["object"], inside is None)
        return found

    def _drop_unused(self):
        """Arrays that nothing names any longer: a file with them is refused before anything is looked at."""
        text = json.dumps(self.document)
        self.arrays = {name: array for name, array in self.arrays.items() if json.dumps(name) in text}


def _resized(array, axis, size):
    """Cut, or filled up with what is there."""
    if not array.shape[axis]:
        return array
    if not array.size:  # a hollow side may be 2^40, and needs no index for each of its places
        return np.empty((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
    return np.take(array, np.arange(size) % array.shape[axis], axis=axis)


def _renamed(node, prefix):
    """The node with other names of arrays."""
    if isinstance(node, list):
        return [_renamed(item, prefix) for item in node]
    if not isinstance(node, dict):
        return node
    names = ("bytes", "offsets") if node.get("$") == "strings" else ("of",)
    return {
        key: prefix + value if key in names and isinstance(value, str) and "$" in node else _renamed(value, prefix)
        for key, value in node.items()
    }
