"""Twin of `mercer._native.detection.cells`: products with all words, mirrored ones included, and the largest."""

import numpy as np


def encode_cells(features, swapped, kept, even, odd, x, products, first, last, codes):
    pairs = even.shape[0] * 32
    own = features[first:last].astype(np.float64)
    left, right = own[:, swapped[:, 0]], own[:, swapped[:, 1]]
    parts = np.concatenate([left + right, own[:, kept], np.ones((len(own), 1))], axis=1)
    evens = parts @ even.transpose(1, 0, 2).reshape(-1, pairs)
    odds = (left - right) @ odd.transpose(1, 0, 2).reshape(-1, pairs)
    best = np.argmax(evens + np.abs(odds), axis=1)
    turn = odds[np.arange(len(own)), best]
    codes[first:last] = np.where(turn == 0, 1, 2 * best + (turn < 0))
