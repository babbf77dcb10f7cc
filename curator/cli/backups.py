"""Commands that save a database and bring it back: backup, restore, recover."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.protocol.errors import InvalidRequest, PrivetError, StorageFailed
from privet.protocol.lifecycle import Phase
from privet.protocol.wire import printable

from .database import DEFAULT, Database, opened
from .options import Yes
from .output import SHORT_ID, err, print_table, say, when

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..datastore.backup_folder import Contents, FoundBackup

SECOND = "%Y%m%dt%H%M%S"
MISSING = "privet_missing_reports"
WHAT_IS_MISSING = (
    "Reports that were counted later are missing until their holders send them again: as long as "
    "tasks are open, 'privet-holder resend' does that, since this curator asks for them."
)


def backup(
    place: Annotated[
        Path, typer.Argument(help="New SQLite file, or a folder, where the time is its name.")
    ],
    database: Database = DEFAULT,
    *,
    keep_days: Annotated[
        int | None,
        typer.Option(
            min=1, help="Days of which to keep the newest backup in the folder; others are removed."
        ),
    ] = None,
) -> None:
    """Copy one moment of the database, of this version or an older one, into a new file.

    The curator may go on meanwhile. Give the file to 'privet restore', or serve from it. A database
    without reports is not saved beside backups of tasks that it does not know. --keep-days never
    removes reports that are in no newer backup, nor files that have another name than a time.
    """
    from ..datastore import backup_folder

    if keep_days is not None and not place.is_dir():
        raise InvalidRequest(f"{place} is no folder: --keep-days needs one.")
    with err().status("Copying ..."), opened(database) as source:
        file, rows = backup_folder.add_backup(source, place, time.time())
    say(
        f"Copied {rows} rows to {file}: check it with 'privet verify'. The signing key is not in "
        "it: keep a copy of that as well."
    )
    if keep_days is not None:
        for old in backup_folder.prune(place, keep_days):
            say(f"Removed {old}.")


def restore(
    file: Annotated[Path, typer.Argument(help="File that 'privet backup' has written.")],
    database: Annotated[
        str, typer.Option(envvar="PRIVET_DATABASE", help="Address of a new or empty database.")
    ] = DEFAULT,
) -> None:
    """Copy a backup into a new SQLite file or an empty PostgreSQL database."""
    _print_restored(_restored(file, database), database)


def ask_again(database: Database = DEFAULT) -> None:
    """Ask holders for reports again, after a database was put back by other means.

    Such as a snapshot of its disk, or PostgreSQL's recovery to a point in time. Curators that run
    do it within a minute, for every task that is there now. What is not missing is not counted
    twice.
    """
    from ..datastore import open_store
    from ..datastore.audit import ASKED_AGAIN, RESTORED, AuditEntry

    with opened(database), closing(open_store(database)) as store:
        now = time.time()
        entry = AuditEntry(now, "", ASKED_AGAIN, "", {})
        until = max((now, *(listed.created for listed in store.tasks.listed())))
        while store.audit.ask_again(entry, until, store.facts.read(RESTORED)) is None:
            continue  # a curator was first
    say(WHAT_IS_MISSING)


def recover(
    folder: Annotated[Path, typer.Argument(help="Folder with backups.")],
    database: Database = DEFAULT,
    *,
    file: Annotated[
        Path | None, typer.Option(help="The backup to restore; by default it is asked for.")
    ] = None,
    signing_key: Annotated[
        Path | None,
        typer.Option(
            envvar="PRIVET_SIGNING_KEY",
            help="File with the key that signs tasks, as for 'privet serve'.",
        ),
    ] = None,
    yes: Yes = False,
) -> None:
    """List and check the backups in a folder, ask for one, and restore it.

    What is in the database now is moved aside, and never deleted: stop what uses it first. --yes
    needs --file, and a database that has no reports.
    """
    from ..datastore import backup_folder, file_of

    if yes and file is None:
        raise InvalidRequest("--yes needs --file: name the backup to restore.")
    found = backup_folder.backups_in(folder)
    if file is not None:
        found = [each for each in found if each.file.name == file.name]
    if not found:
        raise InvalidRequest(f"There is no backup {file or ''} in {folder}.".replace("  ", " "))
    with err().status("Checking the backups ...") as status:
        faults = []
        for number, each in enumerate(found, 1):
            status.update(f"Checking backup {number} of {len(found)} ...")
            faults.append(each.fault or backup_folder.fault_of(each.file))
    at = file_of(database)
    place = signing_key or (at and at.with_name(f"{at.name}.key"))
    here = _key_at(place)
    _print_backups(folder, found, faults, here)
    present, has_reports = _present(database)
    if yes and has_reports:
        raise InvalidRequest(f"The database {present}: run this without --yes, and decide.")
    aside = _name_aside(at) if present else ""
    if present:
        say(f"The database {present}: it will be moved aside, to {aside}.")
    chosen = 0 if yes else _asked(found, faults)
    if faults[chosen]:
        raise StorageFailed(f"{found[chosen].file} cannot be used: {faults[chosen]}")
    _print_restored(_restored(found[chosen].file, database, aside), database)
    if aside:
        say(f"What the database had before is in {aside}.")
    key = found[chosen].contents.key
    if key and key != here:
        say(
            f"Its tasks are signed with the key {key}, which is not at {place or 'a file'}: "
            "put your copy of it there before you start a curator."
        )


def _print_restored(made: float, database: str) -> None:
    say(f"The database is that of {when(made)}. {WHAT_IS_MISSING}")
    for task, relays in _relayed_tasks(database):
        say(
            printable(
                f"{task}: reports came through {', '.join(relays)}. A relay sends none a second "
                "time within 30 days. Within an hour of a curator's start it says how many of its "
                f"reports were counted, and {MISSING} how many are missing."
            )
        )


def _relayed_tasks(database: str) -> list[tuple[str, list[str]]]:
    """The names of open tasks with reports from relays, and those of the relays."""
    from ..datastore import open_store

    with closing(open_store(database)) as store:
        standing = {
            listed.head.name: sorted(store.standing.read(listed.head.id).relayed)
            for listed in store.tasks.listed()
            if listed.phase(time.time()) is Phase.OPEN
        }
    return [(task, relays) for task, relays in standing.items() if relays]


def _name_aside(at: Path | None) -> str:
    """A new name for what a database has now: of a file beside it, or of a server's schema."""
    aside = f"aside_{datetime.now(UTC):{SECOND}}"
    if at:
        aside = f"{at.name}.{aside}"
        while at.with_name(aside).exists():
            aside += "_"
    return aside


