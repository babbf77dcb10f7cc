"""The tables beside the audit log: what its entries state must be as they state it.

An entry states the values that stay by a digest of the row. Entries are written after what they
record, so of a curator that acts at the moment, or ended between the two, the last act may lack its
own. What no entry says was created, as in databases without a log, is not compared, nor what the
entries of an earlier Privet left out.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, func, select

from privet.admin.results import SERVING
from privet.learning.core.public_data import PublicData
from privet.protocol.lifecycle import TaskState

from .audit import (
    ASKED_AGAIN,
    BACKED_UP,
    MADE_BACKUP,
    NAMED,
    PUT_BACK,
    RESTORED,
    RESTORED_BACKUP,
    SIGNING_KEY,
    UNTIL,
)
from .expiry import Removal
from .invitations import invitations_checksum
from .models import model_digest
from .schema import aliases, audit, deleted_tasks, facts, invitations, models, public_data, tasks
from .tasks import TaskRow, packed, task_digest

CREATED, DELETED = "task created", "task deleted"
FITTED, PROMOTED = "model fitted", "model promoted"
INVITED, REVOKED = "invitations made", "invitations revoked"
RELAY_NAMED, KEY_CHANGED = "relay named", "signing key "
MOVED = {f"task {state}": state for state in (TaskState.OPEN, TaskState.CLOSED)}
OF_PANELS = {*MOVED, DELETED}
"""Actions that move a panel's waves with it."""


def document_digest(document: bytes) -> str:
    """The digest by which the audit log tells a model from another, or public data."""
    return sha256(document).hexdigest()[:16]


def public_digest(public: PublicData) -> str:
    """The digest of a task's records as they are kept."""
    return document_digest(packed(public.X) + packed(public.y))


@dataclass
class _Said:
    """All that the entries say of one task; None of what they do not state."""

    name: str
    public: str | None = None
    """The digest of its public data."""
    row: str | None = None
    """The digest of its row."""
    states: tuple[str, ...] = (TaskState.DRAFT, TaskState.OPEN)
    moved: float | None = None
    """Unix time at which it entered its state."""
    is_gone: bool = False
    ids_gone: bool = False
    waves: tuple[str, ...] = ()
    models: dict[int, tuple[str | None, str | None]] = field(default_factory=dict)
    """Digests of document and row by number."""
    aliases: dict[str, int] = field(default_factory=dict)
    invitations: list[Mapping[str, Any]] = field(default_factory=list)
    """Details of the entries about those made."""
    revoked: int = 0

    @classmethod
    def of(cls, detail: Mapping[str, Any], row: str | None) -> "_Said":
        """A task that was created, or a wave with it."""
        said = cls(str(detail.get("name", "")), detail.get("public"), row)
        if "state" in detail:
            said.states, said.moved = (detail["state"],), detail["moved"]
        return said

    def hear(self, action: str, detail: Mapping[str, Any]) -> None:
        if action in MOVED and self.states != (MOVED[action],):
            self.states, self.moved = (MOVED[action],), detail.get("moved")
        elif action in {DELETED, Removal.TASK.value}:
            self.is_gone = True
        elif action == Removal.IDS.value:
            self.ids_gone = True
        elif action == FITTED:
            number = int(detail["number"])
            self.models[number] = (detail.get("document"), detail.get("row"))
            self.aliases |= dict.fromkeys(detail.get("aliases", ()), number)
        elif action == PROMOTED:
            self.aliases[detail.get("alias", SERVING)] = int(detail["number"])
        elif action == INVITED:
            self.invitations.append(detail)
        elif action == REVOKED:
            self.revoked += int(detail["count"])


def account_faults(connection: Connection) -> Iterator[str]:
    """The faults of tables that the audit log, whose chain is whole, does not explain."""
    yield from _task_faults(connection)
    yield from _fact_faults(connection)


def _task_faults(connection: Connection) -> Iterator[str]:
    rows = {row.id: row for row in connection.execute(select(tasks))}
    deleted = set(connection.scalars(select(deleted_tasks.c.id)))
    for task, said in _said(connection).items():
        row, name = rows.get(task), f"the task {said.name!r} ({task[:12]})"
        if row is None and not said.is_gone:
            how = "was deleted" if task in deleted else "is gone"
            yield f"{name} {how}, and the audit log does not say so"
        elif row is not None and said.is_gone:
            yield f"{name} is there, and the audit log says that it was deleted"
        elif row is not None:
            yield from (f"{name} {fault}" for fault in _row_faults(connection, row, said))
            yield from (f"of {name} {fault}" for fault in _model_faults(connection, row.no, said))
        elif task not in deleted:
            yield f"{name} was deleted, and is not among the deleted ones"


