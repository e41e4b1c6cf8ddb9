"""The rounds of a training, in their order; what a checkpoint counts."""

__all__ = ["plan_rounds", "run_round", "run_rounds"]

from numbers import Integral

import numpy as np

from mercer._base.progress import track
from mercer.detection.training.checkpoint import read_checkpoint, write_checkpoint
from mercer.detection.training.latent import FEW


def plan_rounds(settings, n_parts):
    """The rounds of a training as pairs (stage, number)."""
    parts = [("parts", r) for r in range(settings.n_part_rounds)] if n_parts else []
    return [("root", r) for r in range(settings.n_root_rounds)] + parts


def run_rounds(trainer, n_parts, seed, checkpoint, parameters):
    """Run all rounds, from the first that a checkpoint has not seen on.

    Parameters
    ----------
    trainer : Trainer
    n_parts : int
    seed : int, of what rounds draw at random
    checkpoint : path or None
    parameters : dict, of the detector
    """
    rounds = plan_rounds(trainer.settings, n_parts)
    identity = None if checkpoint is None else _identity(trainer, parameters)
    done = 0 if checkpoint is None else read_checkpoint(checkpoint, trainer, identity)
    for number in track(range(done, len(rounds)), "Training rounds"):
        trainer.rng = np.random.RandomState((seed + number) % 2**32)
        run_round(trainer, *rounds[number], n_parts)
        if checkpoint is not None:
            write_checkpoint(checkpoint, trainer, number + 1, identity)


def _identity(trainer, parameters):
    """What a training depends on, for the checkpoint."""
    ignored = ("cache", "checkpoint", "n_jobs", "max_overlap", "threshold", "random_state")
    known = {key: value for key, value in parameters.items() if key not in ignored}
    seed = parameters["random_state"]
    images = [list(pyramid.image_shape) for pyramid in trainer.pyramids]
    checksum = float(sum(pyramid.cells[::101].sum(dtype=np.float64) for pyramid in trainer.pyramids))
    known |= {"random_state": int(seed) if isinstance(seed, Integral) else None, "images": images, "cells": checksum}
    return known | {"boxes": float(sum(own.sum() for own in trainer.boxes))}


def run_round(trainer, stage, number, n_parts):
    """Place the objects, then mine and solve in turn until few negatives are new."""
    if stage == "root" and number == 0:
        trainer.step("begin", trainer.begin, "objects")
    elif stage == "parts" and number == 0:
        trainer.add_parts(n_parts)
        trainer.step("relabel", trainer.relabel, "objects")
    else:
        trainer.step("relabel", trainer.relabel, "objects")
    if trainer.n_cached:
        trainer.step("solve", trainer.solve, "objective")
    for _ in range(trainer.settings.n_mining_rounds):
        added = trainer.step("mine", trainer.mine, "added")
        trainer.step("solve", trainer.solve, "objective")
        n_cached = trainer.n_cached
        trainer.shrink()
        if added <= FEW * n_cached:
            break
