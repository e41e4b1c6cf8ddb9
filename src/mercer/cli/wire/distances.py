"""``mercer wire distances``: how far apart rows are, told from their bits alone."""

__all__ = ["EXAMPLES", "distances"]

import itertools

from mercer._base.errors import InputError
from mercer._base.parameters import argument, number, pathname
from mercer._base.tables import ArgumentError, open_for_writing
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, note, written_to
from mercer.cli.framework.rates import at_rate, read_message
from mercer.cli.models.learning import load_model

EXAMPLES = """
Compute distances between the rows of two messages, or within one message:
  mercer encode wire.mercer X.npy --out codes.mrcw
  mercer wire distances wire.mercer codes.mrcw others.mrcw
  mercer wire distances wire.mercer codes.mrcw --confidence 0.99 --out distances.csv
"""


@options((
    argument("model", "MODEL", "Model with universal bits, written by mercer wire fit."),
    argument("codes", "CODES", "Bit message (.mrcw) written by mercer encode."),
    argument("others", "OTHERS", "A second bit message; without it, distances within CODES.",
        default=None, shown="CODES"),
    number("confidence", 0.95, "Confidence level of the distance intervals.", "SHARE"),
    pathname("out", None, "File for the distances.", "CSV", "-o", shown="the output"),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def distances(model, codes, others, confidence, out, settings: Settings) -> None:
    """Write the distances that bits imply as csv, one line per pair: row, row, distance, low, high.

    Universal bits preserve small distances; a large distance is reported as inf. Distances refer to the original rows,
    and the interval from low to high contains them at the given confidence.
    """
    check_folder(out)
    loaded = load_model(model)
    left = read_message(codes)
    embedding = _embedding(at_rate(loaded, left.n_bits if hasattr(loaded, "rates_") else None, model), model)
    right = left if others is None else read_message(others)
    for name, message in ((codes, left), (others, right)):
        if not embedding.specification_.fingerprint.startswith(message.fingerprint8):
            raise InputError(
                f"{name} holds bits of a different embedding, {message.fingerprint8}, than {model}, "
                f"{embedding.specification_.fingerprint[:16]}."
            )
    found = embedding.distance_from_codes(left.codes, None if others is None else right.codes, confidence)
    if answer_json(settings, dict(zip(("distance", "low", "high"), found, strict=True)) | {"confidence": confidence}):
        return
    with open_for_writing("-" if out is None else out) as stream:
        stream.write(b"row,other,distance,low,high\n")
        for i, j in itertools.product(*(range(size) for size in found[0].shape)):
            stream.write(f"{i},{j},{','.join(f'{values[i, j]:.6g}' for values in found)}\n".encode())
    note(settings, f"{found[0].size} distances{written_to(out)}")


def _embedding(part, path: str):
    """The embedding of a classifier, or the one that the file holds."""
    found = getattr(part, "map_", part)
    if not hasattr(found, "distance_from_codes"):
        raise ArgumentError(
            f"{path} has a {type(found).__name__}, whose bits do not estimate distances. Fit universal bits with "
            "mercer wire fit --embedding universal."
        )
    return found
