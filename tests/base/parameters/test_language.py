"""What a parameter accepts, and the one sentence that refuses the rest."""

import math

import pytest

from mercer import InputError
from mercer._base.parameters import REQUIRED, Values, choice, flag, integer, number, pathname, text

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
