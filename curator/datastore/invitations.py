"""Invitations, and the admissions that hold them for a relay's batch."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, text, update

from privet.admin.results import InvitationCounts
from privet.protocol.batch import INVITATION_DIGEST_BYTES, split
from privet.protocol.errors import IllegalMove, InvalidRequest
from privet.protocol.lifecycle import Phase, not_open

from .audit import row_digest
from .database import Database
from .reports import checksum_text
from .schema import admissions, invitations, tasks
from .tasks import need_task, stored_task

HOLD_SECONDS = 7 * 86_400.0
"""Seen time after which an admission without a batch is forgotten."""
DIGESTS_AT_ONCE = 1_000
"""Maximum number of invitations in one statement."""
ADD_INVITATION = """
INSERT INTO invitations (task_no, digest, unused, revoked, expires)
VALUES (:task_no, :digest, TRUE, FALSE, :expires) ON CONFLICT (task_no, digest) DO NOTHING
"""


def hidden(digest: bytes) -> bytes:
    """The stored form of an invitation whose SHA-256 a relay presents: the SHA-256 of that.

    So nobody who reads the database or a backup can present an unused invitation.
    """
    return sha256(digest).digest()


@dataclass(eq=False)
class InvitationStore:
    """The verbs of invitations."""

    database: Database

    def issue(self, task_id: str, digests: Sequence[bytes], expires: float | None = None) -> str:
        """Keep invitations until ``expires`` for a task that was published for invited holders.

        ``digests`` are their SHA-256, which reports have in a ``ReportGroup``; what is kept
        is ``hidden(digest)``. Each serves for one report; one that is kept already stays as it is.
        Returns their ``invitations_checksum``. Raises ``TaskNotFound``, and ``IllegalMove`` for a
        task for everybody.
        """
        with self.database.writing(locked=[task_id]) as connection:
            task = need_task(connection, task_id)
            if not task.invited:
                raise IllegalMove(
                    "This task was published for everybody: reports that came without an "
                    "invitation would be lost, and its link would not serve. Create another task "
                    "with invited set, and invite to that."
                )
            row = {"task_no": task.no, "expires": expires}
            rows = [{**row, "digest": hidden(digest)} for digest in digests]
            connection.execute(text(ADD_INVITATION), rows)
        return invitations_checksum((row["digest"], expires) for row in rows)

    def admit(
        self,
        task_id: str,
        admission: bytes,
        digests: Sequence[bytes],
        now: float,
        *,
        in_time: bool = False,
    ) -> list[bytes]:
        """Hold the unused invitations among ``digests`` for a batch to come; returns the others.

        From then on they serve for no other report. The same admission again has the same answer
        until its batch is counted; ``expire`` makes its invitations unused again ``HOLD_SECONDS``
        after it was made. Raises ``TaskNotFound``, ``TaskNotOpen`` if the task takes no reports at
        ``now``, or none that a relay took ``in_time`` if these were, and ``InvalidRequest`` if the
        admission holds other invitations.
        """
        asked = sha256(b"".join(digests)).digest()
        with self.database.writing(locked=[task_id]) as connection:
            row = need_task(connection, task_id)
            same = (admissions.c.task_no == row.no) & (admissions.c.id == admission)
            earlier = connection.execute(select(admissions).where(same)).one_or_none()
            if earlier is None:
                stored = stored_task(row)
                is_open = stored.phase(now) is Phase.OPEN
                if not (stored.takes_late(now) if in_time else is_open):
                    raise not_open(stored.task)
                held = _hold(connection, row.no, [hidden(digest) for digest in digests], now)
                values = {"task_no": row.no, "id": admission, "asked": asked, "made": now}
                packed = b"".join(sorted(held))
                connection.execute(
                    insert(admissions).values(**values, held=packed, invitations=len(held))
                )
            elif bytes(earlier.asked) != asked:
                raise InvalidRequest(
                    "An admission of this id has other invitations: draw a new id."
                )
            else:
                held = set(_digests_in(earlier.held))
        return [digest for digest in digests if hidden(digest) not in held]

    def revoke(self, task_id: str, digests: Sequence[bytes] | None = None) -> int:
        """Revoke the unused ones of these invitations, or of all; return how many they were.

        Raises ``TaskNotFound``.
        """
        with self.database.writing(locked=[task_id]) as connection:
            task_no = need_task(connection, task_id).no
            unused = (invitations.c.task_no == task_no) & invitations.c.unused
            parts = [unused]
            if digests is not None:
                kept = list(map(hidden, digests))
                parts = [unused & invitations.c.digest.in_(part) for part in _parts(kept)]
            revoke = update(invitations).values(unused=False, revoked=True)
            return sum(connection.execute(revoke.where(part)).rowcount for part in parts)

    def count(self, task_id: str, now: float) -> InvitationCounts:
        """The numbers of a task's invitations, by outcome; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            of_task = invitations.c.task_no == need_task(connection, task_id).no

            def count(*conditions: Any) -> int:
                return connection.scalar(select(func.count()).where(of_task, *conditions)) or 0

            return InvitationCounts(
                issued=count(),
                used=count(~invitations.c.unused, ~invitations.c.revoked),
                revoked=count(invitations.c.revoked),
                expired=count(invitations.c.unused, invitations.c.expires <= now),
            )


def invitations_checksum(rows: Iterable[tuple[bytes, float | None]]) -> str:
    """The checksum of invitations by their kept digests and ends; that of all is the sum."""
    return checksum_text(sum(int(row_digest(*row), 16) for row in rows))


def admissions_before(connection: Connection, made: float) -> Sequence[Row[Any]]:
    """The admissions made until then, each with its task's id."""
    of_task = tasks.c.no == admissions.c.task_no
    old = select(tasks.c.id.label("task_id"), admissions).join(tasks, of_task)
    return connection.execute(old.where(admissions.c.made <= made)).all()


def release(connection: Connection, rows: Sequence[Row[Any]]) -> int:
    """Forget admissions, whose invitations are unused again; how many there still were.

    The caller holds their tasks exclusively.
    """
    released = 0
    for row in rows:
        forget = delete(admissions).where(
            admissions.c.task_no == row.task_no, admissions.c.id == row.id
        )
        if connection.execute(forget).rowcount:  # else its batch was counted meanwhile
            _set_unused(connection, row.task_no, _digests_in(row.held), unused=True)
            released += 1
    return released


def _hold(connection: Connection, task_no: int, digests: Sequence[bytes], now: float) -> set[bytes]:
    """Mark the unused invitations as held and return their digests."""
    held = set[bytes]()
    for part in _parts(digests):
        unused = select(invitations.c.digest).where(
            invitations.c.task_no == task_no,
            invitations.c.digest.in_(part),
            invitations.c.unused,
            invitations.c.expires.is_(None) | (invitations.c.expires > now),
        )
        held.update(bytes(digest) for digest in connection.scalars(unused))
    _set_unused(connection, task_no, sorted(held), unused=False)
    return held


def _set_unused(
    connection: Connection, task_no: int, digests: Sequence[bytes], *, unused: bool
) -> None:
    for part in _parts(digests):
        chosen = (invitations.c.task_no == task_no) & invitations.c.digest.in_(part)
        connection.execute(update(invitations).where(chosen).values(unused=unused))


def _parts(digests: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(digests), DIGESTS_AT_ONCE):
        yield digests[start : start + DIGESTS_AT_ONCE]


def _digests_in(packed: bytes) -> list[bytes]:
    return split(bytes(packed), INVITATION_DIGEST_BYTES)
