"""Comparison of two databases' reports and sums, bucket by bucket."""

from dataclasses import dataclass, field
from math import inf

from sqlalchemy import Engine, select

from .backup import check_backup
from .database import snapshot
from .migrate import check_schema
from .reports import (
    CHECKSUM_MODULUS,
    checksum_text,
    sums_checksum,
    unpacked_checksum,
    unpacked_sums,
)
from .schema import buckets, deleted_tasks, sums, tasks


@dataclass(frozen=True)
class DatabaseComparison:
    """The differences between two databases."""

    differences: tuple[str, ...]
    """The buckets that do; none if both hold the same reports and sums."""
    only_newer: bool
    """True if one is a backup, and the other differs only by reports counted since."""


def compare_databases(left: Engine, right: Engine) -> DatabaseComparison:
    ours, theirs = _contents(left), _contents(right)
    earlier, later = sorted((ours, theirs), key=lambda contents: contents.made)
    differing = [
        (place, ours.buckets.get(place, Bucket()), theirs.buckets.get(place, Bucket()))
        for place in sorted(ours.buckets.keys() | theirs.buckets.keys())
        if ours.buckets.get(place) != theirs.buckets.get(place)
    ]
    grown = (
        task_id in later.deleted
        or later.buckets.get((task_id, starts), Bucket()).reports
        > earlier.buckets.get((task_id, starts), Bucket()).reports
        for (task_id, starts), _, _ in differing
    )
    return DatabaseComparison(
        tuple(
            f"task {task_id[:12]}, bucket {starts}: {bucket} and {other}"
            for (task_id, starts), bucket, other in differing
        ),
        only_newer=bool(differing) and earlier.made < later.made and all(grown),
    )


@dataclass
class Bucket:
    """One bucket of a task, over all curators."""

    reports: int = 0
    ids: int = 0
    sums: int = 0

    def __str__(self) -> str:
        return f"{self.reports} reports {checksum_text(self.ids)}, sums {checksum_text(self.sums)}"


@dataclass
class Contents:
    """The part of a database that ``compare_databases`` reads."""

    made: float
    """Time of the backup; infinite for a database in use."""
    deleted: set[str]
    """Ids of tasks that were there."""
    buckets: dict[tuple[str, int], Bucket] = field(default_factory=dict)
    """(task, start) -> its bucket; the checksum of sums is that of the vectors as they are."""


def _contents(source: Engine) -> Contents:
    mark = check_backup(source)
    with snapshot(source) as connection:
        check_schema(connection)
        deleted = set(connection.scalars(select(deleted_tasks.c.id)))
        contents = Contents(inf if mark is None else mark.made, deleted)
        names = dict(iter(connection.execute(select(tasks.c.no, tasks.c.id))))
        for row in connection.execute(select(buckets)):
            bucket = contents.buckets.setdefault((names[row.task_no], row.starts), Bucket())
            bucket.reports += row.reports
            bucket.ids = (bucket.ids + unpacked_checksum(row.checksum)) % CHECKSUM_MODULUS
        for row in connection.execute(select(sums)):
            bucket = contents.buckets.setdefault((names[row.task_no], row.starts), Bucket())
            own = unpacked_sums(row.n, row.vector, row.width)
            weighted = (2 * row.question + 1) * sums_checksum(own.n, own.vector)
            bucket.sums = (bucket.sums + weighted) % CHECKSUM_MODULUS
    return contents
