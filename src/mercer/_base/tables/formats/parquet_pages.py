"""What the pages of a parquet file unpack to, told by their headers before anything is unpacked.

A reader unpacks one page of every column at a time, and takes as much memory for it as the header of the page says. The
headers are structures of Thrift's compact protocol; of their fields the sizes and the number of values matter here.
"""

__all__ = ["check_pages"]

from contextlib import nullcontext
from typing import Any, BinaryIO

from mercer._base.tables.limits import Limit

_EXPANSION = 1000  # lists that hold so many times the bytes of their file are no data
_DATA_PAGE, _DATA_PAGE_V2, _UNPACKED, _PACKED = 5, 8, 2, 3  # fields of a page header
_LONGEST_BINARY, _DEEPEST = 2**20, 8
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12  # kinds of fields


def check_pages(file: str | BinaryIO, metadata: Any, limit: Limit, name: str) -> None:
    """Refuse a file of which one page of every column, or the lists of a row group, take too much memory."""
    with open(file, "rb") if isinstance(file, str) else nullcontext(file) as stream:
        for number in range(metadata.num_row_groups):
            group, largest = metadata.row_group(number), 0
            for i in range(group.num_columns):
                column = group.column(i)
                page, values = _walked(stream, column)
                largest += page
                is_list = metadata.schema.column(i).max_repetition_level > 0
                if is_list and 8 * values > _EXPANSION * column.total_compressed_size:
                    limit.check(8 * values, name, f"column {column.path_in_schema!r} of row group {number}")
            limit.check(largest, name, f"one page of each column of row group {number}")


def _walked(stream: BinaryIO, column: Any) -> tuple[int, int]:
    """(bytes of the largest page unpacked, values in all pages) of one column of a row group.

    Where the headers make no sense the walk ends: the reader that follows will say so.
    """
    offsets = [column.data_page_offset, column.dictionary_page_offset or 0]
    place = min(offset for offset in offsets if offset > 0) if max(offsets) > 0 else 0
    end = place + column.total_compressed_size
    largest = values = 0
    while 0 < place < end:
        stream.seek(place)
        try:
            header = _structure(stream)
        except (ValueError, IndexError):
            break
        packed, unpacked = header.get(_PACKED), header.get(_UNPACKED)
        if not isinstance(packed, int) or not isinstance(unpacked, int) or packed < 0:
            break
        largest = max(largest, unpacked)
        data = header.get(_DATA_PAGE) or header.get(_DATA_PAGE_V2) or {}
        values += data.get(1, 0) if isinstance(data, dict) else 0
        place = stream.tell() + packed
    return largest, values


def _structure(stream: BinaryIO, depth: int = 0) -> dict[int, Any]:
    """Fields of a structure by their numbers; of what is neither a number nor a structure only the place is found."""
    fields: dict[int, Any] = {}
    number = 0
    while head := stream.read(1)[0]:
        kind, step = head & 15, head >> 4
        number = number + step if step else _zigzag(stream)
        fields[number] = _value(stream, kind, depth)
    return fields


def _value(stream: BinaryIO, kind: int, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError
    if kind in (_TRUE, _FALSE):
        return None
    if kind == _BYTE:
        return stream.read(1)[0]
    if kind < _DOUBLE:
        return _zigzag(stream)
    if kind in (_DOUBLE, _BINARY):
        length = 8 if kind == _DOUBLE else _varint(stream)
        if length > _LONGEST_BINARY or len(stream.read(length)) < length:
            raise ValueError
        return None
    if kind == _STRUCT:
        return _structure(stream, depth + 1)
    raise ValueError  # page headers hold no lists, sets and maps


def _varint(stream: BinaryIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)[0]
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError


def _zigzag(stream: BinaryIO) -> int:
    value = _varint(stream)
    return (value >> 1) ^ -(value & 1)
