"""Tasks as they are kept: published bytes, the curator's settings, public data, state."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from math import fsum
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, Row, exists, insert, select, text, update

from privet.learning.core.public_data import Floats, PublicData, stated_prevalence
from privet.learning.task_building.settings import DEFAULT_HOLDERS
from privet.protocol import wire
from privet.protocol.calls import TASKS
from privet.protocol.errors import InvalidTask, TaskNotFound
from privet.protocol.lifecycle import MOVES, Move, TaskState, after
from privet.protocol.limits import LATE_SECONDS
from privet.protocol.panel import Panel
from privet.protocol.task import TASK_BOUNDS, Task

from .database import Database
from .removal import remove_listed_ids, remove_task
from .reports import ended_at, is_open, takes_late
from .schema import deleted_tasks, public_data, tasks

PUBLIC_MODEL = "public_model"
REGISTER = "register"
PREVALENCE = "prevalence"
"""Key in a task's settings: SHA-256 of its uploaded public model, or None."""

QUOTA = "quota"
"""Key in a task's settings: maximum number of counted reports, or None."""

ADD_TASK = """
INSERT INTO tasks (
    id, state, created, moved, opens, closes, invited, ids_gone, quota, canonical, settings
) VALUES (
    :id, :state, :now, :now, :opens, :closes, :invited, FALSE, :quota, :canonical, :settings
) ON CONFLICT (id) DO NOTHING RETURNING no
"""

LISTED = ("no", "id", "state", "created", "moved", "marked", "filled")
"""Columns that lists read."""
TaskRow = Row[*tuple[Any, ...]]


class _LabelHead(BaseModel):
    name: str
    prompt: str | None = None


class _QuestionHead(BaseModel):
    epsilon: float


class TaskHead(BaseModel):
    """The summary of a task in lists, read without parsing its trees."""

    model_config = ConfigDict(frozen=True)

    id: str
    version: int
    name: str
    label: _LabelHead
    questions: tuple[_QuestionHead, ...]
    allocation: Literal["all", "one"]
    opens: int | None = None
    closes: int | None = None
    panel: Panel | None = None
    panel_id: str | None = None

    @classmethod
    def read(cls, task_id: str, canonical: bytes) -> Self:
        """The head of a task from its canonical bytes; raises ``ValueError`` if it has none."""
        fields = wire.unpack(canonical, TASK_BOUNDS)
        head = cls.model_validate({"id": task_id, **fields})
        if head.panel is None:
            return head
        opens, closes = head.panel.span
        whole = wire.pack({**fields, "opens": opens, "closes": closes})
        return head.model_copy(update={"panel_id": sha256(whole).hexdigest()})

    @property
    def epsilon(self) -> float:
        spent = [question.epsilon for question in self.questions]
        return fsum(spent) if self.allocation == "all" else max(spent)

    @property
    def is_panel(self) -> bool:
        """True for a panel's own document."""
        return self.panel is not None and (self.opens, self.closes) == self.panel.span

    @property
    def wave(self) -> int | None:
        """The number of the wave that it is, from 0; None if it is none."""
        if self.panel is None or self.is_panel:
            return None
        return self.panel.waves.index((self.opens, self.closes))


@lru_cache(maxsize=64)
def published_task(task_id: str, canonical: bytes) -> Task:
    """A task from its canonical bytes; raises ``InvalidTask`` if they are damaged."""
    return Task.parse(canonical, task_id)


