"""Parameters as data: name, kind, range or choices, default and one sentence, declared once for estimator and option.

The tables of the estimators lie here, below all layers, because the command line reads them for its help, which must
load neither numpy nor a package that does.
"""

__all__ = [
    "REQUIRED",
    "Parameter",
    "Table",
    "Values",
    "anything",
    "argument",
    "check_parameters",
    "choice",
    "flag",
    "integer",
    "integers",
    "keep_arguments",
    "named",
    "number",
    "pathname",
    "pick",
    "text",
    "texts",
]

from mercer._base.parameters.language import (
    REQUIRED,
    Parameter,
    Table,
    Values,
    anything,
    argument,
    check_parameters,
    choice,
    flag,
    integer,
    integers,
    keep_arguments,
    named,
    number,
    pathname,
    pick,
    text,
    texts,
)
