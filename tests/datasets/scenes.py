"""Small pictures in the folders of Scenes-15, and a recipe for them."""

import numpy as np

from mercer.datasets.images.scenes_sift import Recipe, image_digests, images_sha256, names_sha256, shuffled_names

N_IMAGES, N_QUERY_IMAGES = 14, 4


def draw_scenes(folder):
    """Write pictures of blurred noise; the first three images of the base are the first image of the queries."""
    import cv2  # here, so that the suite can be collected without it

    rng = np.random.default_rng(0)
    for i in range(N_IMAGES):
        path = folder / ("train" if i % 2 else "test") / "AB"[i % 3 == 0] / f"image_{i:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = cv2.GaussianBlur(rng.random((80, 100)), (0, 0), 2)
        noise = (noise - noise.min()) / np.ptp(noise)
        cv2.imwrite(str(path), (255 * noise).astype(np.uint8))
    names = shuffled_names(folder)
    for name in names[N_QUERY_IMAGES : N_QUERY_IMAGES + 3]:
        (folder / name).write_bytes((folder / names[0]).read_bytes())


def recipe_for(folder, n_base=150, n_query=30, **checksums):
    """A recipe that accepts these pictures; what comes out of it is not pinned."""
    names = shuffled_names(folder)
    pinned = {"base_sha256": "0" * 64, "query_sha256": "1" * 64, **checksums}
    contents = images_sha256(image_digests(folder, names))
    return Recipe(N_QUERY_IMAGES, n_base, n_query, names_sha256(names), contents, **pinned)
