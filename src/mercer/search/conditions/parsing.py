"""From the text of a condition, or a mapping, to its tree.

    condition   = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | "(" condition ")" | leaf
    leaf        = name operator value
                | name ["not"] "between" value "and" value
                | name ["not"] "in" "(" value { "," value } ")"
                | name ["not"] "like" text
                | name "is" ["not"] "null"
    operator    = "=" | "!=" | "<>" | "<" | "<=" | ">" | ">="
    name        = letters, digits and _, or anything "in double quotes"
    value       = number | 'text in quotes, where '' is one quote' | "true" | "false"

Words of the grammar may be written in small or capital letters; a column that is called like one of them is quoted.
"""

__all__ = ["parse_condition"]

import re
from collections.abc import Mapping

from mercer._base.errors import InputError
from mercer.search.conditions.leaves import comparison, membership, pattern
from mercer.search.conditions.tree import NEGATED, All, Any, Missing, joined

LONGEST = 10_000  # letters
DEEPEST = 50  # parentheses and negations inside each other
WORDS = frozenset(["and", "or", "not", "between", "in", "like", "is", "null", "true", "false"])
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    | (?P<text>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*")
    | (?P<word>[^\W\d]\w*)
    | (?P<operator><>|!=|<=|>=|=|<|>)
    | (?P<mark>[(),])
    | (?P<end>$)
    )""",
    re.VERBOSE,
)


def parse_condition(where, columns, who):
    """The tree of a condition on columns (DataTypes): a text of the grammar, or a mapping of names to what is wanted.

    In a mapping, a value must be equal, a list holds the values that may be, and a pair (low, high) is a range with
    both ends, of which one may be None. None itself asks for rows without a value.

    >>> from mercer.search.columns.types import DataColumn, DataTypes
    >>> columns = DataTypes([DataColumn("mode", "text"), DataColumn("precursor", "float")])
    >>> parse_condition("not (mode = 'negative' or precursor < 300)", columns, "search")
    ... # doctest: +NORMALIZE_WHITESPACE
    All(parts=(Compare(column=DataColumn(name='mode', type='text'), operator='!=', value='negative'),
               Compare(column=DataColumn(name='precursor', type='float'), operator='>=', value=300.0)))
    """
    if isinstance(where, str):
        return _Parser(where, columns, who).tree()
    if isinstance(where, Mapping) and where:
        return joined(All, [_wanted(name, value, columns, who) for name, value in where.items()])
    raise InputError(
        f"{who} needs where= to be a condition, such as \"precursor > 300 and mode = 'positive'\", or a mapping of "
        f"columns to values; got {where!r:.80}."
    )


def _wanted(name, value, columns, who):
    """The part of a mapping about one column."""
    column = columns[columns.place(name, f"{who}(where=)")]
    try:
        if value is None:
            return Missing(column)
        if isinstance(value, (list, set, frozenset)):
            return membership(column, value)
        if not isinstance(value, tuple):
            return comparison(column, "=", value)
        if len(value) != 2 or value == (None, None):
            raise InputError(f"A range of the column {name!r} must be a pair (low, high); got {value!r:.80}.")
        ends = zip((">=", "<="), value, strict=True)
        return joined(All, [comparison(column, operator, end) for operator, end in ends if end is not None])
    except InputError as error:
        raise InputError(f"{who}(where=): {error}") from None


class _Parser:
    """One text, read once from left to right."""

    def __init__(self, text, columns, who):
        self._text, self._columns, self._who = text, columns, who
        if len(text) > LONGEST:
            raise InputError(f"{who}(where=) supports at most {LONGEST:,} characters; got {len(text):,}.")
        self._at, self._depth = 0, 0  # where the next token begins; parentheses and negations around it
        self._next()

    def tree(self):
        found = self._condition(False)
        if self._kind != "end":
            raise self._error("expected 'and', 'or' or the end")
        return found

    # ------------------------------------------------------------------------------------------------------- tokens

    def _next(self):
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            self._token = self._text[self._at :].lstrip()
            self._begin = len(self._text) - len(self._token)
            unclosed = self._token[0] in "'\""
            raise self._error("the quote is not closed" if unclosed else "unexpected text")
        self._kind = found.lastgroup
        self._token, self._begin, self._at = found[self._kind], found.start(self._kind), found.end()
        if self._kind == "word" and self._token.lower() in WORDS:
            self._kind, self._token = "keyword", self._token.lower()

    def _error(self, what):
        where = f"at {self._token[:40]}" if self._token else "at the end"
        return InputError(f"{self._who}(where=), character {self._begin + 1}, {where}: {what}.")

    def _is(self, *tokens):
        return self._kind in ("keyword", "mark") and self._token in tokens

    def _accept(self, token):
        if self._is(token):
            self._next()
            return True
        return False

    def _expect(self, token):
        if not self._accept(token):
            raise self._error(f"expected {token!r}")

    # ------------------------------------------------------------------------------------------------------ grammar

    def _condition(self, negated):
        parts = [self._conjunction(negated)]
        while self._accept("or"):
            parts.append(self._conjunction(negated))
        return joined(All if negated else Any, parts)

    def _conjunction(self, negated):
        parts = [self._negation(negated)]
        while self._accept("and"):
            parts.append(self._negation(negated))
        return joined(Any if negated else All, parts)

    def _negation(self, negated):
        if not self._is("not", "("):
            return self._leaf(negated)
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"more than {DEEPEST} nested parentheses and negations")
        if self._accept("not"):
            found = self._negation(not negated)
        else:
            self._next()
            found = self._condition(negated)
            self._expect(")")
        self._depth -= 1
        return found

    def _leaf(self, negated):
        column = self._column()
        if self._kind == "operator":
            operator = self._token.replace("<>", "!=")
            self._next()
            return self._compared(column, NEGATED[operator] if negated else operator)
        if self._accept("is"):
            negated ^= self._accept("not")
            self._expect("null")
            return Missing(column, negated)
        negated ^= self._accept("not")
        if self._accept("between"):
            low = self._compared(column, "<" if negated else ">=")
            self._expect("and")
            return joined(Any if negated else All, [low, self._compared(column, ">" if negated else "<=")])
        if self._accept("in"):
            return self._among(column, negated)
        if self._accept("like"):
            return self._located(pattern, column, negated=negated)
        raise self._error("expected =, !=, <, <=, >, >=, between, in, like or is")

    def _column(self):
        if self._kind not in ("word", "name"):
            raise self._error("expected a column name")
        name = self._token if self._kind == "word" else self._token[1:-1].replace('""', '"')
        if name not in self._columns.names:
            raise InputError(f"{str(self._error('there is no such column'))[:-1]}. {self._columns.hint(name)}")
        self._next()
        return self._columns[self._columns.place(name, self._who)]

    def _compared(self, column, operator):
        return self._located(lambda column, value: comparison(column, operator, value), column)

    def _among(self, column, negated):
        self._expect("(")
        parts = [self._located(lambda column, value: membership(column, [value]), column)]
        while self._accept(","):
            parts.append(self._located(lambda column, value: membership(column, [value]), column))
        self._expect(")")
        return membership(column, [value for part in parts for value in part.values], negated)

    def _located(self, make, column, **how):
        """A leaf of the value that stands here; what is wrong with it is said with its place."""
        try:
            found = make(column, self._value(), **how)
        except InputError as error:
            if str(error).startswith(self._who):
                raise
            raise self._error(str(error).removesuffix(".")) from None
        self._next()
        return found

    def _value(self):
        if self._kind == "number":
            return self._number()
        if self._kind == "text":
            return self._token[1:-1].replace("''", "'")
        if self._is("true", "false"):
            return self._token == "true"
        if self._is("null"):
            raise self._error("nothing equals null; use is null or is not null")
        if self._kind in ("word", "name"):
            raise self._error("a column must be compared with a value; put strings in single quotes")
        raise self._error("expected a number, a string in single quotes, true or false")

    def _number(self):
        try:
            return int(self._token)
        except ValueError:
            return float(self._token)
