"""Troubleshooting: every message that the page quotes is in the source; many are provoked, and read as quoted."""

import ast
import functools
import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import additive_chi2_kernel

import mercer
from tests.command import invoke

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "troubleshooting.md"
ENTRIES = [block.strip() for block in re.findall(r"(?ms)^```text\n(.*?)^```", PAGE.read_text(encoding="utf-8"))]
VARYING = "\0"  # what an f-string fills in


@functools.cache  # seconds: not while tests are collected
def templates():
    """All texts of the source, with what is filled in replaced."""
    found = set()
    for path in sorted((ROOT / "src" / "mercer").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.add(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else VARYING for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def is_in_the_source(entry):
    """Whether the fixed parts of a message stand, in this order, in one text of the source, or in two put together.

    Where a message is put together of two texts, the page begins a new line. What joins a text to a name before it, or
    ends it, may be added elsewhere.
    """
    lines = entry.splitlines()
    pieces = [(" ".join(lines[:i]), " ".join(lines[i:])) for i in range(len(lines))]
    return any(all(not piece or stands_in_one_text(piece) for piece in pair) for pair in pieces)


def stands_in_one_text(piece):
    parts = [part for part in (part.strip(" .,") for part in piece.split("...")) if part]
    assert sum(map(len, parts)) >= 8, f"Quote more of {piece!r}."
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    return any(pattern.search(template) for template in templates())


def as_pattern(entry):
    """What a message that an entry quotes looks like."""
    text = " ".join(entry.splitlines())
    return re.compile(".+".join(re.escape(part) for part in text.split("...")), re.DOTALL)


def test_the_page_has_its_messages():
    assert 25 <= len(ENTRIES) == len(set(ENTRIES))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[:60])
def test_every_quoted_message_is_in_the_source(entry):
    assert is_in_the_source(entry), "The source says something else now: change docs/troubleshooting.md."


def X(n=40, d=6):
    return np.random.default_rng(0).dirichlet(np.ones(d), size=n)


def y(n=40):
    return np.arange(n) % 2


def negative(folder):
    mercer.Chi2()([[0.2, -0.1]])


def unknown_kernel(folder):
    mercer.get_kernel("chi3")


def parameter_of_a_kernel(folder):
    mercer.get_kernel("chi2", gamma=1.0)


def no_spectrum(folder):
    mercer.HomogeneousMap("rbf").fit(X())


def not_additive(folder):
    mercer.IntersectionSVC(kernel="rbf").fit(X(), y())


def above_the_grid(folder):
    mercer.SparseAdditiveMap("chi2").fit(X()).transform(9 * X())


def indefinite(folder):
    mercer.NystroemMap(mercer.CallableKernel(additive_chi2_kernel), landmarks="uniform", n_landmarks=20).fit(X())


def run(*arguments):
    """The command in this process; its error, as an exception."""
    result = invoke(*arguments)
    if result.exit_code:
        raise mercer.MercerError(result.stderr.strip().removeprefix("mercer: "))


def saved(folder, **arrays):
    np.savez(folder / "rows.npz", **arrays)
    return folder / "rows.npz"


def fitted(folder, *options):
    run("fit", saved(folder, X=X(), y=y()), "--out", folder / "model.mercer", "--quiet", *options)
    return folder / "model.mercer"


def a_word_in_csv(folder):
    (folder / "rows.csv").write_text("a,b\n1,2\n3,four\n")
    run("kernel", folder / "rows.csv")


def no_such_column(folder):
    (folder / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    run("kernel", folder / "rows.csv", "--label", "kind")


def pickled(folder):
    np.save(folder / "rows.npy", np.array([{}, {}]), allow_pickle=True)
    run("kernel", folder / "rows.npy")


def many_members(folder):
    run("kernel", saved(folder, a=X(), b=X()))


def no_labels(folder):
    run("fit", saved(folder, X=X()), "--out", folder / "model.mercer")


def rows_of_another_width(folder):
    run("predict", fitted(folder), saved(folder, X=X(d=7)))


def no_probabilities_in_a_file(folder):
    run("predict", fitted(folder, "--kernel", "chi2"), saved(folder, X=X()), "--proba")


def sparse_features(folder):
    rows = saved(folder, X=X())
    run("map", "fit", rows, "--map", "sparse-additive", "--kernel", "chi2", "--out", folder / "map.mercer", "--quiet")
    run("map", "apply", folder / "map.mercer", rows, "--out", folder / "features.npy")


def not_finite(folder):
    rows = X()
    rows[3, 1] = np.nan
    np.save(folder / "rows.npy", rows)
    mercer.KernelClassifier("linear").fit(mercer.open_rows(folder / "rows.npy"), y())


def missing_extra(folder):
    from mercer._base.errors import require_extra

    require_extra("no_such_package", extra="plot", purpose="Drawing")


def one_class(folder):
    mercer.KernelClassifier("chi2").fit(X(), np.ones(40))


def not_converged(folder):
    mercer.KernelClassifier("chi2", solver="bundle", C=1e6, max_iter=1, tol=1e-9).fit(X(), y())


def no_probabilities(folder):
    mercer.KernelClassifier("chi2").fit(X(), y()).predict_proba(X())


def fractions_as_levels(folder):
    mercer.IntersectionSVC(bins=None).fit(X(), y())


def few_rows_of_a_block(folder):
    mercer.ProductQuantizer(block_size=3, random_state=0).fit(X())


def small_index(**settings):
    index = mercer.KernelIndex("chi2", bytes_per_item=2, effort="low", random_state=0, **settings)
    return index.fit(X()).add(X())


def unknown_id(folder):
    small_index().remove([99])


def rounded_rows(folder):
    small_index(vectors="float16").search(X(2), k=1, exact=True)


def locked(folder):
    first = small_index()
    first.persist(folder / "a.index")
    try:
        mercer.KernelIndex.open(folder / "a.index", mode="w")
    finally:
        first.close()


def read_only(folder):
    small_index().persist(folder / "a.index").close()
    mercer.KernelIndex.open(folder / "a.index").remove([1])


def no_model_file(folder):
    (folder / "model.mercer").write_text("a,b\n1,2\n")
    mercer.load(folder / "model.mercer")


def damaged_model(folder):
    path = folder / "model.mercer"
    mercer.save(mercer.NystroemMap("chi2", n_landmarks=8).fit(X()), path)
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(bytes(raw))
    mercer.load(path)


def code_in_a_model(folder):
    mercer.save(mercer.CallableKernel(lambda A, B: A @ B.T), folder / "model.mercer")


def not_of_mercer(folder):
    from sklearn.svm import SVC

    mercer.save(SVC(), folder / "model.mercer")


def images_without_folders(folder):
    from mercer.vision import image_folder

    image_folder(folder)


def no_image(folder):
    from mercer.vision import read_image

    (folder / "a.jpg").write_text("no image")
    read_image(folder / "a.jpg")


def box_outside(folder):
    images = [np.zeros((64, 64), np.uint8)] * 2
    mercer.PartDetector(n_parts=0).fit(images, [[[10, 10, 90, 60]], []])


def missing_data(folder):
    from mercer.datasets import load_pendigits

    load_pendigits(root=folder)


TRIGGERS = [
    value
    for value in list(globals().values())
    if inspect.isfunction(value) and list(inspect.signature(value).parameters) == ["folder"]
]


def provoked(trigger, folder):
    """The message of the error or the warning that a function ends with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            trigger(folder)
        except Exception as error:
            return str(error)
    return str(caught[0].message)


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda trigger: trigger.__name__)
def test_a_message_reads_as_the_page_quotes_it(trigger, tmp_path):
    message = provoked(trigger, tmp_path)
    assert sum(as_pattern(entry).fullmatch(message) is not None for entry in ENTRIES) == 1, message
