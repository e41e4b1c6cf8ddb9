"""The embedding as an artifact of its own: the bytes that are kept beside a table, and the fingerprint of them."""

__all__ = ["artefact", "embedded", "fingerprint", "from_artefact"]

import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.encoding import Encoder
from mercer._base.files.models import load, save
from mercer._base.threads import thread_limit
from mercer.search.model.measure import Measure
from mercer.search.model.model import CHUNK_ROWS, SearchModel, features

DIGITS = 32  # of a SHA-256: enough that no two embeddings share them by chance
HOW_IT_RUNS = ("n_jobs", "verbose")  # parameters that change no number


def artefact(model):
    """A model file, as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "embedding.mercer"
        save(model, path)
        return path.read_bytes()


def from_artefact(data, where):
    """The model of such bytes, checked like any model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "embedding.mercer"
        path.write_bytes(data)
        model = load(path)
    if not isinstance(model, SearchModel):
        raise InputError(f"{where} contains {type(model).__name__} instead of the model of an index.")
    return model


def fingerprint(model):
    """Digits that two models share if, and only if, they embed rows alike and mean the same by near.

    Versions of libraries, the code of the index and the number of threads are left out.
    """
    encoder = Encoder("embedding")
    parts = {
        "kernel": model.kernel_,
        "normalize": model.normalize,
        "measure": model.measure,
        "embedding": model.embedding_,
    }
    document = {name: _without_settings(encoder.encode(part, name)) for name, part in parts.items()}
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name, array in sorted(encoder.arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:DIGITS]


def _without_settings(node):
    if isinstance(node, dict):
        return {key: _without_settings(value) for key, value in node.items() if key not in HOW_IT_RUNS}
    return [_without_settings(value) for value in node] if isinstance(node, list) else node


def embedded(model, X):
    """Embedded rows or queries as a store keeps them, float32: their inner product is about the kernel.

    What `SearchModel.levelled` adds for codes is not there: a store compares by inner products as well as by distances.
    """
    rows = X.astype(np.float32, copy=False)
    with thread_limit(model.n_jobs):
        parts = [
            features(model.embedding_, Measure.of(model), rows[start : start + CHUNK_ROWS])
            for start in range(0, X.shape[0], CHUNK_ROWS)
        ]
    return np.concatenate(parts) if parts else np.empty((0, model.embedding_._n_features_out), dtype=np.float32)