@dataclass(frozen=True, kw_only=True)
class ListedTask:
    """A task as lists show it, also one of an earlier version."""

    task: Task | TaskHead
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
        return self.task.version != wire.VERSION

    def is_over(self, now: float) -> bool:
        """True if its published end has come or its quota is reached, so that no new report can
        count any more."""
        closes = self.task.closes
        return self.filled is not None or (closes is not None and now >= closes)

    def takes_reports(self, now: float) -> bool:
        """True if it is open, ``now`` lies within its published dates, and its quota is not
        reached.

        Not one of an earlier version, whose reports this program does not read; nor a panel, whose
        waves take the reports.
        """
        task = self.task
        is_now = is_open(self.state, task.opens, task.closes, now)
        return not self.is_earlier and not task.is_panel and self.filled is None and is_now

    def in_words(self, now: float) -> str:
        """Its state, and of an open task how its dates and quota stand: open, not yet, over, or
        all answers are in."""
        opens, closes = self.task.opens, self.task.closes
        if self.task.is_panel or self.takes_reports(now):
            return self.state.value
        if self.filled is not None:
            return "all answers are in"
        if closes is not None and now >= closes:
            return "over"
        is_early = self.state is TaskState.OPEN and opens is not None and now < opens
        return "not yet" if is_early else self.state.value

    def takes_late(self, now: float) -> bool:
        """True if reports count that a relay took while it was open."""
        task = self.task
        late = takes_late(self.state, self.moved, task.opens, task.closes, self.filled, now)
        return not self.is_earlier and late

    @property
    def settles(self) -> float | None:
        """Unix time at which its grace period ends; None if no end is known."""
        end = ended_at(self.state, self.moved, self.task.closes, self.filled)
        return None if end is None else end + LATE_SECONDS

    def is_settled(self, now: float) -> bool:
        """True if its counts grow no more, unless it is opened again."""
        return self.settles is not None and now >= self.settles


@dataclass(frozen=True, kw_only=True)
class StoredTask(ListedTask):
    """A published task with the curator's own data about it."""

    task: Task
    settings: Mapping[str, Any]

    @property
    def public_model(self) -> str | None:
        """The SHA-256 of the uploaded public model in hexadecimal, if there is one."""
        return self.settings.get(PUBLIC_MODEL)

    @property
    def register(self) -> str | None:
        """The SHA-256 of the register as it is kept, in hexadecimal, if there is one."""
        return self.settings.get(REGISTER)

    @property
    def quota(self) -> int | None:
        """Maximum number of reports that are counted, if the task has one."""
        return self.settings.get(QUOTA)

    @property
    def planned(self) -> float | None:
        """Reports at the planned end, or None if intervals are for one look."""
        if self.settings.get("looks", "many") == "once":
            return None
        return float(self.settings.get("holders", DEFAULT_HOLDERS))


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
    ) -> bool:
        """Store a new task in ``state``, in one transaction; False if the same task already exists.

        A panel is stored with the tasks of all its waves. An existing task is left as it is, state,
        settings and public data included; and so are a panel's waves, deleted ones too, since their
        holders would be asked again.
        """
        with self.database.writing() as connection:
            waves = task.waves if task.is_panel else ()
            is_new = _create(connection, task, settings, public, now, state)
            for wave in waves if is_new else ():
                _create(connection, wave, settings, public, now, state)
            return is_new

    def read(self, task_id: str) -> StoredTask:
        """The task; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            return stored_task(need_task(connection, task_id))

    def head(self, task_id: str) -> ListedTask:
        """The task as lists show it; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            row = need_task(connection, task_id)
        return _listed(row, head_of(row))

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
            task = need_task(connection, task_id)
            of_task = public_data.c.task_no == task.no
            row = connection.execute(select(public_data).where(of_task)).one()
        x = np.frombuffer(row.x, dtype="<f8").reshape(row.rows, -1)
        onnx = None if row.onnx is None else bytes(row.onnx)
        people = None
        if row.register is not None:
            people = np.frombuffer(row.register, dtype="<f8").reshape(-1, x.shape[1])
        y, prevalence = np.frombuffer(row.y, dtype="<f8"), None
        if stated := json.loads(task.settings).get(PREVALENCE):
            prevalence = stated_prevalence(stated, stored_task(task).task.label, y)
        return PublicData(x, y, onnx, people, prevalence)

    def move(self, task_id: str, move: Move, now: float) -> TaskState:
        """Open, close or delete a task; the state it is in afterwards.

        Once a close has returned no report is counted until the task is opened again. Delete
        removes everything that is kept about the task; its report ids are useless from then on,
        and what cannot be removed of them at once is removed by a later ``expire``. A panel moves
        in one transaction with those of its waves that are there and can. Raises ``TaskNotFound``,
        and ``IllegalMove`` by the table in ``privet.protocol.lifecycle``.
        """
        task = self.head(task_id).task
        waves = task.waves if isinstance(task, Task) and task.is_panel else ()
        ids = [task_id, *(wave.id for wave in waves)]
        with self.database.writing(locked=ids) as connection:
            state = _move(connection, need_task(connection, task_id), move, now)
            for row in filter(None, (find_task(connection, wave.id) for wave in waves)):
                if (TaskState(row.state), move) in MOVES:
                    _move(connection, row, move, now)
        if state is TaskState.DELETED:
            remove_listed_ids(self.database)
        return state

    def was_deleted(self, task_id: str) -> bool:
        """True if a task of this id was here and was deleted, by a move or by expiry."""
        deleted = exists().where(deleted_tasks.c.id == task_id)
        with self.database.reading() as connection:
            return bool(connection.scalar(select(deleted)))


