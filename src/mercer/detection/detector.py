"""PartDetector: images and boxes in, a detector out.

images --pyramid--> cells of gradients --codebook--> words --latent training--> roots, parts and where they may stand
"""

__all__ = ["PartDetector"]

import time
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.files.loaded import checked_array
from mercer._base.parameters import check_parameters, keep_arguments
from mercer._base.parameters.detection import MOST, PART_DETECTOR, THRESHOLD
from mercer.detection.cells.codebook import CHANNELS, CellCodebook
from mercer.detection.cells.features import build_all, check_all_inside, learn_codebook
from mercer.detection.cells.pyramid import PyramidShape
from mercer.detection.cells.storage import cells_as
from mercer.detection.model.components import LARGEST, Component
from mercer.detection.model.finder import MOST_DETECTIONS, Finder
from mercer.detection.model.inference import Scorer
from mercer.detection.model.word_kernel import rbf_features
from mercer.detection.sources import checked_boxes, name_of, read
from mercer.detection.training.initial import PART_SIZE, aspect_groups, root_shape
from mercer.detection.training.latent import Trainer, TrainingSettings, all_components
from mercer.detection.training.rounds import run_rounds

MOST_IMAGES = 60  # with objects, and without, on which a threshold is chosen
HELD_OUT = 5  # one image of so many is held out for the threshold
FEWEST = {True: 5, False: 2}  # images with objects, and without, from which on some are held out


