"""Reports on disk between the holders that made them and the connections that send them.

A frame is a four-byte length and a report's packed bytes. One file per worker process keeps the
load test's memory flat however many holders there are.
"""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from protocol.report import REPORT_ID_BYTES

_LENGTH = struct.Struct(">I")
_ID_KEY = b"\xa2id\xc4" + bytes([REPORT_ID_BYTES])


def write_frames(path: Path, reports: Iterable[bytes]) -> int:
    """Write packed reports; returns how many."""
    count = 0
    with path.open("wb", buffering=1 << 20) as file:
        for report in reports:
            file.write(_LENGTH.pack(len(report)))
            file.write(report)
            count += 1
    return count


def read_frames(paths: Iterable[Path]) -> Iterator[bytes]:
    """The packed reports of all files, in order."""
    for path in paths:
        with path.open("rb", buffering=1 << 20) as file:
            while header := file.read(_LENGTH.size):
                yield file.read(_LENGTH.unpack(header)[0])


def report_id(report: bytes) -> bytes:
    """The id inside a packed report, found without unpacking it.

    Map keys are sorted, so the id stands behind the answers; a payload that happens to contain
    the same five bytes stands before it, hence the search from the end.
    """
    at = report.rindex(_ID_KEY) + len(_ID_KEY)
    return report[at : at + REPORT_ID_BYTES]
