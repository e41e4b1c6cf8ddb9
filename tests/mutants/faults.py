"""Small faults, each a change that one line of the library might suffer, and that the default suite must find."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/mercer")


@dataclass(frozen=True)
class Fault:
    """``old`` stands in the file once and is replaced by ``new``; ``also`` are tests outside the mirror folder."""

    name: str
    file: str
    old: str
    new: str
    also: tuple[str, ...] = ()

    @property
    def path(self):
        """Of the file, from the root of the tree."""
        return PACKAGE / self.file

    def mutated(self, text):
        """The text of the file with the fault in it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.path} holds the old text {text.count(self.old)} times, not once.")
        return text.replace(self.old, self.new)

    def stages(self, root=ROOT):
        """Lists of tests, those that should find the fault first; the last list, empty, is the whole suite."""
        folder = Path("tests") / Path(self.file.replace("_base/", "base/").replace("_native/", "native/")).parent
        own = folder / f"test_{Path(self.file).stem}.py"
        while not (root / folder).is_dir():
            folder = folder.parent
        found = [[own.as_posix()]] if (root / own).is_file() else []
        return [*found, [folder.as_posix(), *self.also], []]


HOSTILE = ("tests/hostile",)

FAULTS = [
    # ------------------------------------------------------------------------------------------------- compiled loops
    Fault(
        "equal-scores-go-to-the-later-row",
        "_native/kernels/selection.py",
        "if s > row[k - 1] or ids[k - 1] < 0:",
        "if s >= row[k - 1] or ids[k - 1] < 0:",
    ),
    Fault(
        "tails-of-earlier-levels-kept",
        "_native/search/bounded.py",
        "add_bytes(products, at, tails, i, np.uint64(2), strips, np.uint64(pair))",
        "pass",
    ),
    Fault(
        "scanned-rows-numbered-from-zero",
        "_native/search/scan.py",
        "score, first + start + r)",
        "score, start + r)",
    ),
    Fault(
        "fourth-entry-times-the-weight-of-the-third",
        "_native/spaces/rows.py",
        "(x2 * v[k2, c] + x3 * v[k3, c])",
        "(x2 * v[k2, c] + x3 * v[k2, c])",
    ),
    Fault(
        "census-of-equal-neighbors",
        "_native/vision/census.py",
        "np.uint8(middle >= above[c + 1])",
        "np.uint8(middle > above[c + 1])",
    ),
    Fault(
        "offset-of-a-hash-a-step-too-far",
        "_native/maps/minhash.py",
        "rate * (shift - 1.0)",
        "rate * shift",
    ),
    Fault(
        "part-placed-by-the-line-before",
        "_native/detection/distance_transform.py",
        "while k < top and cuts[k + 1] <= x:",
        "while k + 1 < top and cuts[k + 1] <= x:",
    ),
    Fault(
        "levels-without-a-top",
        "_native/codes/levels.py",
        "np.int64(min(max(level, 0.0), np.float64(tops[j])))",
        "np.int64(max(level, 0.0))",
        ("tests/native/learners/descent/test_level.py", "tests/learners/test_intersection.py"),
    ),
    # -------------------------------------------------------------------------------------------------------- kernels
    Fault(
        "rows-of-two-widths-compared",
        "kernels/base.py",
        "        check_same_width(left, right, who)\n",
        "",
    ),
    Fault(
        "rows-scaled-by-the-wrong-power",
        "kernels/base.py",
        "** (1 / self.homogeneity)))",
        "** self.homogeneity))",
    ),
    Fault("two-empty-rows-unlike", "kernels/ratios.py", "common[empty] = 1", "common[empty] = 0"),
    Fault(
        "best-rows-of-a-later-block-numbered-from-zero",
        "kernels/base.py",
        "keep_best(block, first, ",
        "keep_best(block, 0, ",
    ),
    # --------------------------------------------------------------------------------------------------------- spaces
    Fault("sign-of-the-middle-word", "spaces/signed.py", "np.where(word < half, ", "np.where(word <= half, "),
    Fault(
        "only-the-last-strip-of-a-sum",
        "spaces/blocks.py",
        "totals[at % n_groups] += tasks[at][2]",
        "totals[at % n_groups] = tasks[at][2]",
    ),
    # ----------------------------------------------------------------------------------------------------------- maps
    Fault(
        "offset-of-the-mean-added",
        "maps/landmarks/base.py",
        "kernel_values @ weights + offset",
        "kernel_values @ weights - offset",
    ),
    Fault("grid-points-traced-forwards", "maps/grids/points.py", "in reversed(choices):", "in choices:"),
    Fault("one-bucket-too-many", "maps/minhash.py", "self.inner_.n_words // 2 - 1\n", "self.inner_.n_words // 2\n"),
    # ---------------------------------------------------------------------------------------------------------- codes
    Fault("ties-at-the-radius-left-out", "codes/hashing/hamming.py", "int(radius) + 1)", "int(radius))"),
    Fault("interval-too-wide", "codes/wire/universal.py", "/ (2 * self._bits))", "/ self._bits)"),
    Fault(
        "bits-of-the-wrong-length",
        "codes/wire/universal.py",
        "1 / np.sqrt(2 * self._bits))",
        "1 / np.sqrt(self._bits))",
    ),
    # ------------------------------------------------------------------------------------------------------- learners
    Fault(
        "lost-pairs-count-as-won",
        "learners/fitting/targets.py",
        "(1 - wins) @ (sides < 0)",
        "(1 - wins) @ (sides > 0)",
        ("tests/learners/test_classifier.py", "tests/contracts/test_learners.py"),
    ),
    Fault(
        "probability-of-the-other-class",
        "learners/fitting/targets.py",
        "softmax(logit(q) @ self._sides",
        "softmax(-logit(q) @ self._sides",
    ),
    Fault(
        "best-fold-for-best-value", "learners/cv.py", "scores_.mean(axis=0).argmax()", "scores_.mean(axis=1).argmax()"
    ),
    Fault(
        "values-in-the-order-given",
        "learners/cv.py",
        "np.unique(np.asarray(self.Cs, dtype=np.float64))",
        "np.asarray(self.Cs, dtype=np.float64)",
    ),
    # --------------------------------------------------------------------------------------------------------- search
    Fault(
        "largest-id-forgotten",
        "search/rows/ids.py",
        "self.highest = max(self.highest, int(numbers.max()))",
        "self.highest = int(numbers.max())",
    ),
    Fault(
        "replaced-text-removed-with-its-old-row",
        "search/rows/ids.py",
        "if self._where_text.get(self._texts[position]) == position:",
        "if self._texts[position] in self._where_text:",
        ("tests/search/test_index_directory.py",),
    ),
    Fault(
        "model-of-the-last-generation",
        "search/rows/collection.py",
        "same = generation == before.snapshot.generation",
        "same = True",
        ("tests/search/test_index_directory.py",),
    ),
    Fault("norms-counted-twice", "search/exact/bounds.py", "np.float32(HALF if", "np.float32(2 * HALF if"),
    Fault("roundings-forgotten", "search/exact/directions.py", "center + rounding + coding", "center + coding"),
    Fault(
        "ties-within-a-limit-by-position",
        "search/exact/search.py",
        "np.lexsort((self._keys_of(positions), -scores, left))",
        "np.lexsort((positions, -scores, left))",
    ),
    Fault(
        "removed-rows-stay-in-their-lists",
        "search/rows/derived.py",
        "            store.delete(removed)\n",
        "",
        ("tests/search/test_index.py",),
    ),
    # ---------------------------------------------------------------------------------------------------------- files
    Fault(
        "arrays-that-overlap",
        "_base/files/container.py",
        "if entry.start != stop or entry.start % entry.dtype.itemsize:",
        "if entry.start % entry.dtype.itemsize:",
        HOSTILE,
    ),
    Fault(
        "sparse-indices-believed",
        "_base/files/decoding.py",
        "check_format(full_check=True)",
        "check_format(full_check=False)",
        HOSTILE,
    ),
    # --------------------------------------------------------------------------------------------------------- tables
    Fault(
        "limit-of-each-piece",
        "_base/tables/limits.py",
        "if count > self.n_bytes:",
        "if len(part) > self.n_bytes:",
        HOSTILE,
    ),
    Fault(
        "row-numbers-of-what-is-left",
        "_base/tables/missing.py",
        "super()._row(row if self.lines is not None or self.kept is None else self.kept[row])",
        "super()._row(row)",
        ("tests/cli/test_missing.py",),
    ),
    # ------------------------------------------------------------------------------------------------------------ cli
    Fault(
        "failure-with-the-code-of-a-wrong-command",
        "cli/framework/errors.py",
        "USAGE if isinstance(error, ArgumentError) else FAILURE",
        "USAGE if isinstance(error, MercerError) else FAILURE",
    ),
    # -------------------------------------------------------------------------------------------------------- serving
    Fault(
        "any-word-before-the-token",
        "serving/http/auth.py",
        'if scheme.lower() != "bearer" or not matches:',
        "if not matches:",
    ),
    Fault(
        "batches-of-several-questions",
        "serving/process/batching.py",
        "(job.key == batch[0].key and len(job.rows) <= room)",
        "len(job.rows) <= room",
    ),
    # --------------------------------------------------------------------------------------------------------- vision
    Fault(
        "brightest-pixels-in-the-next-color",
        "vision/descriptors/color_histogram.py",
        "np.clip(np.floor(place), 0, bins[c] - 1)",
        "np.floor(place)",
    ),
    Fault(
        "lines-of-a-pyramid-half-a-pixel-off",
        "vision/words/pyramid.py",
        "for line in lines]) - 0.5",
        "for line in lines])",
    ),
    # ------------------------------------------------------------------------------------------------------ detection
    Fault(
        "object-found-twice",
        "detection/evaluation.py",
        "if not taken[best] and common[i, best] >= least:",
        "if common[i, best] >= least:",
    ),
]
