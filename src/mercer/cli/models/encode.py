"""``mercer encode``: rows as a quantizer, a map or a learner stores them, and codes back to rows."""

__all__ = ["EXAMPLES", "encode", "write_features"]

import itertools
import math
from collections.abc import Iterator
from typing import Any

from mercer._base.errors import InputError
from mercer._base.parameters import REQUIRED, argument, flag, text
from mercer._base.tables import (
    ArgumentError,
    Features,
    RowSource,
    features_of,
    open_for_writing,
    writable_format,
    write_rows,
)
from mercer.cli.framework.checks import check_standard_output
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import note, print_json, progress, took, written_to
from mercer.cli.framework.rates import at_rate, bits_of, specification_of
from mercer.cli.framework.shared import BITS, DENSE, OUT_FORMAT
from mercer.cli.models.learning import answers, load_model, missing_facts, open_data, warm_up, with_gaps

EXAMPLES = """
Fit a quantizer, encode rows, and decode the codes to approximate rows:
  mercer map fit X.npy --map pq:block_size=8,bits=8 --out pq.mercer
  mercer encode pq.mercer X.npy --out codes.npy
  mercer encode pq.mercer codes.npy --decode --out approximate.npy

Write the features that a fitted model computes:
  mercer encode digits.mercer X.npy --out features.npy

Write bits as a message for mercer serve; use a shorter code of a model with several rates:
  mercer encode wire.mercer X.npy --out codes.mrcw
  mercer encode wire.mercer X.npy --bits 64 --out codes.mrcw
  curl -H 'Content-Type: application/octet-stream' --data-binary @codes.mrcw http://127.0.0.1:8321/v1/classify
"""
_MESSAGE = "mrcw"  # the format of docs/wire-format.md


@options((
    argument("model", "MODEL", "Model file written by mercer map fit, mercer fit or mercer wire fit."),
    argument("x", "DATA", "Rows, or codes to decode: a file, FILE.npz::NAME, or - for standard input."),
    text("out", REQUIRED, "File for the codes (npy, npz, csv, tsv; mrcw for a bit message); - is standard output.",
        "FILE", "-o"),
    OUT_FORMAT.but(words=(*OUT_FORMAT.words, "mrcw")),
    BITS,
    flag("decode", "Decode codes to approximate rows."),
    DENSE,
), examples=EXAMPLES, settings=COMMON, rules=INPUT)  # fmt: skip
def encode(model, x, out, out_format, bits, decode, dense, rules, settings: Settings) -> None:
    """Write the codes or features of rows under a quantizer or a map, or decode codes.

    A quantizer writes codes: one byte per block of columns, two above 8 bits and half a byte at 4 bits; --decode turns
    codes back into approximate rows. A map writes its features; sparse features are written in the format of
    scipy.sparse.save_npz, and other formats need --dense. An embedding into bits writes packed bits, eight to a byte,
    lowest first; a file that ends in .mrcw is a message that mercer serve accepts. Rows keep their order, and labels
    are not written.
    """
    check_standard_output(out, settings)
    format = _format(out, out_format)
    encoder, columns = _encoder(model, decode, bits)
    specification = specification_of(encoder)
    if format == _MESSAGE and specification is None:
        raise ArgumentError(
            f"{model} does not produce bits for a message. Write npy, or fit an embedding with mercer wire fit."
        )
    if decode:
        columns = Features(n=encoder._n_features_out)
    data = open_data(settings, x, rules | {"needs_labels": False}, columns)
    if data.kept is not None and (format == _MESSAGE or (_is_quantiser(encoder) and not decode)):
        raise ArgumentError("Codes have no missing value for dropped rows. Use --missing fill:0 or --missing mean.")
    ask = _decoder(encoder, data) if decode else encoder.transform
    n_numbers = encoder.n_features_in_ if decode else encoder._n_features_out
    warm_up(data, ask)
    with progress(settings) as watch:
        blocks = answers(data, ask, bytes_per_row=8 * n_numbers)
        if format == _MESSAGE:
            written = _write_message(blocks, specification, out)
        else:
            written = write_features(blocks, data, out, format, dense)
    if settings.json:
        head = {"model": model, "encoder": type(encoder).__name__, "data": data.name, "decoded": decode}
        print_json(head | missing_facts(data) | _about_bits(encoder) | written | {"seconds": watch.seconds, "out": out})
    what = "rows of numbers" if decode else "codes" if _is_quantiser(encoder) else "features"
    size = f"{' x '.join(map(str, written['shape']))} {what}"
    if bits_of(encoder):
        size = f"{data.shape[0]} codes of {bits_of(encoder)['bits']} bits"
    spent = f"{written['bytes_per_row']:.4g} bytes per row, in {took(watch.seconds)}"
    note(settings, f"{size}, {spent}{written_to(out)}")


