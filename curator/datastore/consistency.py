"""Rows that must fit each other, whatever the audit log says.

docs/verify.md lists the columns whose change alone nothing here sees, each with the reason.
"""

import json
from collections.abc import Iterable, Iterator

import numpy as np
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    LargeBinary,
    String,
    Table,
    exists,
    func,
    not_,
    select,
)

from privet.protocol.batch import INVITATION_DIGEST_BYTES, split
from privet.protocol.task import Task

from .audit import RESTORED
from .counting import CLOSES_AT
from .reports import unpacked_sums
from .schema import (
    OF_A_TASK,
    admissions,
    buckets,
    facts,
    held,
    id_pages,
    id_runs,
    invitations,
    leftovers,
    metadata,
    models,
    payload_events,
    relayed,
    report_ids,
    seen,
    sums,
    tasks,
)
from .tasks import TaskRow

JSON_COLUMNS = (tasks.c.settings, models.c.summary, held.c.lost, held.c.before)
OF_IDS = (report_ids, id_runs, id_pages)
STORED_AS = ((Float, "real"), (LargeBinary, "blob"), (String, "text"))
"""Classes of columns and how SQLite stores their values; all others are integers."""


def value_faults(connection: Connection) -> Iterator[str]:
    """Faults: values that are not of their column's type, which only SQLite keeps."""
    if connection.dialect.name != "sqlite":
        return
    for table in metadata.sorted_tables:
        any_other = ", ".join(f"max({_is_other(column)})" for column in table.c)
        found = connection.exec_driver_sql(f"SELECT {any_other} FROM {table.name}").one()  # noqa: S608 - our own names
        for column, is_other in zip(table.c, found, strict=True):
            if is_other:
                yield f"{table.name}.{column.name} has a value of another type than Privet writes"


def _is_other(column: Column[object]) -> str:
    """The SQL that is true where a value is not of the column's type."""
    kinds = [stored for kind, stored in STORED_AS if isinstance(column.type, kind)]
    allowed = [*(kinds or ["integer"]), *(["null"] if column.nullable else [])]
    is_other = f'typeof("{column.name}") NOT IN ({", ".join(map(repr, allowed))})'
    if isinstance(column.type, Boolean):
        return f'{is_other} OR "{column.name}" NOT IN (0, 1)'
    return is_other


