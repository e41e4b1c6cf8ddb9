"""A plan in the words of a user: one sentence for the model, and a small table."""

__all__ = ["lines_of", "sentence", "size"]

from mercer.kernels import in_words

KINDS = {"DenseRows": "dense", "CSRRows": "sparse", "CodeRows": "codes", "BitRows": "bits"}  # of encoded rows


def sentence(plan):
    """Kernel and map, problems, and the memory of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier
    >>> print(sentence(KernelClassifier("chi2").plan(*load_iris(return_X_y=True))))
    chi2 kernel through a map of 7 numbers per column (28 in all); 3 pairs of classes; 30.9 KiB of memory
    """
    return f"{in_words(plan.kernel)} {_encoding(plan)}; {_problems(plan)}; {size(plan.total_bytes)} of memory"


def lines_of(plan):
    """Pairs of a name and a text, with the fields that a user can act on."""
    place = {"disk": " on disk", "workers": " on the workers"}.get(plan.storage, "")
    kind, _, number = plan.rows.partition(" of ")
    encoded = f"encoded as {number} ({KINDS[kind]})" if kind in KINDS else plan.rows
    parts = {"rows": plan.rows_bytes if not place else 0, "scores": plan.work_bytes, "planes": plan.planes_bytes,
             "tables": plan.tables_bytes}  # fmt: skip
    shares = ", ".join(f"{name} {size(part)}" for name, part in parts.items() if part)
    found = {
        "model": sentence(plan),
        "kernel": plan.kernel,
        "levels": plan.levels,
        "map": plan.map,
        "rows": f"{plan.n_rows:,} of {plan.n_inputs:,} columns, {encoded}: {size(plan.rows_bytes)}{place}",
        "loss": plan.loss,
        "solver": plan.solver,
        "memory": f"{size(plan.total_bytes)} at most ({shares})",
    }
    return [(name, text) for name, text in found.items() if text]


def size(n_bytes):
    """A number of bytes for people.

    >>> size(3 * 2**20)
    '3.0 MiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024 or unit == "GiB":
            return f"{n_bytes:,.0f} {unit}" if unit == "B" else f"{n_bytes:,.1f} {unit}"
        n_bytes /= 1024


def _encoding(plan):
    """What stands between the rows and the weights."""
    total, per_column = plan.n_features, plan.n_features / max(1, plan.n_inputs)
    if not plan.map:
        return f"computed exactly between {plan.n_rows:,} rows"
    if plan.map in ("HomogeneousMap", "SparseAdditiveMap") and per_column == int(per_column):
        numbers = "number" if per_column == 1 else "numbers"
        return f"through a map of {int(per_column):,} {numbers} per column ({total:,} in all)"
    if plan.map == "LevelQuantizer":
        return f"through a table per column ({total:,} entries in all)"
    if plan.map == "ProductQuantizer":
        return f"through codes of {plan.rows_bytes / max(1, plan.n_rows):,.0f} bytes per row"
    if plan.map == "NystroemMap":
        return f"through landmarks ({total:,} numbers per row)"
    return f"through {plan.map} ({total:,} numbers per row)"


def _problems(plan):
    """What the columns of scores are."""
    n = plan.n_columns
    if plan.problems == "one-vs-rest":
        return "2 classes" if n == 1 else f"{n:,} classes, each against the rest"
    if plan.problems == "one-vs-one":
        return "2 classes" if n == 1 else f"{n:,} pairs of classes"
    if plan.problems == "joint":
        return f"{n:,} classes at once"
    if plan.problems == "one per label":
        return f"{n:,} {_several('label', n)}"
    return f"{n:,} {_several('output', n)}"


def _several(word, n):
    return word if n == 1 else f"{word}s"
