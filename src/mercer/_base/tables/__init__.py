"""Tables of numbers in files: how every command reads its input, written once.

Formats: npy, npz (members ``X`` and ``y``, a single array, or a sparse matrix as ``scipy.sparse.save_npz`` writes it),
csv and tsv, parquet, svmlight, and fvecs, bvecs and ivecs. ``-`` is the standard input, whose format must be said.
Nothing is ever unpickled.

The type of the numbers: float32 and float64 stay as they are; float16, booleans and integers become float32, or float64
when an integer lies beyond 2**24, where float32 would round it; text (csv, svmlight) becomes float32, or float64 when a
value overflows float32. An explicit ``dtype`` overrules all of this.
"""

__all__ = [
    "FORMATS",
    "ArgumentError",
    "Features",
    "InputRules",
    "RowSource",
    "Table",
    "features_of",
    "format_of",
    "keep_columns",
    "open_for_writing",
    "open_rows",
    "open_together",
    "read_table",
    "read_tables",
    "writable_format",
    "write_columns",
    "write_rows",
]

from mercer._base.tables.columns import Features, features_of, keep_columns
from mercer._base.tables.reading import Table, read_table, read_tables
from mercer._base.tables.rules import FORMATS, ArgumentError, InputRules, format_of
from mercer._base.tables.sources.opening import open_rows, open_together
from mercer._base.tables.sources.rows import RowSource
from mercer._base.tables.writing import open_for_writing, writable_format, write_columns, write_rows
