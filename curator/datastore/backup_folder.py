"""A folder of backups: what each holds, which of them may go, and what replaces a lost database.

A backup hides another if it is newer and whoever takes the newest one takes it, although the other
has reports that are nowhere else. So a database that has counted nothing is not saved beside
backups of tasks that it has never known: it was started empty after a loss. And a backup goes only
if a newer one has reports of each of its tasks, or knows that the task was deleted.
"""

import re
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, inspect, select

from privet.protocol.errors import InvalidRequest, StorageFailed

from . import sqlite
from .audit import SIGNING_KEY
from .backup import backup, check_backup
from .database import snapshot
from .migrate import head, naming_failures, revision_of
from .schema import backup_mark, deleted_tasks, facts
from .status import counted_reports
from .structure import check_structure
from .verification import verify, verify_audit

NAME = "%Y-%m-%dT%H%M%S.db"
NAMED = re.compile(r"\d{4}-\d\d-\d\dT\d{4}(\d\d)?\.db")
"""Names of the backups that a timer makes; no other file is ever removed."""


@dataclass(frozen=True)
class Contents:
    """The contents of a database, as it says itself."""

    reports: Mapping[str, int]
    """Counted reports by task."""
    deleted: Set[str]
    """Tasks that were deleted."""
    key: str
    """Public key that tasks are signed with, in hexadecimal; "" for none."""

    @property
    def total(self) -> int:
        return sum(self.reports.values())

    def lacks(self, other: "Contents") -> bool:
        """True if ``other`` has reports of a task that this one has none of, and did not delete."""
        filled = {task for task, reports in other.reports.items() if reports}
        return any(not self.reports.get(task) for task in filled - self.deleted)


EMPTY = Contents({}, frozenset(), "")


@dataclass(frozen=True)
class FoundBackup:
    """A file of a folder: a backup, or what is wrong with it."""

    file: Path
    made: float = 0.0
    """Unix time."""
    contents: Contents = EMPTY
    fault: str = ""

    @property
    def day(self) -> str:
        return datetime.fromtimestamp(self.made, UTC).strftime("%Y-%m-%d")


def newest_in(folder: Path) -> float:
    """Unix time at which the newest backup that a timer made was written; 0 if there is none."""
    times = [0.0]
    with suppress(OSError):
        times += [file.stat().st_mtime for file in folder.iterdir() if NAMED.fullmatch(file.name)]
    return max(times)


def read_contents(source: Engine) -> Contents | None:
    """The contents of a database of any known schema; None for one without tables."""
    with snapshot(source) as connection:
        if not inspect(connection).get_table_names():
            return None
        check_structure(connection)
        return _contents(connection)


def add_backup(source: Engine, place: Path, now: float) -> tuple[Path, int]:
    """Save ``source`` as the file ``place``, or under the time in that folder; the rows copied.

    Raises as ``backup`` does, and ``InvalidRequest`` for a database without reports if the folder
    has backups of tasks that it does not know.
    """
    folder, file = place.parent, place
    if place.is_dir():
        folder, file = place, place / datetime.fromtimestamp(now, UTC).strftime(NAME)
    contents = read_contents(source) or EMPTY
    hidden = () if contents.total else backups_in(folder)
    fuller = next((each for each in hidden if _is_of_another(contents, each.contents)), None)
    if fuller is not None:
        raise InvalidRequest(
            f"This database has no reports, and {fuller.file} has {fuller.contents.total} of tasks "
            "that it does not know: it was started empty, and its backup would pass for the newest "
            f"one. Bring the reports back with 'privet recover {folder}', or name another folder."
        )
    return file, backup(source, file, now)


def _is_of_another(contents: Contents, saved: Contents) -> bool:
    known = contents.reports.keys() | contents.deleted
    return any(count and task not in known for task, count in saved.reports.items())


def backups_in(folder: Path) -> list[FoundBackup]:
    """The backups in a folder and what they say that they hold, the newest first.

    Those that cannot be read come last. Raises ``InvalidRequest`` if there is no such folder.
    """
    if not folder.is_dir():
        raise InvalidRequest(f"There is no folder {folder}: name the one with your backups.")
    found = [_read(file) for file in sorted(folder.glob("*.db"))]
    return sorted(found, key=lambda each: (not each.fault, each.made), reverse=True)


def prune(folder: Path, days: int) -> list[Path]:
    """Remove old backups of a timer; which.

    The newest of each of the last ``days`` days on which there was one stays, and every one that
    has reports which would then be nowhere.
    """
    found = [
        each for each in backups_in(folder) if not each.fault and NAMED.fullmatch(each.file.name)
    ]
    last = sorted({each.day for each in found}, reverse=True)[:days]
    kept, removed = list[FoundBackup](), list[Path]()
    for each in found:
        first_of_day = each.day in last and each.day not in {newer.day for newer in kept}
        if first_of_day or all(newer.contents.lacks(each.contents) for newer in kept):
            kept.append(each)
        else:
            each.file.unlink()
            removed.append(each.file)
    return removed


def fault_of(file: Path) -> str:
    """The first thing wrong with a backup once all in it is recomputed; "" if nothing is."""
    try:
        with _reading(file) as source:
            check_backup(source)
            with source.connect() as connection:
                is_old = revision_of(connection) != head()
            if is_old:  # restoring brings it up, and recomputes the rest
                return ""
            faults = [f"{each.name}: {fault}" for each in verify(source) for fault in each.faults]
            return next(iter([*faults, *verify_audit(source).faults]), "")
    except StorageFailed as error:
        return error.detail


def _read(file: Path) -> FoundBackup:
    try:
        with _reading(file) as source, snapshot(source) as connection:
            if backup_mark.name not in inspect(connection).get_table_names():
                return FoundBackup(file, fault="not a backup")
            check_structure(connection)
            made = float(connection.scalar(select(backup_mark.c.made)) or 0.0)
            return FoundBackup(file, made, _contents(connection))
    except StorageFailed as error:
        return FoundBackup(file, fault=error.detail)


@contextmanager
def _reading(file: Path) -> Iterator[Engine]:
    """A file that is only read; raises ``StorageFailed`` if it cannot be."""
    engine = sqlite.open_reader(URL.create("sqlite", database=str(file)))
    try:
        with naming_failures(engine):
            yield engine
    finally:
        engine.dispose()


def _contents(connection: Connection) -> Contents:
    deleted = connection.scalars(select(deleted_tasks.c.id))
    key = connection.scalar(select(facts.c.value).where(facts.c.name == SIGNING_KEY))
    return Contents(counted_reports(connection), frozenset(deleted), key or "")
