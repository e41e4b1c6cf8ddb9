"""Models that make bits, at one rate or at several: which rate a command means, and accuracy against bits."""

__all__ = ["at_rate", "bits_of", "print_curve", "read_message", "specification_of"]

from pathlib import Path
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import check_file
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import print_table


def at_rate(model, bits: int | None, path: str):
    """The part of a model that has codes of so many bits: one of the classifiers of several rates, or the model."""
    classifiers = getattr(model, "classifiers_", None)
    if classifiers is not None:
        return classifiers[_position(model.rates_, bits, path)]
    if bits is not None:
        made = bits_of(model)
        if not made:
            raise ArgumentError(f"{path} holds {type(model).__name__}, which does not produce bits. Remove --bits.")
        _position([made["bits"]], bits, path)
    return model


def _position(rates: list[int], bits: int | None, path: str) -> int:
    """Which rate is meant, the highest if none was said."""
    if bits is None:
        return len(rates) - 1
    if bits not in rates:
        raise ArgumentError(f"{path} has codes of {', '.join(map(str, rates))} bits, not {bits}.")
    return rates.index(bits)


def specification_of(model):
    """The specification of the embedding that a model is or learned on; None if no client could make its bits."""
    return getattr(_encoder(model), "specification_", None)


def bits_of(model) -> dict[str, int]:
    """The length of its codes, for a JSON document; nothing for a model that makes no bits."""
    specification = specification_of(model)
    bits = getattr(_encoder(model), "n_bits", None) if specification is None else specification.n_bits
    return {} if bits is None else {"bits": int(bits)}


def _encoder(model):
    """The map of a learner, if it is one, else the model itself."""
    return getattr(model, "map_", None) if hasattr(model, "predictor_") else model


def read_message(path: str, name: str | None = None):
    """The message of bits in a file, which errors call by its name."""
    from mercer.serving import WireError, unpack_message

    check_file(path, "Name a bit message (.mrcw).")
    try:
        return unpack_message(Path(path).read_bytes())
    except WireError as error:
        raise InputError(f"{name or path} is not a valid bit message. {error}") from error


def print_curve(settings: Settings, title: str, curve: list[dict[str, Any]]) -> None:
    """A table of accuracy against bits."""
    rows = [
        [
            f"{point['bits']:,}",
            f"{-(-point['bits'] // 8):,}",
            f"{point['accuracy']:.4f}",
            f"{point['low']:.4f} to {point['high']:.4f}",
        ]
        for point in curve
    ]
    print_table(settings, title, ["bits", "bytes", "accuracy", "95 % interval"], rows, text_columns=0)
