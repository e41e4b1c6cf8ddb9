"""What an index says of itself: size, memory, and how its rows fit the model."""

__all__ = ["statistics"]

import os

import numpy as np


def statistics(index, rows):
    """Of a `KernelIndex` and its `Collection`, as a dictionary; nothing is derived for it."""
    far = int(np.count_nonzero(rows.flags & 1))
    n_bytes = rows.model.coder_.n_bytes if rows.model.keeps_codes else 0
    limit = rows.model.residual_limit_ if rows.model.embeds else 1.0
    return {
        "rows": len(rows),
        "removed": int(np.count_nonzero(rows.snapshot.removed)),
        "segments": len(rows.snapshot.segments),
        "kernel": repr(rows.model.kernel_),
        "store": rows.model.store,
        "measure": index.measure,
        "normalize": index.normalize,
        "bytes_per_item": n_bytes,
        "code_bytes": n_bytes * rows.snapshot.n_positions,
        "vectors": rows.vectors.name if rows.vectors else None,
        "rounded_rows": rows.rounded,
        "drift": {"rows": far, "share": far / max(1, len(rows)), "limit": limit},
        **rows.derived.sizes(),
        "data": index.columns_,
        "path": None if rows.path is None else os.fspath(rows.path),
        "plan": index.plan_,
    }
