"""``mercer wire specification``: what a client needs to make the bits of a model."""

__all__ = ["EXAMPLES", "specification"]


from mercer._base.parameters import argument
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import print_json
from mercer.cli.framework.rates import at_rate, specification_of
from mercer.cli.framework.shared import BITS
from mercer.cli.models.learning import load_model

EXAMPLES = """
  mercer wire specification wire.mercer
  mercer wire specification wire.mercer --bits 128 > embedding.json
"""


@options((
    argument("model", "MODEL", "Model file written by mercer wire fit, or another model that produces bits."),
    BITS,
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def specification(model, bits, settings: Settings) -> None:
    """Print the embedding of a model as integers, from which any program makes the same bits, and its fingerprint.

    The output is the JSON document that mercer serve returns at /v1/embedding. Messages carry the beginning of the
    fingerprint, and a service rejects the bits of another embedding.
    """
    found = specification_of(at_rate(load_model(model), bits, model))
    if found is None:
        raise ArgumentError(f"{model} does not produce bits, so it has no specification. Fit one with mercer wire fit.")
    print_json({"specification": found.to_dict(), "fingerprint": found.fingerprint})
