"""Invitations, and the admissions that hold them for a relay's batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, text, update

from privet.protocol.batch import INVITATION_DIGEST_BYTES, split
from privet.protocol.errors import InvalidRequest
from privet.protocol.lifecycle import not_open

from . import schema
from .database import Database
from .tasks import need_task, stored_task

HOLD_SECONDS = 7 * 86_400.0
"""Seen time after which an admission without a batch is forgotten."""
DIGESTS_AT_ONCE = 1_000
"""Maximum number of invitations in one statement."""
ADD_INVITATION = """
INSERT INTO invitations (task_no, digest, unused, revoked, expires)
VALUES (:task_no, :digest, TRUE, FALSE, :expires) ON CONFLICT (task_no, digest) DO NOTHING
"""


@dataclass(frozen=True)
class InvitationCounts:
    """What became of a task's invitations."""

    issued: int
    used: int
    """Spent by a report, or held for a relay's batch."""
    revoked: int
    expired: int
    """Not used in time."""


def hidden(digest: bytes) -> bytes:
    """What is kept of an invitation whose SHA-256 a relay presents: the SHA-256 of that.

    So nobody who reads the database or a backup can present an unused invitation.
    """
    return sha256(digest).digest()


class InvitationStore(Database):
    """The verbs of invitations."""

    def invite(self, task_id: str, digests: Sequence[bytes], expires: float | None = None) -> None:
        """Keep invitations until ``expires``; from then on the task counts invited reports only.

        ``digests`` are their SHA-256, which reports have in a ``ReportGroup``; what is kept
        is ``hidden(digest)``. Each serves for one report; one that is kept already stays as it is.
        Raises ``TaskNotFound``.
        """
        tasks = schema.tasks
        with self.writing(locked=[task_id]) as connection:
            task_no = need_task(connection, task_id).no
            row = {"task_no": task_no, "expires": expires}
            rows = [{**row, "digest": hidden(digest)} for digest in digests]
            connection.execute(text(ADD_INVITATION), rows)
            connection.execute(update(tasks).where(tasks.c.no == task_no).values(invited=True))

    def admit(
        self, task_id: str, admission: bytes, digests: Sequence[bytes], now: float
    ) -> list[bytes]:
        """Hold the unused invitations among ``digests`` for a batch to come; returns the others.

        From then on they serve for no other report. The same admission again has the same answer
        until its batch is counted; ``expire`` makes its invitations unused again ``HOLD_SECONDS``
        after it was made. Raises ``TaskNotFound``, ``TaskNotOpen`` if the task takes no reports at
        ``now``, and ``InvalidRequest`` if the admission holds other invitations.
        """
        table = schema.admissions
        asked = sha256(b"".join(digests)).digest()
        with self.writing(locked=[task_id]) as connection:
            row = need_task(connection, task_id)
            same = (table.c.task_no == row.no) & (table.c.id == admission)
            earlier = connection.execute(select(table).where(same)).one_or_none()
            if earlier is None:
                stored = stored_task(row)
                if not stored.takes_reports(now):
                    raise not_open(stored.task)
                held = _hold(connection, row.no, [hidden(digest) for digest in digests], now)
                values = {"task_no": row.no, "id": admission, "asked": asked, "made": now}
                packed = b"".join(sorted(held))
                connection.execute(
                    insert(table).values(**values, held=packed, invitations=len(held))
                )
            elif bytes(earlier.asked) != asked:
                raise InvalidRequest(
                    "An admission of this id has other invitations: draw a new id."
                )
            else:
                held = set(_digests_in(earlier.held))
        return [digest for digest in digests if hidden(digest) not in held]

    def revoke_invitations(self, task_id: str, digests: Sequence[bytes] | None = None) -> int:
        """Revoke the unused ones of these invitations, or of all; return how many they were.

        Raises ``TaskNotFound``.
        """
        table = schema.invitations
        with self.writing(locked=[task_id]) as connection:
            unused = (table.c.task_no == need_task(connection, task_id).no) & table.c.unused
            parts = [unused]
            if digests is not None:
                kept = list(map(hidden, digests))
                parts = [unused & table.c.digest.in_(part) for part in _parts(kept)]
            revoke = update(table).values(unused=False, revoked=True)
            return sum(connection.execute(revoke.where(part)).rowcount for part in parts)

    def invitations(self, task_id: str, now: float) -> InvitationCounts:
        """What became of a task's invitations; raises ``TaskNotFound``."""
        table = schema.invitations
        with self.reading() as connection:
            of_task = table.c.task_no == need_task(connection, task_id).no

            def count(*conditions: Any) -> int:
                return connection.scalar(select(func.count()).where(of_task, *conditions)) or 0

            return InvitationCounts(
                issued=count(),
                used=count(~table.c.unused, ~table.c.revoked),
                revoked=count(table.c.revoked),
                expired=count(table.c.unused, table.c.expires <= now),
            )


def admissions_before(connection: Connection, made: float) -> Sequence[Row[Any]]:
    """The admissions made until then, each with its task's id."""
    table, tasks = schema.admissions, schema.tasks
    old = select(tasks.c.id.label("task_id"), table).join(tasks, tasks.c.no == table.c.task_no)
    return connection.execute(old.where(table.c.made <= made)).all()


def release(connection: Connection, admissions: Sequence[Row[Any]]) -> int:
    """Forget admissions, whose invitations are unused again; how many there still were.

    The caller holds their tasks exclusively.
    """
    table, released = schema.admissions, 0
    for row in admissions:
        forget = delete(table).where(table.c.task_no == row.task_no, table.c.id == row.id)
        if connection.execute(forget).rowcount:  # else its batch was counted meanwhile
            _set_unused(connection, row.task_no, _digests_in(row.held), unused=True)
            released += 1
    return released


def _hold(connection: Connection, task_no: int, digests: Sequence[bytes], now: float) -> set[bytes]:
    """Mark the unused invitations as held and return their digests."""
    table, held = schema.invitations, set[bytes]()
    for part in _parts(digests):
        unused = select(table.c.digest).where(
            table.c.task_no == task_no,
            table.c.digest.in_(part),
            table.c.unused,
            table.c.expires.is_(None) | (table.c.expires > now),
        )
        held.update(bytes(digest) for digest in connection.scalars(unused))
    _set_unused(connection, task_no, sorted(held), unused=False)
    return held


def _set_unused(
    connection: Connection, task_no: int, digests: Sequence[bytes], *, unused: bool
) -> None:
    table = schema.invitations
    for part in _parts(digests):
        chosen = (table.c.task_no == task_no) & table.c.digest.in_(part)
        connection.execute(update(table).where(chosen).values(unused=unused))


def _parts(digests: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(digests), DIGESTS_AT_ONCE):
        yield digests[start : start + DIGESTS_AT_ONCE]


def _digests_in(packed: bytes) -> list[bytes]:
    return split(bytes(packed), INVITATION_DIGEST_BYTES)
