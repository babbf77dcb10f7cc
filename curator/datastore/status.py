"""The status of a collection: sums, counts, checksums and refusals; and all of it at one moment."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import (
    CompoundSelect,
    Connection,
    Row,
    bindparam,
    func,
    literal,
    select,
    text,
    union_all,
)

from privet.learning.core.counts import EventCounts
from privet.learning.core.public_data import PublicData
from privet.protocol.errors import TaskNotFound
from privet.protocol.lifecycle import SPOOL_GONE
from privet.protocol.status import HELD_STEP, Holdings

from .database import Database
from .models import ModelInfo, models_of
from .reports import QuestionSums, checksum_text, unpacked_checksum, unpacked_sums
from .schema import buckets, held, payload_events, relayed, sums, tasks
from .tasks import (
    ListedTask,
    StoredTask,
    TaskRow,
    find_task,
    head_of,
    listed_task,
    need_task,
    public_data_of,
    stored_task,
)

COUNT_REJECTS = """
INSERT INTO rejects (task_no, reason, count) VALUES (:task_no, :reason, :count)
ON CONFLICT (task_no, reason) DO UPDATE SET count = rejects.count + excluded.count
"""

TALLIES = text("""
SELECT task_no, 'buckets' AS kind, CAST(starts AS TEXT) AS name, reports AS number, checksum
FROM buckets WHERE task_no IN :numbers
UNION ALL SELECT task_no, 'answers', CAST(question AS TEXT), sum(n), NULL
FROM sums WHERE task_no IN :numbers GROUP BY task_no, question
UNION ALL SELECT task_no, 'relayed', relay, sum(reports), NULL
FROM relayed WHERE task_no IN :numbers GROUP BY task_no, relay
UNION ALL SELECT task_no, 'rejects', reason, count, NULL
FROM rejects WHERE task_no IN :numbers
UNION ALL SELECT task_no, 'models', '', count(*), NULL
FROM models WHERE task_no IN :numbers GROUP BY task_no
UNION ALL SELECT task_no, 'serving', '', number, NULL
FROM aliases WHERE task_no IN :numbers AND alias = 'serving'
""").bindparams(bindparam("numbers", expanding=True))
"""All that is counted of some tasks, in one statement, since each is a round trip."""

TELL = """
INSERT INTO held (
    task_no, relay, at, reports, least, lost, since, counted, spool, delivered, before
) VALUES (
    :task_no, :relay, :at, :reports, :least, :lost, :since, :counted, :spool, :delivered, :before
) ON CONFLICT (task_no, relay) DO UPDATE SET at = excluded.at, reports = excluded.reports,
    least = excluded.least, lost = excluded.lost, since = excluded.since,
    counted = excluded.counted, spool = excluded.spool, delivered = excluded.delivered,
    before = excluded.before
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

    def figures(self, counted: int) -> tuple[float, ...]:
        """The values of the gauges of ``metrics.HELD`` in order; ``counted`` are the task's."""
        return (self.holdings.reports, self.since or 0, self.holdings.lost_reports, counted)


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
    models: int = 0
    """Number of fitted models."""
    serving: int | None = None
    """The number of the model that serves, if one does."""
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


@dataclass(frozen=True, eq=False)
class KeptTask:
    """All that is kept about a task but its public data."""

    stored: ListedTask
    """A ``StoredTask``, unless an earlier version made it."""
    status: Status
    models: Sequence[ModelInfo] = ()
    """Its models, oldest first; empty unless they were asked for."""
    sums: Sequence[QuestionSums] = ()
    """As in ``Collected``; empty unless they were asked for."""


@dataclass(frozen=True, eq=False)
class KeptTasks:
    """A task, and its panel, as they are at one moment."""

    task: KeptTask
    waves: Mapping[str, KeptTask]
    """The waves that are there of the panel that it is or is a wave of, by their ids, in order."""
    public: PublicData | None = None
    """Its public data, if they were asked for."""

    @property
    def own_waves(self) -> Mapping[str, KeptTask]:
        """The waves that go with the task when it is deleted: a panel's."""
        return self.waves if self.task.stored.head.waves else {}

    @property
    def reports(self) -> int:
        """The number of reports that were counted, those of a panel's waves among them."""
        kept = (self.task, *self.own_waves.values())
        return sum(each.status.reports for each in kept)


