"""Python values as a JSON document and a set of named arrays; :mod:`mercer._base.files.decoding` is the way back.

None, booleans, strings, finite floats, 64-bit integers and lists are themselves in JSON; everything else is an object
whose key ``$`` says what it is. Arrays stand in the document by name. Types are compared exactly, so a subclass with
behavior of its own is refused rather than flattened.
"""

__all__ = ["MAX_DEPTH", "NUMPY_TYPES", "PYTHON_TYPES", "SPARSE_TYPES", "Encoder"]

import math
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse

from mercer._base.errors import NotSaveableError
from mercer._base.files.objects import name_in_file, parameters_of, state_of
from mercer._base.files.sklearn_objects import FUNCTIONS

MAX_DEPTH = 50

# the types that may stand in a document, by the name they have there
NUMPY_TYPES = {
    np.dtype(code).name: np.dtype(code).type
    for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}
PYTHON_TYPES = {kind.__name__: kind for kind in (bool, int, float, complex, str)}
SPARSE_TYPES = {
    kind.__name__: kind
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.csr_array, scipy.sparse.csc_array)
}


class Encoder:
    """Encodes one value. Afterward ``arrays`` holds the arrays its document names; equal views are kept once.

    Parameters
    ----------
    root : what errors call the value, usually the name of its class
    """

    def __init__(self, root: str):
        self.root = root
        self.arrays: dict[str, np.ndarray] = {}
        self._nodes: dict[tuple, Any] = {}
        self._alive: list[np.ndarray] = []  # an array that is freed could give its address to another one

    def encode(self, value: Any, path: str = "", depth: int = 0) -> Any:
        """The JSON node of a value; ``path`` names it in errors and names its arrays."""
        if depth > MAX_DEPTH:
            raise self._refusal(path, "it refers to itself or is nested too deeply.")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind in (int, float, complex, bytes, list, tuple, dict, slice):
            return getattr(self, f"_encode_{kind.__name__}")(value, path, depth)
        if kind in (np.ndarray, np.memmap):
            return self._encode_array(value, path, depth)
        if isinstance(value, np.generic):
            return self._encode_scalar(value, path, depth)
        if isinstance(value, np.dtype) and value.isnative and value.name in NUMPY_TYPES:
            return {"$": "dtype", "name": value.name}
        if isinstance(value, type):
            return self._encode_type(value, path)
        if kind in SPARSE_TYPES.values():
            return self._encode_sparse(value, path, depth)
        if name_in_file(kind) is not None:
            return self._encode_object(value, path, depth)
        if FUNCTIONS.get(getattr(value, "__name__", "")) and _is_listed_function(value):
            return {"$": "function", "name": value.__name__}
        raise self._refusal(path, _why_not(value))

    def _refusal(self, path: str, reason: str) -> NotSaveableError:
        return NotSaveableError(f"{self.root}{'.' if path else ''}{path} cannot be saved: {reason}")

    def _encode_int(self, value: int, path: str, depth: int) -> Any:
        # other JSON readers, and Python beyond 4300 digits, do not take long integers
        return value if -(2**63) <= value < 2**63 else {"$": "int", "hex": hex(value)}

    def _encode_float(self, value: float, path: str, depth: int) -> Any:
        return value if math.isfinite(value) else {"$": "float", "value": str(value)}

    def _encode_complex(self, value: complex, path: str, depth: int) -> Any:
        parts = [self._encode_float(part, path, depth) for part in (value.real, value.imag)]
        return {"$": "complex", "parts": parts}

    def _encode_bytes(self, value: bytes, path: str, depth: int) -> Any:
        return {"$": "bytes", "of": self._store(path, np.frombuffer(value, np.uint8))}

    def _encode_list(self, value: list, path: str, depth: int) -> Any:
        return [self.encode(item, _join(path, index), depth + 1) for index, item in enumerate(value)]

    def _encode_tuple(self, value: tuple, path: str, depth: int) -> Any:
        return {"$": "tuple", "items": self._encode_list(list(value), path, depth)}

    def _encode_slice(self, value: slice, path: str, depth: int) -> Any:
        return {"$": "slice", "items": self._encode_list([value.start, value.stop, value.step], path, depth)}

    def _encode_dict(self, value: dict, path: str, depth: int) -> Any:
        strange = [key for key in value if type(key) not in (str, int)]
        if strange:
            raise self._refusal(path, f"the key {strange[0]!r} is neither a string nor an integer.")
        keys = [self.encode(key) for key in value]
        return {"$": "dict", "keys": keys, "values": self._encode_list(list(value.values()), path, depth)}

    def _encode_type(self, value: type, path: str) -> Any:
        if value in PYTHON_TYPES.values():
            return {"$": "python_type", "name": value.__name__}
        if issubclass(value, np.generic) and value in NUMPY_TYPES.values():
            return {"$": "numpy_type", "name": np.dtype(value).name}
        raise self._refusal(path, f"the type {value.__name__} is not one of numpy's numbers.")

    def _encode_scalar(self, value: np.generic, path: str, depth: int) -> Any:
        if isinstance(value, np.str_):
            return {"$": "numpy_str", "value": str(value)}
        if value.dtype.name not in NUMPY_TYPES:
            raise self._refusal(path, _why_not_array(value.dtype))
        return {"$": "scalar", "type": value.dtype.name, "value": self.encode(value.item(), path, depth)}

    def _encode_array(self, value: np.ndarray, path: str, depth: int) -> Any:
        interface = value.__array_interface__
        view = (interface["data"], value.shape, value.strides, value.dtype.str)
        if view not in self._nodes:
            self._alive.append(value)
            self._nodes[view] = self._encode_new_array(value, path, depth)
        return self._nodes[view]

    def _encode_new_array(self, value: np.ndarray, path: str, depth: int) -> Any:
        # Fortran order is kept: it decides the order of summation in BLAS, and so the last bit of a prediction
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            return {"$": "transpose", "of": self._encode_new_array(value.T, path, depth)}
        kind = value.dtype.kind
        if kind == "O":
            return self._encode_objects(value, path)
        if kind == "U":
            # code points as numpy keeps them; the text of an object array would lose the width of the type
            width = max(1, value.dtype.itemsize // 4)
            flat = np.asarray(value, dtype=f"<U{width}", order="C").reshape(-1)
            return {"$": "text", "of": self._store(path, flat.view("<u4").reshape(*value.shape, width))}
        if value.dtype.name not in NUMPY_TYPES:
            raise self._refusal(path, _why_not_array(value.dtype))
        if kind == "c":
            half = np.dtype(f"<f{value.dtype.itemsize // 2}")
            flat = np.asarray(value, dtype=value.dtype.newbyteorder("<"), order="C").reshape(-1)
            return {"$": "complex_array", "of": self._store(path, flat.view(half).reshape(*value.shape, 2))}
        return {"$": "array", "of": self._store(path, value)}

    def _encode_objects(self, value: np.ndarray, path: str) -> Any:
        if not all(type(item) is str for item in value.flat):
            raise self._refusal(path, _why_not_array(value.dtype))
        encoded = [item.encode("utf-8", "surrogatepass") for item in value.flat]
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return {
            "$": "strings",
            "shape": list(value.shape),
            "bytes": self._store(_join(path, "bytes"), np.frombuffer(b"".join(encoded), np.uint8)),
            "offsets": self._store(_join(path, "offsets"), offsets),
        }

    def _encode_sparse(self, value: Any, path: str, depth: int) -> Any:
        parts = {
            name: self._encode_array(getattr(value, name), _join(path, name), depth)
            for name in ("data", "indices", "indptr")
        }
        return {"$": "sparse", "type": type(value).__name__, "shape": [int(side) for side in value.shape], **parts}

    def _encode_object(self, value: Any, path: str, depth: int) -> Any:
        def encode_all(values):
            return {name: self.encode(item, _join(path, name), depth + 1) for name, item in values.items()}

        return {
            "$": "object",
            "class": name_in_file(type(value)),
            "parameters": encode_all(parameters_of(value)),
            "state": encode_all(state_of(value)),
        }

    def _store(self, path: str, array: np.ndarray) -> str:
        # paths are unique: attribute names hold no dots, and lists, dictionaries and parts number or name their items
        self.arrays[path] = array
        return path


def _join(path: str, name: str | int) -> str:
    return f"{path}.{name}" if path else str(name)


def _is_listed_function(value: Any) -> bool:
    return getattr(import_module(FUNCTIONS[value.__name__]), value.__name__) is value


def _why_not(value: Any) -> str:
    """What to do about a value that has no place in a model file."""
    kind = type(value).__name__
    if isinstance(value, np.random.RandomState | np.random.Generator | np.random.BitGenerator):
        return f"a {kind} changes with every use. Use an integer seed: set_params(random_state=0)."
    if hasattr(value, "get_params"):
        return f"{kind} is neither a class of Mercer nor a class of scikit-learn that model files support."
    if callable(value):
        return "a function is code, which model files never contain. Use one of Mercer's own classes."
    return f"model files support numbers, strings, lists, dictionaries, arrays and Mercer objects, not {kind}."


def _why_not_array(dtype: np.dtype) -> str:
    if dtype.kind == "O":
        return "object arrays may contain any Python object. Convert the array to numbers, or to strings."
    return f"the type {dtype} is not supported in model files. Convert it to integers, floats or strings."
