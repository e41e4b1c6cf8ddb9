"""Which embedding, how many components, which rotation: measured on a sample, under the code that was asked for.

A part of the rows (queries) is looked for among others (the base) by codes; what counts is the mean of recall_1@1,
recall_1@10, recall_1@100 and recall_10@100 against the exact kernel.

- Embeddings. KernelPCA suits dense, smooth descriptors. Sparse, high-dimensional histograms have too many directions
  for landmarks to span; an explicit map of an additive kernel, projected at random, treats all rows alike.
- Components. With more of them codes approximate more, and worse: for a few bytes few components are better.
- Rotations before product quantization: principal directions dealt out so that blocks are equally hard
  ([ge13optimized]); none, where components were projected at random and are alike already; with ``effort="high"`` the
  learned rotation OPQ.
- Landmarks of a graph. A walk looks at few rows, so comparing the query with a thousand landmarks is a large part of a
  search: a quarter or half of them do where these find as much.
"""

__all__ = ["fit_plan"]

import warnings

import numpy as np

from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.progress import track
from mercer.codes import ProductQuantizer, SignHash, UniversalEmbedding
from mercer.kernels import resolve_kernel
from mercer.maps import HomogeneousMap, KernelPCA, ProjectedMap
from mercer.maps.base import FeatureMap
from mercer.maps.landmarks.choice import sample_rows
from mercer.search.evaluation.recall import recall_k_at, recall_table
from mercer.search.exact.oracle import nearest_rows
from mercer.search.model.coders import BitCoder, FlatCoder, WordCoder
from mercer.search.model.measure import Measure
from mercer.search.model.model import features
from mercer.search.stores.codes import CodeStore
from mercer.spaces import Identity

BASE_ROWS, QUERIES = 2**15, 1024
FIT_ROWS = 2**17  # rows that embeddings and words are learned from
SCALES = (0.85, 0.925, 1.0, 1.075, 1.15, 1.25, 1.4)
COMPONENTS_PER_BYTE = {"kpca": (3, 4, 5, 6, 8), "map": (4, 8, 16)}
FIRST_GUESS = {"kpca": 4, "map": 8}
GRAPH_COMPONENTS = 64  # of a graph, for whose recall they are enough: see `python -m benchmarks search-graph`
LEAST_COMPONENTS = 16  # of a map that is projected at random
LANDMARK_SHARES, LANDMARKS_PER_COMPONENT = (4, 2), 4  # parts of the landmarks that may do, and how many are the least
AS_MUCH = 0.005  # of recall on the sample, that so many fewer landmarks may cost
TRIAL_ITERATIONS, TRIAL_SAMPLES = 12, 2**15
ITERATIONS = {"low": 10, "default": 25, "high": 40}
SAMPLES = {"low": 2**15, "default": 2**16, "high": 2**17}
DRIFT_SPREADS = 3.0  # rows that lose more than the median by so many times the upper spread are unlike those seen
SLACK_QUANTILE = 0.999


class Trial:
    """An embedding with its number of components, and the sample embedded by it."""

    def __init__(self, name, embedding, base, queries):
        self.name, self.embedding = name, embedding
        self.base, self.queries = base, queries

    def first(self, n):
        """The same with the first n components: those of KernelPCA come in order of energy."""
        base, queries = (np.ascontiguousarray(part[:, :n]) for part in (self.base, self.queries))
        return Trial(self.name, _shortened(self.embedding, n), base, queries)

    @property
    def width(self):
        return self.base.shape[1]


