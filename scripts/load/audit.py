"""Whether what was sent is what was counted: nothing lost, nothing counted twice."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.load.spool import read_frames, report_id


@dataclass(frozen=True)
class Audit:
    """Reports counted too few or too many, and whether exactly the sent ids were counted."""

    lost: int
    doubled: int
    checksum_matches: bool


def audit(paths: Iterable[Path], before: dict[str, Any], after: dict[str, Any]) -> Audit:
    """Compare the spooled reports with a task's status before and after sending them."""
    sent, checksum = 0, 0
    for report in read_frames(paths):
        sent += 1
        checksum ^= int.from_bytes(hashlib.sha256(report_id(report)).digest(), "big")
    counted = int(after["reports"]) - int(before["reports"])
    difference = int(before["checksum"], 16) ^ int(after["checksum"], 16)
    return Audit(max(sent - counted, 0), max(counted - sent, 0), difference == checksum)
