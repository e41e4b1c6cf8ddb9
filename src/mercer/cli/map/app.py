"""``mercer map``: fit a feature map, apply it, and report how well it approximates its kernel."""

__all__ = ["app"]

from pathlib import Path
from typing import Any

from mercer._base.parameters import REQUIRED, argument, integer, pathname, text
from mercer._base.tables import ArgumentError, keep_columns, writable_format
from mercer.cli.framework.checks import check_folder, check_standard_output
from mercer.cli.framework.commands import group
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import (
    answer_json,
    note,
    note_plot,
    print_json,
    print_table,
    progress,
    took,
    written_to,
)
from mercer.cli.framework.rates import bits_of, specification_of
from mercer.cli.framework.shared import DENSE, MAP_KERNEL, MAP_PARAM, MODEL_OUT, OUT_FORMAT, PROJECT
from mercer.cli.map.building import build_map
from mercer.cli.models.encode import write_features
from mercer.cli.models.learning import (
    answers,
    blaming,
    load_fitted,
    missing_facts,
    open_data,
    save_model,
    warm_up,
    whole,
)

EXAMPLES = """
  mercer map fit X.npy --map homogeneous --kernel chi2 --param order=2 --out chi2.mercer
  mercer map apply chi2.mercer X.npy --out features.npy
  mercer map report chi2.mercer X.npy --plot report.png
"""
FIT_EXAMPLES = """
  mercer map fit X.npy --map homogeneous --kernel js --param order=3 --out js.mercer
  mercer map fit X.npy --map nystroem --kernel rbf --param kernel__gamma=0.5 --param n_landmarks=256 --out rbf.mercer

Project wide, sparse histograms to short dense rows:
  mercer map fit spectra.npz --map homogeneous --kernel js --project 256 --out js.mercer

Encode rows as bits:
  mercer map fit X.npy --map universal:n_bits=256 --out bits.mercer
  mercer map fit X.npy --map qjl:n_projections=128,bits=2 --out bits.mercer
"""
APPLY_EXAMPLES = """
  mercer map apply chi2.mercer X.npy --out features.npy
  mercer map apply chi2.mercer words.npz --out features.npz
  mercer map apply chi2.mercer X.csv --label kind --out - | head
"""
REPORT_EXAMPLES = """
Report on fitted maps, on unseen rows:
  mercer map report chi2.mercer js.mercer X.npy --plot report.png

Fit maps for the report, with parameters after a colon:
  mercer map report X.npy --kernel chi2 --map homogeneous --map homogeneous:order=3 --map nystroem:n_landmarks=256
"""

_MAP = text(
    "name", "homogeneous", "Map: homogeneous, nystroem, kpca, sparse-additive, sparse, fourier, minhash, "
    "reduction, or pq for codes, or universal, qjl, compact, sign, klsh, rmmh for bits. Parameters follow a colon.",
    "NAME[:P=V,...]", "--map -m",
)  # fmt: skip


@options((
    argument("x", "X", "Rows to fit the map to: a file, FILE.npz::NAME, or - for standard input."),
    MODEL_OUT, _MAP, MAP_KERNEL, MAP_PARAM, PROJECT,
), examples=FIT_EXAMPLES, settings=COMMON, rules=INPUT)  # fmt: skip
def fit(x, out, name, kernel, param, project, rules, settings: Settings) -> None:
    """Fit a feature map to rows of numbers and write it to a model file."""
    check_folder(out)
    made = build_map(name, kernel, param or [], project, settings.seed)
    data = open_data(settings, x, rules)
    with progress(settings) as watch, blaming(data):
        made.fit(whole(data))
    keep_columns(made, data)
    save_model(made, out)
    document = _describe(made) | {"fitted_on": data.name, "rows": data.shape[0], "seconds": watch.seconds}
    document |= {"out": str(out)} | missing_facts(data)
    answer_json(settings, document)
    note(
        settings,
        f"{type(made).__name__} for the {made.kernel_.name} kernel: {document['columns']} columns to "
        f"{_size(document)}, fitted on {data.shape[0]} rows in {took(watch.seconds)}{written_to(out)}",
    )


