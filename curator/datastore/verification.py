"""The tables as they fit together, and the audit log's chain: counts and checksums, recomputed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from sqlalchemy import Connection, Engine, func, select

from privet.protocol.errors import PrivetError, StorageFailed
from privet.protocol.task import Task

from .account import account_faults
from .audit import AuditChain, check_chain
from .consistency import (
    bucket_faults,
    invitation_faults,
    quota_faults,
    run_faults,
    stray_faults,
    value_faults,
    way_faults,
)
from .database import snapshot
from .migrate import check_schema
from .report_ids import ids_of_task
from .reports import (
    CHECKSUM_MODULUS,
    checksum,
    checksum_text,
    sums_checksum,
    unpacked_checksum,
    unpacked_sums,
)
from .schema import buckets, public_data, sums, tasks, tokens
from .structure import check_structure
from .tasks import PUBLIC_MODEL, QUOTA, REGISTER, TaskRow, head_of, task_of
from .tokens import issued_tokens


@dataclass(frozen=True)
class Finding:
    """The state of one task's collection, as recomputed."""

    task_id: str
    name: str
    reports: int
    faults: tuple[str, ...]
    """Inconsistencies, in words; empty if there are none."""


def verify(source: Engine) -> list[Finding]:
    """Recompute counts and checksums of every task from its report ids and sums."""
    with snapshot(source) as connection:
        _check(connection)
        return findings(connection)


def verify_all(source: Engine, noted: str = "") -> tuple[list[Finding], AuditChain]:
    """The same, and the audit log with all that its entries state of the tables; one moment of
    both."""
    with snapshot(source) as connection:
        _check(connection)
        found, chain = findings(connection), check_audit(connection, noted)
        more = () if chain.faults else account_faults(connection)
        return found, replace(chain, faults=(*chain.faults, *more, *stray_faults(connection)))


def verify_audit(source: Engine, noted: str = "") -> AuditChain:
    """Recompute the audit log's chain, and compare the tokens with it; see ``check_audit``."""
    with snapshot(source) as connection:
        _check(connection)
        return check_audit(connection, noted)


def _check(connection: Connection) -> None:
    """Raise ``StorageFailed`` unless the tables, and types of their values, are Privet's."""
    check_schema(connection)
    check_structure(connection)
    for fault in value_faults(connection):
        raise StorageFailed(f"{fault}: use a backup.")


def check_audit(connection: Connection, noted: str = "") -> AuditChain:
    """The state of the audit log, see ``check_chain``; each token must be as its entry says."""
    chain = check_chain(connection, noted)
    if chain.faults:  # what its entries say is not believed
        return chain
    issued = issued_tokens(connection)
    kept = {row.name: row for row in connection.execute(select(tokens).order_by(tokens.c.name))}
    faults = [
        f"the token {name!r} is not the one that the audit log says was issued"
        for name, row in kept.items()
        if name not in issued or not issued[name].is_as(row)
    ]
    faults += [
        f"the token {name!r} is gone, and the audit log does not say so"
        for name in sorted(issued.keys() - kept.keys())
    ]
    return replace(chain, faults=tuple(faults))


def findings(connection: Connection) -> list[Finding]:
    rows = connection.execute(select(tasks).order_by(tasks.c.no)).all()
    return [_finding(connection, row) for row in rows]


def _finding(connection: Connection, row: TaskRow) -> Finding:
    reports, stated = _stated(connection, row.no)
    name, faults = "", list[str]()
    try:
        name = head_of(row).name
        for fault in _faults(connection, row, reports, stated):
            faults.append(fault)
    except (PrivetError, ValueError, TypeError, LookupError, AttributeError) as error:
        what = error.detail if isinstance(error, PrivetError) else str(error)
        faults.append(f"what is kept of it cannot be read: {what}")
    return Finding(row.id, name, reports, tuple(faults))


def _faults(connection: Connection, row: TaskRow, reports: int, stated: int) -> Iterator[str]:
    if sha256(bytes(row.canonical)).hexdigest() != row.id:
        yield "its document is not the one that its id names"
    task = task_of(row)
    if task is not None:
        yield from _column_faults(row, task)
        yield from _public_faults(connection, row.no, task)
        yield from _sum_faults(connection, row.no, task, reports)
        yield from bucket_faults(connection, row.no, task)
        yield from way_faults(connection, row, task)
    yield from quota_faults(row, reports)
    yield from invitation_faults(connection, row, reports)
    if not row.ids_gone:
        yield from run_faults(connection, row.no)
        count = recomputed = 0
        for ids in ids_of_task(connection, row.no):
            count += len(ids)
            recomputed = (recomputed + checksum(ids)) % CHECKSUM_MODULUS
        if count != reports:
            yield f"{reports} reports were counted and {count} ids are kept"
        if recomputed != stated:
            yield (
                f"the checksum is {checksum_text(stated)} and the ids give "
                f"{checksum_text(recomputed)}"
            )


def _column_faults(row: TaskRow, task: Task) -> Iterator[str]:
    """Faults: columns by which reports are taken, other than the published task has them."""
    stated = {"opens": task.opens, "closes": task.closes, "invited": task.invited}
    for name, value in {**stated, QUOTA: json.loads(row.settings).get(QUOTA)}.items():
        if (kept := getattr(row, name)) != value:
            yield f"its {name} is {kept}, and it was published with {value}"


def _public_faults(connection: Connection, task_no: int, task: Task) -> Iterator[str]:
    """Faults: public data, a public model or a register other than those the task was made with."""
    of_task = public_data.c.task_no == task_no
    columns = public_data.c
    sizes_of = select(
        columns.rows,
        func.length(columns.x).label("x"),
        func.length(columns.y).label("y"),
        columns.onnx,
        columns.register,
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
    stated = json.loads(str(settings))
    kept = {PUBLIC_MODEL: ("public model", row.onnx), REGISTER: ("register", row.register)}
    for setting, (what, content) in kept.items():
        digest = None if content is None else sha256(content).hexdigest()
        if stated.get(setting) != digest:
            yield f"its {what} has the SHA-256 {digest}, not {stated.get(setting)}"


def _sum_faults(connection: Connection, task_no: int, task: Task, reports: int) -> Iterator[str]:
    """Faults: sums that do not fit their checksum, the number of reports or their mechanism."""
    answers = [0] * len(task.questions)
    for row in connection.execute(select(sums).where(sums.c.task_no == task_no)):
        answers[row.question] += row.n
        expected = row.width * task.mechanisms[row.question].sum_size
        if len(row.vector) != expected:
            yield f"a sum of question {row.question} has {len(row.vector)} bytes, not {expected}"
            continue
        stated = unpacked_checksum(row.checksum)
        own = unpacked_sums(row.n, row.vector, row.width)
        recomputed = sums_checksum(own.n, own.vector)
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
    reports = total = 0
    for row in connection.execute(select(buckets).where(buckets.c.task_no == task_no)):
        reports += row.reports
        total += unpacked_checksum(row.checksum)
    return reports, total % CHECKSUM_MODULUS
