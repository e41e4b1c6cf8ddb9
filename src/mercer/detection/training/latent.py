"""Latent training: placements of the objects, hard negatives, and weights, improved in turn.

    minimize over w and z  sum_k 1/2 |w_k|^2 + C (sum over objects of L(w . row(z)) + sum over negatives of L(-w . row))

1. Roots: objects where windows cover their boxes best; negatives at random; then rounds of mining.
2. Relabeling: objects where the model finds them best, overlapping their boxes enough.
3. Parts where the roots have most energy; relabeling and mining in turn. [felzenszwalb10object] Sec. 4.4, 5.2

Given the placements, components share nothing, so that each (or each mirrored pair) is a problem of its own. While the
cache stays as it is, neither relabeling nor solving raises the objective: a new placement of an object scores at least
as much as the one before, and the solver starts from the weights before.
"""

__all__ = ["Trainer", "TrainingSettings"]

import logging
import time
from dataclasses import dataclass

import numpy as np

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import run_blocks, single_threaded
from mercer.detection.model.components import Component, mirrored_component
from mercer.detection.model.inference import Placements, Scorer
from mercer.detection.training.examples import Cache, ExampleRows, rows_of
from mercer.detection.training.initial import PART_SIZE, choose_parts, sides_of
from mercer.detection.training.positives import best_by_overlap, best_by_score, grid_overlaps
from mercer.detection.training.solving import ComponentProblem, component_of, weights_of

logger = logging.getLogger("mercer")

HARD = -1.0  # negatives above this score have a loss
EASY = -1.1  # cached negatives below it are dropped when room is needed
CLEAR = 0.3  # windows that overlap an annotated object by less than this are negatives
LEAST_FIRST = 0.5  # overlap of the first placement of an object
RANDOM_PER_IMAGE = 30  # negatives of the first round
BATCH = 8  # images between two looks at whether the cache is full
FEW = 0.02  # share of new rows in the cache below which mining is over


@dataclass(frozen=True)
class TrainingSettings:
    """How a detector is trained; see PartDetector for the meaning."""

    C: float = 0.008
    is_paired: bool = True
    is_symmetric: bool = False
    margin: int = 1
    min_overlap: float = 0.7
    cache_size: int = 20_000
    max_negatives_per_image: int = 100
    n_root_rounds: int = 3
    n_part_rounds: int = 4
    n_mining_rounds: int = 4
    tol: float = 0.02
    max_iter: int = 300


