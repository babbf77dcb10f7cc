"""Tasks as they are kept: published bytes, the curator's settings, public data, state."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, exists, insert, select, text, update

from privet.learning.core.public_data import Floats, PublicData, stated_prevalence
from privet.learning.task_building.settings import DEFAULT_HOLDERS
from privet.protocol.calls import TASKS
from privet.protocol.errors import InvalidTask, TaskNotFound
from privet.protocol.lifecycle import (
    Move,
    Phase,
    TaskState,
    check_move,
    phase_of,
    phase_of_panel,
    settles_at,
    takes_late,
)
from privet.protocol.task import Task
from privet.protocol.task_head import TaskHead

from .audit import row_digest
from .database import Database
from .removal import remove_listed_ids, remove_task
from .schema import deleted_tasks, public_data, tasks

PUBLIC_MODEL, REGISTER, PREVALENCE, QUOTA = "public_model", "register", "prevalence", "quota"
"""Keys in a task's settings."""

ADD_TASK = """
INSERT INTO tasks (
    id, state, created, moved, opens, closes, invited, ids_gone, quota, canonical, settings
) VALUES (
    :id, :state, :created, :created, :opens, :closes, :invited, FALSE, :quota, :canonical, :settings
) ON CONFLICT (id) DO NOTHING RETURNING no
"""

LISTED = ("no", "id", "state", "created", "moved", "marked", "filled")
"""Columns that lists read."""
STAYS = ("id", "created", "opens", "closes", "invited", "quota", "settings")
"""Columns that never change, beside the document, whose hash is the id."""
TaskRow = Row[*tuple[Any, ...]]


@lru_cache(maxsize=64)
def published_task(task_id: str, canonical: bytes) -> Task:
    """A task from its canonical bytes; raises ``InvalidTask`` if they are damaged."""
    return Task.parse(canonical, task_id)


@dataclass(frozen=True, kw_only=True)
class ListedTask:
    """A task as lists show it, also one of an earlier version."""

    head: TaskHead
    state: TaskState
    created: float
    moved: float
    """Unix time at which it entered its state."""
    marked: float | None = None
    """Since when its removal, or that of its report ids, is due; None if it is not."""
    filled: float | None = None
    """Unix time at which its quota was reached; None if it was not."""

    @property
    def is_earlier(self) -> bool:
        """True if an earlier version made it, which this program does not read."""
        return self.head.unread is not None

    def phase(self, now: float, waves: Iterable["ListedTask"] = ()) -> Phase:
        """The phase of its collection, of a panel by those of its ``waves`` that are there.

        A task of an earlier version, whose reports this program does not read, is not open.
        """
        if self.head.waves:
            return phase_of_panel([each.phase(now) for each in waves])
        found = phase_of(self.state, self.head.opens, self.head.closes, self.filled, now)
        return Phase.CLOSED if self.is_earlier and found is Phase.OPEN else found

    def takes_late(self, now: float) -> bool:
        """True if reports count that a relay took while it was open."""
        return not self.is_earlier and takes_late(self.state, self.head.opens, self.settles, now)

    @property
    def settles(self) -> float | None:
        """Unix time at which its grace period ends; None if no end is known."""
        return settles_at(self.state, self.moved, self.head.closes, self.filled)

    def is_settled(self, now: float) -> bool:
        """True if its counts grow no more, unless it is opened again."""
        return self.settles is not None and now >= self.settles


@dataclass(frozen=True, kw_only=True)
class StoredTask(ListedTask):
    """A published task with the curator's own data about it."""

    task: Task
    settings: Mapping[str, Any]
    public_model: str | None
    """The SHA-256 of the uploaded public model in hexadecimal, if there is one."""
    register: str | None
    """The SHA-256 of the register as it is kept, in hexadecimal, if there is one."""
    quota: int | None
    """Maximum number of reports that are counted, if the task has one."""
    planned: float | None
    """Reports at the planned end, or None if intervals are for one look."""


