"""One round of latent training, with cells in full and as words: mining, solving, and what is kept."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

MINING = "Mining hard negatives, dense against 256 words"
SOLVER = "Solver, dense against 256 words, on the same rows"
NEGATIVES = "Hard negatives: float32 against codes"
BYTES = "Hard negatives: bytes against codes"


@benchmark(
    "detection-training",
    "a round of training of a part model on INRIA: mining, solving and memory, dense cells against words",
    bars=[
        Bar(MINING, ">= 1.8", "x", published="1.8x"),
        Bar(SOLVER, ">= 3", "x", published="3x"),
        Bar(NEGATIVES, ">= 100", "x", published="113x"),
        Bar(BYTES, ">= 25", "x", published="28x"),
    ],
    paper="vedaldi12sparse",
    needs=["inria_person"],
)
def detection_training(record):
    from benchmarks.detection._persons import inria

    most = 4 if record.quick else 24
    images, boxes = inria("train", most)
    coded, smooth, dense = _trainers(images, boxes, record.quick)
    seconds = {}
    for name, trainer in (("codes", coded), ("codes, rbf", smooth), ("dense", dense)):
        trainer.caches[0].clear()
        seconds[name] = {"mine": _time(trainer.mine), "solve": _time(trainer.solve)}
    rows, full = coded.caches[0].rows, dense.caches[0].rows
    n_bytes = {"codes": rows.cells.nbytes / len(rows), "float32": full.cells.nbytes / len(full)}
    record.measured(MINING, seconds["dense"]["mine"] / seconds["codes"]["mine"])
    solver = {name: seconds["dense"]["solve"] / own["solve"] for name, own in seconds.items()}
    record.measured(
        SOLVER, solver["codes"], f"linear filters, as published; {solver['codes, rbf']:.2g}x with the RBF kernel"
    )
    record.measured(NEGATIVES, n_bytes["float32"] / n_bytes["codes"], f"{n_bytes['codes']:.0f} bytes for each negative")
    record.measured(BYTES, n_bytes["float32"] / 4 / n_bytes["codes"])
    lines = [[name, own["mine"], own["solve"]] for name, own in seconds.items()]
    record.table("seconds", ["cells", "mining", "solver"], lines)
    record.note(
        f"{len(images)} photographs, 2 components with root and 6 parts; both sides mine with the same model and start "
        "from it, with cells as float32 (those of the words, decoded) and as words, so that their rows are the same; "
        "filters of the third have the RBF kernel of words, and three times as many weights. "
        "Displacements of the parts, 4 numbers each on both sides, are not counted as cells."
    )


def _trainers(images, boxes, quick):
    """Trainers at the same point, on words, on words with smooth filters, and on decoded cells."""
    from dataclasses import replace

    import numpy as np

    from mercer.detection.cells.codebook import CellCodebook
    from mercer.detection.cells.features import build_all, learn_codebook
    from mercer.detection.cells.pyramid import Pyramid, PyramidShape
    from mercer.detection.cells.storage import CodedCells, DenseCells
    from mercer.detection.model.word_kernel import rbf_features
    from mercer.detection.training.initial import root_shape
    from mercer.detection.training.latent import Trainer, TrainingSettings
    from mercer.detection.training.rounds import run_round

    rng = np.random.RandomState(0)
    settings = TrainingSettings(margin=2, n_mining_rounds=1, cache_size=1000 if quick else 8000)
    shape_of_root = root_shape(np.concatenate(boxes), settings.margin)
    shape = PyramidShape(2 if quick else 5, 3, shape_of_root)
    groups = [np.zeros(len(own), dtype=int) for own in boxes]
    book = learn_codebook(images, boxes, groups, [shape_of_root], shape, settings.margin, 256, rng)
    storage = CodedCells(book)
    pyramids = build_all(images, shape, storage)
    coded = Trainer(pyramids, boxes, groups, [shape_of_root], storage, settings, np.random.RandomState(0))
    for stage in ("root", "parts"):
        run_round(coded, stage, 0, 6)
    decoded = [Pyramid(one.image_shape, shape, DenseCells(), book.decode(one.cells)) for one in pyramids]
    dense = Trainer(decoded, boxes, groups, [shape_of_root], DenseCells(), settings, np.random.RandomState(0))
    dense.learnt = [replace(component) for component in coded.learnt]
    features = CodedCells(CellCodebook(book.words, rbf_features(book.words)))
    smooth = Trainer(pyramids, boxes, groups, [shape_of_root], features, settings, np.random.RandomState(0))
    smooth.learnt = [_widened(component, features.channels) for component in coded.learnt]
    for other in (dense, smooth):
        other.positives = dict(coded.positives)
    for trainer in (coded, smooth, dense):
        trainer.rng = np.random.RandomState(1)
    return coded, smooth, dense


def _widened(component, channels):
    """The same scores: weights of features beyond the channels are 0."""
    from dataclasses import replace

    import numpy as np

    def wide(filters):
        return np.pad(filters, [(0, 0)] * (filters.ndim - 1) + [(0, channels - filters.shape[-1])])

    return replace(component, root=wide(component.root), parts=wide(component.parts))


def _time(function):
    import time

    start = time.perf_counter()
    function()
    return time.perf_counter() - start
