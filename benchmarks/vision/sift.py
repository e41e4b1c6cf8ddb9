"""Dense SIFT by the flat window: how near it is to the Gaussian window, and how fast against OpenCV on a grid."""

from __future__ import annotations

from contextlib import contextmanager

from benchmarks.registry import Bar, benchmark

AGREEMENT = "Flat window: mean cosine with the descriptors of the Gaussian window, lowest of all sizes"
SPEED = "Flat window against OpenCV's SIFT on the same grid, one thread, lowest of all sizes"
FLAT, GAUSSIAN, OPENCV = "mercer, flat window", "mercer, Gaussian window", "OpenCV, SIFT on a grid"
SIZES = (4, 6, 8, 10)
STEP = 4


@benchmark(
    "dense-sift",
    "dense SIFT by the flat window against the Gaussian window and against OpenCV, photographs of Scenes-15",
    bars=[Bar(AGREEMENT, ">= 0.97"), Bar(SPEED, ">= 8", "x")],
    needs=["scenes15"],
    threads=1,
)
def dense_sift(record):
    photos = _photos(per_class=1, n_classes=2 if record.quick else 15)
    ratios, cosines, lines = {}, {}, []
    with _opencv_on_one_thread() as cv2:
        for size in SIZES[:2] if record.quick else SIZES:
            jobs = _jobs(cv2, photos, size)
            found = _timed(record, jobs, size, len(photos))
            ratios[size] = found.ratio(OPENCV, FLAT)
            results = {name: _rows(name, job()) for name, job in jobs.items()}
            agreement = _cosines(results[FLAT], results[GAUSSIAN])
            cosines[size] = float(agreement.mean())
            opencv = [float(_cosines(results[name], results[OPENCV]).mean()) for name in (FLAT, GAUSSIAN)]
            lines.append([size, len(agreement), cosines[size], *_quantiles(agreement), *opencv])
    record.measured(AGREEMENT, min(cosines.values()), _by_size(cosines, ""))
    record.measured(SPEED, min(ratios.values()), _by_size(ratios, "x"))
    columns = [
        "size",
        "descriptors",
        "flat, Gaussian: mean",
        "5 %",
        "1 %",
        "flat, OpenCV: mean",
        "Gaussian, OpenCV: mean",
    ]
    record.table(f"Cosines of descriptors of the same patches, {len(photos)} photographs, step {STEP}", columns, lines)
    record.note(
        "OpenCV is given the same patches as key points (bins of 1.5 times their size), once they exist. It smooths by "
        "sigma = 1.6 whatever the size of the bins, here it is size / 6: the smaller the bins, the less they agree."
    )
    record.note("Patches without any gradient have no direction, and are left out of the cosines.")


def _photos(per_class, n_classes):
    from benchmarks.paper._icd_sets import data_folder
    from mercer.vision import read_image

    classes = sorted(path for path in (data_folder("scenes15") / "test").iterdir() if path.is_dir())
    paths = [path for folder in classes[:n_classes] for path in sorted(folder.glob("*.jpg"))[:per_class]]
    return [read_image(path, mode="gray") for path in paths]


@contextmanager
def _opencv_on_one_thread():
    from mercer._base.errors import require_extra

    cv2 = require_extra("cv2", extra="recipes", purpose="Comparing with OpenCV's SIFT")
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield cv2
    finally:
        cv2.setNumThreads(before)


def _jobs(cv2, photos, size):
    """Side -> a function that describes all photographs; all give the same patches in the same order."""
    from mercer.vision import DenseSIFT

    flat, gaussian = (DenseSIFT(STEP, (size,), window=window, contrast=0, n_jobs=1) for window in ("flat", "gaussian"))
    theirs = cv2.SIFT_create()
    points = [
        [cv2.KeyPoint(float(x), float(y), size / 1.5, 0.0) for x, y, _ in flat.describe(photo).frames]
        for photo in photos
    ]
    return {
        FLAT: lambda: [flat.describe(photo).values for photo in photos],
        GAUSSIAN: lambda: [gaussian.describe(photo).values for photo in photos],
        OPENCV: lambda: [theirs.compute(photo, places)[1] for photo, places in zip(photos, points, strict=True)],
    }


def _rows(name, found):
    """Descriptors of all photographs, in Mercer's order of values."""
    import numpy as np

    rows = np.concatenate(found)
    if name == OPENCV:  # its directions are counted upwards
        rows = rows.reshape(-1, 4, 4, 8)[..., -np.arange(8) % 8].reshape(-1, 128)
    return rows


def _timed(record, jobs, size, n_photos):
    from benchmarks.runner import compare

    found = compare(jobs, repeats=2 if record.quick else 7, slow={} if record.quick else {OPENCV: 5}, threads=1)
    record.comparison(f"Bins of {size} pixels, step {STEP}, {n_photos} photographs", found, FLAT)
    return found


def _cosines(a, b):
    import numpy as np

    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    there = norms > 0
    return (a * b).sum(axis=1)[there] / norms[there]


def _quantiles(cosines):
    import numpy as np

    return [float(np.quantile(cosines, share)) for share in (0.05, 0.01)]


def _by_size(values, unit):
    return ", ".join(f"size {size}: {value:.4g}{unit}" for size, value in values.items())
