"""The options of ``mercer index build``, and the index that they describe."""

__all__ = ["index_options", "new_index"]

from typing import Annotated, Any, Literal

import typer

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError
from mercer.cli.framework.parameters import named_values

_PANEL = "Index"


def index_options(
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="NAME", help="By the names of mercer kernel.", rich_help_panel=_PANEL)
    ] = "chi2",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="Parameter of the kernel; may be repeated.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    bytes_per_item: Annotated[
        int, typer.Option("--bytes", metavar="N", min=1, help="Length of a code.", rich_help_panel=_PANEL)
    ] = 16,
    code: Annotated[
        Literal["pq", "opq", "lsh", "universal", "flat"],
        typer.Option(
            "--code",
            metavar="NAME",
            help="pq: product quantisation; opq: after a learnt rotation; lsh, universal: bits; flat: embedded rows.",
            rich_help_panel=_PANEL,
        ),
    ] = "pq",
    embedding: Annotated[
        Literal["auto", "kpca", "map"],
        typer.Option(
            "--embedding",
            metavar="NAME",
            help="kpca: components through landmarks, any kernel; map: of an additive kernel; auto measures.",
            rich_help_panel=_PANEL,
        ),
    ] = "auto",
    effort: Annotated[
        Literal["low", "default", "high"],
        typer.Option(
            "--effort",
            metavar="LEVEL",
            help="How much is tried: low, default or high.",
            rich_help_panel=_PANEL,
        ),
    ] = "default",
    measure: Annotated[
        Literal["similarity", "distance"],
        typer.Option(
            "--measure",
            metavar="NAME",
            help="What rows are ranked by: similarity, or the kernel's distance.",
            rich_help_panel=_PANEL,
        ),
    ] = "similarity",
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize/--no-normalize",
            help="Divide by sqrt(K(x, x) K(y, y)), which changes nothing for histograms that sum to 1.",
            rich_help_panel=_PANEL,
        ),
    ] = True,
    oversample: Annotated[
        float,
        typer.Option(
            "--oversample",
            metavar="FACTOR",
            min=1.0,
            help="The best FACTOR * k rows of a scan get their exact kernel value.",
            rich_help_panel=_PANEL,
        ),
    ] = 10.0,
    vectors: Annotated[
        Literal["auto", "float32", "float16", "uint8", "none"],
        typer.Option(
            "--vectors",
            metavar="TYPE",
            help="How rows are kept for exact values: auto, float32, float16, uint8, or none: codes only.",
            rich_help_panel=_PANEL,
        ),
    ] = "auto",
    landmarks: Annotated[
        int, typer.Option("--landmarks", metavar="N", min=1, help="Of the embedding.", rich_help_panel=_PANEL)
    ] = 1024,
    components: Annotated[
        int | None,
        typer.Option(
            "--components",
            metavar="N",
            min=1,
            help="Of the embedding.",
            show_default="measured",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    lists: Annotated[
        str,
        typer.Option(
            "--lists",
            metavar="N|auto",
            help="Inverted lists of the codes; auto: none below four million rows.",
            rich_help_panel=_PANEL,
        ),
    ] = "auto",
) -> dict[str, Any]:
    """The parameters of a ``mercer.KernelIndex``, where those of the kernel are still words."""
    return {
        "kernel": (kernel, param or []),
        "embedding": embedding,
        "code": code,
        "bytes_per_item": bytes_per_item,
        "oversample": oversample,
        "normalize": normalize,
        "measure": measure,
        "effort": effort,
        "vectors": None if vectors == "none" else vectors,
        "n_landmarks": landmarks,
        "n_components": components,
        "n_lists": _number_of_lists(lists),
    }


def _number_of_lists(text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is neither a number nor auto.", param_hint="--lists")
    return int(text)


def new_index(choices: dict[str, Any], seed: int):
    """The index that the options describe, not fitted. What cannot be combined is refused here."""
    from mercer import KernelIndex
    from mercer.kernels import get_kernel
    from mercer.search.model.parameters import check_index

    name, given = choices["kernel"]
    try:
        kernel = get_kernel(name, **named_values(given, "--param gamma=0.5"))
        index = KernelIndex(**choices | {"kernel": kernel}, random_state=seed)
        check_index(index)  # before anything is read
        return index
    except InputError as error:
        raise error if isinstance(error, ArgumentError) else ArgumentError(str(error)) from error
