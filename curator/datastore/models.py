"""Fitted models as they are kept: numbered documents that never change, and their aliases."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from privet.protocol.calls import TASK
from privet.protocol.errors import ModelNotFound

from .database import Database
from .schema import aliases, models
from .tasks import need_task

SERVING = "serving"
"""The alias of the model that predicts where none is named."""


@dataclass(frozen=True)
class ModelInfo:
    """One fitted model of a task: its number (1, 2, ...), when it was fitted, and what as."""

    number: int
    created: float
    summary: Mapping[str, Any]
    """The summary of a model in lists, in JSON's types."""
    aliases: tuple[str, ...] = ()
    """Its names; an alias may move to another model."""


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
            last = select(func.max(models.c.number)).where(models.c.task_no == task_no)
            number = (connection.scalar(last) or 0) + 1
            connection.execute(
                insert(models).values(
                    task_no=task_no,
                    number=number,
                    created=now,
                    summary=json.dumps(dict(summary)),
                    document=document,
                )
            )
            serving = (aliases.c.task_no == task_no) & (aliases.c.alias == SERVING)
            serves = promote or not connection.scalar(select(func.count()).where(serving))
            if serves:
                _name(connection, task_no, SERVING, number)
            return ModelInfo(number, now, dict(summary), (SERVING,) if serves else ())

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
            names: dict[int, list[str]] = {}
            of_task = select(aliases).where(aliases.c.task_no == task_no)
            for row in connection.execute(of_task.order_by(aliases.c.alias)):
                names.setdefault(row.number, []).append(row.alias)
            rows = connection.execute(
                select(models.c.number, models.c.created, models.c.summary)
                .where(models.c.task_no == task_no)
                .order_by(models.c.number)
            )
            return [
                ModelInfo(number, created, json.loads(summary), tuple(names.get(number, ())))
                for number, created, summary in rows
            ]

    def document(self, task_id: str, number: int) -> bytes:
        """A model's document; raises ``TaskNotFound`` or ``ModelNotFound``."""
        with self.database.reading() as connection:
            of_task = models.c.task_no == need_task(connection, task_id).no
            wanted = select(models.c.document).where(of_task, models.c.number == number)
            document = connection.scalar(wanted)
        if document is None:
            raise no_model(number)
        return bytes(document)


def _name(connection: Connection, task_no: int, alias: str, number: int) -> None:
    same = (aliases.c.task_no == task_no) & (aliases.c.alias == alias)
    connection.execute(delete(aliases).where(same))
    connection.execute(insert(aliases).values(task_no=task_no, alias=alias, number=number))
