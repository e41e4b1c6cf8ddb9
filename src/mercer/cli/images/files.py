"""What the verbs of ``mercer images`` share: models of images, image files, and those that cannot be read."""

__all__ = [
    "check_some_kept",
    "folder_of_classes",
    "load_image_model",
    "pair_of",
    "paths_of",
    "said_command",
]

import re
import shlex
from pathlib import Path
from typing import Any

import typer

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError
from mercer.cli.models.learning import load_fitted


def load_image_model(path: str):
    """A classifier of images that ``mercer images train`` wrote."""
    from mercer.vision import ImageClassifier

    otherwise = (
        "not an image classifier. Train one with mercer images train; use mercer predict for a model of rows, and "
        "mercer detect run for a detector."
    )
    return load_fitted(path, ImageClassifier, "classifier_", otherwise)


def folder_of_classes(folder: str):
    """(paths, class of each) of a folder with one folder per class."""
    from mercer.vision import image_folder

    if not Path(folder).is_dir():
        raise ArgumentError(f"There is no folder {folder}.")
    return image_folder(folder)


def paths_of(files: list[str]) -> list[Path]:
    """The files, and all images in the folders among them."""
    from mercer.vision import images_below

    paths: list[Path] = []
    for name in files:
        path = Path(name)
        if not path.exists():
            raise ArgumentError(f"There is no file {name}.")
        if path.is_dir():
            found = images_below(path)
            if not found:
                raise ArgumentError(f"There are no images in the folder {name}.")
            paths += found
        else:
            paths.append(path)
    return paths


def check_some_kept(encoding, strict: bool) -> None:
    """Refuse when nothing could be read, or with --strict when anything could not."""
    reasons = list(encoding.skipped.values())
    if reasons and (strict or (len(reasons) == 1 and not encoding.kept.any())):
        raise InputError(reasons[0])
    if not encoding.kept.any():
        raise InputError(f"None of the {len(reasons)} images can be read. {reasons[0]}")


def pair_of(option: str, text: str) -> tuple[int, int]:
    """ROWSxCOLUMNS as numbers.

    >>> pair_of("--grid", "2x3")
    (2, 3)
    """
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text)
    if not found:
        raise ArgumentError(f"{option} must have the form ROWSxCOLUMNS, as in 128x64; got {text}.")
    return int(found[1]), int(found[2])


def said_command(ctx: typer.Context) -> str:
    """The command line that led here, as it would be typed again."""
    contexts = [ctx]
    while contexts[0].parent is not None:
        contexts.insert(0, contexts[0].parent)  # type: ignore[arg-type]
    words = ["mercer"]
    for level, one in enumerate(contexts):
        words += [str(one.info_name)] if level else []
        arguments, options = _said(one)
        words += arguments + options
    return shlex.join(words)


def _said(ctx: typer.Context) -> tuple[list[str], list[str]]:
    """The arguments and the options that were given to one command."""
    arguments: list[str] = []
    options: list[str] = []
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if source is None or source.name != "COMMANDLINE":
            continue
        value: Any = ctx.params[parameter.name or ""]
        values = [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
        if parameter.param_type_name == "argument":
            arguments += values
        elif isinstance(value, bool):
            options += [(parameter.opts if value else parameter.secondary_opts)[0]]
        else:
            options += [word for item in values for word in (parameter.opts[0], item)]
    return arguments, options
