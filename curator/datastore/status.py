"""The status of a collection: sums, counts, checksums and refusals."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, select, text

from privet.protocol.status import Holdings

from .database import Database
from .reports import QuestionSums, checksum_text, unpacked_checksum, unpacked_sums
from .schema import buckets, held, rejects, relayed, sums, tasks
from .tasks import StoredTask, find_task, head_of, need_task, stored_task

COUNT_REJECTS = """
INSERT INTO rejects (task_no, reason, count) VALUES (:task_no, :reason, :count)
ON CONFLICT (task_no, reason) DO UPDATE SET count = rejects.count + excluded.count
"""


TELL = """
INSERT INTO held (task_no, relay, at, reports, least, lost, since, counted)
VALUES (:task_no, :relay, :at, :reports, :least, :lost, :since, :counted)
ON CONFLICT (task_no, relay) DO UPDATE SET at = excluded.at, reports = excluded.reports,
    least = excluded.least, lost = excluded.lost, since = excluded.since,
    counted = excluded.counted
"""


@dataclass(frozen=True)
class RelayHoldings:
    """The reports that a relay holds and has lost, as it said last."""

    relay: str
    at: float
    """Unix time at which it said so."""
    holdings: Holdings
    since: float | None
    """Unix time since which it has held some and none of its reports counted; None if it holds
    none."""


@dataclass(frozen=True)
class Bucket:
    """The reports of one period: their number and the checksum of their ids."""

    starts: int
    reports: int
    checksum: str


@dataclass(frozen=True)
class Status:
    """The status of a task's collection."""

    reports: int
    answers: tuple[int, ...]
    """Number of counted answers, per question."""
    checksum: str
    """The checksum of the counted report ids, see ``checksum``."""
    buckets: tuple[Bucket, ...]
    rejects: Mapping[str, int]
    """Refused reports by the name of their problem type."""
    relayed: Mapping[str, int]
    """Counted reports that came in batches, by the name of the relay's token."""
    invited: bool = False
    """True if only invited reports count."""
    expected: int | None = None
    """Number of reports that its asker expects."""
    holdings: tuple[RelayHoldings, ...] = ()
    """The words of relays, by their names."""


@dataclass(frozen=True, eq=False)
class Collected:
    """A task and what its reports add up to at one moment."""

    stored: StoredTask
    sums: Sequence[QuestionSums]
    """One entry per question, over all curators."""
    relayed: Mapping[str, int]
    """As in ``Status``."""


@dataclass(eq=False)
class StatusStore:
    """The verbs that say how a collection stands."""

    database: Database

    def collected(self, task_id: str) -> Collected:
        """The task with its sums, all read at one moment; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            row = need_task(connection, task_id)
            stored = stored_task(row)
            totals = [
                QuestionSums(np.zeros(mechanism.sum_size, dtype=np.int64), 0)
                for mechanism in stored.task.mechanisms
            ]
            of_task = sums.c.task_no == row.no
            for part in connection.execute(select(sums).where(of_task)):
                own = unpacked_sums(part.n, part.vector, part.width)
                totals[part.question] = totals[part.question].plus(own)
            return Collected(stored, totals, _relayed(connection, row.no))

    def counted(self) -> dict[str, int]:
        """The number of counted reports of every task, by its id."""
        with self.database.reading() as connection:
            return counted_reports(connection)

    def holdings(self) -> dict[tuple[str, str], RelayHoldings]:
        """The reports that relays hold, as they said last, by relay and task."""
        with self.database.reading() as connection:
            rows = connection.execute(
                select(tasks.c.id, tasks.c.no).join(held, held.c.task_no == tasks.c.no).distinct()
            )
            return {
                (each.relay, row.id): each
                for row in rows.all()
                for each in _holdings(connection, row.no)
            }

    def count_rejects(self, task_id: str, rejects: Mapping[str, int]) -> None:
        """Add to the counts of refused reports by reason; a task that is gone is ignored."""
        with self.database.writing(shared=[task_id]) as connection:
            row = find_task(connection, task_id)
            if row is None:
                return
            for reason, count in sorted(rejects.items()):
                values = {"task_no": row.no, "reason": reason, "count": count}
                connection.execute(text(COUNT_REJECTS), values)

    def tell(self, task_id: str, relay: str, holdings: Holdings, now: float) -> RelayHoldings:
        """Keep what a relay says that it holds; raises ``TaskNotFound``."""
        with self.database.writing(locked=[task_id]) as connection:
            task_no = need_task(connection, task_id).no
            counted = _relayed(connection, task_no).get(relay, 0)
            this = (held.c.task_no == task_no) & (held.c.relay == relay)
            before = connection.execute(select(held).where(this)).one_or_none()
            since = None if holdings.reports == 0 else now
            if before is not None and before.counted == counted and since is not None:
                since = before.since or now
            values = {
                "task_no": task_no,
                "relay": relay,
                "at": now,
                "reports": holdings.reports,
                "least": holdings.least,
                "lost": json.dumps(holdings.lost),
                "since": since,
                "counted": counted,
            }
            connection.execute(text(TELL), values)
        return RelayHoldings(relay, now, holdings, since)

    def read(self, task_id: str) -> Status:
        """Counts, checksums and rejects; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            task = need_task(connection, task_id)
            by_start: dict[int, tuple[int, int]] = {}
            for row in connection.execute(select(buckets).where(buckets.c.task_no == task.no)):
                reports, total = by_start.get(row.starts, (0, 0))
                total += unpacked_checksum(row.checksum)
                by_start[row.starts] = reports + row.reports, total
            answers = [0] * head_of(task).questions
            answered = select(sums.c.question, sums.c.n).where(sums.c.task_no == task.no)
            for question, n in connection.execute(answered):
                answers[question] += n
            refused = select(rejects.c.reason, rejects.c.count).where(rejects.c.task_no == task.no)
            return Status(
                reports=sum(reports for reports, _ in by_start.values()),
                answers=tuple(answers),
                checksum=checksum_text(sum(total for _, total in by_start.values())),
                buckets=tuple(
                    Bucket(starts, reports, checksum_text(total))
                    for starts, (reports, total) in sorted(by_start.items())
                ),
                rejects=dict(iter(connection.execute(refused))),
                relayed=_relayed(connection, task.no),
                invited=bool(task.invited),
                expected=json.loads(task.settings).get("holders"),
                holdings=_holdings(connection, task.no),
            )


def _holdings(connection: Connection, task_no: int) -> tuple[RelayHoldings, ...]:
    rows = select(held).where(held.c.task_no == task_no).order_by(held.c.relay)
    return tuple(
        RelayHoldings(
            row.relay,
            row.at,
            Holdings(reports=row.reports, least=row.least, lost=json.loads(row.lost)),
            row.since,
        )
        for row in connection.execute(rows)
    )


def _relayed(connection: Connection, task_no: int) -> dict[str, int]:
    by_relay = select(relayed.c.relay, func.sum(relayed.c.reports)).group_by(relayed.c.relay)
    rows = connection.execute(by_relay.where(relayed.c.task_no == task_no))
    return {relay: int(reports) for relay, reports in rows}


def counted_reports(connection: Connection) -> dict[str, int]:
    """The number of counted reports of every task, by its id, in a schema of any version."""
    counted = func.coalesce(func.sum(buckets.c.reports), 0)
    of_task = select(tasks.c.id, counted).outerjoin(buckets, buckets.c.task_no == tasks.c.no)
    rows = connection.execute(of_task.group_by(tasks.c.id))
    return {task_id: int(count) for task_id, count in rows}
