"""Reports in columns: what arrives in a batch, and what leaves in one."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol import wire
from privet.protocol.report import REPORT_ID_BYTES

ALL_QUESTIONS = -1
DIGEST_BYTES = 32

Rows = NDArray[np.uint8]


@dataclass(frozen=True)
class Bundle:
    """Reports that answer the same of a task's questions, stripped of all that is not needed.

    Each column has a row per report: its 16 random bytes, its payloads one after the other, and
    the SHA-256 of its invitation, where any report came with one.
    """

    task: str
    question: int
    ids: bytes
    payloads: bytes
    invitations: bytes | None = None

    def __len__(self) -> int:
        return len(self.ids) // REPORT_ID_BYTES

    @property
    def size(self) -> int:
        """Bytes of all columns."""
        return len(self.ids) + len(self.payloads) + len(self.invitations or b"")

    def only(self, rows: NDArray[np.intp]) -> "Bundle":
        """These rows, in this order."""
        invitations = None if self.invitations is None else self._rows(self.invitations)[rows]
        return replace(
            self,
            ids=self._rows(self.ids)[rows].tobytes(),
            payloads=self._rows(self.payloads)[rows].tobytes(),
            invitations=None if invitations is None else invitations.tobytes(),
        )

    def shuffled(self) -> "Bundle":
        """Each id once, in an order drawn by the operating system's randomness."""
        places = range(0, len(self.ids), REPORT_ID_BYTES)
        first = {self.ids[at : at + REPORT_ID_BYTES]: at for at in reversed(places)}
        rows = np.fromiter(first.values(), dtype=np.intp) // REPORT_ID_BYTES
        return self.only(rows[drawn_order(len(rows))])

    def packed(self) -> bytes:
        """The body of a batch."""
        columns: dict[str, Any] = {"version": 1, "ids": self.ids, "payloads": self.payloads}
        if self.question != ALL_QUESTIONS:
            columns["question"] = self.question
        if self.invitations is not None:
            columns["invitations"] = self.invitations
        return wire.pack(columns)

    def _rows(self, column: bytes) -> Rows:
        return np.frombuffer(column, dtype=np.uint8).reshape(len(self), -1)


def joined(bundles: Sequence[Bundle]) -> Bundle:
    """One bundle of several for the same questions."""
    first = bundles[0]
    invited = any(bundle.invitations is not None for bundle in bundles)
    return replace(
        first,
        ids=b"".join(bundle.ids for bundle in bundles),
        payloads=b"".join(bundle.payloads for bundle in bundles),
        invitations=b"".join(map(_invitations, bundles)) if invited else None,
    )


def of_rows(task: str, question: int, rows: Iterable[tuple[bytes, bytes, bytes | None]]) -> Bundle:
    """A bundle of (id, payloads, invitation or None)."""
    ids, payloads, invitations = zip(*rows, strict=True)
    invited = any(invitation is not None for invitation in invitations)
    digests = b"".join(invitation or bytes(DIGEST_BYTES) for invitation in invitations)
    return Bundle(task, question, b"".join(ids), b"".join(payloads), digests if invited else None)


def drawn_order(count: int) -> NDArray[np.intp]:
    """Every order of ``range(count)`` with the same probability: by keys without ties."""
    while True:
        keys = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


def _invitations(bundle: Bundle) -> bytes:
    return bundle.invitations or bytes(DIGEST_BYTES * len(bundle))