def _asked(found: Sequence["FoundBackup"], faults: Sequence[str]) -> int:
    """The place of the backup that a person chooses; offers the newest that lacks nothing."""
    good = [i for i, fault in enumerate(faults) if not fault]
    offered = next(
        (
            i + 1
            for i in good
            if found[i].contents.total
            and not any(found[i].contents.lacks(found[j].contents) for j in good)
        ),
        None,
    )
    if offered is None:
        say("None has the reports of all others: look at the tasks and dates.")
    number = typer.prompt("Restore which number? 0 for none", offered, type=int, err=True)
    if number not in range(1, len(found) + 1):
        raise InvalidRequest("Nothing was restored, and nothing was changed.")
    return int(number) - 1


def _print_backups(
    folder: Path, found: Sequence["FoundBackup"], faults: Sequence[str], here: str
) -> None:
    rows = [
        (
            str(number),
            each.file.name,
            when(each.made) if each.made else "-",
            len(each.contents.reports),
            each.contents.total,
            fault or "fits",
            _key_words(each.contents, here),
        )
        for number, (each, fault) in enumerate(zip(found, faults, strict=True), 1)
    ]
    columns = ("number", "file", "made", "tasks", "reports", "check", "key")
    print_table(f"Backups in {folder}, the newest first", columns, rows, whole=("file",))


def _key_words(contents: "Contents", here: str) -> str:
    if not contents.key:
        return "none"
    return f"{contents.key[:SHORT_ID]}, {'here' if contents.key == here else 'not here'}"


def _key_at(place: Path | None) -> str:
    """The public key of a signing key's file, in hexadecimal; "" if there is none that can be
    read."""
    from ..access.signing import read_key

    try:
        return "" if place is None else read_key(place).key.hex()
    except PrivetError:
        return ""


def _present(address: str) -> tuple[str, bool]:
    """The contents of a database in words, and whether reports may be among them.

    "" for an address where nothing has been made. Raises ``StorageFailed`` for a server that does
    not answer.
    """
    from ..datastore import file_of
    from ..datastore.backup_folder import read_contents

    at = file_of(address)
    if at and not at.exists():
        return "", False
    try:
        with opened(address, to_write=False) as source:
            contents = read_contents(source)
    except StorageFailed:
        if not at:
            raise
        return "cannot be read", True
    if contents is None:
        return ("is an empty file" if at else ""), False
    return f"has {len(contents.reports)} tasks and {contents.total} reports", contents.total > 0


def _restored(file: Path, address: str, aside: str = "") -> float:
    """Rename what is there to ``aside`` and restore a backup; the Unix time of the backup."""
    from ..datastore import file_of
    from ..datastore.backup import restore

    at = file_of(address)
    if at and at.exists() and not aside:
        raise InvalidRequest(
            f"{at} already exists: name a new file, or let 'privet recover' move it aside."
        )
    with (
        err().status("Copying ..."),
        opened(f"sqlite:///{file}", to_write=False) as source,
        _target(address, aside) as target,
    ):
        return restore(source, target, "" if at else aside)


@contextmanager
def _target(address: str, aside: str) -> Iterator["Engine"]:
    """The database to restore into: a SQLite file that appears when it is whole, or a server's."""
    from ..datastore import file_of
    from ..datastore.backup import new_file

    at = file_of(address)
    if not at:
        with opened(address) as target:
            yield target
    elif not aside:
        with new_file(at) as target:
            yield target
    else:
        _check_unused(address)
        with new_file(at, at.with_name(aside)) as target:
            yield target
            _check_unused(address)


def _check_unused(address: str) -> None:
    """Raise ``StorageFailed`` if a process has the file open, as far as it is a database at all."""
    from sqlalchemy.exc import DatabaseError

    from ..datastore import open_engine
    from ..datastore.backup import check_unused

    engine = open_engine(address)
    try:
        check_unused(engine)
    except DatabaseError as error:
        say(f"The file cannot be opened ({error.orig}): nobody can be using it.")
    finally:
        engine.dispose()
