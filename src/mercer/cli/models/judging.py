"""How good a fit is on rows it has not seen: what its trials have measured, or a fit to four fifths of the rows."""

__all__ = ["judged_fit", "score_in_words"]

from typing import Any

from mercer._base.tables import RowSource

FIFTH = 5
LEAST_ROWS = 10  # of which a fifth says anything at all


def judged_fit(learner: Any, rows: Any, y: Any, seed: int) -> dict[str, Any]:
    """Score, its name and what it was measured on, for a JSON document; empty where nothing can be said.

    Rows that are read block by block are not learned from twice.

    Parameters
    ----------
    learner : fitted
    rows, y : what it was fitted to
    """
    plan = learner.plan_
    if getattr(plan, "trials", None):
        return {plan.score_name: plan.score, "judged_by": plan.judged_by}
    if hasattr(learner, "scores_"):
        folds, best = learner.scores_.shape[0], learner.scores_[:, learner.best_index_]
        return {"accuracy": float(best.mean()), "judged_by": f"{folds} folds of the rows"}
    if isinstance(rows, RowSource) or learner.interrupted_ or len(y) < LEAST_ROWS or y.ndim > 1:
        return {}
    return _held_out(learner, rows, y, seed)


def score_in_words(found: dict[str, Any]) -> list[str] | None:
    """Name and text of the score, for a table.

    >>> score_in_words({"accuracy": 0.9, "judged_by": "a held-out fifth (30 rows)"})
    ['accuracy', '0.9000 on a held-out fifth (30 rows)']
    """
    for name in ("accuracy", "R2"):
        if name in found:
            where = found["judged_by"]
            return [name, f"{found[name]:.4f} on {where if 'held-out' in where else f'left-out rows ({where})'}"]
    return None


def _held_out(learner: Any, rows: Any, y: Any, seed: int) -> dict[str, Any]:
    """The score of another such learner, fitted to four fifths of the rows, on the others."""
    import warnings

    import numpy as np
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import train_test_split

    is_classifier = hasattr(learner, "classes_")
    # a class of a single row can be learned or asked about, not both
    counts = np.unique(y, return_counts=True)[1] if is_classifier else np.array([len(y)])
    stratify = y if is_classifier and counts.min() > 1 and len(counts) <= len(y) // FIFTH else None
    learned, asked = train_test_split(np.arange(len(y)), test_size=1 / FIFTH, random_state=seed, stratify=stratify)
    if is_classifier and len(np.unique(y[learned])) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # which the fit to all rows has told already
        other = clone(learner).fit(rows[np.sort(learned)], y[np.sort(learned)])
    if other.interrupted_:
        return {}
    asked = np.sort(asked)
    name = "accuracy" if is_classifier else "R2"
    return {name: float(other.score(rows[asked], y[asked])), "judged_by": f"a held-out fifth ({len(asked):,} rows)"}
