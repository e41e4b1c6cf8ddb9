"""Fitted learners as ONNX graphs, for programs without Python."""

from mercer.learners.export.writing import to_onnx

__all__ = ["to_onnx"]
