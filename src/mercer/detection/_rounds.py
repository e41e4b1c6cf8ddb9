"""The rounds of a training, in their order; what a checkpoint counts."""

__all__ = ["plan_rounds", "run_round"]

from mercer.detection._training import FEW


def plan_rounds(settings, n_parts):
    """The rounds of a training as pairs (stage, number)."""
    parts = [("parts", r) for r in range(settings.part_rounds)] if n_parts else []
    return [("root", r) for r in range(settings.root_rounds)] + parts


def run_round(trainer, stage, number, n_parts):
    """Place the objects, then mine and solve in turn until few negatives are new."""
    if stage == "root" and number == 0:
        trainer.begin()
        trainer.note("begin", objects=len(trainer.positives))
        trainer.note("solve", objective=trainer.solve())
    else:
        if stage == "parts" and number == 0:
            trainer.add_parts(n_parts)
        trainer.note("relabel", objects=trainer.relabel())
        if len(trainer.caches[0]):
            trainer.note("solve", objective=trainer.solve())
    for _ in range(trainer.settings.minings):
        added = trainer.mine()
        cached = sum(map(len, trainer.caches))
        trainer.note("mine", added=added, cached=cached)
        trainer.note("solve", objective=trainer.solve())
        trainer.shrink()
        if added <= FEW * cached:
            break
