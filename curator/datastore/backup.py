"""Backup, restoring, migration, verification and comparison of databases.

A backup is an ordinary SQLite database of its source's schema, whatever the source: a snapshot,
copied table by table, from which a curator can serve. ``verify`` recomputes every checksum from the
report ids and the sums; ``compare`` compares two databases bucket by bucket.
"""

import json
import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    MetaData,
    Table,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from privet.protocol.errors import InvalidRequest, StorageFailed
from privet.protocol.task import Task

from . import sqlite
from .base import (
    CHECKSUM_MODULUS,
    PUBLIC_MODEL,
    AuditEntry,
    checksum,
    checksum_text,
    published_task,
    sums_checksum,
)
from .counting import vector_of
from .migrate import (
    check_schema,
    naming_failures,
    note_restored,
    revision_of,
    upgrade_in,
    writing,
)
from .report_ids import ids_of_task
from .schema import audit, backup_mark, buckets, public_data, sums, tasks
from .sql import insert_audit

log = logging.getLogger(__name__)

ROWS_AT_ONCE = 2_000
NEXT_NUMBER = "SELECT setval(pg_get_serial_sequence('{0}', 'no'), max(no)) FROM {0}"
"""What gives numbers to a PostgreSQL table's rows goes on after those that were copied."""


@dataclass(frozen=True)
class Finding:
    """The state of one task's collection, as recomputed."""

    task_id: str
    name: str
    reports: int
    faults: tuple[str, ...]
    """What does not fit together, in words; empty if all is well."""


def backup(source: Engine, file: Path, now: float) -> int:
    """Copy a snapshot of ``source`` into the new SQLite ``file``; the number of rows copied.

    The schema stays as it is, so that the version that wrote it can serve from the copy. The file
    takes its name when it is on disk, whole, and has been read back. Raises ``InvalidRequest`` if
    there is one already, and ``StorageFailed`` for a schema that this version does not know.
    """
    with new_file(file) as target, writing(target) as out:
        copied = _copy(source, out)
        backup_mark.create(out)
        out.execute(insert(backup_mark).values(made=now, rows=copied))
    with source.connect() as connection:
        audited = audit.name in inspect(connection).get_table_names()
    if audited:  # an older schema has no such log
        entry = AuditEntry(now, "", "backup made", "", {"file": file.name, "rows": copied})
        try:
            with writing(source) as connection:
                insert_audit(connection, entry)
        except SQLAlchemyError as error:  # a user who may only read makes backups too
            log.warning("The backup is not in the audit log: %s", error.__cause__)
    return copied


def migrate(engine: Engine) -> None:
    """Bring a database to this version's schema, in one transaction; a backup stays one.

    Raises ``StorageFailed`` for a schema that this version does not know and for a backup in which
    rows are missing.
    """
    with writing(engine) as connection:
        made = _made_whole(connection)
        before = revision_of(connection) if inspect(connection).get_table_names() else None
        upgrade_in(connection)
        after = revision_of(connection)
        if before not in (None, after):
            detail = {"from": before, "to": after}
            insert_audit(connection, AuditEntry(time.time(), "", "schema migrated", "", detail))
        if made is not None:
            connection.execute(update(backup_mark).values(rows=_rows(connection)))


def restore(source: Engine, target: Engine) -> float:
    """Copy the backup ``source`` into the empty ``target``, and bring it to this version's schema.

    One transaction, so a target that is interrupted stays empty. Returns when the backup was made,
    Unix time. Raises ``InvalidRequest`` if the source is not a whole backup, or the target is not
    empty.
    """
    made = check_backup(source)
    if made is None:
        raise InvalidRequest("This is not a backup: give a file that 'privet backup' has written.")
    with writing(target) as out:
        _copy(source, out)
        upgrade_in(out)
        note_restored(out, made)
    return made


def check_backup(source: Engine) -> float | None:
    """When a backup was made, Unix time; None for a database that is not a backup.

    Raises ``StorageFailed`` if rows are missing.
    """
    with source.connect() as connection:
        return _made_whole(connection)


def _made_whole(connection: Connection) -> float | None:
    if backup_mark.name not in inspect(connection).get_table_names():
        return None
    made, rows = connection.execute(select(backup_mark)).one()
    there = _rows(connection)
    if there != rows:
        raise StorageFailed(
            f"The backup was made with {rows} rows and has {there}: use another backup."
        )
    return float(made)


def _rows(connection: Connection) -> int:
    counts = (select(func.count()).select_from(table) for table in _reflected(connection))
    return sum(connection.scalar(count) or 0 for count in counts)


