"""Commands that work on the database itself: backup, restore, verify, migrate, collect."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.http_client.terminal import waiting
from privet.protocol.errors import MalformedReport, PrivetError, StorageFailed

from ..settings import Settings
from .options import AsJson
from .output import PLAIN, SHORT_ID, err, print_json, print_table

if TYPE_CHECKING:
    from sqlalchemy import Engine

Database = Annotated[
    str,
    typer.Option(envvar="PRIVET_DATABASE", help="Address of the database, as for 'privet serve'."),
]
CORES = os.cpu_count() or 1
DEFAULT: str = Settings.model_fields["database"].default


def backup(
    file: Annotated[Path, typer.Argument(help="New SQLite file to write.")],
    database: Database = DEFAULT,
) -> None:
    """Copy one moment of the database, of this version or an older one, into a new file.

    The curator may go on meanwhile. Give the file to 'privet restore', or serve from it.
    """
    from ..datastore import backup

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
    from ..datastore import backup

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
    from ..datastore import backup

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
    from ..datastore import backup

    with waiting("Migrating ..."), _opened(database) as engine:
        backup.migrate(engine)
    err().print("The database has this version's tables.")


def collect(
    folder: Annotated[
        str, typer.Argument(help="Folder or address of an object store with sealed batches.")
    ],
    database: Database = DEFAULT,
    *,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler; else processes of this machine."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes of this machine.")] = CORES,
    source: Annotated[
        str, typer.Option(help="Name under which a task's status counts these reports.")
    ] = "files",
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove each file once its reports are durable.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count the reports in batches that relays wrote to a folder (privet-relay serve --batches).

    Curators may go on meanwhile. Every report counts once, however often its file is collected.
    Exits with 1 if a file could not be read; the others are counted all the same.
    """
    from tests.batch_folder import BatchFolder

    from ..collection.files import collect as collected
    from ..datastore import open_store

    counts, faults = dict[str, Counter[str]](), []
    with (
        waiting("Collecting ..."),
        closing(open_store(database)) as store,
        _executor(scheduler, jobs) as (executor, workers),
    ):
        for task_id in BatchFolder(folder).tasks():
            own = counts[task_id] = Counter({"files": 0})
            try:
                task = store.task(task_id).task
            except PrivetError as error:
                faults.append(f"{task_id[:SHORT_ID]}: {error.detail}")
                continue
            for file in collected(
                store,
                task,
                folder,
                executor,
                time.time,
                ahead=2 * workers,
                source=source,
                remove=remove,
            ):
                own.update({"files": 1, **file.outcomes})
                if file.fault:
                    faults.append(file.fault)
    if as_json:
        print_json({"tasks": counts, "faults": faults})
    else:
        rows = [
            (task_id[:SHORT_ID], own["files"], ", ".join(_words(own)) or "no reports")
            for task_id, own in counts.items()
        ]
        print_table("Collected", ("task", "files", "reports"), rows)
        for fault in faults:
            err().print(fault, **PLAIN)
    if faults:
        raise MalformedReport(f"{len(faults)} things could not be collected; the rest is counted.")


def _words(counts: Mapping[str, int]) -> list[str]:
    return [f"{count} {name}" for name, count in counts.items() if count and name != "files"]


@contextmanager
def _executor(scheduler: str | None, jobs: int) -> Iterator[tuple[Executor, int]]:
    """The cluster of a Dask scheduler, or processes of this machine, and how many workers."""
    if scheduler is None:
        with ProcessPoolExecutor(jobs, mp_context=get_context("forkserver")) as executor:
            yield executor, jobs
        return
    try:
        from distributed import Client
    except ImportError:
        raise StorageFailed(
            "A Dask cluster needs its client: pip install 'privet[bulk]'."
        ) from None
    connect: Callable[[str], Any] = Client
    with connect(scheduler) as client, client.get_executor() as executor:
        yield executor, sum(client.nthreads().values())


@contextmanager
def _emptied(address: str) -> Iterator["Engine"]:
    """The database to restore into: a SQLite file that appears when it is whole, or a server's."""
    from ..datastore import file_of
    from ..datastore.backup import new_file

    file = file_of(address)
    with new_file(file) if file else _opened(address) as target:
        yield target


def _differences(source: "Engine", against: str | None) -> list[str]:
    from ..datastore.backup import compare

    if against is None:
        return []
    with _opened(against) as other:
        return compare(source, other)


@contextmanager
def _opened(address: str) -> Iterator["Engine"]:
    """The database as it is; raises ``StorageFailed`` for one that cannot be used."""
    from ..datastore import file_of, open_engine
    from ..datastore.migrate import naming_failures

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
