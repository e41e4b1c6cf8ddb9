"""Filters at all places of a pyramid: tables of words against BLAS, and what encoding costs."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SCORING = "Tables of 256 words against the best dense form, filter scoring of one photograph"
WITH_ENCODING = "Encoding and tables against im2col and BLAS"
SMALLER = "Cells of a pyramid: float32 against codes of 256 words"
DETECTION = "Detection in a photograph of 640 x 480, whole, 256 words"
IM2COL, CELLWISE, ROWWISE = (
    "im2col + BLAS",
    "BLAS cell by cell, then shifted sums",
    "BLAS row by row, then shifted sums",
)
TABLES, CODED = "tables", "encoding + tables"
ROOT, PART, COMPONENTS, PARTS = (16, 6), (6, 6), 2, 6
INTERVAL, PADDING = 8, 3


@benchmark(
    "detection-speed",
    "filters of 2 components with root and 6 parts on a pyramid of 640 x 480 pixels: tables of words against BLAS",
    bars=[
        Bar(SCORING, ">= 8", "x", published="2x"),
        Bar(WITH_ENCODING, ">= 4", "x"),
        Bar(SMALLER, ">= 100", "x", published="113x for 512 words"),
        Bar(DETECTION, "<= 1", "s"),
    ],
    paper="vedaldi12sparse",
    needs=["inria_person"],
)
def detection_speed(record):
    import numpy as np

    from benchmarks.checks import Matches
    from benchmarks.runner import compare
    from mercer.detection.cells.codebook import CellCodebook
    from mercer.detection.cells.pyramid import Pyramid, PyramidShape, build_pyramid
    from mercer.detection.cells.storage import CodedCells, DenseCells

    rng = np.random.RandomState(0)
    shape = PyramidShape(INTERVAL, PADDING, ROOT)
    image = _photograph(record.quick)
    dense = build_pyramid(image, shape, DenseCells())
    inside = dense.cells[dense.cells[:, -1] == 0]
    roots = [rng.normal(size=(*ROOT, 32)).astype(np.float32) for _ in range(COMPONENTS)]
    parts = [rng.normal(size=(*PART, 32)).astype(np.float32) for _ in range(COMPONENTS * PARTS)]
    lines = []
    for n_words in (256,) if record.quick else (256, 512):
        book = CellCodebook.learn(inside[rng.permutation(len(inside))[:40_000]], n_words, rng)
        storage = CodedCells(book)
        coded = build_pyramid(image, shape, storage)
        decoded = Pyramid(image.shape, shape, DenseCells(), book.decode(coded.cells))
        jobs = _jobs(decoded, dense, coded, roots, parts, storage)
        everything = slice(None)
        expected = jobs[ROWWISE]()[everything]
        checks = {name: Matches(expected, everything, 1e-3) for name in (IM2COL, CELLWISE, TABLES)}
        found = compare(jobs, checks=checks, threads=record.threads, repeats=3 if record.quick else 15)
        record.comparison(f"{n_words} words, {len(dense.cells):,} cells", found, baseline=TABLES)
        best = min((IM2COL, CELLWISE, ROWWISE), key=lambda name: found.timings[name].best)
        scoring, encoding = found.ratio(best, TABLES), found.ratio(IM2COL, CODED)
        smaller = dense.nbytes / coded.nbytes
        lines.append([n_words, best, scoring, encoding, found.ratio(best, CODED), smaller])
        if n_words == 256:
            record.measured(SCORING, scoring, best)
            record.measured(WITH_ENCODING, encoding, f"{found.ratio(best, CODED):.1f}x against {best}")
            record.measured(SMALLER, smaller, "uint8; float32 of 32 channels")
            record.measured(
                DETECTION, _detection(image, roots, parts, book), "pyramid, scores, placements, suppression"
            )
    columns = [
        "words",
        "best dense",
        "scoring, x",
        "with encoding, x im2col",
        "with encoding, x best dense",
        "memory, x",
    ]
    record.table("tables against dense filters", columns, lines)
    record.note(
        f"Roots of {ROOT[0]} x {ROOT[1]} cells on cells of 8 pixels, parts of 6 x 6 on cells of 4 pixels, "
        f"{INTERVAL} levels per octave, {PADDING} cells of padding; filters are random numbers. Every side gives the "
        "scores of all filters at all places, of decoded cells where cells are coded."
    )


def _photograph(quick):
    from benchmarks.detection._persons import inria
    from mercer.vision import read_image

    size = (240, 320) if quick else (480, 640)
    paths, _ = inria("test", 40)
    for path in paths:
        image = read_image(path)
        if image.shape[0] < image.shape[1]:
            return read_image(path, size=size)
    raise FileNotFoundError("There is no photograph in landscape format.")


class Scores(list):
    """Arrays of all levels, which are laid one after the other only to be checked."""

    def __getitem__(self, which):
        import numpy as np

        return np.concatenate([one.ravel() for level in self for one in level])[which]


def _jobs(decoded, dense, coded, roots, parts, storage):
    """Every side as a function that returns the scores of all filters at all places, one after the other."""
    from mercer._base.threads import run_blocks
    from mercer.detection.cells.storage import DenseCells
    from mercer.detection.model.filters import FilterBank

    def by_banks(root_bank, part_bank, pyramid):
        def score(level):
            return [*root_bank.scores(level.coarse), *part_bank.scores(level.fine)]

        return Scores(run_blocks(score, pyramid.levels))

    banks = {name: (FilterBank(roots, kind), FilterBank(parts, kind)) for name, kind in
             ((ROWWISE, DenseCells()), (TABLES, storage))}  # fmt: skip

    def im2col():
        return Scores([[*_im2col(level.coarse, roots), *_im2col(level.fine, parts)] for level in decoded.levels])

    def cellwise():
        return Scores([[*_cellwise(level.coarse, roots), *_cellwise(level.fine, parts)] for level in decoded.levels])

    def encoded():
        storage.encode(dense.cells)
        return by_banks(*banks[TABLES], coded)

    return {
        IM2COL: im2col,
        CELLWISE: cellwise,
        ROWWISE: lambda: by_banks(*banks[ROWWISE], decoded),
        TABLES: lambda: by_banks(*banks[TABLES], coded),
        CODED: encoded,
    }


def _im2col(grid, filters):
    """One product of all windows with all filters."""
    import numpy as np

    h, w = filters[0].shape[:2]
    windows = np.lib.stride_tricks.sliding_window_view(grid, (h, w), axis=(0, 1)).transpose(0, 1, 3, 4, 2)
    rows, columns = windows.shape[:2]
    laid = np.ascontiguousarray(windows).reshape(rows * columns, -1)
    weights = np.stack(filters).reshape(len(filters), -1)
    return np.ascontiguousarray((laid @ weights.T).T.reshape(len(filters), rows, columns))


def _cellwise(grid, filters):
    """Products of single cells with all cells of all filters, added up at their offsets."""
    import numpy as np

    h, w = filters[0].shape[:2]
    rows, columns = grid.shape[0] - h + 1, grid.shape[1] - w + 1
    weights = np.stack(filters).transpose(3, 1, 2, 0).reshape(32, -1)
    products = (grid.reshape(-1, 32) @ weights).reshape(*grid.shape[:2], h, w, len(filters))
    total = np.zeros((rows, columns, len(filters)), dtype=np.float32)
    for dy in range(h):
        for dx in range(w):
            total += products[dy : dy + rows, dx : dx + columns, dy, dx]
    return np.ascontiguousarray(total.transpose(2, 0, 1))


def _detection(image, roots, parts, book):
    """Seconds of a whole detection with a model of these filters, the best of five."""
    import time

    import numpy as np

    from mercer.detection import PartDetector

    detector = PartDetector(COMPONENTS, PARTS, 256, interval=INTERVAL, padding=PADDING)
    detector.roots_, detector.parts_ = [roots[0]], [np.stack(parts[:PARTS])]
    detector.anchors_ = [np.array([[4 * i, i] for i in range(PARTS)])]
    detector.deformations_ = [np.tile([0.1, 0.0, 0.1, 0.0], (PARTS, 1))]
    detector.biases_, detector.codebook_ = np.array([-60.0]), book.words
    detector.threshold_ = 0.0
    times = []
    for _ in range(5):
        start = time.perf_counter()
        detector.detect(image)
        times.append(time.perf_counter() - start)
    return min(times)