@contextmanager
def new_file(file: Path) -> Iterator[Engine]:
    """An empty SQLite database that becomes ``file`` if the block ends well, and else nothing.

    Raises ``InvalidRequest`` if there is one already, and ``StorageFailed`` if it cannot be made.
    """
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}.part")
    if file.exists():
        raise InvalidRequest(f"{file} is there already: name a new file.")
    engine = sqlite.open_engine(URL.create("sqlite", database=str(part)))
    try:
        with naming_failures(engine):
            yield engine
            engine.dispose()
            _sync(part)
            _read_back(engine)
            engine.dispose()
        os.link(part, file)
        _sync(file.parent)
    except FileExistsError:
        raise InvalidRequest(f"{file} is there already: name a new file.") from None
    finally:
        engine.dispose()
        for end in ("", "-wal", "-shm", "-journal"):
            part.with_name(part.name + end).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_back(engine: Engine) -> None:
    """Raise ``StorageFailed`` unless what was written can be read and has all its rows."""
    with engine.connect() as connection:
        found = connection.scalar(text("PRAGMA integrity_check(1)"))
        if found != "ok":
            raise StorageFailed(
                f"What was written cannot be read back ({found}): check the disk, and use another."
            )
        _made_whole(connection)


def _copy(source: Engine, out: Connection) -> int:
    """Give the empty ``out`` the schema and the rows of ``source`` at one moment; how many."""
    if inspect(out).get_table_names():
        raise InvalidRequest("The database is not empty: name a new one.")
    copied = 0
    with _moment(source) as reading:
        upgrade_in(out, revision_of(reading))
        for table in _reflected(out):
            rows = reading.execution_options(yield_per=ROWS_AT_ONCE).execute(select(table))
            for part in rows.mappings().partitions(ROWS_AT_ONCE):
                out.execute(insert(table), [dict(row) for row in part])
                copied += len(part)
            if out.dialect.name == "postgresql" and "no" in table.c:
                out.execute(text(NEXT_NUMBER.format(table.name)))
    return copied


def _reflected(connection: Connection) -> list[Table]:
    """The tables that are there, of whatever version, other than those about the schema."""
    found = MetaData()
    found.reflect(connection)
    own = ("alembic_version", backup_mark.name)
    return [table for table in found.sorted_tables if table.name not in own]


def verify(source: Engine) -> list[Finding]:
    """Recompute counts and checksums of every task from its report ids and sums."""
    check_schema(source)
    with _moment(source) as connection:
        rows = list(connection.execute(select(tasks).order_by(tasks.c.no)))
        return [
            _finding(connection, row.no, row.id, bytes(row.canonical), ids_gone=row.ids_gone)
            for row in rows
        ]


def compare(left: Engine, right: Engine) -> list[str]:
    """Descriptions of the buckets that differ; empty if both hold the same reports and sums."""
    ours, theirs = _all_buckets(left), _all_buckets(right)
    return [
        f"task {task_id[:12]}, bucket {starts}: {ours.get((task_id, starts), Bucket())} "
        f"and {theirs.get((task_id, starts), Bucket())}"
        for task_id, starts in sorted(ours.keys() | theirs.keys())
        if ours.get((task_id, starts)) != theirs.get((task_id, starts))
    ]


def _finding(
    connection: Connection, task_no: int, task_id: str, canonical: bytes, *, ids_gone: bool
) -> Finding:
    task = published_task(task_id, canonical)
    reports, stated = _stated(connection, task_no)
    faults: list[str] = []
    if isinstance(task, Task):
        faults += _public_faults(connection, task_no, task)
        faults += _sum_faults(connection, task_no, task, reports)
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
    """Where sums do not fit their checksum, the number of reports or their mechanism."""
    answers = [0] * len(task.questions)
    for row in connection.execute(select(sums).where(sums.c.task_no == task_no)):
        answers[row.question] += row.n
        expected = 8 * task.mechanisms[row.question].sum_size
        if len(row.vector) != expected:
            yield f"a sum of question {row.question} has {len(row.vector)} bytes, not {expected}"
        stated = int.from_bytes(row.checksum, "big")
        recomputed = sums_checksum(row.n, vector_of(row.vector))
        if stated != recomputed:
            yield (
                f"the sum of question {row.question} in bucket {row.starts} has the checksum "
                f"{checksum_text(recomputed)}, not {checksum_text(stated)}"
            )
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


@dataclass
class Bucket:
    """One bucket of a task, over all curators."""

    reports: int = 0
    ids: int = 0
    sums: int = 0

    def __str__(self) -> str:
        return f"{self.reports} reports {checksum_text(self.ids)}, sums {checksum_text(self.sums)}"


def _all_buckets(source: Engine) -> dict[tuple[str, int], Bucket]:
    """(task, start) -> its bucket; the checksum of sums is that of the vectors as they are."""
    check_schema(source)
    found: dict[tuple[str, int], Bucket] = {}
    with _moment(source) as connection:
        names = dict(iter(connection.execute(select(tasks.c.no, tasks.c.id))))
        for row in connection.execute(select(buckets)):
            own = found.setdefault((names[row.task_no], row.starts), Bucket())
            own.reports += row.reports
            own.ids = (own.ids + int.from_bytes(row.checksum, "big")) % CHECKSUM_MODULUS
        for row in connection.execute(select(sums)):
            own = found.setdefault((names[row.task_no], row.starts), Bucket())
            weighted = (2 * row.question + 1) * sums_checksum(row.n, vector_of(row.vector))
            own.sums = (own.sums + weighted) % CHECKSUM_MODULUS
    return found


def _moment(source: Engine) -> Connection:
    """A connection that reads one snapshot of the database."""
    connection = source.connect()
    if source.dialect.name == "postgresql":
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
    return connection
