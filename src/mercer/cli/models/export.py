"""``mercer export``: a fitted learner as a file of ONNX, for programs without Python."""

__all__ = ["EXAMPLES", "export"]

from pathlib import Path

from mercer._base.parameters import argument
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, print_facts
from mercer.cli.framework.shared import LEARNER_MODEL
from mercer.cli.models.learning import load_model

EXAMPLES = """
  mercer export model.mercer model.onnx
  mercer export model.mercer model.onnx --json
"""


@options((
    LEARNER_MODEL,
    argument("out", "ONNX", "ONNX file to write.", Path),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def export(model, out, settings: Settings) -> None:
    """Write a fitted classifier or regressor as ONNX, which other languages and runtimes execute.

    The input X takes rows of float32. The outputs are label, scores and probabilities of a classifier, or the
    predictions of a regressor. If a model cannot be written as ONNX, the command fails and gives the reason.
    """
    from mercer import to_onnx

    check_folder(out)
    made = to_onnx(load_model(model), out)
    found = {
        "model": model,
        "out": str(out),
        "bytes": out.stat().st_size,
        "opset": made.opset_import[0].version,
        "columns": made.graph.input[0].type.tensor_type.shape.dim[1].dim_value,
        "outputs": [output.name for output in made.graph.output],
    }
    if answer_json(settings, found):
        return
    rows = [
        ["input", f"X, float32, rows of {found['columns']:,} columns"],
        ["outputs", ", ".join(found["outputs"])],
        ["written to", f"{out}, {found['bytes']:,} bytes, opset {found['opset']}"],
    ]
    print_facts(settings, f"{model} as ONNX", rows)