def _said(connection: Connection) -> dict[str, _Said]:
    found: dict[str, _Said] = {}
    entries = select(audit.c.action, audit.c.subject, audit.c.detail).order_by(audit.c.no)
    for entry in connection.execute(entries.execution_options(yield_per=1_000)):
        detail = json.loads(entry.detail)
        if entry.action == CREATED:
            waves = detail.get("waves")
            rows = waves if isinstance(waves, dict) else {}  # a number in earlier entries
            said = found.setdefault(entry.subject, _Said.of(detail, detail.get("row")))
            said.waves = tuple(rows)
            for wave, digest in rows.items():
                found.setdefault(wave, _Said.of(detail, digest))
        elif entry.subject in found:
            said = found[entry.subject]
            said.hear(entry.action, detail)
            for wave in said.waves if entry.action in OF_PANELS else ():
                found[wave].hear(entry.action, detail)
    return found


def _row_faults(connection: Connection, row: TaskRow, said: _Said) -> Iterator[str]:
    """Faults of a task's row, its public data and its invitations."""
    if row.state not in said.states:
        yield f"is {row.state}, and the audit log does not say so"
    elif said.moved not in {None, row.moved}:
        yield f"entered its state at {row.moved}, by the audit log at {said.moved}"
    if said.row not in {None, task_digest(row)}:
        yield "has other settings, limits or dates than the audit log says it was created with"
    if said.public not in {None, _public_digest(connection, row.no)}:
        yield "has other public data than the audit log says it was created with"
    if row.ids_gone != said.ids_gone:
        yield "keeps its report ids or not, other than the audit log says"
    made = said.invitations
    if all("rows" in detail for detail in made):
        of_task = invitations.c.task_no == row.no
        there = select(invitations.c.digest, invitations.c.expires).where(of_task)
        kept = invitations_checksum(
            (bytes(digest), expires) for digest, expires in connection.execute(there)
        )
        revoked = select(func.count()).where(of_task, invitations.c.revoked)
        stated = sum(int(detail["rows"], 16) for detail in made) % 2**64
        if int(kept, 16) != stated or connection.scalar(revoked) != said.revoked:
            yield "has other invitations than the audit log says were made and revoked"


def _public_digest(connection: Connection, task_no: int) -> str:
    kept = select(public_data.c.x, public_data.c.y).where(public_data.c.task_no == task_no)
    row = connection.execute(kept).one_or_none()
    return "" if row is None else document_digest(bytes(row.x) + bytes(row.y))


def _model_faults(connection: Connection, task_no: int, said: _Said) -> Iterator[str]:
    there = select(models).where(models.c.task_no == task_no)
    kept = {
        row.number: (
            document_digest(bytes(row.document)),
            model_digest(row.number, row.created, row.summary),
        )
        for row in connection.execute(there.execution_options(yield_per=1))
    }
    for number in sorted(said.models.keys() | kept.keys()):
        if number not in kept:
            yield f"model {number} is gone, and the audit log does not say so"
        elif number not in said.models:
            yield f"model {number} is in no entry of the audit log"
        elif any(
            stated not in {None, found}
            for stated, found in zip(said.models[number], kept[number], strict=True)
        ):
            yield f"model {number} is another than the audit log says was fitted"
    named = select(aliases.c.alias, aliases.c.number).where(aliases.c.task_no == task_no)
    serves = dict(iter(connection.execute(named)))
    for alias in sorted(said.aliases.keys() | serves.keys()):
        if serves.get(alias) != said.aliases.get(alias):
            yield (
                f"{alias!r} is model {serves.get(alias, 'none')}, by the audit log "
                f"{said.aliases.get(alias, 'none')}"
            )


def _fact_faults(connection: Connection) -> Iterator[str]:
    """Faults of facts that entries state: backups, the signing key, the relay."""
    stated: dict[str, str | None] = {}
    rows = select(audit).order_by(audit.c.no)
    for entry in connection.execute(rows.execution_options(yield_per=1_000)):
        detail = json.loads(entry.detail)
        if entry.action == MADE_BACKUP:
            stated[BACKED_UP] = repr(entry.at)
        elif entry.action == RESTORED_BACKUP:
            stated[RESTORED] = repr(detail["made"])
        elif entry.action in {PUT_BACK, ASKED_AGAIN}:
            stated[RESTORED] = repr(detail[UNTIL]) if UNTIL in detail else None
        elif entry.action.startswith(KEY_CHANGED):
            stated[SIGNING_KEY] = entry.subject
        elif entry.action == RELAY_NAMED:
            stated[NAMED] = detail["address"].rstrip("/")
    kept = dict(iter(connection.execute(select(facts.c.name, facts.c.value))))
    for name, value in stated.items():
        if value is not None and kept.get(name) != value:
            yield f"the fact {name!r} is {kept.get(name)!r}, by the audit log {value!r}"
