"""Arrays kept in a folder under the checksum of what they were computed from.

An entry is a file ``ab/cdef....npy``: an array as ``numpy.save`` writes it, followed by the SHA-256 of these bytes. The
name is the SHA-256 of the image's content, of all parameters that matter and of Mercer's version, so an entry never
goes stale; what is no longer needed may be deleted at any time. Files appear by renaming: several processes may share a
folder. A damaged entry counts as missing and is written again.
"""

__all__ = ["ArrayCache", "fingerprint"]

import hashlib
import io
import os
from numbers import Number
from pathlib import Path

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.files.atomic import replacing
from mercer._base.files.objects import parameters_of

DIGEST_BYTES = 32
# what does not change results: not part of a fingerprint
IRRELEVANT = frozenset({"n_jobs", "cache", "strict", "verbose"})


class ArrayCache:
    """A folder of arrays.

    Parameters
    ----------
    folder : path, created if it is not there
    who : str
        Who complains about a folder that cannot be used.
    """

    def __init__(self, folder, who):
        try:
            self.folder = Path(folder)
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, TypeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{who} cannot use cache={folder!r} as a folder: {reason}.") from error

    def get(self, key):
        """The array of a key, or None if it is not there or damaged."""
        try:
            content = self._file(key).read_bytes()
        except OSError:
            return None
        body, digest = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            return None
        try:
            return np.lib.format.read_array(io.BytesIO(body), allow_pickle=False)
        except (ValueError, EOFError):
            return None

    def put(self, key, array):
        """Keep an array."""
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        body = buffer.getvalue()
        file = self._file(key)
        file.parent.mkdir(exist_ok=True)
        with replacing(file) as out:
            out.write(body)
            out.write(hashlib.sha256(body).digest())

    def _file(self, key):
        return self.folder / key[:2] / f"{key[2:]}.npy"


def fingerprint(*values):
    """SHA-256, in hex, of numbers, strings, arrays, sequences, dictionaries and estimators with all that is in them.

    Estimators count by class, parameters and fitted attributes, without those that only say how to work (``n_jobs``,
    ``cache``, ``strict``).

    >>> fingerprint(1, "a") == fingerprint(1, "a") != fingerprint("1", "a")
    True
    """
    import mercer

    digest = hashlib.sha256(mercer.__version__.encode())
    for value in values:
        _add(digest, value)
    return digest.hexdigest()


def _add(digest, value):
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bytes, bool, Number)):
        _text(digest, f"{type(value).__name__} {value!r}")
    elif isinstance(value, os.PathLike):
        _text(digest, f"path {os.fspath(value)!r}")
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        _text(digest, f"array {value.dtype.str} {value.shape}")
        digest.update(np.ascontiguousarray(value))
    elif sparse.issparse(value):
        value = sparse.csr_array(value)
        _add(digest, [value.shape, value.indptr, value.indices, value.data])
    elif isinstance(value, (list, tuple)):
        _text(digest, f"{type(value).__name__} {len(value)}")
        for item in value:
            _add(digest, item)
    elif isinstance(value, dict):
        _add(digest, [[key, value[key]] for key in sorted(value, key=repr)])
    elif hasattr(value, "get_params"):
        _text(digest, f"object {type(value).__module__}.{type(value).__qualname__}")
        _add(digest, {name: item for name, item in _essence(value).items() if name not in IRRELEVANT})
    else:
        raise InputError(
            f"A cache needs a descriptor with comparable parameters; got a {type(value).__name__}. Derive it from "
            "sklearn.base.BaseEstimator, or do not use a cache."
        )


def _essence(estimator):
    fitted = {name: item for name, item in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}
    return parameters_of(estimator) | fitted


def _text(digest, text):
    """A length before each text: no two sequences of texts give the same bytes."""
    content = text.encode("utf-8", "surrogatepass")
    digest.update(len(content).to_bytes(8, "little"))
    digest.update(content)