@dataclass(eq=False)
class StatusStore:
    """The verbs that say how a collection stands."""

    database: Database

    def snapshot(
        self,
        task_id: str,
        *,
        models: bool = False,
        counts: Callable[[KeptTasks], bool] = lambda _: False,
    ) -> KeptTasks:
        """A task and, of a panel or if ``models`` are read too, its panel's waves.

        Where ``counts`` says so of what was read, the models, the sums of reports and the public
        data are read too. Raises ``TaskNotFound``.
        """
        with self.database.reading() as connection:
            row = need_task(connection, task_id)
            waves = _waves(connection, listed_task(row), siblings=models)
            rows = {each.no: each for each in (row, *waves)}
            statuses = _statuses(connection, list(rows.values()))
            kept = {no: KeptTask(listed_task(each), statuses[no]) for no, each in rows.items()}
            if models:
                kept = _with_models(connection, kept)
            read = KeptTasks(kept[row.no], {each.id: kept[each.no] for each in waves})
            if not counts(read) or read.task.stored.is_earlier:
                return read
            sums = _sums(connection, {no: each.stored for no, each in kept.items()})
            kept = {no: replace(each, sums=sums[no]) for no, each in kept.items()}
            if not models:
                kept = _with_models(connection, kept)
            public = public_data_of(connection, row)
            return KeptTasks(kept[row.no], {each.id: kept[each.no] for each in waves}, public)

    def collected(self, task_id: str) -> Collected:
        """The task with its sums, all read at one moment; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            row = need_task(connection, task_id)
            stored = stored_task(row)
            totals = _sums(connection, {row.no: stored})[row.no]
            return Collected(stored, totals, _relayed(connection, row.no))

    def counted(self) -> dict[str, int]:
        """The number of counted reports of every task, by its id."""
        with self.database.reading() as connection:
            return counted_reports(connection)

    def holdings(self) -> dict[tuple[str, str], RelayHoldings]:
        """The reports that relays hold, as they said last, by relay and task."""
        with self.database.reading() as connection:
            rows = select(tasks.c.no, tasks.c.id).where(tasks.c.no.in_(select(held.c.task_no)))
            ids = dict(iter(connection.execute(rows)))
            found = _holdings(connection, list(ids)) if ids else {}
            return {(each.relay, ids[no]): each for no in found for each in found[no]}

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
        """Keep what a relay says that it holds; raises ``TaskNotFound``.

        With a spool that is gone is lost what it held, as it said last, and none of it counted
        since.
        """
        with self.database.writing(locked=[task_id]) as connection:
            task_no = need_task(connection, task_id).no
            counted = _relayed(connection, task_no).get(relay, 0)
            this = (held.c.task_no == task_no) & (held.c.relay == relay)
            before = connection.execute(select(held).where(this)).one_or_none()
            since = None if holdings.reports == 0 else now
            if before is not None and before.counted == counted and since is not None:
                since = before.since or now
            lost_before = _lost_before(before, holdings, counted)
            lost = dict(Counter(holdings.lost) + lost_before)
            values = {
                "task_no": task_no,
                "relay": relay,
                "at": now,
                "reports": holdings.reports,
                "least": holdings.least,
                "lost": json.dumps(lost),
                "since": since,
                "counted": counted,
                "spool": holdings.spool,
                "delivered": holdings.delivered,
                "before": json.dumps(dict(lost_before)),
            }
            connection.execute(text(TELL), values)
        return RelayHoldings(relay, now, holdings.model_copy(update={"lost": lost}), since)

    def replace_spool(self, relay: str, spool: str, now: float) -> None:
        """Count as lost what a relay held in other spools, in all tasks; without a name nothing."""
        if not spool:
            return
        other = (held.c.relay == relay) & held.c.spool.not_in(("", spool))
        rows = select(tasks.c.id, held.c.least).join(held, held.c.task_no == tasks.c.no)
        with self.database.reading() as connection:
            found = connection.execute(rows.where(other)).all()
        for task_id, least in found:
            with suppress(TaskNotFound):  # deleted meanwhile
                nothing = Holdings(reports=0, least=least, lost={}, spool=spool)
                self.tell(task_id, relay, nothing, now)

    def missing(self) -> dict[str, int]:
        """The reports of which relays say that they were counted, and that are not, by task."""
        by_spool = select(held.c.task_no, func.max(held.c.delivered).label("delivered"))
        each = by_spool.group_by(held.c.task_no, held.c.spool).subquery()
        said = select(each.c.task_no, func.sum(each.c.delivered)).group_by(each.c.task_no)
        there = select(relayed.c.task_no, func.sum(relayed.c.reports)).group_by(relayed.c.task_no)
        with self.database.reading() as connection:
            delivered = dict(iter(connection.execute(said)))
            counted = dict(iter(connection.execute(there)))
            ids = dict(iter(connection.execute(select(tasks.c.no, tasks.c.id))))
        lacking = {no: int(n) - int(counted.get(no, 0)) for no, n in delivered.items()}
        return {ids[no]: n for no, n in lacking.items() if n > 0 and no in ids}

    def read(self, task_id: str) -> Status:
        """Counts, checksums and rejects; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            row = need_task(connection, task_id)
            return _statuses(connection, [row])[row.no]