@options((
    argument("model", "MODEL", "Model file written by mercer map fit."),
    argument("x", "X", "Rows to map: a file, FILE.npz::NAME, or - for standard input."),
    text("out", REQUIRED, "File for the features (npy, npz, csv, tsv); - is standard output.", "FILE", "-o"),
    OUT_FORMAT, DENSE,
), examples=APPLY_EXAMPLES, settings=COMMON, rules=INPUT)  # fmt: skip
def apply(model, x, out, out_format, dense, rules, settings: Settings) -> None:
    """Write the features of rows under a fitted map, in the order of the rows and without labels.

    Sparse features are written to npz in the format of scipy.sparse.save_npz; other formats need --dense.
    """
    check_standard_output(out, settings)
    if out_format is None and out.lower().endswith(".mrcw"):
        raise ArgumentError(f"{out} would be a bit message. Use mercer encode instead: mercer encode {model} {x}.")
    format = writable_format(out, out_format)
    fitted = _load(model)
    data = open_data(settings, x, rules | {"needs_labels": False}, fitted)
    warm_up(data, fitted.transform)
    with progress(settings) as watch:
        blocks = answers(data, fitted.transform, bytes_per_row=8 * fitted._n_features_out)
        sparse = write_features(blocks, data, out, format, dense)["sparse"]
    described = _describe(fitted)
    if settings.json:
        about = {"rows": data.n_rows_in_file, "sparse": sparse} | missing_facts(data)
        print_json(described | about | {"seconds": watch.seconds, "out": out})
    note(settings, f"{data.n_rows_in_file} x {_size(described, sparse)} in {took(watch.seconds)}{written_to(out)}")


@options((
    argument("files", "[MODEL]... X", "Fitted maps, if any, followed by the rows.", kind=list),
    _MAP.but(name="maps", kind=list, default=None),
    MAP_KERNEL, PROJECT,
    integer("rows", 1000, "Number of rows to compare with each other.", least=2),
    integer("top", 10, "Number of neighbors that recall counts.", "K", least=1),
    pathname("plot", None, "Plot the values and the errors.", "PNG"),
), examples=REPORT_EXAMPLES, settings=COMMON, rules=INPUT)  # fmt: skip
def report(files, maps, kernel, project, rows, top, plot, rules, settings: Settings) -> None:
    """Measure how well maps approximate their kernels on a sample of rows.

    The relative error compares the matrices of all pairs in the Frobenius norm. The diagonal bias is the mean excess of
    K(x, x). The recall is the share of the K most similar other rows that the approximate kernel finds too.
    """
    *models, x = files
    if not models and not maps:
        raise ArgumentError("There is no map to report on. Name a model file before X, or a map with --map.")
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
    note_plot(settings, plot)


def _load(path: str):
    from mercer.maps import FeatureMap

    return load_fitted(path, FeatureMap, "inner_", "not a fitted map. Fit one with mercer map fit.")


def _check_same_columns(fitted: list[Any], models: list[str]) -> None:
    """Maps that are judged on the same rows must have been fitted on the same columns, in the same order."""
    names = [list(getattr(one, "feature_names_in_", ())) for one in fitted]
    for path, found in zip(models, names, strict=False):
        if found and names[0] and found != names[0]:
            raise ArgumentError(
                f"{path} was fitted to different columns than {models[0]}, or in a different order. Run a separate "
                "report for each."
            )


def _describe(fitted) -> dict[str, Any]:
    """For the head of a JSON document."""
    found = {
        "map": type(fitted).__name__,
        "kernel": fitted.kernel_.name,
        "parameters": fitted.get_params(deep=False),
        "columns": fitted.n_features_in_,
        "features": fitted._n_features_out,
    }
    specification = specification_of(fitted)
    found |= bits_of(fitted)
    return found if specification is None else found | {"embedding": specification.fingerprint}


def _size(described: dict[str, Any], sparse: bool = False) -> str:
    """What a row becomes."""
    if "bits" in described:
        return f"{described['bits']} bits"
    return f"{described['features']} {'sparse ' if sparse else ''}features"


app = group("Fit, apply and evaluate maps that make a kernel linear.", EXAMPLES, fit, apply, report)
