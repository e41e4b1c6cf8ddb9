"""Words for cells of oriented gradients: a codebook that is closed under mirroring, with one word for padding.

    word 0            padding: no gradients, the channel of truncation is 1
    word 1            its own mirror image
    words 2p, 2p + 1  mirror images of each other

so that the mirrored word of k is k ^ 1 from k = 2 on. A mirrored image has mirrored codes, bit for bit
(`mercer._native.detection.cells`). Words are learned by k-means on cells of which each may count as itself
or as its mirror image, whichever is nearer to a word: half of the words are learned, and the other half follows.
[vedaldi12sparse] Sec. 5.2
"""

__all__ = ["CHANNELS", "PADDING", "CellCodebook", "flip_channels"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer._native.detection.cells import encode_cells
from mercer._native.lanes import ROWS, STRIDE
from mercer.vision.descriptors.hog import FELZENSZWALB_MIRROR

CHANNELS = 32
PADDING = 0  # the word of cells outside an image
BLOCK = 4096  # cells that a thread encodes at a time
ITERATIONS = 25
FAR = 1e3  # norm of words that fill the last strip and are never the nearest

SWAPPED = np.array([(i, j) for i, j in enumerate(FELZENSZWALB_MIRROR) if i < j], dtype=np.int64)
KEPT = np.array([i for i, j in enumerate(FELZENSZWALB_MIRROR) if i == j], dtype=np.int64)


def flip_channels(cells):
    """The channels of mirrored cells, (..., 32), or features of mirrored words, (..., 32 + L), where L words follow."""
    n_words = cells.shape[-1] - CHANNELS
    order = FELZENSZWALB_MIRROR
    if n_words:
        order = np.concatenate([order, CHANNELS + _mirrored_words(n_words)])
    return cells[..., order]


def _mirrored_words(count):
    """The numbers of the mirror images of words."""
    mirror = np.arange(count)
    mirror[2:] ^= 1
    return mirror


class CellCodebook:
    """Words of cells, and the nearest one of each cell.

    Parameters
    ----------
    words : float32 array of shape (D, 32), D even, in the order that the module describes
    features : float32 array of shape (D, r), what filters see of the words, see `mercer.detection.model.word_kernel`;
        None for the words themselves
    """

    def __init__(self, words, features=None):
        words = np.ascontiguousarray(words, dtype=np.float32)
        if words.ndim != 2 or words.shape[1] != CHANNELS or len(words) < 4 or len(words) % 2 or len(words) > 2**16:
            raise InputError(
                f"CellCodebook needs words of shape (D, {CHANNELS}) with D even, from 4 to 65536, got {words.shape}."
            )
        self.words = words
        self.dtype = np.dtype(np.uint8 if len(words) <= 256 else np.uint16)
        self.mirror = _mirrored_words(len(words)).astype(self.dtype)
        if not np.array_equal(flip_channels(words), words[self.mirror]):
            raise InputError("CellCodebook needs words 2p and 2p + 1 that are mirror images of each other.")
        self.features = words if features is None else self._checked(features)
        self._even, self._odd = _strips(words)

    def __len__(self):
        return len(self.words)

    def _checked(self, features):
        features = np.ascontiguousarray(features, dtype=np.float32)
        if features.ndim != 2 or len(features) != len(self.words) or not 0 <= features.shape[1] - CHANNELS <= len(self):
            raise InputError(
                f"CellCodebook needs features of its {len(self)} words, {CHANNELS} to {CHANNELS + len(self)} numbers "
                f"each, got shape {features.shape}."
            )
        if not np.array_equal(flip_channels(features), features[self.mirror]):
            raise InputError("CellCodebook needs features of words that are mirrored where the words are.")
        return features

    def encode(self, cells, n_jobs=None):
        """The nearest word of each cell: (..., 32) float32 -> (...) uint8, or uint16 for more than 256 words."""
        flat = np.ascontiguousarray(cells, dtype=np.float32).reshape(-1, CHANNELS)
        codes = np.empty(len(flat), dtype=self.dtype)

        def encode(first):
            scratch = (
                np.empty((ROWS, 2, self._even.shape[1]), dtype=np.float32),
                np.empty((2, ROWS * STRIDE), dtype=np.float32),
            )
            last = min(first + BLOCK, len(flat))
            encode_cells(flat, SWAPPED, KEPT, self._even, self._odd, *scratch, first, last, codes)

        run_blocks(encode, range(0, len(flat), BLOCK), n_jobs)
        return codes.reshape(cells.shape[:-1])

    def decode(self, codes):
        """The words of codes: (...) -> (..., 32) float32."""
        return self.words[codes]

    def table(self, filters):
        """What each word adds to a score at each cell of the filters: (..., r) -> (..., D)."""
        return filters @ self.features.T

    @classmethod
    def learn(cls, cells, n_words, rng, n_jobs=None):
        """Words by k-means.

        Parameters
        ----------
        cells : float32 array of shape (n, 32), without padding
        n_words : D, even and at least 4
        rng : numpy RandomState
        n_jobs : threads
        """
        n_pairs = n_words // 2 - 1
        if len(cells) < n_pairs:
            raise InputError(f"A codebook of {n_words} words needs {n_pairs} cells or more to learn from.")
        centres = cells[_spread(cells, n_pairs, rng)]
        own = np.zeros((1, CHANNELS), dtype=np.float32)
        book = cls._of(own, centres)
        for _ in range(ITERATIONS):
            codes = book.encode(cells, n_jobs)
            own, centres = _means(cells, codes, book, rng)
            book = cls._of(own, centres)
        return book

    @classmethod
    def _of(cls, own, centres):
        padding = np.zeros((1, CHANNELS), dtype=np.float32)
        padding[0, -1] = 1.0
        pairs = np.stack([centres, flip_channels(centres)], axis=1).reshape(-1, CHANNELS)
        return cls(np.concatenate([padding, own, pairs]))


def _strips(words):
    """Even and odd parts of the pairs in strips of 32, as `encode_cells` takes them."""
    pairs = words[2::2].astype(np.float64)
    pairs = np.concatenate([words[1:2].astype(np.float64), pairs])
    left, right = pairs[:, SWAPPED[:, 0]], pairs[:, SWAPPED[:, 1]]
    half_norms = 0.5 * (pairs**2).sum(axis=1, keepdims=True)
    even = np.concatenate([(left + right) / 2, pairs[:, KEPT], -half_norms], axis=1)
    odd = (left - right) / 2
    odd[0] = 0.0  # exactly, whatever rounding left
    n_strips = -(-len(pairs) // STRIDE)
    padded_even = np.zeros((n_strips * STRIDE, even.shape[1]), dtype=np.float32)
    padded_odd = np.zeros((n_strips * STRIDE, odd.shape[1]), dtype=np.float32)
    padded_even[: len(even)], padded_odd[: len(odd)] = even, odd
    padded_even[len(even) :, -1] = -FAR
    return tuple(
        np.ascontiguousarray(a.reshape(n_strips, STRIDE, -1).transpose(0, 2, 1)) for a in (padded_even, padded_odd)
    )


def _spread(cells, count, rng):
    """Cells far from each other: each is drawn with the square of its distance to those before. [arthur07kmeans]"""
    some = rng.choice(len(cells), min(len(cells), 40 * count), replace=False)
    X = cells[some].astype(np.float64)
    distances, chosen = np.full(len(X), np.inf), [int(rng.randint(len(X)))]
    for _ in range(count - 1):
        last = X[chosen[-1]]
        for word in (last, flip_channels(last)):
            np.minimum(distances, ((X - word) ** 2).sum(axis=1), out=distances)
        total = distances.sum()
        chosen.append(int(rng.choice(len(X), p=distances / total) if total > 0 else rng.randint(len(X))))
    return some[chosen]


def _means(cells, codes, book, rng):
    """Centers of the cells of each pair, turned to its first word; a pair without cells gets a random cell."""
    turned = np.where((codes & 1).astype(bool)[:, None] & (codes > 1)[:, None], flip_channels(cells), cells)
    pair = codes.astype(np.int64) >> 1
    n_pairs = len(book) // 2
    counts = np.bincount(pair, minlength=n_pairs)
    sums = np.stack([np.bincount(pair, turned[:, c], n_pairs) for c in range(CHANNELS)], axis=1)
    means = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    empty = np.flatnonzero(counts == 0)
    means[empty] = cells[rng.randint(len(cells), size=len(empty))]
    own = ((means[:1] + flip_channels(means[:1])) / 2).astype(np.float32)
    return own, means[1:]