def _move(connection: Connection, row: TaskRow, move: Move, now: float) -> TaskState:
    """Move one task; the state it is in afterwards."""
    state = after(TaskState(row.state), move)
    if state is TaskState.DELETED:
        remove_task(connection, row.no)
    else:
        this = update(tasks).where(tasks.c.no == row.no)
        connection.execute(this.values(state=state.value, moved=now))
    return state


def _create(
    connection: Connection,
    task: Task,
    settings: Mapping[str, Any],
    public: PublicData,
    now: float,
    state: TaskState,
) -> bool:
    """Add the rows of a new task; False if it is there."""
    values = {
        "id": task.id,
        "state": state.value,
        "now": now,
        "opens": task.opens,
        "closes": task.closes,
        "invited": task.invited,
        "quota": settings.get(QUOTA),
        "canonical": task.canonical,
        "settings": json.dumps(dict(settings)),
    }
    task_no = connection.scalar(text(ADD_TASK), values)
    if task_no is None:
        return False
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
    return True


def find_task(connection: Connection, task_id: str) -> TaskRow | None:
    return connection.execute(select(tasks).where(tasks.c.id == task_id)).one_or_none()


def need_task(connection: Connection, task_id: str) -> TaskRow:
    """The row of a task; raises ``TaskNotFound``."""
    row = find_task(connection, task_id)
    if row is None:
        raise no_task(task_id)
    return row


def stored_task(row: TaskRow) -> StoredTask:
    return StoredTask(
        task=published_task(row.id, bytes(row.canonical)),
        settings=json.loads(row.settings),
        state=TaskState(row.state),
        created=row.created,
        moved=row.moved,
        marked=row.marked,
        filled=row.filled,
    )


def _listed(row: TaskRow, task: Task | TaskHead) -> ListedTask:
    """The task in a row as lists show it."""
    return ListedTask(
        task=task,
        state=TaskState(row.state),
        created=row.created,
        moved=row.moved,
        marked=row.marked,
        filled=row.filled,
    )


def head_of(row: TaskRow) -> Task | TaskHead:
    """The task in a row, or the summary of one of an earlier version.

    Raises ``InvalidTask`` or ``TaskMismatch`` if it is damaged.
    """
    canonical = bytes(row.canonical)
    try:
        return published_task(row.id, canonical)
    except InvalidTask:
        with suppress(ValueError):
            head = TaskHead.read(row.id, canonical)
            if head.version < wire.VERSION:
                return head
        raise


def _heads_from(connection: Connection, no: int) -> dict[str, TaskHead]:
    rows = connection.execute(select(tasks.c.id, tasks.c.canonical).where(tasks.c.no >= no))
    return {id_: TaskHead.read(id_, bytes(canonical)) for id_, canonical in rows}