class Trainer:
    """The state of a training.

    Parameters
    ----------
    pyramids : list of Pyramid, one per image
    boxes : list of arrays (n, 4), those of each image; none for images without objects
    groups : list of int arrays, the component (pair) of each box
    shapes : (rows, columns) of the root of each component (pair)
    storage : how cells are kept
    settings : TrainingSettings
    rng : numpy RandomState
    n_jobs : threads
    """

    def __init__(self, pyramids, boxes, groups, shapes, storage, settings, rng, n_jobs=None):
        self.pyramids, self.boxes, self.groups, self.storage = pyramids, boxes, groups, storage
        self.settings, self.rng, self.n_jobs = settings, rng, n_jobs
        self.learnt = [_empty(shape, storage.channels) for shape in shapes]
        self.positives = {}  # (image, box) -> Placements of one; mirror images of objects follow the boxes of an image
        self.caches = [Cache(settings.cache_size // len(shapes)) for _ in shapes]
        self.negatives = [i for i, own in enumerate(boxes) if not len(own)]
        self.with_boxes = [i for i, own in enumerate(boxes) if len(own)]
        self.history = []
        self._rows_of_positives = None
        self._solved = {}  # scores of the cached negatives at the last solution, while the cache stays as it is

    # --------------------------------------------------------------------------------------------------- components

    @property
    def components(self):
        """All components, mirrored ones after those that they mirror."""
        return all_components(self.learnt, self.settings.is_paired)

    @property
    def sides(self):
        """For each component whether it is a mirrored one."""
        return [False, True] * len(self.learnt) if self.settings.is_paired else [False] * len(self.learnt)

    @property
    def _views(self):
        """Components that objects are seen by, and which of them are mirrored: a symmetric one sees mirror images too.

        What a mirrored component finds in an image is what the component finds in the mirrored image.
        """
        if self.settings.is_paired or self.settings.is_symmetric:
            return all_components(self.learnt, True), [False, True] * len(self.learnt)
        return self.learnt, self.sides

    def _owner(self, view):
        """The learned component of a view."""
        return view // 2 if self.settings.is_paired or self.settings.is_symmetric else view

    def scorer(self):
        """The components as they are now, ready to score."""
        return Scorer(self.components, self.storage)

    # ---------------------------------------------------------------------------------------------------- beginning

    def begin(self):
        """First placements of the objects, and random negatives; how many objects have a place."""
        found = {}
        for i in self.with_boxes:
            for b, box in enumerate(self.boxes[i]):
                g = self.groups[i][b]
                overlap, k, r, c = best_by_overlap(self.pyramids[i], box, self.learnt[g].shape, self.settings.margin)
                if overlap >= LEAST_FIRST:
                    for side in range(2 if self.settings.is_symmetric else 1):
                        view = 2 * g + side if self.settings.is_paired or self.settings.is_symmetric else g
                        where = np.array([[view, k, r, c]], dtype=np.int32)
                        one = Placements(np.zeros(1, np.float32), where, np.empty((1, 0, 2), np.int32))
                        found[i, b + side * len(self.boxes[i])] = one
        owners = {self._owner(one.where[0, 0]) for one in found.values()}
        if len(owners) < len(self.learnt):
            raise InputError(
                "PartDetector found no box that a root window overlaps by at least half for one of its components. "
                "Use images with larger objects, or fewer components."
            )
        self.positives = found
        self.positives_changed()
        if self.settings.is_paired:
            self._turn()
        self._add_random()
        return len(self.positives)

    def _turn(self):
        """Let objects that face the other way begin as the mirrored component."""
        for g in range(len(self.learnt)):
            names = [name for name, one in self.positives.items() if self._owner(one.where[0, 0]) == g]
            cells = self._positive_rows(g).cells
            h, w = self.learnt[g].shape
            rectangles = cells.reshape(len(cells), h, w, *self.storage.tail)
            features = self.storage.decode(rectangles).reshape(len(cells), -1)
            mirrored = self.storage.decode(self.storage.mirrored(rectangles)).reshape(len(cells), -1)
            for name, turn in zip(names, sides_of(features, mirrored), strict=True):
                self.positives[name].where[0, 0] = 2 * g + int(turn)
        self.positives_changed()

    def _add_random(self):
        """Windows of the images without objects."""
        components, sides = self.components, self.sides
        for i in self.negatives:
            for g, component in enumerate(self.learnt):
                where = self._random_places(self.pyramids[i], component.shape, g)
                none = Placements(np.zeros(len(where), np.float32), where, np.empty((len(where), 0, 2), np.int32))
                if len(where):
                    self.caches[g].add(rows_of(none, i, self.pyramids[i], components, sides))

    def _random_places(self, pyramid, shape, g):
        places = [
            (level.coarse.shape[0] - shape[0] + 1, level.coarse.shape[1] - shape[1] + 1) for level in pyramid.levels
        ]
        fitting = [k for k, (rows, columns) in enumerate(places) if rows > 0 and columns > 0]
        if not fitting:
            return np.empty((0, 4), dtype=np.int32)
        levels = self.rng.choice(fitting, RANDOM_PER_IMAGE)
        kind = (
            self.rng.randint(2, size=RANDOM_PER_IMAGE) + 2 * g if self.settings.is_paired else np.full(len(levels), g)
        )
        spots = [(self.rng.randint(places[k][0]), self.rng.randint(places[k][1])) for k in levels]
        return np.column_stack([kind, levels, spots]).astype(np.int32)

    # --------------------------------------------------------------------------------------------------------- rounds

    def relabel(self):
        """Place every object where the model finds it best; how many have a place."""
        if self.settings.is_symmetric:
            views, mirrored = self._views
            for side in (False, True):
                which = [c for c, is_mirrored in enumerate(mirrored) if is_mirrored == side]
                self._place(Scorer([views[c] for c in which], self.storage), np.array(which), side)
        else:
            scorer = self.scorer()
            self._place(scorer, np.arange(len(scorer.components)), 0)
        self.positives_changed()
        return len(self.positives)

    def _place(self, scorer, views, side):
        """Place objects, or their mirror images, by some of the views."""
        s = self.settings

        def place(i):
            return best_by_score(scorer, self.pyramids[i], self.boxes[i], s.margin, s.min_overlap)

        for images in track(_batches(self.with_boxes), "Placing objects"):
            for i, found in zip(images, self._run(place, images), strict=True):
                for b, one in enumerate(found):
                    if one is not None:
                        one.where[:, 0] = views[one.where[:, 0]]
                        self.positives[i, b + side * len(self.boxes[i])] = one

    def mine(self):
        """Add hard negatives of all images to the caches; how many are new."""
        scorer, sides, most = self.scorer(), self.sides, self.settings.max_negatives_per_image
        images = np.array(self.negatives + self.with_boxes)
        self.rng.shuffle(images[: len(self.negatives)])

        def find(i):
            allowed = self._clear_of(i, scorer.components) if len(self.boxes[i]) else None
            found = scorer.best(self.pyramids[i], HARD, most, allowed)
            owners = found.where[:, 0] // (2 if self.settings.is_paired else 1)
            return [
                rows_of(found.take(owners == g), i, self.pyramids[i], scorer.components, sides)
                if (owners == g).any()
                else None
                for g in range(len(self.learnt))
            ]

        added = 0
        for batch in track(_batches(images.tolist()), "Mining hard negatives"):
            for rows in self._run(find, batch):
                added += sum(cache.add(own) for cache, own in zip(self.caches, rows, strict=True) if own is not None)
            if all(len(cache) >= cache.most for cache in self.caches):
                break
        return added

    def _clear_of(self, i, components):
        """Windows that hardly overlap the objects of an image."""

        def allowed(c, k, shape):
            mask = np.ones(shape, dtype=bool)
            for box in self.boxes[i]:
                mask &= grid_overlaps(self.pyramids[i], k, components[c].shape, self.settings.margin, box) < CLEAR
            return mask

        return allowed

    def solve(self):
        """Better weights for the placements and negatives as they are; the objective of all components."""
        total = 0.0
        for g in range(len(self.learnt)):
            problem = self.problem(g)
            u, _ = problem.solve(weights_of(self.learnt[g]), self.settings.tol, self.settings.max_iter)
            total += problem.objective(u)
            self.learnt[g] = component_of(u, self.learnt[g])
            self._solved[g] = problem.scores(u)[len(self._positive_rows(g)) :]
        return total

    def objective(self):
        """What is minimized, at the weights, placements and negatives as they are."""
        pairs = enumerate(self.learnt)
        return sum(self.problem(g).objective(weights_of(component)) for g, component in pairs)

    def shrink(self):
        """Drop negatives that have become easy, where a cache is more than half full."""
        for g, cache in enumerate(self.caches):
            if 2 * len(cache) > cache.most:
                cache.keep(self._solved[g] > EASY)

    def problem(self, g):
        """The learning problem of a component: objects first, then negatives."""
        positive, negative = self._positive_rows(g), self.caches[g].rows
        both = positive if negative is None else ExampleRows.joined([positive, negative])
        targets = np.where(np.arange(len(both)) < len(positive), 1, -1)
        s = self.settings
        return ComponentProblem(both.cells, both.displacements, targets, self.storage, s.C, self.n_jobs)

    def add_parts(self, n_parts):
        """Give every component its parts; placements and negatives begin anew."""
        parted = [choose_parts(component.root, n_parts) for component in self.learnt]
        for before, after in zip(self.learnt, parted, strict=True):
            after.bias = before.bias
        self.learnt = parted
        for cache in self.caches:
            cache.clear()
        self.positives = {}

    # -------------------------------------------------------------------------------------------------------- helpers

    def _run(self, function, images):
        with single_threaded():  # images side by side, each with one thread
            return run_blocks(function, images, self.n_jobs)

    def positives_changed(self):
        """Forget the rows of positives: they are made again when they are asked for."""
        self._rows_of_positives = None

    def _positive_rows(self, g):
        if self._rows_of_positives is None:
            self._rows_of_positives = self._all_positive_rows()
        return self._rows_of_positives[g]

    def _all_positive_rows(self):
        components, sides = self._views
        found = [[] for _ in self.learnt]
        for (i, _), one in self.positives.items():
            rows = rows_of(one, i, self.pyramids[i], components, sides)
            found[self._owner(one.where[0, 0])].append(rows)
        if not all(found):
            raise InputError(
                "PartDetector has a component without objects, because other components match all of them better. "
                "Use fewer components."
            )
        return [ExampleRows.joined(rows) for rows in found]

    @property
    def n_cached(self):
        """Negatives in all caches."""
        return sum(map(len, self.caches))

    def step(self, name, function, figure):
        """Run a step of the training, and keep its time and what it returns in the history."""
        began = time.perf_counter()
        value = function()
        cached = sum(cache.nbytes for cache in self.caches)
        seconds = time.perf_counter() - began
        entry = {"step": name, "seconds": seconds, figure: value, "cached": self.n_cached, "cached_bytes": cached}
        self.history.append(entry)
        logger.info("%s in %.1f s: %s %.6g, %d negatives", name, seconds, figure, value, self.n_cached)
        return value


def all_components(learnt, is_paired):
    """Components with their mirror images behind them, if they come in pairs."""
    if not is_paired:
        return list(learnt)
    return [one for component in learnt for one in (component, mirrored_component(component))]


def _empty(shape, channels):
    return Component(
        root=np.zeros((*shape, channels), dtype=np.float32),
        parts=np.zeros((0, PART_SIZE, PART_SIZE, channels), dtype=np.float32),
        anchors=np.zeros((0, 2), dtype=np.int64),
        deformations=np.zeros((0, 4)),
        bias=0.0,
    )


def _batches(images):
    return [images[start : start + BATCH] for start in range(0, len(images), BATCH)]
