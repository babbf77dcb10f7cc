"""Commands that work on the database itself: verify, migrate, collect."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.protocol.errors import InvalidRequest, MalformedReport, PrivetError, StorageFailed
from privet.protocol.installing import install_command
from privet.protocol.wire import printable

from ..settings import Settings
from .options import AsJson
from .output import SHORT_ID, err, print_json, print_table, say, when

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..datastore.comparison import DatabaseComparison

Database = Annotated[
    str,
    typer.Option(envvar="PRIVET_DATABASE", help="Address of the database, as for 'privet serve'."),
]
CORES = os.cpu_count() or 1
CONNECT_SECONDS = 5.0
EXIT_NEWER = 3
DEFAULT: str = Settings.model_fields["database"].default


def verify(
    database: Database = DEFAULT,
    against: Annotated[
        str | None, typer.Option(help="Another database that should hold the same reports.")
    ] = None,
    audit_head: Annotated[
        str, typer.Option(help="Head noted earlier, which the audit log must contain.")
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """Recompute every count and checksum, the audit log, and a backup's digest.

    Exits with 1 if one does not fit or the databases differ, and with 3 if all that differs is that
    one is a backup and the other has counted more reports since. Note the audit log's head where
    nobody here can change it, for a later --audit-head.
    """
    from ..datastore import backup, verification

    with (
        err().status("Recomputing counts and checksums ..."),
        opened(database, to_write=False) as source,
    ):
        mark = backup.check_backup(source)
        findings, chain = verification.verify_all(source, audit_head)
        compared = _compared(source, against)
    differences = [] if compared is None else compared.differences
    newer = compared is not None and compared.only_newer
    faults = [f"{f.name}: {fault}" for f in findings for fault in f.faults] + list(chain.faults)
    if as_json:
        tasks = [{"task": f.task_id, "reports": f.reports, "faults": f.faults} for f in findings]
        of_mark = {"backup": mark and mark.made, "digest": mark and mark.digest}
        document = {**of_mark, "tasks": tasks, "differences": differences, "only_newer": newer}
        print_json({**document, "audit": asdict(chain)})
    else:
        rows = [
            (f.task_id[:SHORT_ID], f.name, f.reports, "; ".join(f.faults) or "fits")
            for f in findings
        ]
        title = "Recomputed from the report ids and the sums"
        print_table(title, ("task", "name", "reports", "result"), rows)
        if mark is not None:
            say(f"A complete backup of {when(mark.made)}, SHA-256 {mark.digest}.")
        if compared is not None and not differences:
            say("Both databases hold the same reports.")
        say(f"The audit log has {chain.entries} entries; head {chain.head}")
    if newer and not faults:
        say(
            f"Reports were counted since the backup, in {len(differences)} of the buckets; nothing "
            "else differs."
        )
        raise typer.Exit(EXIT_NEWER)
    faults += differences
    if faults:
        raise StorageFailed(
            f"{len(faults)} inconsistencies, the first: {faults[0]}. Stop collecting, keep both "
            "files, and compare with a backup."
        )


def migrate(
    database: Database = DEFAULT,
    *,
    rolling: Annotated[
        bool,
        typer.Option(
            "--rolling", help="Let curators on PostgreSQL run until they stop by themselves."
        ),
    ] = False,
    keep_unread: Annotated[
        bool,
        typer.Option(
            "--keep-unread", help="Migrate although some tasks or models are not read any more."
        ),
    ] = False,
) -> None:
    """Bring the tables of a database or a backup up to this version; make a backup first.

    Collections go on and models serve. Names tasks and models that this version does not read, and
    changes nothing unless told to keep them. Waits ten seconds for others that use the database,
    then names them and changes nothing.
    """
    from ..datastore import backup

    with err().status("Migrating ..."), opened(database) as engine:
        found = backup.migrate(engine, rolling=rolling, keep_unread=keep_unread)
    for unread in found.unread.values():
        say(printable(f"Not read: {unread}"))
    say(
        "The database has this version's tables. "
        f"Open tasks: {found.collecting}. Models that serve: {found.serving}."
    )


def collect(
    folder: Annotated[
        str, typer.Argument(help="Folder or address of an object store with sealed batches.")
    ],
    database: Database = DEFAULT,
    *,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler; by default local processes do the work."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of local processes.")] = CORES,
    source: Annotated[
        str, typer.Option(help="Name under which a task's status counts these reports.")
    ] = "files",
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove each file once all its reports are durable.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count the reports in batches that relays wrote to a folder (privet-relay serve --batches).

    Curators may go on meanwhile. Every report counts once, however often its file is collected.
    Exits with 1 if a file could not be read or one of its reports was refused; such a file stays,
    and the others are counted all the same.
    """
    from ..access.audit import NOBODY, Audit
    from ..collection.batch_reader import BatchReader
    from ..collection.files import collect as collect_files
    from ..datastore import open_store

    counts, faults = dict[str, Counter[str]](), []
    with (
        err().status("Collecting ..."),
        closing(open_store(database)) as store,
        _readers(scheduler, jobs) as (submit, workers),
    ):
        audit = Audit(store, time.time)
        for task_id in BatchReader(folder).tasks():
            collected = counts[task_id] = Counter({"files": 0, "removed": 0})
            try:
                task = store.tasks.read(task_id).task
            except PrivetError as error:
                faults.append(f"{task_id[:SHORT_ID]}: {error.detail}")
                continue
            files = collect_files(
                store,
                task,
                folder,
                submit,
                time.time,
                ahead=2 * workers,
                source=source,
                remove=remove,
            )
            try:
                for file in files:
                    collected.update({"files": 1, "removed": file.removed, **file.outcomes})
                    if file.fault:
                        faults.append(f"{file.name}: {file.fault}")
            finally:
                if collected.total() > collected["files"] + collected["replayed"]:
                    audit.add_entry(
                        NOBODY, "reports collected", task_id, source=source, **collected
                    )
    if as_json:
        print_json({"tasks": counts, "faults": faults})
    else:
        rows = [
            (task_id[:SHORT_ID], collected["files"], ", ".join(_words(collected)) or "no reports")
            for task_id, collected in counts.items()
        ]
        print_table("Collected", ("task", "files", "reports"), rows)
        for fault in faults:
            say(printable(fault))
    if faults:
        raise MalformedReport(f"{len(faults)} things could not be collected; the rest was counted.")


