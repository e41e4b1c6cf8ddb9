"""Training of all blocks, strip of columns by strip of columns."""

__all__ = ["TrainedWords", "fit_words"]

from dataclasses import dataclass, field

import numpy as np

from mercer._base.progress import track
from mercer._base.threads import run_blocks, single_threaded
from mercer.codes.product.kernel_space import COMPONENTS, fit_strip
from mercer.codes.product.training import first_occurrences, means_of_words, nearest, products_everywhere, train_words
from mercer.spaces import BlockFactor

STRIP_BYTES = 2**25  # training values that exist at once, in float32


@dataclass
class TrainedWords:
    """What is learned of the blocks.

    Parameters
    ----------
    codebooks : per block the words in the coordinates that rows are compared in, float32 (words, coordinates)
    means : per block the words in the columns of X, where these are not the coordinates
    points, tables : per strip the tables of the coordinates, likewise
    """

    codebooks: list = field(default_factory=list)
    means: list = field(default_factory=list)
    points: list = field(default_factory=list)
    tables: list = field(default_factory=list)


def fit_words(sample, rotation, sizes, n_words, n_iter, random_state, kernel=None, n_jobs=None):
    """Words of every block.

    Parameters
    ----------
    sample : Sample, training rows
    rotation : of their columns, see :mod:`mercer.codes.product.rotations`
    sizes : columns of each block
    n_words : words per block, at most
    kernel : None for the linear kernel, or the additive kernel in whose space blocks are clustered
    """
    words = TrainedWords()
    seeds = random_state.randint(2**31 - 1, size=len(sizes))
    ends = np.cumsum(sizes)
    starts = ends - sizes
    with products_everywhere(), single_threaded():  # the first imports faiss, whose BLAS the second limits too
        for first, last in track(_strips(sizes, sample.shape[0], kernel), "training words"):
            raw = sample.strip(slice(starts[first], ends[last - 1]), rotation, n_jobs)
            space = raw
            if kernel is not None:
                space, points, tables = fit_strip(kernel, raw, random_state, n_jobs)
                words.points.append(points)
                words.tables.append(tables)

            def train(m, raw=raw, space=space, at=starts[first]):
                part = slice(starts[m] - at, ends[m] - at)
                return _train_block(raw, space, part, n_words, seeds[m], n_iter)

            for codebook, means in run_blocks(train, range(first, last), n_jobs):
                words.codebooks.append(codebook)
                words.means.append(means)
    return words


def _train_block(raw, space, part, n_words, seed, n_iter):
    """(words, their means in the columns of X) of one block; the means are the words unless there is a kernel."""
    points = np.ascontiguousarray(raw[:, part])
    different = first_occurrences(points, n_words)
    if space is raw:
        words = points[different] if different is not None else train_words(points, n_words, seed, n_iter)
        return words, None
    coordinates = np.ascontiguousarray(space[:, part.start * COMPONENTS : part.stop * COMPONENTS])
    if different is not None:
        return coordinates[different], points[different]
    words = train_words(coordinates, n_words, seed, n_iter)
    codes = nearest(coordinates, BlockFactor([words.T]))[:, 0]

    def closest_row(word):
        return int(((coordinates - words[word]) ** 2).sum(axis=1).argmin())

    return words, means_of_words(codes, points, n_words, closest_row)


def _strips(sizes, n_rows, kernel):
    """Ranges (first, last) of blocks whose training values fit the memory set aside, each at least one block."""
    # with a kernel there are the coordinates too
    budget = STRIP_BYTES // (1 if kernel is None else 1 + COMPONENTS)
    most = max(1, budget // (4 * max(1, n_rows)))
    strips, first, width = [], 0, 0
    for m, size in enumerate(sizes.tolist()):
        if m > first and width + size > most:
            strips.append((first, m))
            first, width = m, 0
        width += size
    return [*strips, (first, len(sizes))]
