"""Write the golden files that do not exist yet: ``python -m tests.golden.make_golden``. See README.md."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, StandardScaler

import mercer
from mercer._base.files.container import FORMAT_VERSION
from mercer.kernels import KERNELS

FOLDER = Path(__file__).parent / f"v{FORMAT_VERSION}"
INDEXES = Path(__file__).parent / "index-v1"

# zeros, a zero row, values above and below 1: what separates one kernel from another
HISTOGRAMS = [[0.0, 0.25, 0.5, 0.25], [1.0, 0.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.125, 0.5, 0.0, 0.375]]


def models() -> Iterator[tuple[str, Any, str, list]]:
    """Name of the file, model, the method that is asked, and its input."""
    chi2, rbf = mercer.Chi2(), mercer.RBF(gamma=0.5)
    kernels = {name: mercer.get_kernel(name) for name in KERNELS} | {
        "power-mean-2": mercer.PowerMean(p=-2),
        "power-mean-inf": mercer.PowerMean(p=-np.inf),
        "rbf-gamma": rbf,
        "chi2-signed": mercer.Chi2(signed=True),
        "sum": chi2 + 0.25 * rbf,
        "product": chi2 * rbf,
        "normalized": chi2.normalized(),
    }
    for name, kernel in kernels.items():
        yield f"kernel-{name}", kernel, "__call__", HISTOGRAMS
    yield from maps()
    yield from parts()
    yield from hashes()
    yield from learners()
    yield from searches()
    yield from reductions()
    yield from images()
    yield from detectors()


def maps() -> Iterator[tuple[str, Any, str, list]]:
    """Every map, fitted on the histograms; and what fold makes of one with dense, tabulated and landmark weights."""
    X = np.array(HISTOGRAMS)
    found = {
        "homogeneous": mercer.HomogeneousMap("js", order=2),
        "nystroem": mercer.NystroemMap("chi2", n_landmarks=3, random_state=0),
        "nystroem-sparse-landmarks": mercer.NystroemMap("js", landmarks=sparse.csr_array(X[:2])),
        "nystroem-per-dimension": mercer.NystroemMap("intersection", n_components=2, per_dimension=True),
        "kpca": mercer.KernelPCA("js", n_components=2, n_landmarks=4, center=True, random_state=0),
        "sparse-additive": mercer.SparseAdditiveMap("intersection", n_points=4, random_state=0),
        "sparse-additive-chi2": mercer.SparseAdditiveMap("chi2", n_points=4, random_state=0),
        "sparse": mercer.SparseMap("chi2", n_landmarks=3, n_nonzero=2, random_state=0),
        "sparse-lasso": mercer.SparseMap("chi2", n_landmarks=3, n_nonzero=2, method="lasso", random_state=0),
        "fourier": mercer.FourierMap(mercer.RBF(0.5), n_components=6, random_state=0),
        "minhash": mercer.WeightedMinHash(n_hashes=8, bits=4, random_state=0),
        "projected": mercer.ProjectedMap(mercer.HomogeneousMap("chi2"), n_components=8, random_state=0),
    }
    for name, fitted in found.items():
        yield f"map-{name}", fitted.fit(X), "approximate_kernel", HISTOGRAMS
    for name in ("homogeneous", "nystroem", "nystroem-per-dimension", "sparse-additive-chi2"):
        weights = np.linspace(-1, 1, 2 * found[name].inner_.n_features).reshape(-1, 2)
        yield f"predictor-{name}", found[name].fold(weights), "__call__", HISTOGRAMS


def parts() -> Iterator[tuple[str, Any, str, list]]:
    """What stands inside of other models, or learns nothing."""
    yield "inner-blocks", mercer.block_diag(mercer.Identity(2), mercer.Factor(np.eye(2) + 1)), "project", HISTOGRAMS
    words = np.array(HISTOGRAMS * 2) + np.arange(8)[:, None]  # eight different rows
    quantizer = mercer.ProductQuantizer(2, bits=2, kernel="chi2", random_state=0).fit(words)
    yield "quantizer-chi2", quantizer, "transform", HISTOGRAMS
    many = np.array(HISTOGRAMS * 150) + 0.125 * np.arange(600)[:, None] * [1, 2, 0.5, 3]
    for name, bits in (("packed", 4), ("two-bytes", 9)):
        wide = mercer.ProductQuantizer(n_blocks=3 if bits == 4 else 1, bits=bits, random_state=0)
        yield f"quantizer-{name}", wide.fit(many), "transform", HISTOGRAMS
    weights = np.linspace(-1, 1, quantizer.inner_.n_factors)
    yield "predictor-codes", mercer.CodePredictor(quantizer, weights), "__call__", HISTOGRAMS
    yield "predictor-cells", machines_of_cells(), "__call__", HISTOGRAMS
    yield "entropy-weighting", mercer.SpectralEntropyWeighting().fit(np.array(HISTOGRAMS)), "transform", HISTOGRAMS
    y = ["a", "b"] * 4
    chosen = mercer.KernelClassifierCV("chi2", Cs=[0.1, 1.0], cv=2).fit(words, y)
    yield "classifier-cv", chosen, "decision_function", HISTOGRAMS
    wire = mercer.WireClassifier(
        mercer.UniversalEmbedding(16, delta=2.0, random_state=0), rates=[8, 16], Cs=[1.0], cv=2
    )
    yield "classifier-wire", wire.fit(words, y), "decision_function", HISTOGRAMS


def hashes() -> Iterator[tuple[str, Any, str, list]]:
    """Every binary code, of 11 bits: two bytes with spare bits."""
    X = np.array(HISTOGRAMS * 2) + 0.125 * np.arange(8)[:, None]  # eight different rows
    components = mercer.KernelPCA("chi2", n_components=3, center=True, random_state=0)
    found = {
        "sign": mercer.SignHash(n_bits=11, random_state=0),
        "sign-kpca": mercer.SignHash(components, n_bits=11, random_state=0),
        "klsh": mercer.KLSH("chi2", n_bits=11, n_landmarks=6, random_state=0),
        "klsh-sparse-landmarks": mercer.KLSH(mercer.RBF(0.5), n_bits=11, n_sampled=1, center=False, random_state=0),
        "rmmh": mercer.RMMH("chi2", n_bits=11, n_sampled=4, random_state=0),
        "universal": mercer.UniversalEmbedding(n_bits=11, random_state=0),
        "universal-structured": mercer.UniversalEmbedding(11, block_size=2, matrix="structured", random_state=0),
        "quantized-jl": mercer.QuantizedJL(5, bits=3, standardize=True, random_state=0),
        "compact": mercer.CompactEmbedding(7, random_state=0),
        "sigma-delta": mercer.QuantizedJL(11, variant="sigma-delta", random_state=0),
    }
    for name, fitted in found.items():
        rows = sparse.csr_array(X) if "sparse" in name else X
        yield f"hash-{name}", fitted.fit(rows), "transform", HISTOGRAMS


def learners() -> Iterator[tuple[str, Any, str, list]]:
    """A quantizer, and a model on each kind of rows, with the method that people ask."""
    X, y = np.array(HISTOGRAMS), np.array(["a", "b", "a", "b"])
    words = np.array(HISTOGRAMS * 2) + np.arange(8)[:, None]  # eight different rows
    quantizer = mercer.ProductQuantizer(2, bits=2, random_state=0)
    additive = mercer.SparseAdditiveMap("intersection", n_points=4, random_state=0)
    yield "quantizer", quantizer.fit(words), "transform", HISTOGRAMS
    yield "classifier-chi2", mercer.KernelClassifier("chi2").fit(X, y), "decision_function", HISTOGRAMS
    yield "classifier-grid", mercer.KernelClassifier(map=additive).fit(X, y), "decision_function", HISTOGRAMS
    on_codes = mercer.KernelClassifier(map=quantizer).fit(words, [0, 1, 2, 0, 1, 2, 0, 1])
    yield "classifier-codes", on_codes, "decision_function", HISTOGRAMS
    counts = (8 * X).astype(int)
    yield "classifier-levels", mercer.IntersectionSVC().fit(counts, y), "decision_function", HISTOGRAMS
    signed = sparse.csr_array(counts - 2 * (np.arange(4) == 1))
    of_parts = mercer.IntersectionSVC(kernel="chi2", bins=5).fit(signed, y)
    yield "classifier-sparse-levels", of_parts, "decision_function", HISTOGRAMS
    of_quantiles = mercer.IntersectionSVR(binning="adaptive", bins=3).fit(X, [0.0, 1.0, 2.0, 3.0])
    yield "regressor-levels", of_quantiles, "predict", HISTOGRAMS
    regressor = mercer.KernelRegressor(mercer.RBF(gamma=0.5)).fit(X, [0.0, 1.0, 2.0, 3.0])
    yield "regressor-rbf", regressor, "predict", HISTOGRAMS
    exact = mercer.KernelClassifier(mercer.RBF(gamma=0.5), probability=True, random_state=0).fit(X, y)
    yield "classifier-exact", exact, "predict_proba", HISTOGRAMS
    yield "regressor-exact", mercer.KernelRegressor(mercer.RBF(gamma=0.5)).fit(X, X[:, 0]), "predict", HISTOGRAMS
    yield from automatic_fits()
    yield from pipelines()


def machines_of_cells():
    """What local machines keep, with three cells that share their rows; the scaling is that of an automatic fit."""
    scaling = mercer.ColumnScaling("unit").fit(np.array(HISTOGRAMS))
    rows = scaling.transform(np.array(HISTOGRAMS, dtype=np.float32))
    directions = np.linspace(-1, 1, 2 * rows.shape[1], dtype=np.float32).reshape(2, -1)
    children = np.array([[-1, 1], [-2, -3]], dtype=np.int32)
    tree = mercer.CellTree(directions, np.array([-1.0, 0.5], dtype=np.float32), children)
    members, starts = np.array([0, 1, 1, 2, 3, 0, 3], dtype=np.int32), np.array([0, 2, 5, 7])
    coefficients = np.linspace(-1, 1, 14, dtype=np.float32).reshape(7, 2)
    cells = mercer.CellPredictor(mercer.RBF(0.5), tree, rows, members, starts, coefficients, np.eye(3, 2))
    return mercer.ScaledPredictor(scaling, cells, "float32")


def automatic_fits() -> Iterator[tuple[str, Any, str, list]]:
    """What trials have chosen: each way to scale columns, classes, labels and numbers, dense and sparse landmarks."""
    X, y = np.array(HISTOGRAMS * 2) + np.arange(8)[:, None], np.array(["a", "b", "a", "b", "c", "b", "c", "a"])
    for kind in ("unit", "standard", "ranks"):
        learner = mercer.KernelClassifier("rbf", C="auto", scaling=kind, random_state=0)
        yield f"classifier-automatic-{kind}", learner.fit(X, y), "predict_proba", HISTOGRAMS
    sums = mercer.KernelClassifier("chi2", C="auto", scaling="rows", random_state=0)
    two = sums.fit(sparse.csr_array(X), y == "a")
    yield "classifier-automatic-sparse", two, "decision_function", HISTOGRAMS
    labels = mercer.KernelClassifier("chi2", C="auto", random_state=0).fit(X, np.column_stack([y == "a", y == "b"]))
    yield "classifier-automatic-labels", labels, "predict_proba", HISTOGRAMS
    several = mercer.KernelClassifier(random_state=0).fit(X, y)  # machines that left-out rows cannot tell apart
    yield "classifier-panel", several, "predict_proba", HISTOGRAMS
    yield "regressor-automatic", mercer.KernelRegressor(random_state=0).fit(X, X[:, 0]), "predict", HISTOGRAMS


def pipelines() -> Iterator[tuple[str, Any, str, list]]:
    """Estimators of scikit-learn in front of a learner: columns scaled and cut into bins, a target scaled."""
    X, y = np.array(HISTOGRAMS), np.array(["a", "b", "a", "b"])
    scaled = make_pipeline(MinMaxScaler(clip=True), mercer.KernelClassifier("chi2"))
    yield "pipeline-scaled", scaled.fit(X, y), "decision_function", HISTOGRAMS
    parts = [("scaled", StandardScaler(), [0, 1]), ("bins", KBinsDiscretizer(2, strategy="uniform"), slice(2, 3))]
    columns = make_pipeline(ColumnTransformer(parts, remainder="passthrough"), LinearRegression())
    yield "pipeline-columns", columns.fit(X, [0.0, 1.0, 2.0, 3.0]), "predict", HISTOGRAMS
    smiles, fingerprints = ["CCO", "c1ccccc1O", "CC(=O)O", "CCCCO"], mercer.MoleculeFingerprints(n_bits=64)
    molecules = make_pipeline(fingerprints, mercer.KernelClassifier(mercer.DotTanimoto()))
    yield "pipeline-molecules", molecules.fit(smiles, y), "decision_function", smiles
    target = TransformedTargetRegressor(mercer.KernelRegressor(mercer.RBF(gamma=0.5)), transformer=StandardScaler())
    yield "pipeline-target", target.fit(X, [0.0, 1.0, 2.0, 3.0]), "predict", HISTOGRAMS


def searches() -> Iterator[tuple[str, Any, str, list]]:
    """The model of an index with each kind of code, and with and without a number that makes norms equal."""
    X = np.array(HISTOGRAMS * 8) + 0.125 * np.arange(32)[:, None]  # 32 different rows
    small = {"embedding": "kpca", "n_components": 2, "n_landmarks": 8, "bytes_per_item": 8, "random_state": 0}
    found = {
        "pq": mercer.SearchModel("chi2", **small),
        "opq": mercer.SearchModel("js", code="opq", measure="distance", **small),
        "plain": mercer.SearchModel("intersection", normalize=False, **small),
        "packed": mercer.SearchModel("chi2", bits=4, **small | {"bytes_per_item": 1}),
        "lsh": mercer.SearchModel("chi2", code="lsh", **small),
        "universal": mercer.SearchModel(mercer.RBF(0.5), code="universal", **small),
        "flat-map": mercer.SearchModel("chi2", code="flat", **small | {"embedding": "map"}),
    }
    for name, model in found.items():
        yield f"search-{name}", model.fit(X), "embed_queries", HISTOGRAMS


def reductions() -> Iterator[tuple[str, Any, str, list]]:
    """Columns selected and merged, with weights in the rows and on blocks of features; what fold makes of one."""
    X = np.array(HISTOGRAMS * 2) + 0.125 * np.arange(8)[:, None] * [1, 2, 0, 3]
    of_blocks = mercer.SparseAdditiveMap(mercer.Chi2() + mercer.Linear(), n_points=4, random_state=0)
    found = {
        "selected": mercer.ConvexReduction(n_dims=3, method="convex", random_state=0),
        "merged-chi2": mercer.ConvexReduction(n_dims=2, map=mercer.HomogeneousMap("chi2"), random_state=0),
        "blocks": mercer.ConvexReduction(n_dims=3, map=of_blocks, refit=True, random_state=0),
    }
    for name, reduction in found.items():
        yield f"reduction-{name}", reduction.fit(X), "approximate_kernel", HISTOGRAMS
    weights = np.linspace(-1, 1, 2 * found["merged-chi2"].inner_.n_features).reshape(-1, 2)
    yield "predictor-reduced", found["merged-chi2"].fold(weights), "__call__", HISTOGRAMS


def images() -> Iterator[tuple[str, Any, str, list]]:
    """Words, both encoders and a classifier of each, asked with arrays: files are read by another library."""
    y, x = np.mgrid[:20, :24]
    waves = [np.sin(x / (1 + i % 3) + i) if i % 2 else np.sin(x / 2) * np.sin(y / (1 + i % 3) + i) for i in range(8)]
    pictures = np.array([np.rint(127 + 100 * wave) for wave in waves]).astype(np.uint8)
    asked, kinds = pictures[:3].tolist(), ["stripes" if i % 2 else "checks" for i in range(8)]
    sift = mercer.DenseSIFT(sizes=(4,), contrast=0)
    of_census = mercer.LocalCENTRIST(step=4, sizes=(8,))
    bags = mercer.BagOfWords(sift, 6, n_nearest=2, pyramid=((1, 1), (1, 2)), random_state=0)
    fisher = mercer.FisherVectors(sift, 3, n_components=4, pyramid=((2, 1),), random_state=0)
    for assignment in ("ivf", "hnsw"):
        words = mercer.Vocabulary(3, assignment=assignment, random_state=0).fit(np.array(HISTOGRAMS))
        yield f"vocabulary-{assignment}", words, "predict", HISTOGRAMS
    yield "images-hog", mercer.HOG().fit(pictures), "transform", asked
    yield "images-centrist", mercer.CENTRIST((2, 2)).fit(pictures), "transform", asked
    of_colors = mercer.ColorHistogram(3).fit(pictures)
    yield "images-colors", of_colors, "transform", (pictures[:3] / 256).tolist()  # floats go up to 1
    for method in ("kmeans", "intersection"):
        words = mercer.Vocabulary(3, method=method, random_state=0).fit(np.array(HISTOGRAMS))
        yield f"vocabulary-{method}", words, "predict", HISTOGRAMS
    found = {
        "bag-of-words": bags,
        "bag-of-census": mercer.BagOfWords(of_census, 5, assignment="ivf", normalize=None, random_state=0),
        "fisher": fisher,
    }
    for name, encoder in found.items():
        yield f"images-{name}", encoder.fit(pictures), "transform", asked
    yield "images-fisher-restricted", fisher.restrict([2, 0]), "transform", asked
    downscaled = mercer.BagOfWords(mercer.Downscaled(sift, max_side=20), 6)
    models = {
        "reduced": mercer.ImageClassifier(bags, C=1.0, reduce=4, random_state=0),
        "downscaled": mercer.ImageClassifier(downscaled, "intersection", C=1.0, random_state=0),
        "fisher": mercer.ImageClassifier(fisher, "chi2", C=1.0, reduce=2, random_state=0),
    }
    for name, model in models.items():
        yield f"images-classifier-{name}", model.fit(pictures, kinds), "decision_function", asked


def detectors() -> Iterator[tuple[str, Any, str, list]]:
    """A detector of bright squares, on words and on bytes, and a picture with one."""
    pictures = [np.full((64, 72), 40) + np.arange(72) % 5 for _ in range(6)]
    boxes: list[list] = [[] for _ in pictures]
    for i in range(4):
        pictures[i][10 + 3 * i : 42 + 3 * i, 12 + 5 * i : 44 + 5 * i] = 200
        boxes[i] = [[12 + 5 * i, 10 + 3 * i, 44 + 5 * i, 42 + 3 * i]]
    small = {"margin": 0, "interval": 1, "padding": 1, "n_root_rounds": 1, "n_part_rounds": 1, "n_mining_rounds": 1}
    small |= {"cache_size": 60, "random_state": 0, "max_overlap": 0.1, "C": 10.0}
    picture = pictures[1].tolist()
    for name, kernel in (("detector-codes", "linear"), ("detector-codes-rbf", "rbf")):
        coded = mercer.PartDetector(2, 1, 8, kernel=kernel, **small).fit(pictures, boxes)
        yield name, coded, "detect", picture
    plain = mercer.PartDetector(1, 0, None, storage="bytes", mirrored=False, **small).fit(pictures, boxes)
    yield "detector-bytes", plain, "detect", picture


def indexes() -> Iterator[tuple[str, mercer.KernelIndex, Callable[[mercer.KernelIndex], Any]]]:
    """Name, index, and what is done to it on the disk: dense, sparse, rounded and no rows, ids of both kinds."""
    X = np.random.default_rng(0).gamma(0.5, 1.0, (60, 6)).astype(np.float32)
    X[:, 0] += 1  # no empty row
    X[X < 0.25] = 0
    counts, rows, texts = np.rint(10 * X), sparse.csr_array(X), [f"row {i} é" for i in range(60)]
    small = {"embedding": "kpca", "n_components": 3, "n_landmarks": 8, "effort": "low", "random_state": 0, "n_jobs": 1}

    dense = mercer.KernelIndex("chi2", bytes_per_item=3, **small).fit(X).add(X[:50])
    yield "dense", dense, lambda index: index.remove([3, 7]).update(X[55:57], [5, 6]).add(X[50:55])
    of_words = mercer.KernelIndex("jensen-shannon", bytes_per_item=3, measure="distance", **small)
    of_words.fit(rows).add(rows[:50], texts[:50])
    yield "sparse-texts", of_words, lambda index: index.remove([texts[0], texts[49]]).add(rows[50:], texts[50:])
    of_counts = mercer.KernelIndex("intersection", bytes_per_item=4, code="lsh", **small)
    of_counts.fit(counts).add(counts, range(100, 160))
    yield "counts-compacted", of_counts, lambda index: index.remove([100, 159]).compact()
    codes_only = mercer.KernelIndex(mercer.RBF(0.5), bytes_per_item=12, code="flat", vectors=None, **small)
    yield "codes-only", codes_only.fit(X).add(X), lambda index: index.remove([9])
    lists = mercer.KernelIndex("jensen-shannon", store="lists").fit(rows).add(rows[:50], texts[:50])
    yield "lists", lists, lambda index: index.remove([texts[0], texts[49]]).add(rows[50:], texts[50:])


def index_expectation(index: mercer.KernelIndex) -> dict[str, Any]:
    """What a later version must find again: the nearest by codes and, where rows are kept, exactly."""
    queries = np.array([[1, 0, 2, 0, 0, 1], [2.5, 0.25, 0, 0, 3, 0], [1, 1, 1, 1, 1, 1]], dtype=float)
    found = {"rows": len(index), "queries": queries.tolist()}
    for exact in (False, True) if index.stats()["vectors"] else (False,):
        ids, values = index.search(queries, k=5, exact=exact)
        found["exact" if exact else "by_codes"] = {"ids": ids.tolist(), "values": values.tolist()}
    return found


def write_indexes() -> None:
    """The directories that do not exist yet, without the file of the lock, which is the writer's alone."""
    for name, index, change in indexes():
        path = INDEXES / name
        if path.exists():
            continue
        change(index.persist(path))
        text = json.dumps(index_expectation(index), indent=1)
        index.close()
        (path / "writer.lock").unlink()
        path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
        print(f"wrote {path.name}")


def expectation(model: Any, method: str, data: list) -> dict[str, Any]:
    """What a later version must find again."""
    plain = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value))
    }
    output = getattr(model, method)(np.array(data))
    return {
        "class": type(model).__name__,
        "parameters": plain,
        "method": method,
        "input": data,
        "output": output.tolist(),
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, model, method, data in models():
        path = FOLDER / f"{name}.mercer"
        if path.exists():
            continue
        text = json.dumps(expectation(model, method, data), indent=1)
        mercer.save(model, path)
        path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
        print(f"wrote {path.name}")
    write_indexes()


if __name__ == "__main__":
    main()