def packed(values: Floats) -> bytes:
    """Numbers as they are kept."""
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def no_task(task_id: str) -> TaskNotFound:
    return TaskNotFound(
        f"There is no task {task_id[:64]} here: it may have been deleted, or belong to another "
        f"curator. GET {TASKS} lists the tasks of this one."
    )


@dataclass(eq=False)
class TaskStore:
    """The verbs of tasks."""

    database: Database
    _heads: Mapping[str, TaskHead] = field(default_factory=dict, init=False)
    """Heads of the tasks listed last; tasks never change."""

    def create(
        self,
        task: Task,
        settings: Mapping[str, Any],
        public: PublicData,
        now: float,
        state: TaskState = TaskState.DRAFT,
    ) -> dict[str, str]:
        """Store a new task in ``state``, in one transaction; nothing if the same task exists.

        Returns the digests of the new rows by their ids, see ``task_digest``. A panel is stored
        with the tasks of all its waves. An existing task is left as it is, state, settings and
        public data included; and so are a panel's waves, deleted ones too, since their holders
        would be asked again.
        """
        with self.database.writing() as connection:
            waves = task.waves if task.is_panel else ()
            new = _create(connection, task, settings, public, now, state)
            for wave in waves if new else ():
                new |= _create(connection, wave, settings, public, now, state)
            return new

    def read(self, task_id: str) -> StoredTask:
        """The task; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            return stored_task(need_task(connection, task_id))

    def head(self, task_id: str) -> ListedTask:
        """The task as lists show it; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            return listed_task(need_task(connection, task_id))

    def listed(self) -> list[ListedTask]:
        """All tasks, oldest first."""
        heads_before = self._heads
        columns = (tasks.c[name] for name in LISTED)
        with self.database.reading() as connection:
            rows = connection.execute(select(*columns).order_by(tasks.c.no)).all()
            new = next((row.no for row in rows if row.id not in heads_before), None)
            read = {} if new is None else _heads_from(connection, new)
        self._heads = heads = {row.id: heads_before.get(row.id) or read[row.id] for row in rows}
        return [_listed(row, heads[row.id]) for row in rows]

    def public_data(self, task_id: str) -> PublicData:
        """The task's encoded public data; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            return public_data_of(connection, need_task(connection, task_id))

    def move(self, task_id: str, move: Move, now: float) -> None:
        """Open, close or delete a task.

        Once a close has returned no report is counted until the task is opened again. Delete
        removes everything that is kept about the task; its report ids are useless from then on,
        and what cannot be removed of them at once is removed by a later ``expire``. The waves of a
        panel that are there move with it, in one transaction. Raises ``TaskNotFound``,
        ``IllegalMove`` by the table in ``privet.protocol.lifecycle``, and ``InvalidTask`` where one
        of an earlier version is opened.
        """
        waves = self.head(task_id).head.waves
        with self.database.writing(locked=[task_id, *waves]) as connection:
            row = need_task(connection, task_id)
            if move is Move.OPEN:
                published_task(row.id, bytes(row.canonical))
            check_move(phase_of(row.state, row.opens, row.closes, row.filled, now), move)
            for each in (row, *(find_task(connection, wave) for wave in waves)):
                if each is not None and each.state != move.state:
                    _move(connection, each, move.state, now)
        if move is Move.DELETE:
            remove_listed_ids(self.database)

    def was_deleted(self, task_id: str) -> bool:
        """True if a task of this id was here and was deleted, by a move or by expiry."""
        deleted = exists().where(deleted_tasks.c.id == task_id)
        with self.database.reading() as connection:
            return bool(connection.scalar(select(deleted)))


def _move(connection: Connection, row: TaskRow, state: TaskState, now: float) -> None:
    if state is TaskState.DELETED:
        remove_task(connection, row.no)
    else:
        this = update(tasks).where(tasks.c.no == row.no)
        connection.execute(this.values(state=state.value, moved=now))


def _create(
    connection: Connection,
    task: Task,
    settings: Mapping[str, Any],
    public: PublicData,
    now: float,
    state: TaskState,
) -> dict[str, str]:
    """Add the rows of a new task, unless it is there; its digest by its id."""
    values = {
        "id": task.id,
        "state": state.value,
        "created": float(now),
        "opens": task.opens,
        "closes": task.closes,
        "invited": task.invited,
        "quota": settings.get(QUOTA),
        "canonical": task.canonical,
        "settings": json.dumps(dict(settings)),
    }
    task_no = connection.scalar(text(ADD_TASK), values)
    if task_no is None:
        return {}
    register = None if public.register is None else packed(public.register)
    connection.execute(
        insert(public_data).values(
            task_no=task_no,
            rows=len(public),
            x=packed(public.X),
            y=packed(public.y),
            onnx=public.onnx,
            register=register,
        )
    )
    return {task.id: row_digest(*(values[name] for name in STAYS))}


def find_task(connection: Connection, task_id: str) -> TaskRow | None:
    return connection.execute(select(tasks).where(tasks.c.id == task_id)).one_or_none()


def need_task(connection: Connection, task_id: str) -> TaskRow:
    """The row of a task; raises ``TaskNotFound``."""
    row = find_task(connection, task_id)
    if row is None:
        raise no_task(task_id)
    return row


def task_digest(row: TaskRow) -> str:
    """The digest of what stays in a task's row as it was created."""
    return row_digest(*(getattr(row, name) for name in STAYS))