class PartDetector(BaseEstimator):
    """Find objects by deformable part models on oriented gradients, kept as one word per cell.

    A component is a view of the object: a filter for the whole of it, the root, and filters of twice the resolution for
    parts, which may move at a cost. [felzenszwalb10object] With ``codewords`` each cell of gradients is replaced by the
    number of its nearest word: features take one byte in place of 128, filters are scored by looking up tables, and
    learning runs on the codes. [vedaldi12sparse] Sec. 5.2

    Parameters
    ----------
    n_components : int
        Views, those that mirror others included.
    n_parts : int
        Parts of each component; 0 for roots only.
    codewords : int or None
        Words of the codebook, even: 256 take one byte per cell, up to 65,536 two. None keeps cells as they are.
    kernel : {"rbf", "linear"}
        What filters are of the words of cells: smooth functions, or linear ones as on full cells and in
        [vedaldi12sparse]. Both are tables and take the same time to detect.
    mirrored : bool
        Whether components come in pairs that mirror each other; ``n_components`` is even then. A single component is
        learnt from the objects and their mirror images alike: for objects that look the same from both sides.
    storage : {"dense", "bytes"}
        How cells are kept without ``codewords``: as float32, or one byte per channel.
    margin : int
        Cells around the object that belong to the root.
    interval : int
        Sizes per octave at which the image is looked at.
    padding : int
        Cells around the image, so that objects at its border are found.
    C : float
        Weight of the losses against the regulariser.
    overlap : float
        Intersection over union with its box that the place of an object must have in training.
    cache_size : int
        Hard negatives that are kept at most.
    per_image : int
        Hard negatives that one image gives in one round at most.
    root_rounds, part_rounds, minings : int
        Times that objects are placed with roots alone and with parts, and how often negatives are mined in each.
    suppression : float
        Of two detections that have more than this share of the smaller one in common, the better stays.
    threshold : float or "auto"
        Score above which :meth:`detect` reports an object. ``"auto"`` trains a second detector on four fifths of the
        images and takes the score with the largest F1 on the others, which about doubles the time of training. A
        number is used as it is; 0 is the score with the largest F1 on the training images, above which few objects of
        other images score.
    cache : path or None
        A folder where the cells of the training images are kept in a file instead of memory.
    checkpoint : path or None
        A file that keeps the state after each round. If it exists, training goes on from there.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads. They do not change the model.

    Attributes
    ----------
    roots_, parts_, anchors_, deformations_, biases_ : lists of arrays, and an array
        The components that were learnt; those that mirror them are not kept.
    codebook_ : ndarray of shape (codewords, 32), or None
    features_ : ndarray of shape (codewords, r), or None
        What filters see of the words, the 32 channels first. None where that is the words themselves, or full cells.
    threshold_ : float
        Score above which :meth:`detect` reports an object. 0 for files that were saved before it was chosen.
    history_ : list of dict
        What happened in training, step by step: seconds, objectives, objects placed, negatives mined and cached.

    See Also
    --------
    read_boxes : boxes from csv, PASCAL VOC and COCO files.

    Examples
    --------
    Bright crosses in noise:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> images = list(rng.integers(0, 60, size=(12, 96, 96), dtype=np.uint8))
    >>> boxes = [[] for _ in images]
    >>> for i in range(8):
    ...     x, y = rng.integers(8, 40, 2)
    ...     images[i][y + 20 : y + 28, x : x + 48] = images[i][y : y + 48, x + 20 : x + 28] = 220
    ...     boxes[i] = [[x, y, x + 48, y + 48]]
    >>> detector = PartDetector(2, 0, 16, margin=1, minings=1, root_rounds=1, random_state=0).fit(images, boxes)
    >>> found = detector.detect(images[0], threshold=-1)
    >>> bool(np.abs(found.boxes[0] - boxes[0][0]).max() < 9)
    True
    """

    _table = PART_DETECTOR

    def __init__(
        self,
        n_components=2,
        n_parts=6,
        codewords=256,
        *,
        kernel="rbf",
        mirrored=True,
        storage="dense",
        margin=2,
        interval=6,
        padding=3,
        C=0.008,
        overlap=0.7,
        cache_size=20_000,
        per_image=100,
        root_rounds=2,
        part_rounds=4,
        minings=4,
        suppression=0.5,
        threshold="auto",
        cache=None,
        checkpoint=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    # -------------------------------------------------------------------------------------------------- the public door

    def fit(self, images, boxes):
        """Learn from annotated images.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays
            Some of them without objects.
        boxes : sequence of arrays of shape (n, 4)
            xmin ymin xmax ymax, in pixels, of the objects of each image; empty for images without them.
        """
        self.check_parameters()
        boxes = checked_boxes(images, boxes)
        self._check_both_kinds(boxes)
        check_all_inside(images, boxes, self.n_jobs)
        rng = check_random_state(self.random_state)
        groups, shapes = self._shapes(boxes)
        shape = self._pyramid_shape(shapes)
        codebook = None
        if self.codewords is not None:
            codebook = learn_codebook(
                images, boxes, groups, shapes, shape, self.margin, self.codewords, rng, self.n_jobs
            )
            if self.kernel == "rbf":
                codebook = CellCodebook(codebook.words, rbf_features(codebook.words))
        storage = cells_as("codes" if codebook is not None else self.storage, codebook)
        began = time.perf_counter()
        pyramids = build_all(images, shape, storage, self.cache, self.n_jobs)
        seconds, size = time.perf_counter() - began, sum(pyramid.nbytes for pyramid in pyramids)
        described = {"step": "describe", "seconds": seconds, "bytes": size}
        known = (pyramids, boxes, groups)
        self._learn(known, shapes, codebook, storage, rng, [described], self.checkpoint)
        self.threshold_ = 0.0 if self.threshold == "auto" else float(self.threshold)
        if self.threshold == "auto":
            self._choose_threshold(known, shapes, codebook, storage, rng)
        return self

    def detect(self, image, threshold=None, most=MOST_DETECTIONS):
        """Find objects in an image.

        Parameters
        ----------
        image : path, bytes of a file, or array
        threshold : float or None
            Detections score more than this. Lower finds more, with more mistakes. None is ``threshold_``, which was
            chosen in training; at 0 precision and recall on the training images are best together (the largest F1).
        most : int
            Detections at most.

        Returns
        -------
        Detections
        """
        check_is_fitted(self)
        if threshold is None:
            threshold = self.threshold_
        if not isinstance(threshold, Real) or isinstance(threshold, bool) or np.isnan(threshold):
            THRESHOLD.refuse(threshold, "PartDetector.detect")
        MOST.check(most, "PartDetector.detect")
        return self._finder().detect(read(image, 0), name_of(image, 0), threshold, most, self.n_jobs)

    def evaluate(self, images, boxes):
        """How good the detector is on annotated images.

        Parameters
        ----------
        images, boxes : as for :meth:`fit`

        Returns
        -------
        DetectionReport
            Average precision by both rules of PASCAL VOC, and miss rate against false positives per image.
        """
        check_is_fitted(self)
        boxes = checked_boxes(images, boxes)
        return self._finder().judged(images, boxes, self.n_jobs)

    def plot_model(self):
        """Draw root, parts and costs of each learnt component as strokes along edges; needs matplotlib.

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        from mercer.detection.plots import plot_components

        return plot_components(self._learnt())

    # ------------------------------------------------------------------------------------------------------- fitting

    def _learn(self, known, shapes, codebook, storage, rng, history=(), checkpoint=None):
        """Train on known images: their pyramids, boxes and groups of boxes."""
        trainer = Trainer(*known, shapes, storage, self._settings(), rng, self.n_jobs)
        trainer.history.extend(history)
        run_rounds(trainer, self.n_parts, int(rng.randint(2**31 - 1)), checkpoint, self.get_params())
        self._keep(trainer, codebook)
        self.biases_ = self.biases_ - self._best_threshold(trainer)
        self._scorer_cache = None

    def _choose_threshold(self, known, shapes, codebook, storage, rng):
        """Set ``threshold_`` by a detector that has not seen one image in five; of few images it stays 0.

        Words of cells and shapes of roots are those of all images; weights, places of parts and the bias are learned
        anew.
        """
        began = time.perf_counter()
        held = _held_out(known[1])
        rest = np.setdiff1d(np.arange(len(known[1])), held)
        seen = [[part[i] for i in rest] for part in known]
        if not held or len(np.unique(np.concatenate(seen[2]))) < len(shapes):
            return
        learned = dict(vars(self))
        self._learn(seen, shapes, codebook, storage, rng)
        report = self._finder().judged_pyramids(*([part[i] for i in held] for part in known[:2]), self.n_jobs)
        vars(self).update(learned)
        self.threshold_ = report.best_threshold
        self.history_.append({"step": "threshold", "seconds": time.perf_counter() - began, "images": len(held)})

    def _best_threshold(self, trainer):
        """The score above which detections in the training images have the largest F1.

        Where the regulariser is strong, objects score more than other windows but less than 0.
        """
        images = [*_some(trainer.with_boxes), *_some(trainer.negatives)]
        pyramids, boxes = [trainer.pyramids[i] for i in images], [trainer.boxes[i] for i in images]
        return self._finder().judged_pyramids(pyramids, boxes, self.n_jobs).best_threshold

    def _keep(self, trainer, codebook):
        learnt = trainer.learnt
        self.roots_ = [component.root for component in learnt]
        self.parts_ = [component.parts for component in learnt]
        self.anchors_ = [component.anchors for component in learnt]
        self.deformations_ = [component.deformations for component in learnt]
        self.biases_ = np.array([component.bias for component in learnt])
        self.codebook_ = None if codebook is None else codebook.words
        self.features_ = None if codebook is None or codebook.features is codebook.words else codebook.features
        self.history_ = trainer.history
        self._scorer_cache = None

    def _is_paired(self):
        """Whether components come in mirrored pairs; a single one is its own mirror image."""
        return bool(self.mirrored) and self.n_components > 1

    def _n_learnt(self):
        """Components that are learnt; others mirror them."""
        return self.n_components // 2 if self._is_paired() else self.n_components

    def _shapes(self, boxes):
        """The component (pair) of each box, image by image, and the shapes of their roots."""
        every = np.concatenate(boxes)
        n_groups = self._n_learnt()
        if len(every) < n_groups:
            raise InputError(f"PartDetector has {n_groups} shapes of objects to learn, but {len(every)} boxes.")
        flat = aspect_groups(every, n_groups)
        shapes = [root_shape(every[flat == g], self.margin) for g in range(n_groups)]
        return np.split(flat, np.cumsum([len(own) for own in boxes])[:-1]), shapes

    def _pyramid_shape(self, shapes):
        smallest = tuple(int(n) for n in np.min(shapes, axis=0))
        return PyramidShape(int(self.interval), int(self.padding), smallest, self.n_parts > 0)

    def _settings(self):
        return TrainingSettings(
            C=float(self.C),
            is_paired=self._is_paired(),
            is_symmetric=bool(self.mirrored) and self.n_components == 1,
            margin=int(self.margin),
            overlap=float(self.overlap),
            cache_size=int(self.cache_size),
            per_image=int(self.per_image),
            root_rounds=int(self.root_rounds),
            part_rounds=int(self.part_rounds),
            minings=int(self.minings),
        )

    # ------------------------------------------------------------------------------------------------------ detecting

    def _learnt(self):
        fields = zip(self.roots_, self.parts_, self.anchors_, self.deformations_, self.biases_, strict=True)
        return [Component(*values[:4], float(values[4])) for values in fields]

    def _finder(self):
        """What finds objects; components get their tables once, and margin and suppression may change."""
        if getattr(self, "_scorer_cache", None) is None:
            features = getattr(self, "features_", None)  # models saved before there were features have none
            codebook = None if self.codebook_ is None else CellCodebook(self.codebook_, features)
            storage = cells_as("codes" if codebook is not None else self.storage, codebook)
            components = all_components(self._learnt(), self._is_paired())
            shape = self._pyramid_shape([component.shape for component in components])
            self._scorer_cache = Scorer(components, storage), storage, shape
        return Finder(*self._scorer_cache, self.margin, self.suppression)

    # --------------------------------------------------------------------------------------------------------- checks

    def check_parameters(self):
        """Refuse parameters that cannot be used, before any image is read."""
        check_parameters(self, self._table)
        if self._is_paired() and self.n_components % 2:
            raise InputError(
                "PartDetector has components in mirrored pairs: n_components must be even, or 1 for one that is its "
                f"own mirror image, got {self.n_components}. Say mirrored=False for components without mirror images."
            )
        if self.codewords is not None and self.codewords % 2:
            raise InputError(f"PartDetector needs an even number of codewords, or None; got {self.codewords!r}.")

    def _check_both_kinds(self, boxes):
        n_with = sum(len(own) > 0 for own in boxes)
        if n_with == 0:
            raise InputError("PartDetector needs images with objects, but none of the images has a box.")
        if n_with == len(boxes):
            raise InputError(
                "PartDetector has no negatives: every image has boxes. Add images without the object, with empty lists "
                "of boxes."
            )

    def _check_loaded(self):
        self.check_parameters()
        n = self._n_learnt()
        lists = [getattr(self, name) for name in ("roots_", "parts_", "anchors_", "deformations_", "biases_")]
        if any(not isinstance(one, (list, np.ndarray)) or len(one) != n for one in lists):
            raise ValueError(f"there must be {n} components.")
        checked_array(self, "biases_", "float64", shape=(n,), lowest=-LARGEST, highest=LARGEST)
        if self.codebook_ is not None:
            checked_array(
                self, "codebook_", "float32", shape=(self.codewords, CHANNELS), lowest=-LARGEST, highest=LARGEST
            )
        features = getattr(self, "features_", None)
        if features is not None:
            checked_array(self, "features_", "float32", ndim=2)
        self.threshold_ = getattr(self, "threshold_", 0.0)  # models saved before it was chosen have none
        if not isinstance(self.threshold_, float) or not abs(self.threshold_) <= LARGEST:
            raise ValueError(f"threshold_ must be a finite number, got {self.threshold_!r:.80}.")
        for component in self._learnt():
            component.check_loaded(self.n_parts, PART_SIZE, CHANNELS if features is None else features.shape[1])
        self._finder()


def _some(images):
    """At most so many, evenly spread."""
    return images[:: -(-len(images) // MOST_IMAGES)]


def _held_out(boxes):
    """Numbers of the images that are held out: every fifth of each kind; none where there are too few of a kind."""
    kinds = {kind: [i for i, own in enumerate(boxes) if (len(own) > 0) == kind] for kind in FEWEST}
    if any(len(kinds[kind]) < fewest for kind, fewest in FEWEST.items()):
        return []
    return sorted(i for own in kinds.values() for i in (own[HELD_OUT // 2 :: HELD_OUT] or own[-1:]))
