"""``mercer images train`` on the training images of Scenes-15: time, memory, and accuracy on the test images."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SECONDS = "mercer images train, 1,500 images, as it comes: seconds"
MEMORY = "mercer images train, 1,500 images, as it comes: peak memory"
PRECISION = "the published protocol, chi2 kernel: mAP on the test images"
DEFAULT = "as it comes: step 4, 2 sizes, 1,000 words"
OTHERS = {
    "as it comes, merged to 300 columns": ["--reduce", "300"],
    "Fisher vectors, 64 words": ["--encoder", "fisher"],
}
# the paper sets each class against the rest
PROTOCOL = ["--step", "2", "--sizes", "4,6,8,10", "--words", "4000", "--multi-class", "ovr"]


@benchmark(
    "images-train",
    "a classifier from a folder of 1,500 images on the command line: time, memory, accuracy on other images",
    bars=[Bar(SECONDS, "<= 300", "s"), Bar(MEMORY, "<= 4", "GB")],
    needs=["scenes15"],
)
def images_train(record):
    runs = _trained(record, {DEFAULT: [], **OTHERS})
    record.measured(SECONDS, runs[DEFAULT]["seconds"], "chi2, C by cross-validation, with its report")
    record.measured(MEMORY, runs[DEFAULT]["peak"] / 1e9, "of the whole process")


@benchmark(
    "images-protocol",
    "the published protocol on the command line: every 2 pixels, 4 sizes, 4,000 words",
    bars=[Bar(PRECISION, ">= 0.85", published="0.855")],
    paper="gavves12convex",
    needs=["scenes15"],
)
def images_protocol(record):
    name = "step 2, 4 sizes, 4,000 words"
    found = _trained(record, {name: PROTOCOL if not record.quick else []})[name]
    record.measured(PRECISION, found["precision"], f"trained in {found['seconds']:.0f} s")


def _trained(record, runs):
    """{name: what `mercer images` says of training and evaluation}, with a table."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        train, test = _folders(Path(folder), record.quick)
        found = {name: _run(Path(folder), train, test, options, record) for name, options in runs.items()}
    columns = [
        "options",
        "seconds",
        "peak memory, GB",
        "model, MB",
        "cross-validated accuracy",
        "accuracy on the test",
        "mAP on the test",
    ]
    record.table("mercer images train, then evaluate", columns, [
        [name, one["seconds"], one["peak"] / 1e9, one["size"] / 1e6, one["estimate"], one["accuracy"],
         one["precision"]]
        for name, one in found.items()
    ])  # fmt: skip
    record.note(
        "Wall-clock time and peak resident memory of the command, a process of its own, compiled code being cached; "
        "without a cache of rows. Test images that equal a training image are left out."
    )
    return found


def _folders(folder, quick):
    """Folders of links: training images, and test images that are no training images."""
    from benchmarks.vision._scenes15 import split

    train, _, test, _ = split(quick)
    for name, paths in (("train", train), ("test", test)):
        for path in paths:
            place = folder / name / path.parent.name
            place.mkdir(parents=True, exist_ok=True)
            (place / path.name).symlink_to(path)
    return folder / "train", folder / "test"


def _run(folder, train, test, options, record):
    import time

    model = folder / "model.mercer"
    words = ["--words", "50"] if record.quick else []
    began = time.perf_counter()
    said = _mercer(record, "train", train, "--out", model, *options, *words)
    seconds = time.perf_counter() - began
    judged = _mercer(record, "evaluate", model, test)
    return {
        "seconds": seconds, "peak": said["peak_bytes"], "size": model.stat().st_size,
        "estimate": said["cross_validation"]["accuracy"], "accuracy": judged["accuracy"], "precision": judged["map"],
    }  # fmt: skip


def _mercer(record, verb, *arguments):
    """What a verb of `mercer images` says in JSON."""
    import json
    import os
    import subprocess
    import sys

    environment = {**os.environ, "MERCER_NUM_THREADS": str(record.threads), "OMP_NUM_THREADS": str(record.threads)}
    command = [sys.executable, "-c", "from mercer.cli.main import run; run()", "images", verb, *map(str, arguments)]
    done = subprocess.run([*command, "--json"], env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)
