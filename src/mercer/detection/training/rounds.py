"""The rounds of a training, in their order; what a checkpoint counts."""

__all__ = ["plan_rounds", "run_round"]

from mercer.detection.training.latent import FEW


def plan_rounds(settings, n_parts):
    """The rounds of a training as pairs (stage, number)."""
    parts = [("parts", r) for r in range(settings.part_rounds)] if n_parts else []
    return [("root", r) for r in range(settings.root_rounds)] + parts


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
    for _ in range(trainer.settings.minings):
        added = trainer.step("mine", trainer.mine, "added")
        trainer.step("solve", trainer.solve, "objective")
        n_cached = trainer.n_cached
        trainer.shrink()
        if added <= FEW * n_cached:
            break
