"""The tables of parameters against the estimators that they describe."""

import inspect

import pytest

from mercer import IntersectionSVC, KernelClassifier, KernelIndex, KernelRegressor
from mercer._base.parameters import named
from mercer._base.parameters.detection import DETECTOR
from mercer._base.parameters.learners import ICD, LEARNER, MOST_BINS
from mercer._base.parameters.search import INDEX
from mercer._base.parameters.vision import IMAGE_CLASSIFIER
from mercer.codes.levels.binning import MOST_LEVELS
from mercer.detection import PartDetector
from mercer.vision import ImageClassifier

OF_REGRESSORS, OF_CLASSES = {"epsilon"}, {"multi_class", "class_weight", "probability"}
TABLES = {
    KernelClassifier: {name: each for name, each in LEARNER.items() if name not in OF_REGRESSORS},
    KernelRegressor: {name: each for name, each in LEARNER.items() if name not in {*OF_CLASSES, "loss"}},
    IntersectionSVC: ICD,
    KernelIndex: named(INDEX),
    ImageClassifier: named(IMAGE_CLASSIFIER),
    PartDetector: named(DETECTOR),
}


@pytest.mark.parametrize("estimator", TABLES)
def test_defaults_are_those_of_the_estimator(estimator):
    signature = inspect.signature(estimator.__init__).parameters
    table = TABLES[estimator]
    assert {name: each.default for name, each in table.items()} == {name: signature[name].default for name in table}


@pytest.mark.parametrize("estimator", TABLES)
def test_a_table_accepts_its_defaults_and_every_entry_has_a_sentence(estimator):
    for each in TABLES[estimator].values():
        each.check(each.default)
        assert each.help.endswith((".", "..."))
        assert each.help[0].isupper() or each.help.startswith(each.words or ("ovr", "kpca", "pq"))


def test_as_many_bins_as_levels():
    assert MOST_BINS == MOST_LEVELS