def public_data_of(connection: Connection, task: TaskRow) -> PublicData:
    """The encoded public data of the task in a row."""
    of_task = public_data.c.task_no == task.no
    row = connection.execute(select(public_data).where(of_task)).one()
    if not row.rows:
        return PublicData.none()
    x = np.frombuffer(row.x, dtype="<f8").reshape(row.rows, -1)
    onnx = None if row.onnx is None else bytes(row.onnx)
    people = None
    if row.register is not None:
        people = np.frombuffer(row.register, dtype="<f8").reshape(-1, x.shape[1])
    y, prevalence = np.frombuffer(row.y, dtype="<f8"), None
    if stated := json.loads(task.settings).get(PREVALENCE):
        prevalence = stated_prevalence(stated, stored_task(task).task.label, y)
    return PublicData(x, y, onnx, people, prevalence)


def stored_task(row: TaskRow) -> StoredTask:
    task, settings = published_task(row.id, bytes(row.canonical)), json.loads(row.settings)
    looks_once = settings.get("looks", "many") == "once"
    return StoredTask(
        head=task.head,
        task=task,
        settings=settings,
        state=TaskState(row.state),
        created=row.created,
        moved=row.moved,
        marked=row.marked,
        filled=row.filled,
        public_model=settings.get(PUBLIC_MODEL),
        register=settings.get(REGISTER),
        quota=settings.get(QUOTA),
        planned=None if looks_once else float(settings.get("holders", DEFAULT_HOLDERS)),
    )


def _listed(row: TaskRow, head: TaskHead) -> ListedTask:
    return ListedTask(
        head=head,
        state=TaskState(row.state),
        created=row.created,
        moved=row.moved,
        marked=row.marked,
        filled=row.filled,
    )


def listed_task(row: TaskRow) -> ListedTask:
    """The task in a row: a ``StoredTask``, unless an earlier version made it."""
    return _listed(row, head_of(row)) if task_of(row) is None else stored_task(row)


def task_of(row: TaskRow) -> Task | None:
    """The task in a row; None for one of an earlier version.

    Raises ``InvalidTask`` or ``TaskMismatch`` if it is damaged.
    """
    canonical = bytes(row.canonical)
    try:
        return published_task(row.id, canonical)
    except InvalidTask:
        with suppress(ValueError):
            if TaskHead.read(row.id, canonical).unread is not None:
                return None
        raise


def head_of(row: TaskRow) -> TaskHead:
    """The head of the task in a row, of an earlier version too; raises as ``task_of`` does."""
    task = task_of(row)
    return TaskHead.read(row.id, bytes(row.canonical)) if task is None else task.head


def _heads_from(connection: Connection, no: int) -> dict[str, TaskHead]:
    rows = connection.execute(select(tasks.c.id, tasks.c.canonical).where(tasks.c.no >= no))
    return {id_: TaskHead.read(id_, bytes(canonical)) for id_, canonical in rows}
