"""Files and options with the names that parameters had in earlier versions."""

import inspect
import json
from pathlib import Path

import pytest

import mercer
from mercer._base.files.renames import RENAMED, renamed
from mercer.cli.framework.parameters import parameters_of

GOLDEN = Path(__file__).parents[2] / "golden" / "v1"


@pytest.mark.parametrize(
    ("cls", "old", "new"), [(cls, *pair) for cls, names in RENAMED.items() for pair in names.items()]
)
def test_only_the_new_name_is_a_parameter(cls, old, new):
    parameters = inspect.signature(getattr(mercer, cls)).parameters
    assert new in parameters
    assert old not in parameters


def test_both_names_at_once_are_kept_for_the_check_that_refuses_them():
    assert renamed("BagOfWords", {"soft": 2, "n_nearest": 3}) == {"soft": 2, "n_nearest": 3}


@pytest.mark.parametrize(("name", "cls"), [("detector-codes", "PartDetector"), ("images-bag-of-words", "BagOfWords")])
def test_a_file_with_the_old_names_loads_under_the_new_ones(name, cls):
    old = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["parameters"]
    model = mercer.load(GOLDEN / f"{name}.mercer")
    parameters = model.get_params(deep=False)
    assert RENAMED[cls].keys() <= old.keys()
    assert {new: parameters[new] for new in RENAMED[cls].values()} == {
        new: old[name] for name, new in RENAMED[cls].items()
    }


def test_an_option_with_the_old_name_is_read():
    assert parameters_of(mercer.BagOfWords(), ["soft=3"], "--param n_nearest=3", set()) == {"n_nearest": 3}