def stray_faults(connection: Connection) -> Iterator[str]:
    """Faults: rows that belong to no task, JSON that cannot be read, and a clock too many."""
    gone = select(leftovers.c.task_no)
    for table in (*OF_A_TASK, *OF_IDS):
        column = table.c.task_no
        there = select(tasks.c.no)
        of_none = column.not_in(there.union(gone) if table in OF_IDS else there)
        if connection.scalar(select(exists().where(of_none))):
            yield f"{table.name} has rows of a task that is not there"
    living = tasks.c.no.in_(gone) & not_(tasks.c.ids_gone)
    if connection.scalar(select(exists().where(living))):
        yield "the ids of a task that needs them are on the list of those that go"
    for column in JSON_COLUMNS:
        if not all(map(_is_json, connection.scalars(select(column)))):
            yield f"{column.table.name}.{column.name} has a text that is not JSON"
    if connection.scalar(select(exists().where(seen.c.no != 1))):
        yield "seen has another row than its one"


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def bucket_faults(connection: Connection, task_no: int, task: Task) -> Iterator[str]:
    """Faults: days whose sums, or what relays sent, are not of their reports."""
    answers: dict[tuple[int, int], np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    parts: dict[tuple[int, int], set[int]] = {}
    for row in _of_task(connection, sums, task_no):
        key = (row.starts, row.curator)
        of_day = answers.setdefault(key, np.zeros(len(task.questions), dtype=np.int64))
        if row.question not in range(len(of_day)):
            yield f"there is a sum of a question {row.question}"
            continue
        of_day[row.question] += row.n
        parts.setdefault(key, set()).add(row.part)
    batches: dict[tuple[int, int], int] = {}
    for row in _of_task(connection, relayed, task_no):
        key = (row.starts, row.curator)
        batches[key] = batches.get(key, 0) + row.reports
    of_all = task.allocation == "all"
    for row in _of_task(connection, buckets, task_no):
        key, day = (row.starts, row.curator), f"the bucket {row.starts}"
        found = answers.pop(key, np.zeros(len(task.questions), dtype=np.int64))
        if not (np.all(found == row.reports) if of_all else found.sum() == row.reports):
            yield f"{day} has {row.reports} reports and {found.tolist()} answers"
        if (found_parts := parts.get(key, set())) - {0} != set(range(1, row.parts + 1)):
            yield f"{day} has {row.parts} parts to merge, and there are {sorted(found_parts)}"
        if (came := batches.pop(key, 0)) > row.reports:
            yield f"{day} has {row.reports} reports, of which relays sent {came}"
    for starts, _ in sorted(answers.keys() | batches.keys()):
        yield f"there are sums, or relays' reports, of a bucket {starts} that is not there"


def way_faults(connection: Connection, row: TaskRow, task: Task) -> Iterator[str]:
    """Faults: reports by the way in which they came, other than can have come so."""
    by_way = {"": 0}
    for each in _of_task(connection, buckets, row.no):
        by_way[""] += each.reports
    for each in _of_task(connection, relayed, row.no):
        by_way[""] -= each.reports
        by_way[each.relay] = by_way.get(each.relay, 0) + each.reports
    closed: dict[tuple[int, str], int] = {}
    for each in _of_task(connection, payload_events, row.no):
        if each.question not in range(len(task.questions)):
            yield f"there are events of a question {each.question}"
            continue
        where = (each.question, each.way)
        closed[where] = closed.get(where, 0) + each.n
        events = unpacked_sums(each.n, each.vector, each.width)
        mechanism = task.mechanisms[each.question]
        if (
            not mechanism.could_be_events(events.vector, each.n)
            or each.n < CLOSES_AT * each.closings
        ):
            yield f"the events of question {each.question} by way of {each.way!r} cannot be"
    for (question, way), n in closed.items():
        if n > (came := by_way.get(way, 0)):
            yield f"{came} reports came by way of {way!r}, question {question} has events of {n}"
    delivered = select(func.max(held.c.delivered)).where(held.c.task_no == row.no)
    reported = sum(connection.scalars(delivered.group_by(held.c.spool)))
    restored = connection.scalar(select(facts.c.value).where(facts.c.name == RESTORED))
    may_lack = restored is not None and row.created <= float(restored)
    if reported > (came := sum(by_way.values()) - by_way[""]) and not may_lack:
        yield f"relays say that {reported} of their reports were counted, and {came} are"


def quota_faults(row: TaskRow, reports: int) -> Iterator[str]:
    if row.filled is not None and (row.quota is None or reports < row.quota):
        yield f"its quota was reached, and is {row.quota} with {reports} reports"


def invitation_faults(connection: Connection, row: TaskRow, reports: int) -> Iterator[str]:
    """Faults: admissions of other invitations than are held, and reports without one."""
    kept = {bytes(each.digest): each for each in _of_task(connection, invitations, row.no)}
    held_now = 0
    for each in _of_task(connection, admissions, row.no):
        digests = split(bytes(each.held), INVITATION_DIGEST_BYTES)
        held_now += len(digests)
        if len(digests) != each.invitations or not all(
            digest in kept and not kept[digest].unused and not kept[digest].revoked
            for digest in digests
        ):
            yield "an admission holds other invitations than it says, or some that are not held"
    used = sum(not each.unused and not each.revoked for each in kept.values())
    if kept and row.invited and used - held_now < reports:
        yield f"{reports} reports were counted by {used - held_now} invitations"


def run_faults(connection: Connection, task_no: int) -> Iterator[str]:
    """Faults: runs of report ids that lack a page, or whose sizes are others."""
    of_task = select(
        id_pages.c.run,
        id_pages.c.page,
        func.length(id_pages.c.ids).label("ids"),
        func.length(id_pages.c.fingerprints).label("fingerprints"),
    ).where(id_pages.c.task_no == task_no)
    pages: dict[int, list[int]] = {}
    ids: dict[int, int] = {}
    for row in connection.execute(of_task.order_by(id_pages.c.run, id_pages.c.page)):
        pages.setdefault(row.run, []).append(row.page)
        ids[row.run] = ids.get(row.run, 0) + row.ids // 16
        if row.ids != 2 * row.fingerprints:
            yield f"the page {row.page} of the run {row.run} has other fingerprints than ids"
    for row in _of_task(connection, id_runs, task_no):
        numbers = pages.get(row.run, [])
        if row.ids != ids.get(row.run) or numbers != list(range(len(numbers))):
            yield f"the run {row.run} has other ids or pages than its row says"


def _of_task(connection: Connection, table: Table, task_no: int) -> Iterable[TaskRow]:
    rows = select(table).where(table.c.task_no == task_no)
    return connection.execute(rows.execution_options(yield_per=1_000))