def _format(out: str, said: str | None) -> str:
    if said == _MESSAGE or (said is None and out.lower().endswith(f".{_MESSAGE}")):
        return _MESSAGE
    return writable_format(out, said)


def _encoder(path: str, decode: bool, bits: int | None) -> tuple[Any, Features]:
    """The quantizer or map in a model file, of a learner the one it was fitted with, and the columns it takes."""
    loaded = load_model(path)
    model = at_rate(loaded, bits, path)
    encoder = getattr(model, "map_", model) if hasattr(model, "predictor_") else model
    if not hasattr(encoder, "inner_") or not hasattr(encoder, "transform"):
        raise ArgumentError(
            f"{path} holds {type(model).__name__}, which cannot encode rows. Fit a map with mercer map fit, or a "
            "learner with --map."
        )
    if decode and not _is_quantiser(encoder):
        raise ArgumentError(
            f"{path} holds a {type(encoder).__name__}, which cannot decode. Only the codes of a "
            "quantizer can be decoded."
        )
    return encoder, features_of(loaded)


def _is_quantiser(encoder) -> bool:
    return hasattr(encoder, "inverse_transform")


def _decoder(encoder, data: RowSource):
    """From numbers, as every file is read, to codes and on to rows."""

    def decoded(block):
        codes = block.toarray() if hasattr(block, "indptr") else block
        try:
            return encoder.inverse_transform(codes)
        except InputError as error:
            raise InputError(f"{data.name} does not hold codes of this quantizer: {error}") from error

    return decoded


def _about_bits(encoder) -> dict[str, Any]:
    """The length of a code and what it is a code of, for a JSON document."""
    specification = specification_of(encoder)
    return bits_of(encoder) | ({} if specification is None else {"embedding": specification.fingerprint})


def _write_message(blocks: Iterator[Any], specification, out: str) -> dict[str, Any]:
    """Write the codes as one message, whose header has a checksum of all of them; what was written."""
    import numpy as np

    from mercer.serving import pack_message

    codes = np.concatenate(list(blocks))
    message = pack_message(codes, specification.n_bits, specification.fingerprint)
    with open_for_writing(out) as stream:
        stream.write(message)
    return {"shape": codes.shape, "dtype": "uint8", "sparse": False, "bytes_per_row": codes.shape[1]}


def write_features(blocks: Iterator[Any], data: RowSource, out: str, format: str, dense: bool) -> dict[str, Any]:
    """Write the blocks one after the other; what was written."""
    first = next(blocks)
    is_sparse = hasattr(first, "indptr") and not dense
    shape = (data.n_rows_in_file, first.shape[1])
    if data.kept is not None and (is_sparse or first.dtype.kind != "f"):
        raise ArgumentError(
            "Codes, bits and sparse features have no missing value for dropped rows. Use --missing fill:0, --missing "
            "mean or --dense."
        )
    found = {"shape": shape, "dtype": str(first.dtype), "sparse": is_sparse}
    everything = itertools.chain([first], blocks)
    if not is_sparse:
        arrays = (block.toarray() if hasattr(block, "indptr") else block for block in everything)
        write_rows(out, with_gaps(arrays, data, math.nan), shape, first.dtype, format=format)
        return found | {"bytes_per_row": first.dtype.itemsize * first.shape[1]}
    if format != "npz":
        raise ArgumentError(f"The features are sparse, but {format} stores dense rows. Write npz, or use --dense.")
    import scipy.sparse

    whole = scipy.sparse.vstack(list(everything), format="csr")
    with open_for_writing(out) as stream:
        scipy.sparse.save_npz(stream, whole)
    return found | {"bytes_per_row": (whole.data.nbytes + whole.indices.nbytes + whole.indptr.nbytes) / len(data)}