def _words(counts: Mapping[str, int]) -> list[str]:
    files = ("files", "removed")
    return [f"{count} {name}" for name, count in counts.items() if count and name not in files]


@contextmanager
def _readers(scheduler: str | None, jobs: int) -> Iterator[tuple[Callable[..., Future[Any]], int]]:
    """A function that starts calls in local processes or a Dask cluster, and how many run at
    once."""
    from ..collection.files import READER_MEMORY, prepare
    from ..workers import Workers

    if scheduler is None:
        workers = Workers(jobs, 0, READER_MEMORY, [prepare.__module__])
        with closing(workers):
            yield workers.submit, jobs
        return
    try:
        from distributed import Client
    except ImportError:
        raise StorageFailed(
            f"A Dask cluster needs its client: {install_command('bulk')}."
        ) from None
    with connected(Client, scheduler) as client, client.get_executor() as executor:
        yield executor.submit, sum(client.nthreads().values())


def connected(client: Callable[..., Any], scheduler: str) -> Any:
    """A Dask ``client`` of a cluster with workers; says once what it waits for."""
    said = False
    while True:
        try:
            found = client(scheduler, timeout=CONNECT_SECONDS)
            break
        except OSError:
            if not said:
                say(f"No Dask scheduler answers at {scheduler} yet: waiting for it ...")
            said = True
            time.sleep(CONNECT_SECONDS / 5)
        except (ValueError, ImportError) as error:
            raise InvalidRequest(f"{scheduler} is no address of a scheduler: {error}.") from None
    if not found.nthreads():
        say(f"The Dask scheduler at {scheduler} has no workers yet: waiting for one ...")
        found.wait_for_workers(1)
    return found


def _compared(source: "Engine", against: str | None) -> "DatabaseComparison | None":
    from ..datastore.comparison import compare_databases

    if against is None:
        return None
    with opened(against, to_write=False) as other:
        return compare_databases(source, other)


@contextmanager
def opened(address: str, *, to_write: bool = True) -> Iterator["Engine"]:
    """The database as it is; raises ``StorageFailed`` for one that cannot be used."""
    from ..datastore import file_of, open_engine, open_reader
    from ..datastore.migrate import naming_failures

    file = file_of(address)
    if file and not file.exists():
        raise StorageFailed(
            f"There is no database {file}: give its address with --database or PRIVET_DATABASE."
        )
    engine = (open_engine if to_write else open_reader)(address)
    try:
        with naming_failures(engine):
            yield engine
    finally:
        engine.dispose()