def _lost_before(before: Row[Any] | None, now: Holdings, counted: int) -> Counter[str]:
    """The reports lost with or by a relay's earlier spools; ``counted`` are all its reports."""
    if before is None:
        return Counter()
    if not (before.spool and now.spool) or before.spool == now.spool:
        return Counter(json.loads(before.before))
    counted_since = max(counted - before.counted - now.delivered, 0)
    gone = max(before.reports - counted_since, 0)
    if counted_since and gone < HELD_STEP and before.reports % HELD_STEP == 0:
        gone = 0  # what it said was rounded up: it may have emptied
    return Counter(json.loads(before.lost)) + Counter({SPOOL_GONE: gone})


def _waves(connection: Connection, stored: ListedTask, siblings: bool) -> list[TaskRow]:
    """The rows of a panel's waves, in order; of a wave's panel only with ``siblings``."""
    ids = stored.head.waves
    if siblings and isinstance(stored, StoredTask):
        ids = tuple(wave.id for wave in stored.task.waves)
    if not ids:
        return []
    rows = connection.execute(select(tasks).where(tasks.c.id.in_(ids)))
    return sorted(rows, key=lambda row: ids.index(row.id))


def _with_models(connection: Connection, kept: Mapping[int, KeptTask]) -> dict[int, KeptTask]:
    """Tasks by their numbers, with their models."""
    some = [no for no, each in kept.items() if each.status.models]
    fitted = models_of(connection, some) if some else {}
    return {no: replace(each, models=fitted.get(no, ())) for no, each in kept.items()}


def _sums(
    connection: Connection, stored: Mapping[int, ListedTask]
) -> dict[int, list[QuestionSums]]:
    """The sums of tasks of this version by their numbers, over all curators."""
    totals = {
        no: [
            QuestionSums(np.zeros(each.sum_size, dtype=np.int64), 0) for each in of.task.mechanisms
        ]
        for no, of in stored.items()
        if isinstance(of, StoredTask)
    }
    for part in connection.execute(_all_sums(list(totals))):
        of_task, own = totals[part.task_no], unpacked_sums(part.n, part.vector, part.width)
        if part.closings:
            events = EventCounts(part.way, part.n, part.closings, own.vector)
            own = QuestionSums(np.zeros_like(of_task[part.question].vector), 0, (events,))
        of_task[part.question] = of_task[part.question].plus(own)
    return totals


def _all_sums(numbers: Sequence[int]) -> CompoundSelect[Any]:
    """The rows of sums and of events of payloads, in one statement, since each is a round trip."""
    parts = [
        select(
            table.c.task_no, table.c.question, *more, table.c.n, table.c.vector, table.c.width
        ).where(table.c.task_no.in_(numbers))
        for table, more in (
            (sums, (literal("").label("way"), literal(0).label("closings"))),
            (payload_events, (payload_events.c.way, payload_events.c.closings)),
        )
    ]
    return union_all(*parts)


def _statuses(connection: Connection, rows: Sequence[TaskRow]) -> dict[int, Status]:
    """The status of each task, by its number."""
    numbers = [row.no for row in rows]
    by_start: dict[int, dict[int, tuple[int, int]]] = {no: {} for no in numbers}
    counts: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for no, kind, name, number, checksum in connection.execute(TALLIES, {"numbers": numbers}):
        if kind == "buckets":
            reports, total = by_start[no].get(int(name), (0, 0))
            by_start[no][int(name)] = reports + int(number), total + unpacked_checksum(checksum)
        else:
            counts[no, kind][name] = int(number)
    holdings = _holdings(connection, numbers)
    return {
        row.no: Status(
            reports=sum(reports for reports, _ in by_start[row.no].values()),
            answers=tuple(
                counts[row.no, "answers"].get(str(question), 0)
                for question in range(head_of(row).questions)
            ),
            checksum=checksum_text(sum(total for _, total in by_start[row.no].values())),
            buckets=tuple(
                Bucket(starts, reports, checksum_text(total))
                for starts, (reports, total) in sorted(by_start[row.no].items())
            ),
            rejects=counts[row.no, "rejects"],
            relayed=counts[row.no, "relayed"],
            models=counts[row.no, "models"].get("", 0),
            serving=counts[row.no, "serving"].get(""),
            invited=bool(row.invited),
            expected=json.loads(row.settings).get("holders"),
            holdings=tuple(holdings[row.no]),
        )
        for row in rows
    }


def _holdings(connection: Connection, numbers: Sequence[int]) -> dict[int, list[RelayHoldings]]:
    """The words of relays about tasks, by the tasks' numbers."""
    found: dict[int, list[RelayHoldings]] = defaultdict(list)
    rows = select(held).where(held.c.task_no.in_(numbers)).order_by(held.c.relay)
    for row in connection.execute(rows):
        holdings = Holdings(reports=row.reports, least=row.least, lost=json.loads(row.lost))
        found[row.task_no].append(RelayHoldings(row.relay, row.at, holdings, row.since))
    return found


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
