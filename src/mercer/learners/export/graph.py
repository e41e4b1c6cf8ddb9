"""A graph of ONNX under construction: values that can be added and multiplied like arrays, and the operators used.

Everything is computed in float64, so that a graph gives what the library gives.
"""

__all__ = ["Graph", "Value"]

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._base.errors import require_extra

LARGEST = 2**31 - 2**20  # bytes of a file of ONNX, whose parts are counted with 31 bits


class Value:
    """The result of an operator, or an input of the graph."""

    __array_ufunc__ = None  # an array leaves the operation with a value to the value

    def __init__(self, graph: "Graph", name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> "Value":
        return self.graph.op("Add", self, other)

    def __sub__(self, other: Any) -> "Value":
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Any) -> "Value":
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: Any) -> "Value":
        return self.graph.op("Div", self, other)

    def __matmul__(self, other: Any) -> "Value":
        return self.graph.op("MatMul", self, other)

    def __neg__(self) -> "Value":
        return self.graph.op("Neg", self)

    def __abs__(self) -> "Value":
        return self.graph.op("Abs", self)

    def __rmatmul__(self, other: Any) -> "Value":
        return self.graph.op("MatMul", other, self)

    __radd__, __rmul__ = __add__, __mul__


class Graph:
    """Nodes and constants, and the operators of ONNX by their meaning.

    Parameters
    ----------
    outer : the graph whose loop this one is the body of, or None
    """

    def __init__(self, outer: "Graph | None" = None) -> None:
        self.onnx = require_extra("onnx", extra="onnx", purpose="Writing an ONNX model")
        self.outer = outer
        self.n_names = 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    @property
    def nbytes(self) -> int:
        """Bytes of all constants."""
        return sum(len(each.raw_data) for each in self.root.constants)

    @property
    def root(self) -> "Graph":
        """The outermost graph, which numbers names and keeps constants."""
        return self if self.outer is None else self.outer.root

    def fresh(self, kind: str) -> str:
        """A name that nothing has yet."""
        root = self.root
        root.n_names += 1
        return f"{kind.lower()}_{root.n_names}"

    def constant(self, value: Any) -> Value:
        """An array or number; floats become float64, whole numbers int64."""
        array = np.asarray(value)
        if array.dtype.kind in "US" or array.dtype == object:
            made = self.onnx.helper.make_tensor(
                self.fresh("words"), self.onnx.TensorProto.STRING, array.shape, [str(each).encode() for each in array]
            )
        else:
            kept: np.ndarray = array.astype({"f": np.float64, "b": np.bool_}.get(array.dtype.kind, np.int64))
            made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(kept), self.fresh("constant"))
        self.root.constants.append(made)
        return Value(self, made.name)

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Value:
        """The single result of an operator; inputs that are no values become constants."""
        names = [each.name if isinstance(each, Value) else self.constant(each).name for each in inputs]
        out = self.fresh(kind)
        self.nodes.append(self.onnx.helper.make_node(kind, names, [out], **attributes))
        return Value(self, out)

    # --------------------------------------------------------------------------------------------- operators by meaning

    def row_sums(self, value: Value) -> Value:
        """Sums of rows, shape (n, 1)."""
        return self.op("ReduceSum", value, np.array([1]), keepdims=1)

    def column(self, value: Value) -> Value:
        """A vector as a column."""
        return self.op("Unsqueeze", value, np.array([1]))

    def where(self, condition: Value, this: Any, other: Any) -> Value:
        """One or the other."""
        return self.op("Where", condition, this, other)

    def share(self, part: Any, total: Value, otherwise: float) -> Value:
        """part / total, and ``otherwise`` where the total is 0."""
        is_zero = self.op("Equal", total, 0.0)
        return self.where(is_zero, otherwise, self.op("Div", part, self.where(is_zero, 1.0, total)))

    def clipped(self, value: Value, low: Any, high: Any) -> Value:
        """Values within limits."""
        return self.op("Min", self.op("Max", value, low), high)

    def cast(self, value: Value, kind: str) -> Value:
        """Numbers of another type, by the name that ONNX has for it."""
        return self.op("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def zeros(self, X: Value, width: int) -> Value:
        """Zeros, as many rows as X has."""
        n = self.op("Slice", self.op("Shape", X), np.array([0]), np.array([1]))
        return self.op("Expand", 0.0, self.op("Concat", n, np.array([width]), axis=0))

    def over_columns(self, X: Value, constants: Sequence[Any], width: int, step: Callable[..., Value]) -> Value:
        """A sum over the columns of X, shape (n, width), one column at a time.

        Parameters
        ----------
        constants : arrays with a line for each column
        width : of the sum
        step : (body, sum so far, column (n,), a line of each constant) -> new sum
        """
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        body = Graph(self)
        shapes = [["rows", width], ["rows"], *(list(each.shape[1:]) for each in constants)]
        names = [self.fresh("element") for _ in shapes]
        result = step(body, *(Value(body, name) for name in names))
        inputs = [helper.make_tensor_value_info(name, double, shape) for name, shape in zip(names, shapes, strict=True)]
        output = helper.make_tensor_value_info(result.name, double, shapes[0])
        made = helper.make_graph(body.nodes, self.fresh("body"), inputs, [output])
        scanned = [X, *constants]
        axes = [1] + [0] * len(constants)
        return self.op(
            "Scan", self.zeros(X, width), *scanned, body=made, num_scan_inputs=len(scanned), scan_input_axes=axes
        )
