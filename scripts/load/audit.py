"""Whether what was sent is what was counted: nothing lost, nothing counted twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scripts.load.spool import Shard, first_ids

CHECKSUM_MODULUS = 2**64


@dataclass(frozen=True)
class Audit:
    """Reports counted too few or too many, and whether exactly the sent ids were counted.

    ``checksum_matches`` is None where some reports were sent and not answered: whether those
    count cannot be known, so only the numbers are held against each other.
    """

    lost: int
    doubled: int
    checksum_matches: bool | None

    @property
    def is_clean(self) -> bool:
        """Whether nothing speaks against the curator's promise."""
        return self.lost == 0 and self.doubled == 0 and self.checksum_matches is not False


def audit(
    shards: Sequence[Shard],
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    sent: int,
    acknowledged: int,
) -> Audit:
    """Hold the first ``sent`` spooled reports against a task's status before and after them."""
    counted = int(after["reports"]) - int(before["reports"])
    matches = None
    if sent == acknowledged:
        difference = int(after["checksum"], 16) - int(before["checksum"], 16)
        matches = difference % CHECKSUM_MODULUS == checksum(shards, sent)
    return Audit(max(acknowledged - counted, 0), max(counted - sent, 0), matches)


def checksum(shards: Sequence[Shard], count: int) -> int:
    """The sum of the 64-bit halves of the ids of the first ``count`` reports, modulo 2^64."""
    total = 0
    for ids in first_ids(shards, count):
        total += int(np.frombuffer(ids, dtype=">u8").sum(dtype=np.uint64))
    return total % CHECKSUM_MODULUS
