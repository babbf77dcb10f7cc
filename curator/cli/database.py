"""``privet backup``, ``restore``, ``verify``, ``migrate``: work on the database itself."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.curator.cli.options import AsJson
from privet.curator.cli.output import PLAIN, SHORT_ID, err, print_json, print_table
from privet.curator.settings import Settings
from privet.protocol.errors import StorageFailed
from privet.transport.terminal import waiting

if TYPE_CHECKING:
    from sqlalchemy import Engine

Database = Annotated[
    str,
    typer.Option(envvar="PRIVET_DATABASE", help="Address of the database, as for 'privet serve'."),
]
DEFAULT: str = Settings.model_fields["database"].default


def backup(
    file: Annotated[Path, typer.Argument(help="New SQLite file to write.")],
    database: Database = DEFAULT,
) -> None:
    """Copy one moment of the database, of this version or an older one, into a new file.

    The curator may go on meanwhile. Give the file to 'privet restore', or serve from it.
    """
    from privet.curator.datastore import backup

    with waiting("Copying ..."), _opened(database) as source:
        rows = backup.backup(source, file, time.time())
    err().print(
        f"Copied {rows} rows to {file}: check it with 'privet verify'. The signing key is not in "
        "it: keep a copy of that as well.",
        **PLAIN,
    )


def restore(
    file: Annotated[Path, typer.Argument(help="File that 'privet backup' has written.")],
    database: Annotated[
        str, typer.Option(envvar="PRIVET_DATABASE", help="Address of a new or empty database.")
    ] = DEFAULT,
) -> None:
    """Copy a backup into a new SQLite file or an empty PostgreSQL database."""
    from privet.curator.datastore import backup

    with (
        waiting("Copying ..."),
        _opened(f"sqlite:///{file}") as source,
        _emptied(database) as target,
    ):
        made = datetime.fromtimestamp(backup.restore(source, target), UTC)
    err().print(
        f"The database is that of {made:%Y-%m-%d %H:%M} UTC. Reports that were counted later are "
        "missing until their holders send them again: as long as tasks are open, "
        "'privet-holder resend' does that, since this curator asks for them.",
        **PLAIN,
    )


def verify(
    database: Database = DEFAULT,
    against: Annotated[
        str | None, typer.Option(help="Another database that should hold the same reports.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Recompute every count and checksum; exits with 1 if one does not fit."""
    from privet.curator.datastore import backup

    with waiting("Recomputing counts and checksums ..."), _opened(database) as source:
        made = backup.check_backup(source)
        findings = backup.verify(source)
        differences = _differences(source, against)
    faults = [f"{f.name}: {fault}" for f in findings for fault in f.faults] + differences
    if as_json:
        tasks = [{"task": f.task_id, "reports": f.reports, "faults": f.faults} for f in findings]
        print_json({"backup": made, "tasks": tasks, "differences": differences})
    else:
        rows = [
            (f.task_id[:SHORT_ID], f.name, f.reports, "; ".join(f.faults) or "fits")
            for f in findings
        ]
        title = "Recomputed from the report ids and the sums"
        print_table(title, ("task", "name", "reports", "result"), rows)
        if made is not None:
            moment = datetime.fromtimestamp(made, UTC)
            err().print(f"A whole backup of {moment:%Y-%m-%d %H:%M} UTC.", **PLAIN)
        if against is not None and not differences:
            err().print("Both databases hold the same reports.", **PLAIN)
    if faults:
        raise StorageFailed(
            f"{len(faults)} things do not fit, first: {faults[0]}. Stop collecting, keep both "
            "files, and compare with a backup."
        )


def migrate(database: Database = DEFAULT) -> None:
    """Bring the tables of a database or a backup up to this version; make a backup first."""
    from privet.curator.datastore import backup

    with waiting("Migrating ..."), _opened(database) as engine:
        backup.migrate(engine)
    err().print("The database has this version's tables.")


@contextmanager
def _emptied(address: str) -> Iterator["Engine"]:
    """The database to restore into: a SQLite file that appears when it is whole, or a server's."""
    from privet.curator.datastore import file_of
    from privet.curator.datastore.backup import new_file

    file = file_of(address)
    with new_file(file) if file else _opened(address) as target:
        yield target


def _differences(source: "Engine", against: str | None) -> list[str]:
    from privet.curator.datastore.backup import compare

    if against is None:
        return []
    with _opened(against) as other:
        return compare(source, other)


@contextmanager
def _opened(address: str) -> Iterator["Engine"]:
    """The database as it is; raises ``StorageFailed`` for one that cannot be used."""
    from privet.curator.datastore import file_of, open_engine
    from privet.curator.datastore.migrate import naming_failures

    file = file_of(address)
    if file and not file.exists():
        raise StorageFailed(
            f"There is no database {file}: give its address with --database or PRIVET_DATABASE."
        )
    engine = open_engine(address)
    try:
        with naming_failures(engine):
            yield engine
    finally:
        engine.dispose()
