"""Backup, verification and comparison of databases.

A backup is an ordinary SQLite database of the same schema, whatever the source: a snapshot, copied
table by table, from which a curator can serve. ``verify`` recomputes every checksum from the report
ids; ``compare`` compares two databases bucket by bucket.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection, Engine, func, insert, select

from privet.curator.datastore.base import (
    CHECKSUM_MODULUS,
    PUBLIC_MODEL,
    checksum,
    checksum_text,
)
from privet.curator.datastore.migrate import check_schema, upgrade
from privet.curator.datastore.report_ids import ids_of_task
from privet.curator.datastore.schema import (
    buckets,
    metadata,
    public_data,
    sums,
    tasks,
)
from privet.protocol.errors import InvalidRequest
from privet.protocol.task import Task

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class Finding:
    """The state of one task's collection, as recomputed."""

    task_id: str
    name: str
    reports: int
    faults: tuple[str, ...]
    """What does not fit together, in words; empty if all is well."""


def backup(source: Engine, target: Engine) -> int:
    """Copy a snapshot of ``source`` into the empty ``target``; the number of rows copied.

    Raises ``InvalidRequest`` if the target is not empty.
    """
    upgrade(target)
    check_schema(source)
    copied = 0
    with _moment(source) as reading, target.connect().execution_options(privet_writes=True) as out:
        for table in metadata.sorted_tables:
            with out.begin():
                if out.execute(select(table).limit(1)).first() is not None:
                    raise InvalidRequest("The backup's file is not empty: name a new one.")
                rows = reading.execution_options(yield_per=ROWS_AT_ONCE).execute(select(table))
                for part in rows.mappings().partitions(ROWS_AT_ONCE):
                    out.execute(insert(table), [dict(row) for row in part])
                    copied += len(part)
    return copied


def verify(source: Engine) -> list[Finding]:
    """Recompute counts and checksums of every task from its report ids."""
    check_schema(source)
    with _moment(source) as connection:
        rows = list(connection.execute(select(tasks).order_by(tasks.c.no)))
        return [
            _finding(connection, row.no, row.id, bytes(row.canonical), ids_gone=row.ids_gone)
            for row in rows
        ]


def compare(left: Engine, right: Engine) -> list[str]:
    """Descriptions of the buckets that differ; empty if both hold the same reports."""
    ours, theirs = _all_buckets(left), _all_buckets(right)
    differences = []
    for key in sorted(ours.keys() | theirs.keys()):
        task_id, starts = key
        (n, checksum_left), (m, checksum_right) = ours.get(key, (0, 0)), theirs.get(key, (0, 0))
        if (n, checksum_left) != (m, checksum_right):
            differences.append(
                f"task {task_id[:12]}, bucket {starts}: {n} reports {checksum_text(checksum_left)} "
                f"and {m} reports {checksum_text(checksum_right)}"
            )
    return differences


def _finding(
    connection: Connection, task_no: int, task_id: str, canonical: bytes, *, ids_gone: bool
) -> Finding:
    task = Task.parse(canonical, task_id)
    reports, stated = _stated(connection, task_no)
    faults = [
        *_public_faults(connection, task_no, task),
        *_sum_faults(connection, task_no, task, reports),
    ]
    if not ids_gone:
        count = recomputed = 0
        for ids in ids_of_task(connection, task_no):
            count += len(ids)
            recomputed = (recomputed + checksum(ids)) % CHECKSUM_MODULUS
        if count != reports:
            faults.append(f"{reports} reports were counted and {count} ids are kept")
        if recomputed != stated:
            faults.append(
                f"the checksum is {checksum_text(stated)} and the ids give "
                f"{checksum_text(recomputed)}"
            )
    return Finding(task_id, task.name, reports, tuple(faults))


def _public_faults(connection: Connection, task_no: int, task: Task) -> Iterator[str]:
    """Where public data and the public model are not those that the task was made with."""
    of_task = public_data.c.task_no == task_no
    columns = public_data.c
    sizes_of = select(
        columns.rows,
        func.length(columns.x).label("x"),
        func.length(columns.y).label("y"),
        columns.onnx,
    )
    row = connection.execute(sizes_of.where(of_task)).one_or_none()
    if row is None:
        yield "its public data is missing"
        return
    sizes = (row.x, row.y)
    expected = (8 * row.rows * len(task.columns), 8 * row.rows)
    if sizes != expected:
        yield f"its public data has {sizes} bytes of features and labels, not {expected}"
    settings = connection.scalar(select(tasks.c.settings).where(tasks.c.no == task_no))
    stated = json.loads(str(settings)).get(PUBLIC_MODEL)
    digest = None if row.onnx is None else sha256(row.onnx).hexdigest()
    if stated != digest:
        yield f"its public model has the SHA-256 {digest}, not {stated}"


def _sum_faults(connection: Connection, task_no: int, task: Task, reports: int) -> Iterator[str]:
    """Where sums do not fit the number of reports or their mechanism."""
    answers = [0] * len(task.questions)
    for row in connection.execute(select(sums).where(sums.c.task_no == task_no)):
        answers[row.question] += row.n
        expected = 8 * task.mechanisms[row.question].sum_size
        if len(row.vector) != expected:
            yield f"a sum of question {row.question} has {len(row.vector)} bytes, not {expected}"
    fits = (
        all(n == reports for n in answers) if task.allocation == "all" else sum(answers) == reports
    )
    if not fits:
        yield f"{reports} reports were counted and the questions have {answers} answers"


def _stated(connection: Connection, task_no: int) -> tuple[int, int]:
    """Count and checksum as they are kept."""
    reports = total = 0
    for row in connection.execute(select(buckets).where(buckets.c.task_no == task_no)):
        reports += row.reports
        total += int.from_bytes(row.checksum, "big")
    return reports, total % CHECKSUM_MODULUS


def _all_buckets(source: Engine) -> dict[tuple[str, int], tuple[int, int]]:
    """(task, start) -> count and checksum over all curators."""
    check_schema(source)
    by_bucket: dict[tuple[str, int], tuple[int, int]] = {}
    query = select(tasks.c.id, buckets.c.starts, buckets.c.reports, buckets.c.checksum).where(
        tasks.c.no == buckets.c.task_no
    )
    with _moment(source) as connection:
        for task_id, starts, reports, packed in connection.execute(query):
            n, total = by_bucket.get((task_id, starts), (0, 0))
            total = (total + int.from_bytes(packed, "big")) % CHECKSUM_MODULUS
            by_bucket[task_id, starts] = n + reports, total
    return by_bucket


def _moment(source: Engine) -> Connection:
    """A connection that reads one snapshot of the database."""
    connection = source.connect()
    if source.dialect.name == "postgresql":
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
    return connection
