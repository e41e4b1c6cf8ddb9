"""Small pictures with objects: a bar with a foot to one side, on noise. What faces left and right differs."""

import numpy as np


def draw(image, x, y, size, turn):
    """An L of bright bars, `size` high and half as wide; mirrored if it is turned."""
    thick, width = size // 6, size // 2
    upright = x + width - thick if turn else x
    image[y : y + size, upright : upright + thick] = 230
    image[y + size - thick : y + size, x : x + width] = 230
    return [x, y, x + width, y + size]


def scenes(seed, n_with=10, n_without=5, shape=(112, 128)):
    """(images, boxes): one or two objects in the first ones, none in the others but bars of no use."""
    rng = np.random.default_rng(seed)
    images, boxes = [], []
    for i in range(n_with + n_without):
        image = rng.integers(20, 70, shape, dtype=np.uint8)
        own = []
        if i < n_with:
            size = int(rng.integers(60, 90))
            x, y = (int(rng.integers(0, limit)) for limit in (shape[1] - size // 2, shape[0] - size))
            own.append(draw(image, x, y, size, i % 2))
        else:
            y = int(rng.integers(10, 90))
            image[y : y + 10] = 230
        images.append(image)
        boxes.append(np.array(own, dtype=float).reshape(-1, 4))
    return images, boxes
