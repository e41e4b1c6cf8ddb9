"""``mercer map``: fit a feature map, apply it, and report how well it approximates its kernel."""

__all__ = ["app"]

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mercer._base.tables import ArgumentError, RowSource, keep_columns, open_for_writing, writable_format, write_rows
from mercer.cli.framework.commands import Verb, Verbs, flowing
from mercer.cli.framework.options import Settings, common_options, input_options, option_groups
from mercer.cli.framework.output import note, print_json, print_table, progress
from mercer.cli.framework.rates import specification_of
from mercer.cli.map.building import build_map
from mercer.cli.models.learning import blaming, check_folder, load_model, missing_facts, open_data, whole, with_gaps

EXAMPLES = """
[bold]Examples[/bold]

  mercer map fit X.npy --map homogeneous --kernel chi2 --param order=2 --out chi2.mercer
  mercer map apply chi2.mercer X.npy --out features.npy
  mercer map report chi2.mercer X.npy --plot report.png
"""
FIT_EXAMPLES = """
[bold]Examples[/bold]

  mercer map fit X.npy --map homogeneous --kernel js --param order=3 --out js.mercer
  mercer map fit X.npy --map nystroem --kernel rbf --param kernel__gamma=0.5 --param n_landmarks=256 --out rbf.mercer

Short dense rows from wide, sparse histograms:
  mercer map fit spectra.npz --map homogeneous --kernel js --project 256 --out js.mercer

Bits for a wire:
  mercer map fit X.npy --map universal:n_bits=256 --out bits.mercer
  mercer map fit X.npy --map qjl:n_projections=128,bits=2 --out bits.mercer
"""
APPLY_EXAMPLES = """
[bold]Examples[/bold]

  mercer map apply chi2.mercer X.npy --out features.npy
  mercer map apply chi2.mercer words.npz --out features.npz
  mercer map apply chi2.mercer X.csv --label kind --out - | head
"""
REPORT_EXAMPLES = """
[bold]Examples[/bold]

Maps that were fitted, on rows they have not seen:
  mercer map report chi2.mercer js.mercer X.npy --plot report.png

Maps fitted here and now, their parameters behind a colon:
  mercer map report X.npy --kernel chi2 --map homogeneous --map homogeneous:order=3 --map nystroem:n_landmarks=256
"""
_CHUNK_ROWS = 8192

app = typer.Typer(cls=Verbs, rich_markup_mode="rich", help="Fit, apply and judge the maps that make a kernel linear.")

MapOption = typer.Option(
    "--map",
    "-m",
    metavar="NAME[:P=V,...]",
    help="homogeneous, nystroem, kpca, sparse-additive, sparse, fourier, minhash, reduction, pq for codes, or "
    "universal, qjl, compact for bits; parameters behind a colon.",
)
KernelOption = typer.Option(
    "--kernel", "-k", metavar="NAME", help="Kernel, by the names of mercer kernel.", show_default="the map's own"
)
ProjectOption = typer.Option(
    "--project", metavar="N", min=1, help="Project the features at random to rows of N numbers."
)


