"""``privet backup``, ``verify`` and ``migrate``: an operator's work on the database itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.curator.cli.options import AsJson
from privet.curator.cli.output import PLAIN, SHORT_ID, err, print_json, print_table
from privet.curator.settings import Settings
from privet.protocol.errors import InvalidRequest, StorageFailed

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
    """Copy one moment of the database into a file that a curator can serve from.

    The curator may go on meanwhile.
    """
    from privet.curator.datastore.backup import backup as copy

    if file.exists():
        raise InvalidRequest(f"{file} is there already: name a new file.")
    with _opened(database) as source, _opened(f"sqlite:///{file}", new=True) as target:
        rows = copy(source, target)
    err().print(f"Copied {rows} rows to {file}: check it with 'privet verify'.", **PLAIN)


def verify(
    database: Database = DEFAULT,
    against: Annotated[
        str | None, typer.Option(help="Another database that should hold the same reports.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Recompute every count and checksum from the report ids; exits with 1 if one does not fit."""
    from privet.curator.datastore import backup

    with _opened(database) as source:
        findings = backup.verify(source)
        differences = _differences(source, against)
    faults = [f"{f.name}: {fault}" for f in findings for fault in f.faults] + differences
    if as_json:
        tasks = [{"task": f.task_id, "reports": f.reports, "faults": f.faults} for f in findings]
        print_json({"tasks": tasks, "differences": differences})
    else:
        rows = [
            (f.task_id[:SHORT_ID], f.name, f.reports, "; ".join(f.faults) or "fits")
            for f in findings
        ]
        print_table("Recomputed from the report ids", ("task", "name", "reports", "result"), rows)
        if against is not None and not differences:
            err().print("Both databases hold the same reports.", **PLAIN)
    if faults:
        raise StorageFailed(
            f"{len(faults)} things do not fit, first: {faults[0]}. Stop collecting, keep both "
            "files, and compare with a backup."
        )


def migrate(database: Database = DEFAULT) -> None:
    """Bring the tables up to this version; make a backup first."""
    from privet.curator.datastore.migrate import upgrade

    with _opened(database) as engine:
        upgrade(engine)
    err().print("The database has this version's tables.")


def _differences(source: "Engine", against: str | None) -> list[str]:
    from privet.curator.datastore.backup import compare

    if against is None:
        return []
    with _opened(against) as other:
        return compare(source, other)


@contextmanager
def _opened(address: str, *, new: bool = False) -> Iterator["Engine"]:
    """The database as it is; raises ``StorageFailed`` for one that cannot be used."""
    from privet.curator.datastore import open_engine
    from privet.curator.datastore.migrate import naming_failures

    engine = open_engine(address)
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if file and not new and not Path(file).exists():
        raise StorageFailed(
            f"There is no database {file}: give its address with --database or PRIVET_DATABASE."
        )
    try:
        with naming_failures(engine):
            yield engine
    finally:
        engine.dispose()
