"""``mercer wire``: classifiers of rows that arrive as a few hundred bits."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.wire.ask import ask
from mercer.cli.wire.distances import distances
from mercer.cli.wire.fit import fit
from mercer.cli.wire.rates import rates
from mercer.cli.wire.specification import specification

ABOUT = """Classify rows sent as a few hundred bits.

A model has one embedding and a classifier for each of several code lengths. mercer encode writes the bits, mercer
predict and mercer evaluate use them, mercer serve receives them, and mercer wire ask sends them.
"""
EXAMPLES = """
Fit a classifier at three rates, write codes as a message, and serve the model:
  mercer wire fit train.npz --rates 64,128,256 --input drawing:8x8:16 --out wire.mercer
  mercer encode wire.mercer new.npy --bits 128 --out codes.mrcw
  mercer serve wire.mercer
  mercer wire ask http://127.0.0.1:8321 new.npy --bits 128

  mercer wire specification wire.mercer --bits 128

Compare codes and rates:
  mercer wire rates train.npz --bits 32,64,128,256 --plot rates.png
"""

app = group(ABOUT, EXAMPLES, fit, rates, specification, ask, distances)
