"""What a parameter accepts, and the one sentence that refuses the rest."""

import math

import numpy as np
import pytest

from mercer import InputError
from mercer._base.parameters import REQUIRED, Values, anything, choice, flag, integer, number, pathname, text

TOL = number("tol", 1e-3, "Relative gap.", above=0)
PORT = integer("port", 8321, "Port.", least=0, most=65535)
C = number("C", "auto", "Weight.", above=0, words=("auto",))
WAY = choice("way", "auto ovr ovo", None, "Which way.")


@pytest.mark.parametrize(
    ("parameter", "said", "value"),
    [
        (TOL, "0.5", 0.5),
        (TOL, 1, 1),
        (PORT, "0", 0),
        (C, "auto", "auto"),
        (C, "1e-3", 0.001),
        (WAY, "ovo", "ovo"),
        (WAY, None, None),
        (text("name", REQUIRED, "Name."), "x", "x"),
        (pathname("out", None, "File."), "x", "x"),
        (flag("json", "JSON."), True, True),
    ],
)
def test_what_is_accepted(parameter, said, value):
    assert parameter.parse(said) == value


@pytest.mark.parametrize(
    ("parameter", "said", "sentence"),
    [
        (TOL, "0", "`tol` must be a number > 0; got 0."),
        (TOL, math.nan, "`tol` must be a number > 0; got nan."),
        (TOL, "inf", "`tol` must be a number > 0; got inf."),
        (TOL, "small", "`tol` must be a number > 0; got 'small'."),
        (TOL, None, "`tol` must be a number > 0; got None."),
        (PORT, "65536", "`port` must be an integer >= 0 and <= 65,535; got 65536."),
        (PORT, "1.5", "`port` must be an integer >= 0 and <= 65,535; got '1.5'."),
        (PORT, True, "`port` must be an integer >= 0 and <= 65,535; got True."),
        (C, "atuo", "`C` must be a number > 0, or 'auto'; got 'atuo'. Did you mean 'auto'?"),
        (WAY, "ov", "`way` must be one of 'auto', 'ovr', 'ovo'; got 'ov'. Did you mean 'ovr'?"),
    ],
)
def test_what_is_refused(parameter, said, sentence):
    with pytest.raises(InputError) as caught:
        parameter.parse(said)
    assert str(caught.value) == sentence


def test_a_default_that_is_not_said_is_shown_in_words():
    found = TOL.unsaid()
    assert (found.default, found.shown) == (None, "0.001")
    assert TOL.unsaid("small").shown == "small"


def test_values_are_keywords_and_attributes():
    values = Values(tol=0.1)
    assert dict(**values) == {"tol": values.tol}
    with pytest.raises(AttributeError, match="max_iter"):
        _ = values.max_iter


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (PORT, np.int64(3)),
        (TOL, np.float32(0.5)),
        (TOL, np.int32(1)),
        (flag("exact", "No codes."), np.True_),
        (WAY, np.str_("ovo")),
        (integer("n", 5, "How many.", least=1, optional=True), None),
        (number("share", 0.5, "Share.", least=0, below=1), 0),
        (anything("kernel", "chi2", "Kernel.", "a kernel or its name"), None),
    ],
)
def test_estimators_take_numbers_of_numpy_and_what_is_optional(parameter, value):
    parameter.check(value, "Someone")


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        (PORT, np.True_, "Someone: `port` must be an integer >= 0 and <= 65,535; got np.True_."),
        (PORT, np.int64(-1), "Someone: `port` must be an integer >= 0 and <= 65,535; got -1."),
        (TOL, np.float64("nan"), "Someone: `tol` must be a number > 0; got nan."),
        (WAY, 3, "Someone: `way` must be one of 'auto', 'ovr', 'ovo', or None; got 3."),
        (flag("exact", "No codes."), 1, "Someone: `exact` must be True or False; got 1."),
        (text("name", "x", "Name."), 1, "Someone: `name` must be a text; got 1."),
        (pathname("out", None, "File."), 1, "Someone: `out` must be a path, or None; got 1."),
        (C.but(optional=True), "", "Someone: `C` must be a number > 0, 'auto', or None; got ''."),
        (number("share", 0.5, "Share.", least=0, below=1), 1, "Someone: `share` must be a number >= 0 and < 1; got 1."),
        (TOL, "x" * 200, f"Someone: `tol` must be a number > 0; got '{'x' * 79}."),
    ],
)
def test_who_asks_is_named_before_the_same_sentence(parameter, value, sentence):
    with pytest.raises(InputError) as caught:
        parameter.check(value, "Someone")
    assert str(caught.value) == sentence
