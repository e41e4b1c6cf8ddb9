"""A training that was interrupted goes on where it stopped: its state after each round, in one file of arrays.

What a round draws at random follows from the seed and the number of the round, so that a training that was resumed ends
with the same model.
"""

__all__ = ["read_checkpoint", "write_checkpoint"]

import json
import os
import zipfile
from pathlib import Path

import numpy as np

from mercer._base.errors import InputError
from mercer.detection.model.components import Component
from mercer.detection.model.inference import Placements
from mercer.detection.training.examples import FIELDS, Rows

VERSION = 1
PARTS = ("root", "parts", "anchors", "deformations", "bias")


def write_checkpoint(path, trainer, n_done, identity):
    """Write the state of a training; an earlier file stays until the new one is complete.

    Parameters
    ----------
    path : the file
    trainer : Trainer
    n_done : rounds that are over
    identity : dict of what the training depends on
    """
    head = json.dumps({"version": VERSION, "done": n_done, "identity": identity, "history": trainer.history})
    arrays = {"head": np.frombuffer(head.encode(), dtype=np.uint8)}
    for g, component in enumerate(trainer.learnt):
        arrays |= {f"component{g}.{name}": np.asarray(getattr(component, name)) for name in PARTS}
        rows = trainer.caches[g].rows
        if rows is not None:
            arrays |= {f"cache{g}.{name}": getattr(rows, name) for name in FIELDS}
    names, placed = list(trainer.positives), list(trainer.positives.values())
    joined = Placements.joined(placed, trainer.learnt[0].n_parts)
    arrays |= {"objects": np.array(names, dtype=np.int64).reshape(-1, 2)}
    arrays |= {"scores": joined.scores, "where": joined.where, "places": joined.parts}
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    with open(unfinished, "wb") as stream:
        np.savez(stream, **arrays)
    os.replace(unfinished, path)


def read_checkpoint(path, trainer, identity):
    """Bring a new trainer to the state of a file; the number of rounds that are over, 0 if there is no file."""
    if not os.path.exists(path):
        return 0
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        head = json.loads(arrays["head"].tobytes())
        done, known = int(head["done"]), head["identity"]
        if head["version"] != VERSION:
            raise InputError(f"The checkpoint {path} was written by a different version of Mercer. Remove it.")
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        if isinstance(error, InputError):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not a checkpoint, or damaged"
        raise InputError(f"The checkpoint {path} cannot be read: {why}. Remove it to start again.") from error
    differing = [name for name in identity if known.get(name) != identity[name]]
    if differing:
        name = differing[0]
        raise InputError(
            f"The checkpoint {path} belongs to a different training ({name}: {known.get(name)!r}, now "
            f"{identity[name]!r}). Remove it to start again, or restore the parameter."
        )
    _restore(trainer, arrays, head)
    return done


def _restore(trainer, arrays, head):
    for g in range(len(trainer.learnt)):
        values = {name: arrays[f"component{g}.{name}"] for name in PARTS}
        values["bias"] = float(values["bias"])
        trainer.learnt[g] = Component(**values)
        trainer.caches[g].clear()
        if f"cache{g}.keys" in arrays:
            trainer.caches[g].add(Rows(*(arrays[f"cache{g}.{name}"] for name in FIELDS)))
    objects = arrays["objects"].tolist()
    joined = Placements(arrays["scores"], arrays["where"], arrays["places"])
    trainer.positives = {(i, b): joined.take(slice(k, k + 1)) for k, (i, b) in enumerate(objects)}
    trainer.history = head["history"]
    trainer.positives_changed()
