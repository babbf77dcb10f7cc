"""The collections and models of a database, as far as this version reads them."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection, select

from privet.learning.core.model import Model
from privet.protocol.errors import PrivetError
from privet.protocol.lifecycle import TaskState

from .schema import aliases, models, tasks
from .tasks import head_of, task_of


@dataclass(frozen=True)
class Readable:
    """The counts of what is read, and what is not."""

    collecting: int
    """Open tasks."""
    serving: int
    """Models that serve."""
    unread: Mapping[str, str]
    """Tasks and models that this version does not read -> which, and why not."""


def readable(connection: Connection) -> Readable:
    """Read every task, and every model of one that is read."""
    collecting = 0
    named: dict[int, str] = {}
    unread: dict[str, str] = {}
    for row in connection.execute(select(tasks).order_by(tasks.c.no)):
        try:
            task, head = task_of(row), head_of(row)
        except PrivetError as error:
            unread[row.id] = _sentence(f"task {row.id[:16]}", error.detail)
            continue
        if task is None:
            which = f"the {row.state} task {head.name!r} ({row.id[:16]})"
            unread[row.id] = _sentence(which, str(head.unread))
            continue
        named[row.no] = head.name
        collecting += row.state == TaskState.OPEN and not head.waves
    unread |= _unread_models(connection, named)
    serves = select(aliases.c.task_no).where(aliases.c.task_no.in_(named))
    return Readable(collecting, len(connection.execute(serves).all()), unread)


def _unread_models(connection: Connection, named: Mapping[int, str]) -> dict[str, str]:
    unread = {}
    columns = models.c
    rows = select(columns.task_no, columns.number, columns.document)
    for row in connection.execute(rows.order_by(columns.task_no, columns.number)):
        if row.task_no not in named:
            continue
        with suppress(ValueError):  # damaged, by whatever version
            try:
                Model.from_document(json.loads(bytes(row.document)))
            except PrivetError as error:
                which = f"model {row.number} of the task {named[row.task_no]!r}"
                unread[f"{row.task_no}/{row.number}"] = _sentence(which, error.detail)
    return unread


def _sentence(which: str, why: str) -> str:
    return f"{which}: {why.rstrip('.')}"
