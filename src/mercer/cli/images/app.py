"""``mercer images``: from a folder of images to a classifier that says why."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.images.evaluate import evaluate
from mercer.cli.images.explain import explain
from mercer.cli.images.predict import predict
from mercer.cli.images.rows import rows
from mercer.cli.images.train import train

ABOUT = """Classify images, and see why.

Images are described patch by patch, patches become visual words, and a classifier with a kernel between histograms
of words tells classes apart. mercer fit and mercer predict are for rows of numbers.
"""
EXAMPLES = """
A folder with one folder of images per class, a model, and a page that shows how good it is:
  mercer images train flowers --out flowers.mercer

What other images show, how often that is right, and why:
  mercer images predict flowers.mercer new/*.jpg
  mercer images evaluate flowers.mercer test
  mercer images explain flowers.mercer new/rose.jpg --out rose.png
"""

app = group(ABOUT, EXAMPLES, train, predict, explain, evaluate, rows)
