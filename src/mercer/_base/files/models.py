"""Saving and loading of every estimator and kernel of the package: ``mercer.save`` and ``mercer.load``."""

__all__ = ["describe", "load", "save"]

import os
import platform
from functools import cache
from importlib import metadata
from typing import Any

from mercer._base.errors import ModelFileError, NotSaveableError
from mercer._base.files import container
from mercer._base.files.container import FileProblem, Header, naming
from mercer._base.files.decoding import Decoder, summary
from mercer._base.files.encoding import Encoder
from mercer._base.files.objects import name_in_file

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu")
_FINGERPRINT_LENGTH = 16
_LONGEST_SUMMARY = 200


def save(model: Any, path: str | os.PathLike) -> None:
    """Write an estimator, a kernel or a pipeline to a file.

    The file is not a pickle: it holds the constructor parameters and the fitted attributes (those that end in ``_``) as
    a JSON document and raw arrays. It takes its name only when it is complete and on the disk, so a crash leaves the
    old file as it was. The same model saved twice gives the same bytes.

    Parameters
    ----------
    model : a kernel or estimator of Mercer, fitted or not, with Mercer objects inside where it takes them; or a
        ``Pipeline``, ``ColumnTransformer``, ``FeatureUnion`` or ``TransformedTargetRegressor`` of these and of
        scikit-learn's common scalers, encoders and linear models
    path : the file to write, by custom with the suffix ``.mercer``; an existing file is replaced

    Raises
    ------
    NotSaveableError
        If a part has no safe representation: a function, a random generator, an estimator that is not listed. The
        message names the attribute and the remedy.
    ModelFileError
        If ``path`` is a directory.

    See Also
    --------
    load : reads the file.

    Examples
    --------
    >>> import mercer, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(mercer.RBF(gamma=0.5), folder + "/rbf.mercer")
    ...     mercer.load(folder + "/rbf.mercer") == mercer.RBF(gamma=0.5)
    True
    """
    name = type(model).__name__
    if name_in_file(type(model)) is None:
        if hasattr(type(model), "_run_search"):  # of scikit-learn's GridSearchCV and its kin
            raise NotSaveableError(
                f"save() cannot keep a search such as {name}. Fit it and save its best_estimator_: "
                "save(search.best_estimator_, path)."
            )
        raise NotSaveableError(
            f"save() takes a kernel or estimator of Mercer, or a pipeline of these and of scikit-learn's common "
            f"transformers, not {name}."
        )
    if os.path.isdir(path):
        raise ModelFileError(
            f"{os.fsdecode(path)!r} is a directory, and a model is a file. Add a name to it, for instance "
            f"{os.path.join(os.fsdecode(path), 'model.mercer')!r}."
        )
    encoder = Encoder(root=name)
    node = encoder.encode(model)
    container.write(path, {**_versions(), "object": node}, encoder.arrays)


def load(path: str | os.PathLike, *, mmap: bool = False) -> Any:
    """Read an estimator or a kernel that :func:`save` wrote.

    The checksum of the whole file is verified first. Nothing in a file is executed, and only public classes of this
    package and listed ones of scikit-learn are built.

    Parameters
    ----------
    path : the file
    mmap : False gives arrays of their own memory. True maps the file: arrays are read-only, cost no memory until they
        are touched, and are shared by all processes that map the same file. The file must then not be written to while
        the model is in use; replacing it by another :func:`save` is safe.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, altered, written by a newer version or not a model file. The message names the
        file and the reason.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer import Chi2, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "kernel.mercer")
    ...     save(Chi2(), path)
    ...     load(path)
    Chi2(signed=False)
    """
    header, arrays = container.read(path, mmap=mmap)
    with naming(path):
        node = _checked_document(header)["object"]
        return Decoder(arrays).decode_all(node)


def describe(path: str | os.PathLike, verify: bool = False) -> dict[str, Any]:
    """What a file holds, from its header alone, as plain values ready for JSON.

    Parameters
    ----------
    path : the file
    verify : also read the whole file and compare its checksum; otherwise ``verified`` is False and only the header has
        been checked, against the size of the file
    """
    header = container.verify(path) if verify else container.read_header(path)
    with naming(path):
        document = _checked_document(header)
        node = document["object"]
        return {
            "file": os.fsdecode(path),
            "class": node["class"],
            "parameters": {name: summary(item)[:_LONGEST_SUMMARY] for name, item in node["parameters"].items()},
            "state": {name: summary(item)[:_LONGEST_SUMMARY] for name, item in node["state"].items()},
            "arrays": [
                {
                    "name": entry.name,
                    "dtype": entry.dtype.name,
                    "shape": list(entry.shape),
                    "bytes": entry.stop - entry.start,
                }
                for entry in header.arrays
            ],
            "bytes": header.file_bytes,
            "format": container.FORMAT_VERSION,
            "mercer": document["mercer"],
            "libraries": document["libraries"],
            "fingerprint": header.sha256[:_FINGERPRINT_LENGTH],
            "sha256": header.sha256,
            "verified": verify,
        }


def _versions() -> dict[str, Any]:
    import mercer

    return {"mercer": mercer.__version__, "libraries": _library_versions()}


@cache  # each look-up searches the folders of the installation
def _library_versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in _LIBRARIES}


def _checked_document(header: Header) -> dict[str, Any]:
    """The document, if it has the parts that are shown to people and one object at the top."""
    match header.document:
        case {
            "mercer": str(version),
            "libraries": dict(libraries),
            "object": {"$": "object", "class": str(name), "parameters": dict(parameters), "state": dict(state)},
            **rest,
        } if not rest:
            texts = [version, name, *libraries, *libraries.values(), *parameters, *state]
            if all(isinstance(text, str) and text.isprintable() for text in texts):
                return header.document
    raise FileProblem("is refused: its document does not describe a model.")
