"""Whether what was sent is what was counted: nothing lost, nothing counted twice."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.protocol.report import REPORT_ID_BYTES
from scripts.load.spool import Shard, first_ids


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
        difference = int(before["checksum"], 16) ^ int(after["checksum"], 16)
        matches = difference == checksum(shards, sent)
    return Audit(max(acknowledged - counted, 0), max(counted - sent, 0), matches)


def checksum(shards: Sequence[Shard], count: int) -> int:
    """XOR of SHA-256 over the ids of the first ``count`` reports."""
    total = np.zeros(hashlib.sha256().digest_size, dtype=np.uint8)
    for ids in first_ids(shards, count):
        digests = b"".join(
            hashlib.sha256(ids[at : at + REPORT_ID_BYTES]).digest()
            for at in range(0, len(ids), REPORT_ID_BYTES)
        )
        rows = np.frombuffer(digests, dtype=np.uint8).reshape(-1, len(total))
        total ^= np.bitwise_xor.reduce(rows, axis=0)
    return int.from_bytes(total.tobytes(), "big")
