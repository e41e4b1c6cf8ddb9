"""Small images of three kinds of texture, told apart by their patches."""

import numpy as np
from PIL import Image

KINDS = ("checks", "slopes", "stripes")


def textures(rng, n=24):
    """(images of sizes that differ a little, kind of each)."""
    images, kinds = [], []
    for i in range(n):
        y, x = np.mgrid[: 44 + 4 * (i % 2), : 52 - 4 * (i % 3)]
        phase = rng.uniform(0, 6)
        waves = (np.sin(x / 2) * np.sin(y / 2 + phase), np.sin((x + y) / 2 + phase), np.sin(x / 1.5 + phase))[i % 3]
        images.append(np.clip(127 + 80 * waves + rng.normal(0, 12, x.shape), 0, 255).astype(np.uint8))
        kinds.append(KINDS[i % 3])
    return images, np.array(kinds)


def write_folder(root, rng, n=24):
    """A folder with a folder for each kind."""
    for i, (image, kind) in enumerate(zip(*textures(rng, n), strict=True)):
        (root / kind).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / kind / f"{i:02}.png")
    return root
