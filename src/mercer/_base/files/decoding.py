"""Values from the JSON document and the arrays of a model file, as :mod:`mercer._base.files.encoding` wrote them.

Nothing is trusted: unknown tags, missing or additional keys, arrays of the wrong type or shape and arrays that nobody
asks for are refused.
"""

__all__ = ["Decoder", "summary"]

import itertools
import math
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from mercer._base.files.container import FileProblem
from mercer._base.files.encoding import MAX_DEPTH, NUMPY_TYPES, PYTHON_TYPES, SPARSE_TYPES
from mercer._base.files.objects import build, saveable_class
from mercer._base.files.sklearn_objects import FUNCTIONS, PREFIX

_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_LARGEST_CODE_POINT = 0x10FFFF


class Decoder:
    """Builds a value from a document and its arrays. What an Encoder does not write is refused with a FileProblem."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays
        self._used: set[str] = set()

    def decode_all(self, node: Any) -> Any:
        """The value of a whole document, which must use every array."""
        value = self.decode(node)
        unused = sorted(set(self.arrays) - self._used)
        if unused:
            raise FileProblem(f"is refused: it contains the unused array {unused[0][:80]!r}.")
        return value

    def decode(self, node: Any, depth: int = 0) -> Any:
        """The value of one node."""
        if depth > MAX_DEPTH + 5:  # a scalar, complex number or transposed array is deeper as JSON than as a value
            raise FileProblem("is refused: its document is nested too deeply.")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        tag = node.get("$")
        method, fields = self.DECODERS.get(tag, (None, ())) if isinstance(tag, str) else (None, ())
        if method is None:
            raise FileProblem(f"is refused: its document uses the unknown tag {str(tag)[:40]!r}.")
        _require(set(node) == {"$", *fields}, tag)
        return method(self, *(node[field] for field in fields), depth)

    def _array(self, name: Any, tag: str, dtypes: str, ndim: int | None = None) -> np.ndarray:
        """The array of that name, if its type is one of ``dtypes`` (letters of numpy.dtype.char)."""
        array = self.arrays.get(name) if isinstance(name, str) else None
        if array is None:
            raise FileProblem(f"is refused: its document names the array {str(name)[:80]!r}, which is missing.")
        _require(array.dtype.char in dtypes and (ndim is None or array.ndim == ndim), tag)
        self._used.add(name)
        return array

    def _items(self, items: Any, tag: str, depth: int) -> list:
        _require(isinstance(items, list), tag)
        return self.decode(items, depth)

    def _decode_int(self, text: Any, depth: int) -> int:
        _require(isinstance(text, str), "int")
        try:
            return int(text, 16)
        except ValueError:
            raise _malformed("int") from None

    def _decode_float(self, text: Any, depth: int) -> float:
        _require(isinstance(text, str) and text in _FLOATS, "float")
        return _FLOATS[text]

    def _decode_complex(self, parts: Any, depth: int) -> complex:
        real_imag = self._items(parts, "complex", depth)
        _require(len(real_imag) == 2 and all(type(part) is float for part in real_imag), "complex")
        return complex(*real_imag)

    def _decode_bytes(self, name: Any, depth: int) -> bytes:
        return self._array(name, "bytes", "B", ndim=1).tobytes()

    def _decode_tuple(self, items: Any, depth: int) -> tuple:
        return tuple(self._items(items, "tuple", depth))

    def _decode_slice(self, items: Any, depth: int) -> slice:
        bounds = self._items(items, "slice", depth)
        _require(len(bounds) == 3, "slice")
        return slice(*bounds)

    def _decode_dict(self, keys: Any, values: Any, depth: int) -> dict:
        names, items = self._items(keys, "dict", depth), self._items(values, "dict", depth)
        _require(len(names) == len(items) and all(type(name) in (str, int) for name in names), "dict")
        _require(len(set(names)) == len(names), "dict")
        return dict(zip(names, items, strict=True))

    def _decode_python_type(self, name: Any, depth: int) -> type:
        return _lookup(PYTHON_TYPES, name, "python_type")

    def _decode_numpy_type(self, name: Any, depth: int) -> type:
        return _lookup(NUMPY_TYPES, name, "numpy_type")

    def _decode_dtype(self, name: Any, depth: int) -> np.dtype:
        return np.dtype(_lookup(NUMPY_TYPES, name, "dtype"))

    def _decode_numpy_str(self, text: Any, depth: int) -> np.str_:
        _require(isinstance(text, str), "numpy_str")
        return np.str_(text)

    def _decode_scalar(self, name: Any, value: Any, depth: int) -> np.generic:
        kind = _lookup(NUMPY_TYPES, name, "scalar")
        plain = self.decode(value, depth + 1)
        _require(type(plain) is type(kind().item()), "scalar")
        try:
            with np.errstate(all="raise"):  # what does not fit the type was never written by an Encoder
                return kind(plain)
        except (OverflowError, FloatingPointError):
            raise _malformed("scalar") from None

    def _decode_array(self, name: Any, depth: int) -> np.ndarray:
        return self._array(name, "array", "?bBhHiIlLqQefd")

    def _decode_transpose(self, node: Any, depth: int) -> np.ndarray:
        array = self.decode(node, depth + 1)
        _require(isinstance(array, np.ndarray), "transpose")
        return array.T

    def _decode_text(self, name: Any, depth: int) -> np.ndarray:
        points = self._array(name, "text", "I")
        _require(points.ndim > 0 and points.shape[-1] > 0, "text")
        _require(not points.size or points.max() <= _LARGEST_CODE_POINT, "text")
        return points.reshape(-1).view(f"<U{points.shape[-1]}").reshape(points.shape[:-1])

    def _decode_complex_array(self, name: Any, depth: int) -> np.ndarray:
        parts = self._array(name, "complex_array", "fd")
        _require(parts.ndim > 0 and parts.shape[-1] == 2, "complex_array")
        return parts.reshape(-1).view(f"<c{2 * parts.dtype.itemsize}").reshape(parts.shape[:-1])

    def _decode_strings(self, shape: Any, text: Any, offsets: Any, depth: int) -> np.ndarray:
        data = self._array(text, "strings", "B", ndim=1).tobytes()
        bounds = self._array(offsets, "strings", "lq", ndim=1)
        _require(_is_shape(shape) and math.prod(shape) == len(bounds) - 1, "strings")
        _require(bounds[0] == 0 and bounds[-1] == len(data) and bool(np.all(bounds[:-1] <= bounds[1:])), "strings")
        result = np.empty(len(bounds) - 1, dtype=object)
        try:
            for index, (start, stop) in enumerate(itertools.pairwise(bounds.tolist())):
                result[index] = data[start:stop].decode("utf-8", "surrogatepass")
            return result.reshape(shape)
        except ValueError:  # not UTF-8, or a shape beyond numpy
            raise _malformed("strings") from None

    def _decode_sparse(self, name: Any, shape: Any, data: Any, indices: Any, indptr: Any, depth: int) -> Any:
        kind = _lookup(SPARSE_TYPES, name, "sparse")
        parts = tuple(self.decode(part, depth + 1) for part in (data, indices, indptr))
        _require(_is_shape(shape) and len(shape) == 2, "sparse")
        _require(all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts), "sparse")
        _require(all(part.dtype.char in "ilq" for part in parts[1:]) and parts[0].dtype.name in NUMPY_TYPES, "sparse")
        try:
            matrix = kind(parts, shape=tuple(shape))
            _, matrix.indices, matrix.indptr = parts  # scipy 1.14 has made them int32 where that is wide enough
            matrix.check_format(full_check=True)  # compiled loops follow the indices without looking
        except (ValueError, OverflowError, IndexError) as error:
            raise FileProblem(f"is refused: a sparse matrix in it is not valid ({error}).") from error
        return matrix

    def _decode_function(self, name: Any, depth: int) -> Any:
        return getattr(import_module(_lookup(FUNCTIONS, name, "function")), name)

    def _decode_object(self, name: Any, parameters: Any, state: Any, depth: int) -> Any:
        cls = saveable_class(name) if isinstance(name, str) else None
        if cls is None:
            raise FileProblem(f"is refused: it names the class {str(name)[:80]!r}, which this version does not know.")
        _require(isinstance(parameters, dict) and isinstance(state, dict), "object")
        decoded = [{key: self.decode(item, depth + 1) for key, item in part.items()} for part in (parameters, state)]
        return build(cls, *decoded)

    # tag -> how to decode it and the keys it must have, in the order of the method's arguments
    DECODERS: ClassVar[dict[str, tuple[Any, tuple[str, ...]]]] = {
        "int": (_decode_int, ("hex",)),
        "float": (_decode_float, ("value",)),
        "complex": (_decode_complex, ("parts",)),
        "bytes": (_decode_bytes, ("of",)),
        "tuple": (_decode_tuple, ("items",)),
        "slice": (_decode_slice, ("items",)),
        "dict": (_decode_dict, ("keys", "values")),
        "python_type": (_decode_python_type, ("name",)),
        "numpy_type": (_decode_numpy_type, ("name",)),
        "dtype": (_decode_dtype, ("name",)),
        "numpy_str": (_decode_numpy_str, ("value",)),
        "scalar": (_decode_scalar, ("type", "value")),
        "array": (_decode_array, ("of",)),
        "transpose": (_decode_transpose, ("of",)),
        "text": (_decode_text, ("of",)),
        "complex_array": (_decode_complex_array, ("of",)),
        "strings": (_decode_strings, ("shape", "bytes", "offsets")),
        "sparse": (_decode_sparse, ("type", "shape", "data", "indices", "indptr")),
        "function": (_decode_function, ("name",)),
        "object": (_decode_object, ("class", "parameters", "state")),
    }


def _malformed(tag: str) -> FileProblem:
    return FileProblem(f"is refused: its document holds a malformed {tag!r}.")


def _require(condition: bool, tag: str) -> None:
    if not condition:
        raise _malformed(tag)


def _lookup(table: dict[str, Any], name: Any, tag: str) -> Any:
    _require(isinstance(name, str) and name in table, tag)
    return table[name]


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(type(side) is int and 0 <= side < 2**63 for side in value)


def _is_name(text: str) -> bool:
    return text.removeprefix(PREFIX).isidentifier()


def summary(node: Any) -> str:
    """A node as short Python-like text, for people: nothing is decoded, and a malformed part shows as ``?``.

    >>> summary({"$": "object", "class": "RBF", "parameters": {"gamma": 0.5}, "state": {}})
    'RBF(gamma=0.5)'
    """
    if isinstance(node, list):
        return f"[{', '.join(map(summary, node))}]"
    if not isinstance(node, dict):
        return repr(node)
    match node:
        case {"$": "tuple", "items": list(items)}:
            return f"({', '.join(map(summary, items))})"
        case {"$": "dict", "keys": list(keys), "values": list(values)}:
            return f"{{{', '.join(f'{summary(k)}: {summary(v)}' for k, v in zip(keys, values, strict=False))}}}"
        case {"$": "object", "class": str(name), "parameters": dict(parameters)} if _is_name(name):
            return f"{name}({', '.join(f'{key}={summary(item)}' for key, item in parameters.items())})"
        case {"$": "scalar", "value": value} | {"$": "numpy_str", "value": value}:
            return summary(value)
        case {"$": "float", "value": str(text)} | {"$": "int", "hex": str(text)} if text.isprintable():
            return text
        case {"$": "numpy_type" | "python_type" | "dtype" | "function", "name": str(name)} if name.isidentifier():
            return name
        case {"$": "array" | "text" | "complex_array" | "bytes", "of": str(name)}:
            return f"<array {name!r}>"
        case {"$": str(tag)} if tag in Decoder.DECODERS:
            return f"<{tag}>"
    return "?"
