"""Fitted models as they are kept: numbered documents that never change, and their aliases."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from privet.admin.results import SERVING
from privet.protocol.calls import TASK
from privet.protocol.errors import ModelNotFound

from .audit import row_digest
from .database import Database
from .schema import aliases, models, tasks
from .tasks import need_task


@dataclass(frozen=True)
class ModelInfo:
    """One fitted model of a task: its number (1, 2, ...), when it was fitted, and what as."""

    number: int
    created: float
    summary: Mapping[str, Any]
    """The summary of a model in lists, in JSON's types."""
    aliases: tuple[str, ...] = ()
    """Its names; an alias may move to another model."""
    same_as: int | None = field(default=None, compare=False)
    """The first model of the same answers and settings, of one that was just added."""

    @property
    def digest(self) -> str:
        """The digest of its row, but for the document."""
        return model_digest(self.number, self.created, _kept(self.summary))


def model_digest(number: int, created: float, summary: str) -> str:
    """The digest of a model's row, but for the document."""
    return row_digest(number, created, summary)


def no_model(number: int) -> ModelNotFound:
    return ModelNotFound(f"The task has no model {number}: fit one with POST {TASK}/models.")


@dataclass(eq=False)
class ModelStore:
    """The verbs of models."""

    database: Database

    def add(
        self,
        task_id: str,
        document: bytes,
        summary: Mapping[str, Any],
        now: float,
        *,
        promote: bool = False,
    ) -> ModelInfo:
        """Store a fitted model permanently under the next number; raises ``TaskNotFound``.

        It serves with ``promote``, and where no model does.
        """
        with self.database.writing(locked=[task_id]) as connection:
            task_no = need_task(connection, task_id).no
            earlier = select(models.c.number, models.c.summary).order_by(models.c.number)
            before = connection.execute(earlier.where(models.c.task_no == task_no)).all()
            number = before[-1].number + 1 if before else 1
            same_as = first_alike(((no, json.loads(kept)) for no, kept in before), summary)
            connection.execute(
                insert(models).values(
                    task_no=task_no,
                    number=number,
                    created=now,
                    summary=_kept(summary),
                    document=document,
                )
            )
            serving = (aliases.c.task_no == task_no) & (aliases.c.alias == SERVING)
            serves = promote or not connection.scalar(select(func.count()).where(serving))
            if serves:
                _name(connection, task_no, SERVING, number)
            return ModelInfo(number, now, dict(summary), (SERVING,) if serves else (), same_as)

    def name(self, task_id: str, alias: str, number: int) -> None:
        """Let ``alias`` stand for a model, and no longer for any other of the task.

        Raises ``TaskNotFound`` or ``ModelNotFound``.
        """
        with self.database.writing(locked=[task_id]) as connection:
            task_no = need_task(connection, task_id).no
            there = (models.c.task_no == task_no) & (models.c.number == number)
            if not connection.scalar(select(func.count()).where(there)):
                raise no_model(number)
            _name(connection, task_no, alias, number)

    def listed(self, task_id: str) -> list[ModelInfo]:
        """The task's models, oldest first, without reading them; raises ``TaskNotFound``."""
        with self.database.reading() as connection:
            task_no = need_task(connection, task_id).no
            return models_of(connection, [task_no]).get(task_no, [])

    def document(self, task_id: str, number: int) -> bytes:
        """A model's document; raises ``TaskNotFound`` or ``ModelNotFound``."""
        with self.database.reading() as connection:
            of_task = select(models.c.document).join(tasks, tasks.c.no == models.c.task_no)
            document = connection.scalar(
                of_task.where(tasks.c.id == task_id, models.c.number == number)
            )
            if document is None:
                need_task(connection, task_id)
        if document is None:
            raise no_model(number)
        return bytes(document)


def models_of(connection: Connection, numbers: Sequence[int]) -> dict[int, list[ModelInfo]]:
    """The models of tasks by the tasks' numbers, oldest first, without reading them."""
    same = (aliases.c.task_no == models.c.task_no) & (aliases.c.number == models.c.number)
    columns = (models.c.task_no, models.c.number, models.c.created, models.c.summary)
    rows = connection.execute(
        select(*columns, aliases.c.alias)
        .outerjoin(aliases, same)
        .where(models.c.task_no.in_(numbers))
        .order_by(models.c.task_no, models.c.number, aliases.c.alias)
    )
    found: dict[int, list[ModelInfo]] = {}
    for (task_no, number, created, summary), named in groupby(rows, key=lambda row: row[:4]):
        names = tuple(row.alias for row in named if row.alias is not None)
        info = ModelInfo(number, created, json.loads(summary), names)
        found.setdefault(task_no, []).append(info)
    return found


def first_alike(
    models: Iterable[tuple[int, Mapping[str, Any]]], summary: Mapping[str, Any]
) -> int | None:
    """The number of the first of these models that was fitted so to as many reports, and to no
    other wave's."""
    keys = "estimator", "parameters", "reports"
    for number, known in models:
        same = [known.get(key) for key in keys] == [summary.get(key) for key in keys]
        if same and "earlier waves" not in known.get("facts", ()):
            return number
    return None


def _kept(summary: Mapping[str, Any]) -> str:
    return json.dumps(dict(summary))


def _name(connection: Connection, task_no: int, alias: str, number: int) -> None:
    same = (aliases.c.task_no == task_no) & (aliases.c.alias == alias)
    connection.execute(delete(aliases).where(same))
    connection.execute(insert(aliases).values(task_no=task_no, alias=alias, number=number))