@app.callback(invoke_without_command=True, epilog=EXAMPLES)
def map_group(ctx: typer.Context) -> None:
    """Fit, apply and judge the maps that make a kernel linear."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), end="")


def _subcommand(examples: str):
    """Register a function under its name, with its docstring as the help."""

    def register(function):
        return app.command(function.__name__, cls=Verb, help=flowing(function.__doc__), epilog=examples)(function)

    return register


@_subcommand(FIT_EXAMPLES)
@option_groups(settings=common_options, rules=input_options)
def fit(
    x: Annotated[str, typer.Argument(metavar="X", help="Rows to fit on: a file, FILE.npz::NAME, or - for the input.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The model file to write.")],
    name: Annotated[str, MapOption] = "homogeneous",
    kernel: Annotated[str | None, KernelOption] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="Parameter of the map, or as kernel__NAME of the kernel; may be repeated.",
        ),
    ] = None,
    project: Annotated[int | None, ProjectOption] = None,
    *,
    rules: dict[str, Any],
    settings: Settings,
) -> None:
    """Fit a feature map to rows of numbers and write it to a model file."""
    check_folder(out)
    made = build_map(name, kernel, param or [], project, settings.seed)
    data = open_data(settings, x, rules)
    started = time.perf_counter()
    with progress(settings), blaming(data):
        made.fit(whole(data))
    seconds = time.perf_counter() - started
    keep_columns(made, data)
    from mercer import save

    save(made, out)
    document = _describe(made) | {
        "fitted_on": data.name,
        "rows": data.shape[0],
        "seconds": seconds,
        "out": str(out),
    }
    document |= missing_facts(data)
    if settings.json:
        print_json(document)
    note(
        settings,
        f"{type(made).__name__} for the {made.kernel_.name} kernel: {document['columns']} columns to "
        f"{_size(document)}, fitted on {data.shape[0]} rows in {seconds:.2g} s, written to {out}",
    )


@_subcommand(APPLY_EXAMPLES)
@option_groups(settings=common_options, rules=input_options)
def apply(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file written by mercer map fit.")],
    x: Annotated[str, typer.Argument(metavar="X", help="Rows to map: a file, FILE.npz::NAME, or - for the input.")],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where the features go (npy, npz, csv, tsv); - is the output."
        ),
    ],
    out_format: Annotated[
        Literal["npy", "npz", "csv", "tsv"] | None,
        typer.Option("--out-format", metavar="FORMAT", help="Format of --out.", show_default="by suffix; csv for -"),
    ] = None,
    dense: Annotated[bool, typer.Option("--dense", help="Write the zeros of sparse features too.")] = False,
    *,
    rules: dict[str, Any],
    settings: Settings,
) -> None:
    """Write the features of rows under a fitted map, in the order of the rows and without their labels.

    Sparse features go to an npz file as scipy.sparse.save_npz writes it; the other formats need --dense.
    """
    if out == "-" and settings.json:
        raise ArgumentError("--out - and --json both claim the standard output. Leave one of them out.")
    if out_format is None and out.lower().endswith(".mrcw"):
        raise ArgumentError(f"{out} is to be a message of bits, which mercer encode writes: mercer encode {model} {x}.")
    format = writable_format(out, out_format)
    fitted = _load(model)
    data = open_data(settings, x, rules | {"needs_labels": False}, fitted)
    with progress(settings), blaming(data):
        X = whole(data)
        fitted.transform(X[:1])  # loads compiled code before any clock runs
        started = time.perf_counter()
        sparse = _write_features(fitted, X, data, out, format, dense)
    seconds = time.perf_counter() - started
    described = _describe(fitted)
    if settings.json:
        about = {"rows": data.n_rows_in_file, "sparse": sparse} | missing_facts(data)
        print_json(described | about | {"seconds": seconds, "out": out})
    where = "" if out == "-" else f", written to {out}"
    note(settings, f"{data.n_rows_in_file} x {_size(described, sparse)} in {seconds:.2g} s{where}")


@_subcommand(REPORT_EXAMPLES)
@option_groups(settings=common_options, rules=input_options)
def report(
    files: Annotated[
        list[str], typer.Argument(metavar="[MODEL]... X", help="Fitted maps, if any, and at the end the rows.")
    ],
    maps: Annotated[list[str] | None, MapOption] = None,
    kernel: Annotated[str | None, KernelOption] = None,
    project: Annotated[int | None, ProjectOption] = None,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=2, help="Rows compared with each other.")] = 1000,
    top: Annotated[int, typer.Option("--top", metavar="K", min=1, help="Neighbours counted by the recall.")] = 10,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="PNG", help="Draw the values and the errors.")] = None,
    *,
    rules: dict[str, Any],
    settings: Settings,
) -> None:
    """How well maps approximate their kernels on a sample of rows.

    The relative error is that of the matrix of all pairs in the Frobenius norm, the diagonal bias the mean excess of
    K(x, x), and the recall the share of the K most similar other rows that the approximate kernel finds too.
    """
    *models, x = files
    if not models and not maps:
        raise ArgumentError("There is nothing to report on. Name a model file before X, or a map with --map.")
    if plot is not None:
        check_folder(plot)
    chosen = {text: build_map(text, kernel, [], project, settings.seed) for text in maps or []}
    chosen |= {Path(model).stem if models.count(model) == 1 else model: _load(model) for model in models}
    from mercer.maps import approximation_report

    fitted = [one for one in chosen.values() if hasattr(one, "inner_")]
    _check_same_columns(fitted, models)
    data = open_data(settings, x, rules, fitted[0] if fitted else None)
    with progress(settings), blaming(data):
        found = approximation_report(chosen, whole(data), n_rows=rows, k=top, random_state=settings.seed)
    if plot is not None:
        found.plot(plot)
    if settings.json:
        print_json(
            {"X": data.name} | missing_facts(data) | found.as_dict() | ({} if plot is None else {"plot": str(plot)})
        )
        return
    title = f"Approximate against exact {found.kernel or 'kernel'} values between {found.n_rows} rows of {data.name}"
    titles, lines = found.table()
    print_table(settings, title, titles, lines, text_columns=2 if found.kernel is None else 1)
    note(settings, "" if plot is None else f"Plot: {plot}")


def _load(path: str):
    from mercer.maps.base import FeatureMap

    model = load_model(path)
    if not isinstance(model, FeatureMap) or not hasattr(model, "inner_"):
        raise ArgumentError(f"{path} holds {type(model).__name__}, not a fitted map. Make one with mercer map fit.")
    return model


def _check_same_columns(fitted: list[Any], models: list[str]) -> None:
    """Maps that are judged on the same rows must have been fitted on the same columns, in the same order."""
    names = [list(getattr(one, "feature_names_in_", ())) for one in fitted]
    for path, found in zip(models, names, strict=False):
        if found and names[0] and found != names[0]:
            raise ArgumentError(
                f"{path} was fitted on other columns than {models[0]}, or in another order. Report on them one by one."
            )


def _write_features(fitted, X, data: RowSource, out: str, format: str, dense: bool) -> bool:
    """Write the features block by block; whether they were written sparse."""
    blocks = _feature_blocks(fitted, X)
    first = next(blocks)
    if data.kept is not None and (first.dtype.kind != "f" or (hasattr(first, "indptr") and not dense)):
        raise ArgumentError(
            "Codes and sparse features have no empty value for the rows that were left out. Say --missing fill:0 or "
            "mean, or --dense."
        )
    if hasattr(first, "indptr") and not dense:
        if format != "npz":
            raise ArgumentError(
                f"The features are sparse, and {format} would hold their zeros too. Write npz, or say --dense."
            )
        import scipy.sparse

        with open_for_writing(out) as stream:
            scipy.sparse.save_npz(stream, scipy.sparse.vstack([first, *blocks], format="csr"))
        return True

    def arrays():
        for block in (first, *blocks):
            yield block.toarray() if hasattr(block, "indptr") else block

    spread = with_gaps(arrays(), data, math.nan)
    write_rows(out, spread, (data.n_rows_in_file, first.shape[1]), first.dtype, format=format)
    return False


def _feature_blocks(fitted, X) -> Iterator[Any]:
    from mercer._base.memory import row_chunks
    from mercer._base.progress import track

    chunks = list(row_chunks(X.shape[0], bytes_per_row=8 * fitted._n_features_out, most=_CHUNK_ROWS))
    for chunk in track(chunks, "Features"):
        yield fitted.transform(X[chunk])


def _describe(fitted) -> dict[str, Any]:
    """For the head of a JSON document."""
    found = {
        "map": type(fitted).__name__,
        "kernel": fitted.kernel_.name,
        "parameters": fitted.get_params(deep=False),
        "columns": fitted.n_features_in_,
        "features": fitted._n_features_out,
    }
    bits = specification_of(fitted)
    return found if bits is None else found | {"bits": bits.n_bits, "embedding": bits.fingerprint}


def _size(described: dict[str, Any], sparse: bool = False) -> str:
    """What a row becomes."""
    if "bits" in described:
        return f"{described['bits']} bits"
    return f"{described['features']} {'sparse ' if sparse else ''}features"
