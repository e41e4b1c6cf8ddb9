"""A sample of descriptors, drawn evenly from many images in one pass over them."""

__all__ = ["sample_descriptors"]

import numpy as np

from mercer._base.errors import InputError
from mercer.vision.reading.batches import described, over_images
from mercer.vision.reading.cache import fingerprint


def sample_descriptors(pictures, descriptor, n_samples, seed, *, who, skipped=None, cache=None, n_jobs=None):
    """Rows drawn without replacement from every image, float32 (about n_samples, d).

    Every image gives the same number of rows, ceil(n_samples / images), or all that it has; if there are more images
    than rows wanted, that many images give one each. What an image gives depends on ``seed`` and its position alone. No
    more than the sample, and an image per thread, is in memory.

    Parameters
    ----------
    pictures : list of Picture
    descriptor : checked descriptor
    skipped : dict or None
        See :func:`over_images`.
    cache : ArrayCache or None
        Where the rows of each image are kept.
    """
    if len(pictures) > n_samples:
        chosen = np.sort(np.random.RandomState(seed).permutation(len(pictures))[:n_samples])
        pictures = [pictures[i] for i in chosen]
    per_image = -(-n_samples // len(pictures))
    kind = fingerprint("sample", descriptor, per_image, seed) if cache else None

    def draw(picture):
        key = fingerprint(kind, picture.digest, picture.position) if cache else None
        rows = cache.get(key) if cache else None
        if rows is None or rows.ndim != 2 or rows.dtype != np.float32 or len(rows) > per_image:
            values = described(picture, descriptor).values
            random_state = np.random.RandomState([seed, picture.position])
            rows = np.asarray(values, dtype=np.float32)
            if len(rows) > per_image:
                rows = rows[np.sort(random_state.permutation(len(rows))[:per_image])]
            if cache:
                cache.put(key, rows)
        return rows

    parts = [rows for _, rows in over_images(draw, pictures, skipped, n_jobs, "sampling descriptors")]
    if not parts:
        first = next(iter(skipped.values()))
        raise InputError(f"{who} cannot use any of {len(pictures)} images. The first: {first}")
    if len({rows.shape[1] for rows in parts}) > 1:
        raise InputError(f"{who} needs descriptors of one length, got {sorted({rows.shape[1] for rows in parts})}.")
    values = np.concatenate(parts)
    if not np.isfinite(values).all():
        raise InputError(f"{who} needs finite descriptors, got NaN or infinity from {descriptor!r}.")
    return values
