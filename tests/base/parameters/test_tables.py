"""The tables of parameters against the estimators that they describe."""

import inspect

import numpy as np
import pytest

import mercer
from mercer import InputError
from mercer._base.parameters import REQUIRED, named
from mercer._base.parameters.detection import DETECTOR
from mercer._base.parameters.learners import CLASSIFIER, ICD, LEARNER, REGRESSOR
from mercer._base.parameters.search import INDEX
from mercer._base.parameters.vision import IMAGE_OPTIONS
from mercer.learners.solvers.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES
from mercer.learners.solvers.registry import SOLVERS

PUBLIC = [getattr(mercer, name) for name in mercer.__all__ if name[0].isupper()]
ESTIMATORS = [each for each in PUBLIC if hasattr(each, "get_params")]
WITH_TABLE = [each for each in ESTIMATORS if hasattr(each, "_table")]
OPTIONS = {
    "KernelClassifier": [each for name, each in LEARNER.items() if name != "epsilon"],
    "KernelRegressor": [LEARNER["epsilon"]],
    "IntersectionSVC": ICD.values(),
    "KernelIndex": INDEX,
    "ImageClassifier": IMAGE_OPTIONS,
    "PartDetector": DETECTOR,
}


def defaults(estimator):
    given = inspect.signature(estimator).parameters.values()
    return {each.name: REQUIRED if each.default is each.empty else each.default for each in given}


@pytest.mark.parametrize("estimator", WITH_TABLE)
def test_a_table_has_the_parameters_and_defaults_of_the_estimator(estimator):
    assert {each.name: each.default for each in estimator._table} == defaults(estimator)


@pytest.mark.parametrize("estimator", OPTIONS)
def test_the_defaults_of_options_are_those_of_the_estimator(estimator):
    known = defaults(getattr(mercer, estimator))
    for each in OPTIONS[estimator]:
        assert each.default == known[each.name], each.name


@pytest.mark.parametrize("table", [*OPTIONS.values(), *(each._table for each in WITH_TABLE)])
def test_a_table_accepts_its_defaults_and_every_entry_has_a_sentence(table):
    for each in table:
        each.check(each.default)
        assert each.help.endswith((".", "..."))
        assert each.help[0].isupper() or each.help.startswith(each.words or ("ovr", "kpca", "pq"))


@pytest.mark.parametrize("estimator", WITH_TABLE)
def test_a_value_that_cannot_be_is_refused_in_the_one_wording_before_any_row_is_looked_at(estimator):
    needed = {each.name: mercer.HomogeneousMap() for each in estimator._table if each.default is REQUIRED}
    for each in estimator._table:
        if each.what:
            continue
        with pytest.raises(InputError) as caught:
            estimator(**needed | {each.name: Ellipsis}).fit(np.full((2, 2), np.nan), [0, 1])
        assert str(caught.value) == f"{estimator.__name__}: `{each.name}` must be {each.domain}; got Ellipsis."


def test_the_losses_and_solvers_of_the_tables_are_those_that_there_are():
    assert set(named(CLASSIFIER)["loss"].words) == set(CLASSIFICATION_LOSSES)
    assert set(named(REGRESSOR)["loss"].words) == set(REGRESSION_LOSSES)
    assert set(named(CLASSIFIER)["solver"].words) == {"auto", *(each.name for each in SOLVERS)}
