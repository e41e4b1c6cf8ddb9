"""The ``mercer`` command: the verbs, and the options before the verb."""

__all__ = ["app"]

import platform
from importlib import import_module, metadata

import typer

from mercer import __version__
from mercer._base.parameters import flag
from mercer.cli.datasets import datasets
from mercer.cli.demo.demo import demo
from mercer.cli.framework.commands import Verbs, add_verbs, epilog
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import print_json
from mercer.cli.inspect import inspect
from mercer.cli.kernel import kernel
from mercer.cli.models.encode import encode
from mercer.cli.models.evaluate import evaluate
from mercer.cli.models.export import export
from mercer.cli.models.fit import fit
from mercer.cli.models.predict import predict
from mercer.cli.reproduce import reproduce
from mercer.cli.serve import serve

_DEPENDENCIES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "typer", "rich")
_EXAMPLES = """
  mercer demo                                   search, classify and compress
  mercer kernel X.npy --kernel js --top 10      the most similar rows
  mercer fit X.csv --label kind --out m.mercer  a classifier
  mercer predict m.mercer new.csv               labels of new rows
  mercer inspect m.mercer                       contents of a model file
  mercer index build X.npy --out X.index        an index of nearest neighbors
  mercer images train pictures --out m.mercer   an image classifier
  mercer detect run m.mercer photo.jpg          objects in a photograph
  mercer spectra search lib.index unknown.mgf   matches of mass spectra
  mercer molecules search lib.index query.smi   similar molecules

Data files may be npy, npz, csv, tsv, parquet, svmlight, fvecs, bvecs or
ivecs; - is standard input or output. Exit codes: 0 success, 1 failure,
2 invalid command line, 130 interrupted.
"""

app = typer.Typer(
    name="mercer",
    cls=Verbs,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
add_verbs(app, demo, kernel, fit, predict, evaluate, encode, export, inspect, datasets, reproduce, serve)
for name in ("map", "index", "wire", "images", "detect", "spectra", "molecules"):
    app.add_typer(import_module(f"mercer.cli.{name}.app").app, name=name)


VERSION = flag("version", "Print the version; with --json, also the versions of the dependencies.")


@app.callback(invoke_without_command=True, epilog=epilog(_EXAMPLES))
@options([VERSION], settings=COMMON)
def mercer(ctx: typer.Context, settings: Settings, version) -> None:
    """Mercer: non-linear kernels at linear cost.

    Exact chi2, intersection, Jensen-Shannon and other kernels; their linear maps; and classification, search and
    compression based on them.
    """
    if version:
        if settings.json:
            print_json(_versions())
        else:
            print(f"mercer {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), end="")


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"mercer": __version__, "python": platform.python_version()}
    for name in _DEPENDENCIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found
