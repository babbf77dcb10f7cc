"""The rows that an intake transaction reads and changes, and the statements for them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BindParameter,
    Table,
    and_,
    bindparam,
    false,
    func,
    insert,
    select,
    true,
    update,
)

from privet.curator.datastore import schema
from privet.curator.datastore.session import Prepared


class TaskRow(NamedTuple):
    """What a transaction has to know of a task."""

    id: str
    no: int
    state: str
    opens: int | None
    closes: int | None
    invited: bool
    ids_gone: bool
    last_run: int | None
    """The newest run of its ids, see ``privet.curator.datastore.runs``."""


class OwnRow:
    """Statements for one row by its key, made once; a key's parameter is ``b_<column>``."""

    def __init__(self, table: Table, *values: str) -> None:
        names = [column.name for column in table.primary_key]
        key: dict[str, BindParameter[Any]] = {name: bindparam(f"b_{name}") for name in names}
        given: dict[str, BindParameter[Any]] = {name: bindparam(name) for name in values}
        here = and_(*[table.c[name] == parameter for name, parameter in key.items()])
        self.read = Prepared(select(*[table.c[name] for name in values]).where(here))
        self.add = Prepared(insert(table).values({**key, **given}))
        self.change = Prepared(update(table).where(here).values(given))


BUCKET = OwnRow(schema.buckets, "reports", "checksum")
SUM = OwnRow(schema.sums, "n", "vector")
USE_INVITATION = Prepared(
    update(schema.invitations)
    .where(
        schema.invitations.c.task_no == bindparam("task_no"),
        schema.invitations.c.digest == bindparam("digest"),
        schema.invitations.c.unused.is_(true()),
    )
    .values(unused=false())
)
TASK = Prepared(
    select(
        schema.tasks.c.id,
        schema.tasks.c.no,
        schema.tasks.c.state,
        schema.tasks.c.opens,
        schema.tasks.c.closes,
        schema.tasks.c.invited,
        schema.tasks.c.ids_gone,
        select(func.max(schema.id_runs.c.run))
        .where(schema.id_runs.c.task_no == schema.tasks.c.no)
        .scalar_subquery(),
    ).where(schema.tasks.c.id == bindparam("id"))
)


def vector_of(packed: bytes) -> NDArray[np.int64]:
    """The sums that a row holds."""
    return np.frombuffer(packed, dtype="<i8")
