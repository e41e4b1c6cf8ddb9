"""Census transforms of pixels and their histograms over rectangles. [zabih94nonparametric]"""

__all__ = ["count_codes", "write_census"]

import numpy as np

from mercer._native.jit import jit


@jit
def write_census(image, codes):
    """codes = np.packbits(middle >= the eight neighbours of each pixel), from above left to below right

    image  (H, W)          uint8, float32 or float64
    codes  (H - 2, W - 2)  uint8, written in place; that of the pixel (r, c) is at (r - 1, c - 1)
    """
    for r in range(codes.shape[0]):
        above, row, below, out = image[r], image[r + 1], image[r + 2], codes[r]
        for c in range(codes.shape[1]):
            middle = row[c + 1]
            out[c] = (
                np.uint8(128) * np.uint8(middle >= above[c])
                | np.uint8(64) * np.uint8(middle >= above[c + 1])
                | np.uint8(32) * np.uint8(middle >= above[c + 2])
                | np.uint8(16) * np.uint8(middle >= row[c])
                | np.uint8(8) * np.uint8(middle >= row[c + 2])
                | np.uint8(4) * np.uint8(middle >= below[c])
                | np.uint8(2) * np.uint8(middle >= below[c + 1])
                | np.uint8(1) * np.uint8(middle >= below[c + 2])
            )


@jit
def count_codes(codes, boxes, counts):
    """counts[n] = np.bincount(codes[top:bottom, left:right].ravel(), minlength=256) for each box

    codes   (H, W)    uint8
    boxes   (n, 4)    int64   top, bottom, left, right
    counts  (n, 256)  int32, written in place
    """
    for n in range(boxes.shape[0]):
        top, bottom, left, right = boxes[n]
        out = counts[n]
        out[:] = 0
        for r in range(top, bottom):
            row = codes[r]
            for c in range(left, right):
                out[row[c]] += 1
