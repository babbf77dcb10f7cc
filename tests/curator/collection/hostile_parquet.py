"""Parquet files made by hand, byte by byte, that tell their reader what no writer would.

A file is pages and a footer, both described in Thrift's compact protocol; see parquet.thrift of
apache/parquet-format for the numbers of the fields.
"""

import json
import struct
from collections.abc import Sequence
from typing import Any

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
PLAIN, RLE, DELTA_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 7, 8
FIXED_LENGTH = 7
Field = tuple[int, int, bytes]


def sealed(
    task_id: str, pages: Sequence[tuple[int, bytes]], rows: int, stated: int | None = None
) -> bytes:
    """A file in the form of a sealed batch, with one row group of ``rows`` rows.

    ``pages`` has (width, pages with their headers) of the columns id and payload. The footer says
    that there are ``stated`` rows in all, if that is given.
    """
    data, columns = b"PAR1", []
    for name, (_, column) in zip(("id", "payload"), pages, strict=True):
        columns.append(_chunk(name, len(data), len(column), rows))
        data += column
    group = _struct(
        (1, LIST, _list(STRUCT, columns)), (2, I64, _number(len(data))), (3, I64, _number(rows))
    )
    described = {"task": task_id, "questions": [0], "admissions": []}
    note = _struct((1, BINARY, _binary("privet")), (2, BINARY, _binary(json.dumps(described))))
    schema = [_struct((4, BINARY, _binary("schema")), (5, I32, _number(2)))]
    for name, (width, _) in zip(("id", "payload"), pages, strict=True):
        kind = ((1, I32, _number(FIXED_LENGTH)), (2, I32, _number(width)), (3, I32, _number(0)))
        schema.append(_struct(*kind, (4, BINARY, _binary(name))))
    footer = _struct(
        (1, I32, _number(2)),
        (2, LIST, _list(STRUCT, schema)),
        (3, I64, _number(rows if stated is None else stated)),
        (4, LIST, _list(STRUCT, [group])),
        (5, LIST, _list(STRUCT, [note])),
    )
    return data + footer + struct.pack("<I", len(footer)) + b"PAR1"


def one_value(width: int, rows: int) -> tuple[int, bytes]:
    """A column with the same value in all rows, in a dictionary of one: some fifty bytes."""
    dictionary = _page(2, bytes(width), 7, (1, I32, _number(1)), (2, I32, _number(PLAIN)))
    run = b"\x01" + _varint(rows << 1) + b"\x00"
    return width, dictionary + _data_page(run, rows, RLE_DICTIONARY)


def lengths(width: int, rows: int) -> tuple[int, bytes]:
    """A column that is said to have ``rows`` texts of no length, which Arrow notes one by one."""
    block = 1 << 30
    blocks = -(-(rows - 1) // block) * (_number(0) + bytes(4))
    zeros = _varint(block) + _varint(4) + _varint(rows) + _number(0) + blocks
    return width, _data_page(zeros + zeros, rows, DELTA_BYTE_ARRAY)


def _data_page(body: bytes, rows: int, encoding: int) -> bytes:
    levels = ((3, I32, _number(RLE)), (4, I32, _number(RLE)))
    return _page(0, body, 5, (1, I32, _number(rows)), (2, I32, _number(encoding)), *levels)


def _page(kind: int, body: bytes, number: int, *header: Field) -> bytes:
    size = _number(len(body))
    whole = ((1, I32, _number(kind)), (2, I32, size), (3, I32, size))
    return _struct(*whole, (number, STRUCT, _struct(*header))) + body


def _chunk(name: str, start: int, size: int, rows: int) -> bytes:
    about = _struct(
        (1, I32, _number(FIXED_LENGTH)),
        (2, LIST, _list(I32, [_number(PLAIN)])),
        (3, LIST, _list(BINARY, [_binary(name)])),
        (4, I32, _number(0)),
        (5, I64, _number(rows)),
        (6, I64, _number(size)),
        (7, I64, _number(size)),
        (9, I64, _number(start)),
    )
    return _struct((2, I64, _number(start)), (3, STRUCT, about))


def _struct(*fields: Field) -> bytes:
    """Fields in ascending order, each with its type and the step from the number before."""
    numbers = [0, *(number for number, _, _ in fields)]
    heads = [
        bytes([(number - before) << 4 | kind])
        for before, (number, kind, _) in zip(numbers, fields, strict=False)
    ]
    values = (value for _, _, value in fields)
    return b"".join(head + value for head, value in zip(heads, values, strict=True)) + b"\x00"


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    return bytes([len(items) << 4 | kind]) + b"".join(items)


def _binary(text: str) -> bytes:
    return _varint(len(text)) + text.encode()


def _number(value: Any) -> bytes:
    return _varint(value << 1)


def _varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
