"""One training and its evaluation: ``python -m benchmarks.detection._runs CELLS PARTS SEED``.

Runs take minutes each. What a run found is kept in a file, so that a benchmark that was interrupted goes on with the
runs that are missing, and several runs can go side by side.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.detection._training import costs, detector_of, trained

KEPT = Path("build") / "detection-inria"  # not part of the repository: models, runs, and overlays on photographs
MOST = 6  # photographs of each kind, in a quick run
SHOWN = 12  # photographs that detections are drawn on


def name_of(storage, n_parts, seed):
    """The file name of a run, without its ending."""
    return f"{storage.replace(', ', '-').replace(' ', '-')}-{n_parts}-{seed}"


def kept_model(storage, n_parts, seed, quick=False):
    """The file of a detector that was trained."""
    return KEPT / ("quick" if quick else "full") / f"{name_of(storage, n_parts, seed)}.mercer"


def all_runs(wanted, quick, workers):
    """What each wanted (cells, parts, seed) found; those that are missing are run first, so many at a time."""
    folder = KEPT / ("quick" if quick else "full")
    missing = [run for run in wanted if _read(folder, run, quick) is None]
    command = [sys.executable, "-m", "benchmarks.detection._runs"]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("MERCER", "OMP", "OPENBLAS", "NUMBA")}

    def start(run):
        options = ["--quick"] if quick else []
        subprocess.run([*command, *map(str, run), *options], check=True, env=os.environ | threads)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(start, missing))
    return {run: _read(folder, run, quick) for run in wanted}


def run_one(storage, n_parts, seed, quick=False):
    """Train, evaluate, and keep what was found."""
    import mercer
    from benchmarks.detection._persons import inria, penn_fudan

    folder, most = KEPT / ("quick" if quick else "full"), MOST if quick else None
    folder.mkdir(parents=True, exist_ok=True)
    name = name_of(storage, n_parts, seed)
    detector, seconds = trained(storage, n_parts, seed, *inria("train", most), quick=quick)
    mercer.save(detector, folder / f"{name}.mercer")
    test = inria("test", most)
    report = detector.evaluate(*test)
    figures = {"AP": 100 * report.ap, "AP, 11 points": 100 * report.ap_11_point}
    figures |= {"miss rate": 100 * report.log_average_miss_rate} | _at_zero(report)
    figures |= {"Penn-Fudan AP": 100 * detector.evaluate(*penn_fudan(most)).ap, "training, s": seconds}
    found = {"identity": _identity(storage, n_parts, seed, quick), "figures": figures | costs(detector)}
    if seed == 0 and n_parts:
        found["shown"] = _shown(detector, *test, folder / f"{name}-overlays")
    unfinished = folder / f"{name}.part"
    unfinished.write_text(json.dumps(found))
    os.replace(unfinished, folder / f"{name}.json")


def _at_zero(report):
    """Recall and precision where detections score more than 0, the default of detect."""
    n = int((report.scores > 0).sum())
    at = n - 1
    return {
        "recall at 0": 100 * report.recall[at] if n else 0.0,
        "precision at 0": 100 * report.precision[at] if n else 0.0,
    }


def _shown(detector, paths, boxes, folder):
    """Draw what is found in some photographs with persons, and return the boxes alone."""
    from mercer.vision import read_image

    folder.mkdir(parents=True, exist_ok=True)
    with_boxes = [i for i, own in enumerate(boxes) if len(own)]
    found = []
    for i in with_boxes[:: max(1, len(with_boxes) // SHOWN)][:SHOWN]:
        image = read_image(paths[i])
        detections = detector.detect(image)
        detections.plot(image).figure.savefig(folder / f"{Path(paths[i]).stem}.png")
        found.append(
            {
                "shape": list(image.shape[:2]),
                "truth": boxes[i].tolist(),
                "boxes": detections.tolist(),
                "parts": detections.parts.tolist(),
            }
        )
    return found


def _identity(storage, n_parts, seed, quick):
    """What a run depends on: of others nothing is taken over."""
    import mercer

    parameters = {key: str(value) for key, value in detector_of(storage, n_parts, seed, quick).get_params().items()}
    return parameters | {"version": mercer.__version__}


def _read(folder, run, quick):
    """A kept run, or None."""
    path = folder / f"{name_of(*run)}.json"
    if not path.is_file():
        return None
    found = json.loads(path.read_text())
    return found if found["identity"] == _identity(*run, quick) else None


def main(arguments):
    quick = "--quick" in arguments
    storage, n_parts, seed = [one for one in arguments if one != "--quick"]
    run_one(storage, int(n_parts), int(seed), quick)


if __name__ == "__main__":
    main(sys.argv[1:])
