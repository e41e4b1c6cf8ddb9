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
from mercer._base.parameters.detection import MAX_DETECTIONS, PART_DETECTOR, THRESHOLD
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
    """Detect objects with deformable part models on oriented gradients, stored as one codeword per cell.

    A component is a view of the object: a root filter for the whole object, and part filters of twice the resolution,
    which may move at a cost. [felzenszwalb10object] With ``codewords``, each cell of gradients is replaced by its
    nearest codeword: features take 1 byte instead of 128, filters are scored by table look-ups, and training uses the
    codes. [vedaldi12sparse] Sec. 5.2

    Parameters
    ----------
    n_components : int
        Number of views of the object, including mirror images.
    n_parts : int
        Number of movable parts per component; 0 uses root filters only. More parts fit the shape more closely and take
        longer.
    codewords : int or None
        Number of codewords, an even number: 256 take one byte per cell, up to 65,536 two bytes. None stores the cells
        themselves.
    kernel : {"rbf", "linear"}
        Filters are smooth functions of the codewords, or linear functions as on full cells and in [vedaldi12sparse].
        Both use tables and take the same time to detect.
    mirrored : bool
        Pair each component with its mirror image; ``n_components`` must then be even. A single component is trained on
        the objects and their mirror images, for objects that look the same from both sides.
    storage : {"dense", "bytes"}
        How cells without ``codewords`` are stored: as float32, or one byte per channel.
    margin : int
        Number of cells around an object that belong to the root.
    interval : int
        Number of image sizes per octave; more sizes locate objects more exactly and take longer.
    padding : int
        Number of cells added around the image, so that objects at its border are found.
    C : float
        Weight of the losses against the regularizer; a larger C fits the training images more closely.
    min_overlap : float
        Minimum intersection over union of a placement with its box during training.
    cache_size : int
        Maximum number of hard negatives to keep.
    max_negatives_per_image : int
        Maximum number of hard negatives per image and round.
    n_root_rounds, n_part_rounds, n_mining_rounds : int
        Number of training rounds with roots alone and with parts, and number of searches for hard negatives in each
        round.
    max_overlap : float
        Maximum share of the smaller of two detections that they may have in common; of a pair that overlaps more, the
        weaker is dropped.
    threshold : float or "auto"
        Score above which :meth:`detect` reports an object. ``"auto"`` trains a second detector on four fifths of the
        images and uses the score with the largest F1 on the others, which about doubles the training time. 0 is the
        score with the largest F1 on the training images; few objects in other images score higher.
    cache : path or None
        Folder for a file of the cells of the training images; None keeps the cells in memory.
    checkpoint : path or None
        File that stores the state after each round. If it exists, training resumes from it.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads. It does not affect the model.

    Attributes
    ----------
    roots_, parts_, anchors_, deformations_, biases_ : lists of arrays, and an array
        The learned components, without their mirror images.
    codebook_ : ndarray of shape (codewords, 32), or None
    features_ : ndarray of shape (codewords, r), or None
        Features of the codewords for the filters, the 32 channels first. None if these are the codewords themselves, or
        full cells.
    threshold_ : float
        Score above which :meth:`detect` reports an object. 0 for files that were saved before it was chosen.
    history_ : list of dict
        Log of the training steps: seconds, objectives, objects placed, negatives mined and cached.

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
    >>> detector = PartDetector(2, 0, 16, margin=1, n_mining_rounds=1, n_root_rounds=1, random_state=0)
    >>> detector = detector.fit(images, boxes)
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
        min_overlap=0.7,
        cache_size=20_000,
        max_negatives_per_image=100,
        n_root_rounds=2,
        n_part_rounds=4,
        n_mining_rounds=4,
        max_overlap=0.5,
        threshold="auto",
        cache=None,
        checkpoint=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    # -------------------------------------------------------------------------------------------------- the public door

    def fit(self, images, boxes):
        """Train the detector on annotated images.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays
            Some images must not contain objects.
        boxes : sequence of arrays of shape (n, 4)
            xmin ymin xmax ymax, in pixels, of the objects of each image; empty for images without objects.
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

    def detect(self, image, threshold=None, max_detections=MOST_DETECTIONS):
        """Find objects in an image.

        Parameters
        ----------
        image : path, bytes of a file, or array
        threshold : float or None
            Detections score more than this. A lower threshold finds more objects and makes more mistakes. None uses
            ``threshold_``, which training chose; 0 gives the largest F1 on the training images.
        max_detections : int
            Maximum number of detections; the best ones are kept.

        Returns
        -------
        Detections
        """
        check_is_fitted(self)
        if threshold is None:
            threshold = self.threshold_
        if not isinstance(threshold, Real) or isinstance(threshold, bool) or np.isnan(threshold):
            THRESHOLD.refuse(threshold, "PartDetector.detect")
        MAX_DETECTIONS.check(max_detections, "PartDetector.detect")
        return self._finder().detect(read(image, 0), name_of(image, 0), threshold, max_detections, self.n_jobs)

    def evaluate(self, images, boxes):
        """Measure the detector on annotated images.

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
        """Plot the root, the parts and the costs of each learned component; needs matplotlib.

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

        Where the regularizer is strong, objects score more than other windows but less than 0.
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
        """Components that are learned; others mirror them."""
        return self.n_components // 2 if self._is_paired() else self.n_components

    def _shapes(self, boxes):
        """The component (pair) of each box, image by image, and the shapes of their roots."""
        every = np.concatenate(boxes)
        n_groups = self._n_learnt()
        if len(every) < n_groups:
            raise InputError(
                f"PartDetector needs at least {n_groups} boxes to learn {n_groups} shapes of objects; got {len(every)}."
            )
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
            min_overlap=float(self.min_overlap),
            cache_size=int(self.cache_size),
            max_negatives_per_image=int(self.max_negatives_per_image),
            n_root_rounds=int(self.n_root_rounds),
            n_part_rounds=int(self.n_part_rounds),
            n_mining_rounds=int(self.n_mining_rounds),
        )

    # ------------------------------------------------------------------------------------------------------ detecting

    def _learnt(self):
        fields = zip(self.roots_, self.parts_, self.anchors_, self.deformations_, self.biases_, strict=True)
        return [Component(*values[:4], float(values[4])) for values in fields]

    def _finder(self):
        """What finds objects; components get their tables once, and margin and max_overlap may change."""
        if getattr(self, "_scorer_cache", None) is None:
            features = getattr(self, "features_", None)  # models saved before there were features have none
            codebook = None if self.codebook_ is None else CellCodebook(self.codebook_, features)
            storage = cells_as("codes" if codebook is not None else self.storage, codebook)
            components = all_components(self._learnt(), self._is_paired())
            shape = self._pyramid_shape([component.shape for component in components])
            self._scorer_cache = Scorer(components, storage), storage, shape
        return Finder(*self._scorer_cache, self.margin, self.max_overlap)

    # --------------------------------------------------------------------------------------------------------- checks

    def check_parameters(self):
        """Refuse invalid parameters before any image is read."""
        check_parameters(self, self._table)
        if self._is_paired() and self.n_components % 2:
            raise InputError(
                "PartDetector needs an even n_components, because components come in mirrored pairs, or 1 for a "
                f"component that is its own mirror image; got {self.n_components}. Use mirrored=False for components "
                "without mirror images."
            )
        if self.codewords is not None and self.codewords % 2:
            raise InputError(f"PartDetector needs an even number of codewords, or None; got {self.codewords!r}.")

    def _check_both_kinds(self, boxes):
        n_with = sum(len(own) > 0 for own in boxes)
        if n_with == 0:
            raise InputError("PartDetector needs images with objects, but none of the images has a box.")
        if n_with == len(boxes):
            raise InputError(
                "PartDetector needs images without objects, but every image has boxes. Add images with empty lists "
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