class Planner:
    """What the choices share: the sample, its exact neighbors, the parameters of the model."""

    def __init__(self, model, X, random_state):
        # a graph without codes compares embedded rows as they are
        plain = not model.keeps_codes
        self.code, self.n_bytes = ("flat", 4 * GRAPH_COMPONENTS) if plain else (model.code, model.bytes_per_item)
        self.seed = int(random_state.randint(2**31))
        most = min(X.shape[0], FIT_ROWS)
        chosen = X if X.shape[0] == most else X[np.sort(sample_rows(X.shape[0], most, random_state))]
        self.rows = chosen.astype(np.float32, copy=False)
        # of these very rows, from which an embedding that was given measures its own
        model.kernel_ = resolve_kernel(model.kernel, self.rows, model.n_jobs)
        self.model, self.measure = model, Measure.of(model)
        n = self.rows.shape[0]
        order = random_state.permutation(n)
        self.n_queries = min(QUERIES, max(1, n // 8))
        self.asked, self.base = order[: self.n_queries], order[self.n_queries :][:BASE_ROWS]
        if not len(self.base):
            self.base = self.asked
        model.highest_energy_ = float(self.measure.energy(self.rows).max(initial=0.0))
        base, asked = chosen[self.base], chosen[self.asked]
        self.true = nearest_rows(self.measure, base, asked, min(10, base.shape[0])).positions
        self.log, self.remark = [], ""

    # ---------------------------------------------------------------------------------------------- embeddings

    def trial(self, name, n_components, n_landmarks=None):
        embedding = self._embedding(name, n_components, n_landmarks or self.model.n_landmarks).fit(self.rows)
        if embedding.kernel_ not in (self.measure.plain, self.measure.kernel):  # measured on rows of its own
            raise InputError(
                f"KernelIndex ranks by {self.measure.plain!r}, but its map ranks by {embedding.kernel_!r}. Use the "
                "same kernel for both, with a fixed width."
            )
        return self._embedded(name, embedding)

    def _embedded(self, name, embedding):
        base, asked = (features(embedding, self.measure, self.rows[part]) for part in (self.base, self.asked))
        return Trial(name, embedding, base, asked)

    def _embedding(self, name, n_components, n_landmarks):
        model = self.model
        if isinstance(model.embedding, FeatureMap):
            from sklearn.base import clone

            return clone(model.embedding)
        if name == "kpca":
            return KernelPCA(
                self.measure.kernel, n_components=n_components, n_landmarks=n_landmarks, random_state=self.seed,
                n_jobs=model.n_jobs,
            )  # fmt: skip
        return ProjectedMap(
            HomogeneousMap(self.measure.plain), max(n_components, 1), random_state=self.seed, n_jobs=model.n_jobs
        )

    # --------------------------------------------------------------------------------------------------- measuring

    def coder(self, trial, rotation, final=False):
        """A code learned from the embedded base (a trial) or given rows."""
        model = self.model
        Z = model.levelled(trial.base)
        if self.code == "flat":
            return FlatCoder(Z.shape[1])
        if model.code == "lsh":
            return BitCoder(SignHash(n_bits=8 * model.bytes_per_item, random_state=self.seed).fit(Z), asymmetric=True)
        if model.code == "universal":
            hasher = UniversalEmbedding(n_bits=8 * model.bytes_per_item, random_state=self.seed)
            return BitCoder(hasher.fit(Z), asymmetric=False)
        iterations, samples = TRIAL_ITERATIONS, TRIAL_SAMPLES
        if final:
            iterations, samples = ITERATIONS[model.effort], SAMPLES[model.effort]
        blocks = model.bytes_per_item * (2 if model.bits == 4 else 1)
        quantizer = ProductQuantizer(
            n_blocks=min(blocks, Z.shape[1]), bits=model.bits, rotation=rotation, n_iter=iterations,
            max_samples=samples, random_state=self.seed, n_jobs=model.n_jobs,
        )  # fmt: skip
        with warnings.catch_warnings():
            # fewer different rows than words: then codes are exact, and nobody has asked for words
            warnings.simplefilter("ignore", ApproximationWarning)
            return WordCoder(quantizer.fit(Z))

    def scan(self, trial, coder, k):
        store = CodeStore(self.model.n_jobs)
        store.create(coder)
        codes = coder.encode(self.model.levelled(trial.base))
        store.upsert(np.arange(len(codes)), codes)
        return store.search(self.model.levelled_queries(trial.queries), min(k, len(codes)))

    def recall(self, trial, coder):
        """Mean of recall_1@1, @10, @100 and recall_10@100 on the sample."""
        positions, _ = self.scan(trial, coder, 100)
        ranks = [rank for rank in (1, 10, 100) if rank <= positions.shape[1]]
        recalls = list(recall_table(positions, self.true[:, :1], ranks=ranks).values())
        return float(np.mean([*recalls, recall_k_at(positions, self.true, self.true.shape[1], positions.shape[1])]))

    def tried(self, what, recall):
        self.log.append({"tried": what, "recall": round(recall, 4)})
        return recall


def fit_plan(model, X, random_state):
    """Fit ``model`` to validated rows: sets its fitted attributes."""
    planner = Planner(model, X, random_state)
    trial = _with_fewer_landmarks(planner, _choose_embedding(planner))
    rotation = _choose_rotation(planner, trial)
    model.embedding_ = trial.embedding
    final = _with_more_rows(planner, trial)
    coder = planner.coder(final, rotation, final=True)
    model.quantizer_ = getattr(coder, "quantizer", None) or getattr(coder, "hasher", None)
    is_graph = model.store == "graph"
    model.scale_ = 1.0 if is_graph and not model.keeps_codes else _choose_scale(planner, trial, coder)
    # what finds the rows tells what they may be: a graph compares embedded rows
    _calibrate(model, planner, trial, FlatCoder(trial.width) if is_graph else coder)
    _, lost = model.embed(planner.rows[planner.base[: 4 * QUERIES]])
    middle, high = np.quantile(lost, [0.5, 0.99])
    model.residual_limit_ = float(middle + DRIFT_SPREADS * max(high - middle, 1e-3))
    model.plan_ = {
        "embedding": trial.name,
        "n_components": int(trial.width),
        **(_plan_of_code(model, coder, rotation) if model.keeps_codes else {}),
        "lost_energy": round(float(np.mean(lost)), 4),
        "sample": {"rows": len(planner.base), "queries": int(planner.n_queries)},
        "tried": planner.log,
        "reason": _reason(planner, trial),
    }


def _plan_of_code(model, coder, rotation):
    scale = round(model.scale_, 3)
    words = {"bits": model.bits} if isinstance(coder, WordCoder) else {}
    return {"code": model.code, "bytes_per_item": int(coder.n_bytes), **words, "rotation": rotation, "scale": scale}


def _choose_embedding(planner):
    """The trial with the best recall: name and number of components."""
    model = planner.model
    if isinstance(model.embedding, FeatureMap):
        return planner.trial("given", None)
    names = _names(planner)
    guesses = {name: planner.trial(name, _most_components(planner, name)) for name in names}
    best, found = None, -1.0
    for name, trial in track(guesses.items(), "choosing an embedding", total=len(guesses)):
        for width in _widths(planner, name, trial):
            candidate = trial.first(width) if name == "kpca" else _of_width(planner, trial, width)
            if len(guesses) == 1 and len(_widths(planner, name, trial)) == 1:
                return candidate
            recall = planner.recall(candidate, planner.coder(candidate, "allocation"))
            if planner.tried(f"{name}, {width} components", recall) > found:
                best, found = candidate, recall
    return best


def _with_fewer_landmarks(planner, trial):
    """The same embedding through fewer landmarks, where a graph finds as much by them."""
    model = planner.model
    if model.store != "graph" or trial.name != "kpca" or model.effort == "low":
        return trial
    n_all, wanted = trial.embedding.landmarks_.shape[0], None
    for share in LANDMARK_SHARES:
        n = n_all // share
        if n < LANDMARKS_PER_COMPONENT * trial.width:
            continue
        wanted = planner.recall(trial, planner.coder(trial, "allocation")) - AS_MUCH if wanted is None else wanted
        fewer = planner.trial("kpca", trial.width, n)
        recall = planner.recall(fewer, planner.coder(fewer, "allocation"))
        if planner.tried(f"{n} of {n_all} landmarks", recall) >= wanted:
            planner.remark = f" {n} of {n_all} landmarks find as much ({recall:.3f})."
            return fewer
    return trial


def _of_width(planner, trial, width):
    return trial if width == trial.width else planner.trial(trial.name, width)


def _names(planner):
    model = planner.model
    kernel = planner.measure.plain
    if model.embedding != "auto":
        return [model.embedding]
    return ["kpca", "map"] if kernel.additive and kernel.homogeneity else ["kpca"]


def _bits_or_numbers(planner):
    """Components that a code of bits or numbers is made of, None for words."""
    if planner.code in ("lsh", "universal"):
        return 8 * planner.n_bytes  # as in [bourrier15explicit] Sec. 5.2.2
    return max(1, planner.n_bytes // 4 - planner.measure.levels_norms) if planner.code == "flat" else None


def _most_components(planner, name):
    model = planner.model
    fixed = model.n_components or _bits_or_numbers(planner)
    if fixed:
        return fixed
    return max(COMPONENTS_PER_BYTE[name][-1] * model.bytes_per_item, LEAST_COMPONENTS if name == "map" else 1)


def _widths(planner, name, trial):
    """Numbers of components to try."""
    model = planner.model
    if model.n_components or _bits_or_numbers(planner):
        return [trial.width]
    if model.effort == "low":
        return [min(FIRST_GUESS[name] * model.bytes_per_item, trial.width)]
    widths = [factor * model.bytes_per_item for factor in COMPONENTS_PER_BYTE[name]]
    return sorted({min(max(width, 1), trial.width) for width in widths})


def _choose_rotation(planner, trial):
    model = planner.model
    if planner.code not in ("pq", "opq"):
        return None
    if planner.code == "opq":
        return "opq"
    candidates = ["allocation"] if trial.name == "kpca" or model.effort == "low" else [None, "allocation"]
    if model.effort == "high":
        candidates.append("opq")
    if len(candidates) == 1:
        return candidates[0]
    recalls = {
        rotation: planner.tried(f"rotation {rotation}", planner.recall(trial, planner.coder(trial, rotation)))
        for rotation in candidates
    }
    return max(recalls, key=recalls.get)


def _with_more_rows(planner, trial):
    """All rows that the sample has, for the final code."""
    if planner.code == "flat":
        return trial
    base = features(trial.embedding, planner.measure, planner.rows)
    return Trial(trial.name, trial.embedding, base, trial.queries)


def _choose_scale(planner, trial, coder):
    """The s of the tables with the best recall on the sample."""
    if not isinstance(coder, (WordCoder, FlatCoder)) or planner.measure.levels_norms:
        coder.scale = 1.0
        return 1.0
    recalls = []
    for scale in SCALES:
        coder.scale = scale
        recalls.append(planner.recall(trial, coder))
    # a plateau is noise: take the middle of what is within a tenth of a point of the best
    near = [scale for scale, recall in zip(SCALES, recalls, strict=True) if recall >= max(recalls) - 1e-3]
    coder.scale = float(np.median(near))
    planner.tried(f"scale {coder.scale:.3g}", max(recalls))
    return coder.scale


def _calibrate(model, planner, trial, coder):
    """Objectives from scores, by least squares over the neighbors found."""
    positions, scores = planner.scan(trial, coder, 10)
    queries, places = np.nonzero(positions >= 0)
    base, asked = planner.rows[planner.base], planner.rows[planner.asked]
    exact = planner.measure.scores(asked, base, queries, positions[queries, places])
    estimated = scores[queries, places].astype(np.float64)
    spread = float(np.var(estimated))
    slope = float(np.mean((estimated - estimated.mean()) * (exact - exact.mean())) / spread) if spread > 0 else 1.0
    model.slope_ = slope if slope > 0 else 1.0
    model.intercept_ = float(exact.mean() - model.slope_ * estimated.mean())
    under = exact - (model.slope_ * estimated + model.intercept_)
    model.slack_ = float(max(np.quantile(under, SLACK_QUANTILE), 0.0))


def _shortened(embedding, n):
    """A KernelPCA with its first n components."""
    if embedding._n_features_out == n:
        return embedding
    from copy import copy

    shorter = copy(embedding)
    shorter.n_components = n
    shorter.normalization_ = np.ascontiguousarray(embedding.normalization_[:, :n])
    shorter.eigenvalues_ = embedding.eigenvalues_[:n]
    shorter.explained_energy_ = embedding.explained_energy_[:n]
    shorter.inner_ = Identity(n)
    return shorter


def _reason(planner, trial):
    if not planner.log:
        return f"{trial.name} with {trial.width} components was requested, or is the only choice."
    best = max(
        (entry for entry in planner.log if entry["tried"].startswith(f"{trial.name}, {trial.width} ")),
        key=lambda entry: entry["recall"],
        default=planner.log[-1],
    )
    return (
        f"{trial.name} with {trial.width} components: the best mean of recall_1@1, @10, @100 and recall_10@100 on "
        f"{planner.n_queries} rows of the sample ({best['recall']:.3f}).{planner.remark}"
    )
