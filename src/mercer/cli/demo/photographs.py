"""Colors of the patches of two photographs, and the same patches partly covered: who is found again?"""

__all__ = ["Patches", "photographs"]

from dataclasses import dataclass
from typing import Any

SIDE, STRIDE, COVERED = 48, 20, 0.3  # pixels, pixels, and the share of a patch that the other photograph covers
_LEVELS = 8  # of each color, so that 512 colors are counted


@dataclass(frozen=True)
class Patches:
    """Pixels and histograms of patches; a question is the patch of the same position, partly covered."""

    pixels: list[Any]
    covered: list[Any]
    rows: Any
    questions: Any


def photographs(seed: int) -> Patches:
    """Patches of the two photographs that come with scikit-learn."""
    import numpy as np
    from sklearn.datasets import load_sample_images

    from mercer._base.errors import require_extra

    require_extra("PIL.Image", extra="vision", purpose="Reading the photographs of scikit-learn")
    photos = load_sample_images().images
    rng = np.random.default_rng(seed)
    pixels, covered = [], []
    for photo, other in (photos, photos[::-1]):
        height, width = photo.shape[:2]
        for top in range(0, height - SIDE + 1, STRIDE):
            for left in range(0, width - SIDE + 1, STRIDE):
                pixels.append(photo[top : top + SIDE, left : left + SIDE])
                covered.append(_covered(pixels[-1], other, rng))
    return Patches(pixels, covered, _histograms(pixels), _histograms(covered))


def _covered(patch, other, rng):
    """The patch behind a square of the other photograph, both at random places."""
    side = round(SIDE * COVERED**0.5)
    top, left = (rng.integers(0, size - side + 1) for size in other.shape[:2])
    down, right = rng.integers(0, SIDE - side + 1, size=2)
    made = patch.copy()
    made[down : down + side, right : right + side] = other[top : top + side, left : left + side]
    return made


def _histograms(patches):
    """Shares of 512 colors in each patch."""
    import numpy as np

    steps = np.stack(patches).reshape(len(patches), -1, 3) // (256 // _LEVELS)
    colors = (steps * np.array([_LEVELS**2, _LEVELS, 1])).sum(axis=2)
    counts = [np.bincount(each, minlength=_LEVELS**3) for each in colors]
    return (np.array(counts) / SIDE**2).astype(np.float32)
