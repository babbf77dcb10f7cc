"""The store over SQL, for SQLite and PostgreSQL alike; what differs is in a ``Backend``."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import numpy as np
from sqlalchemy import (
    Connection,
    Row,
    delete,
    func,
    insert,
    select,
    text,
    update,
)

from privet.learning.public_data import PublicData
from privet.protocol.errors import StorageFailed
from privet.protocol.lifecycle import Move, State, after, not_open
from privet.protocol.task import TASK_VERSION, Task

from . import schema
from .base import (
    HOLD_SECONDS,
    QUOTA,
    AuditEntry,
    Bucket,
    Expired,
    InvitationCounts,
    ListedTask,
    ModelInfo,
    QuestionSums,
    Removal,
    Status,
    StoredTask,
    StoredToken,
    TaskHead,
    checksum_text,
    hidden,
    no_model,
    no_task,
    other_invitations,
    published_task,
)
from .counting import CountingStore, vector_of
from .garbage_collection import (
    bring_forward,
    mark,
    remove_listed_ids,
    remove_task,
    retire_ids,
)

DIGESTS_AT_ONCE = 1_000
"""Invitations in one statement."""

NOTE_FIRST = "INSERT INTO facts (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING"
NOTE = """
INSERT INTO facts (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
"""One statement, since curators that start at once note the same."""
PUT_FIRST = """
INSERT INTO tokens (name, scope, digest, created, expires, used)
VALUES (:name, :scope, :digest, :created, :expires, :used) ON CONFLICT DO NOTHING
"""

log = logging.getLogger(__name__)

AnyRow = Row[*tuple[Any, ...]]


class SqlStore(CountingStore):
    """Tasks, sums, ids and models in a database that several curators may share."""

    _heads: Mapping[str, TaskHead] = {}
    """Of the tasks that were last listed; a task never changes."""

    def create_task(
        self,
        task: Task,
        settings: Mapping[str, Any],
        public: PublicData,
        now: float,
        state: State = State.DRAFT,
    ) -> bool:
        with self._writing() as connection:
            if _find(connection, task.id) is not None:
                return False
            task_no = connection.scalar(
                insert(schema.tasks)
                .values(
                    id=task.id,
                    state=state.value,
                    created=now,
                    moved=now,
                    opens=task.opens,
                    closes=task.closes,
                    invited=task.invited,
                    ids_gone=False,
                    quota=settings.get(QUOTA),
                    canonical=task.canonical,
                    settings=json.dumps(dict(settings)),
                )
                .returning(schema.tasks.c.no)
            )
            connection.execute(
                insert(schema.public_data).values(
                    task_no=task_no,
                    rows=len(public),
                    x=np.ascontiguousarray(public.X, dtype="<f8").tobytes(),
                    y=np.ascontiguousarray(public.y, dtype="<f8").tobytes(),
                    onnx=public.onnx,
                )
            )
            return True

    def task(self, task_id: str) -> StoredTask:
        with self._reading() as connection:
            return _stored(_need(connection, task_id))

    def tasks(self) -> list[ListedTask]:
        known = self._heads
        with self._reading() as connection:
            rows = connection.execute(LISTED).all()
            new = next((row.no for row in rows if row.id not in known), None)
            read = {} if new is None else _heads_from(connection, new)
        self._heads = heads = {row.id: known.get(row.id) or read[row.id] for row in rows}
        return [_listed(row, heads[row.id]) for row in rows]

    def public_data(self, task_id: str) -> PublicData:
        table = schema.public_data
        with self._reading() as connection:
            row = connection.execute(
                select(table).where(table.c.task_no == _need(connection, task_id).no)
            ).one()
        x = np.frombuffer(row.x, dtype="<f8").reshape(row.rows, -1)
        onnx = None if row.onnx is None else bytes(row.onnx)
        return PublicData(x, np.frombuffer(row.y, dtype="<f8"), onnx)

    def move(self, task_id: str, move: Move, now: float) -> State:
        table = schema.tasks
        with self._writing() as connection:
            self._lock_alone(connection, [task_id])
            row = _need(connection, task_id)
            state = after(State(row.state), move)
            if state is State.DELETED:
                remove_task(connection, row.no)
            else:
                connection.execute(
                    update(table).where(table.c.no == row.no).values(state=state.value, moved=now)
                )
        if state is State.DELETED:
            self._remove_ids()
        return state

    def was_deleted(self, task_id: str) -> bool:
        table = schema.deleted_tasks
        with self._reading() as connection:
            found = connection.scalar(select(table.c.id).where(table.c.id == task_id))
            return found is not None

    def sums(self, task_id: str) -> list[QuestionSums]:
        with self._reading() as connection:
            row = _need(connection, task_id)
            sizes = [mechanism.sum_size for mechanism in _stored(row).task.mechanisms]
            return _read_sums(connection, row.no, sizes)

    def count_rejects(self, task_id: str, rejects: Mapping[str, int]) -> None:
        table = schema.rejects
        with self._writing() as connection:
            row = _find(connection, task_id)
            if row is None:
                return
            for reason, count in sorted(rejects.items()):
                here = (table.c.task_no == row.no) & (table.c.reason == reason)
                changed = connection.execute(
                    update(table).where(here).values(count=table.c.count + count)
                )
                if changed.rowcount == 0:
                    connection.execute(
                        insert(table).values(task_no=row.no, reason=reason, count=count)
                    )

    def status(self, task_id: str) -> Status:
        with self._reading() as connection:
            row = _need(connection, task_id)
            status = _read_status(connection, row.no, len(_stored(row).published.questions))
            return replace(status, invited=bool(row.invited))

    def add_model(
        self, task_id: str, document: bytes, summary: Mapping[str, Any], now: float
    ) -> ModelInfo:
        table = schema.models
        with self._writing() as connection:
            self._lock_alone(connection, [task_id])
            task_no = _need(connection, task_id).no
            last = connection.scalar(
                select(func.max(table.c.number)).where(table.c.task_no == task_no)
            )
            number = (last or 0) + 1
            connection.execute(
                insert(table).values(
                    task_no=task_no,
                    number=number,
                    created=now,
                    summary=json.dumps(dict(summary)),
                    document=document,
                )
            )
            return ModelInfo(number, now, dict(summary))

    def models(self, task_id: str) -> list[ModelInfo]:
        table = schema.models
        with self._reading() as connection:
            task_no = _need(connection, task_id).no
            own = select(schema.aliases).where(schema.aliases.c.task_no == task_no)
            named: dict[int, list[str]] = {}
            for row in connection.execute(own.order_by(schema.aliases.c.alias)):
                named.setdefault(row.number, []).append(row.alias)
            rows = connection.execute(
                select(table.c.number, table.c.created, table.c.summary)
                .where(table.c.task_no == task_no)
                .order_by(table.c.number)
            )
            return [
                ModelInfo(number, created, json.loads(text), tuple(named.get(number, ())))
                for number, created, text in rows
            ]

    def name_model(self, task_id: str, alias: str, number: int) -> None:
        table, models = schema.aliases, schema.models
        with self._writing() as connection:
            self._lock_alone(connection, [task_id])
            task_no = _need(connection, task_id).no
            there = (models.c.task_no == task_no) & (models.c.number == number)
            if not connection.scalar(select(func.count()).where(there)):
                raise no_model(number)
            own = (table.c.task_no == task_no) & (table.c.alias == alias)
            connection.execute(delete(table).where(own))
            connection.execute(insert(table).values(task_no=task_no, alias=alias, number=number))

    def model(self, task_id: str, number: int) -> bytes:
        table = schema.models
        with self._reading() as connection:
            own = (table.c.task_no == _need(connection, task_id).no) & (table.c.number == number)
            document = connection.scalar(select(table.c.document).where(own))
        if document is None:
            raise no_model(number)
        return bytes(document)

    def invite(self, task_id: str, digests: Sequence[bytes], expires: float | None = None) -> None:
        with self._writing() as connection:
            self._lock_alone(connection, [task_id])
            task_no = _need(connection, task_id).no
            connection.execute(
                insert(schema.invitations),
                [
                    {
                        "task_no": task_no,
                        "digest": hidden(digest),
                        "unused": True,
                        "revoked": False,
                        "expires": expires,
                    }
                    for digest in digests
                ],
            )
            connection.execute(
                update(schema.tasks).where(schema.tasks.c.no == task_no).values(invited=True)
            )

    def revoke_invitations(self, task_id: str, digests: Sequence[bytes] | None = None) -> int:
        table = schema.invitations
        kept = None if digests is None else list(map(hidden, digests))
        with self._writing() as connection:
            self._lock_alone(connection, [task_id])
            own = (table.c.task_no == _need(connection, task_id).no) & table.c.unused
            chosen = [own] if kept is None else [own & table.c.digest.in_(p) for p in _parts(kept)]
            ended = [
                connection.execute(update(table).where(part).values(unused=False, revoked=True))
                for part in chosen
            ]
            return sum(result.rowcount for result in ended)

    def invitations(self, task_id: str, now: float) -> InvitationCounts:
        table = schema.invitations
        with self._reading() as connection:
            own = table.c.task_no == _need(connection, task_id).no

            def count(*conditions: Any) -> int:
                return connection.scalar(select(func.count()).where(own, *conditions)) or 0

            return InvitationCounts(
                issued=count(),
                used=count(~table.c.unused, ~table.c.revoked),
                revoked=count(table.c.revoked),
                expired=count(table.c.unused, table.c.expires <= now),
            )

    def admit(
        self, task_id: str, admission: bytes, digests: Sequence[bytes], now: float
    ) -> list[bytes]:
        table = schema.admissions
        asked = sha256(b"".join(digests)).digest()
        with self._writing() as connection:
            self._lock_alone(connection, [task_id])
            row = _need(connection, task_id)
            own = (table.c.task_no == row.no) & (table.c.id == admission)
            before = connection.execute(select(table).where(own)).one_or_none()
            if before is None:
                stored = _stored(row)
                if not stored.takes_reports(now):
                    raise not_open(stored.task)
                held = _hold(connection, row.no, [hidden(digest) for digest in digests], now)
                values = {"task_no": row.no, "id": admission, "asked": asked, "made": now}
                packed = b"".join(sorted(held))
                connection.execute(
                    insert(table).values(**values, held=packed, invitations=len(held))
                )
            elif bytes(before.asked) != asked:
                raise other_invitations()
            else:
                held = set(_split(bytes(before.held)))
        return [digest for digest in digests if hidden(digest) not in held]

    def put_token(self, token: StoredToken) -> None:
        table = schema.tokens
        with self._writing() as connection:
            connection.execute(delete(table).where(table.c.name == token.name))
            connection.execute(insert(table).values(asdict(token)))

    def replace_token(self, old: StoredToken | None, new: StoredToken) -> bool:
        table = schema.tokens
        with self._writing() as connection:
            if old is not None:
                same = (table.c.name == old.name) & (table.c.digest == old.digest)
                connection.execute(delete(table).where(same))
            return connection.execute(text(PUT_FIRST), asdict(new)).rowcount > 0

    def tokens(self) -> list[StoredToken]:
        table = schema.tokens
        with self._reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.name))
            return [
                StoredToken(r.name, r.scope, bytes(r.digest), r.created, r.expires, r.used)
                for r in rows
            ]

    def drop_token(self, name: str) -> bool:
        table = schema.tokens
        with self._writing() as connection:
            return connection.execute(delete(table).where(table.c.name == name)).rowcount > 0

    def note_use(self, name: str, now: float) -> None:
        table = schema.tokens
        with self._writing() as connection:
            connection.execute(update(table).where(table.c.name == name).values(used=now))

    def add_audit(self, entry: AuditEntry, join_since: float | None = None) -> None:
        table = schema.audit
        same = (table.c.actor == entry.actor) & (table.c.action == entry.action)
        with self._writing() as connection:
            if join_since is not None:
                counted = connection.execute(
                    update(table)
                    .where(same & (table.c.at >= join_since))
                    .values(times=table.c.times + 1)
                )
                if counted.rowcount:
                    return
            insert_audit(connection, entry)

    def audit(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        table = schema.audit
        query = select(table).order_by(table.c.no.desc()).limit(limit)
        if before is not None:
            query = query.where(table.c.no < before)
        with self._reading() as connection:
            return [
                AuditEntry(r.at, r.actor, r.action, r.subject, json.loads(r.detail), r.times, r.no)
                for r in connection.execute(query)
            ]

    def fact(self, name: str) -> str | None:
        table = schema.facts
        with self._reading() as connection:
            return connection.scalar(select(table.c.value).where(table.c.name == name))

    def note(self, name: str, value: str) -> None:
        with self._writing() as connection:
            connection.execute(text(NOTE), {"name": name, "value": value})

    def note_first(self, name: str, value: str) -> str:
        with self._writing() as connection:
            connection.execute(text(NOTE_FIRST), {"name": name, "value": value})
        return self.fact(name) or value

    def expire(self, now: float, keep_ids: float, keep_tasks: float | None) -> Expired:
        with self._writing() as connection:
            seen = bring_forward(connection, now)
            ripe = mark(connection, seen, keep_ids, keep_tasks)
            gone = [(no, task_id) for what, no, task_id in ripe if what is Removal.TASK]
            self._lock_alone(connection, [task_id for _, task_id in gone])
            for no, _ in gone:
                remove_task(connection, no)
            for what, no, _ in ripe:
                if what is Removal.IDS:
                    retire_ids(connection, no)
            marks = connection.scalar(select(func.count(schema.tasks.c.marked)))
        released = self._release(seen - HOLD_SECONDS)
        removals = tuple((what, task_id) for what, _, task_id in ripe)
        return Expired(len(gone), self._remove_ids(), marks or 0, released, removals)

    def _release(self, before: float) -> int:
        """Forget the admissions made until then, whose invitations are unused again; how many."""
        table, tasks, released = schema.admissions, schema.tasks, 0
        old = select(tasks.c.id, table).join(tasks, tasks.c.no == table.c.task_no)
        with self._writing() as connection:
            rows = connection.execute(old.where(table.c.made <= before)).all()
            self._lock_alone(connection, [task_id for task_id, *_ in rows])
            for _, task_no, own, _, held, *_ in rows:
                gone = delete(table).where(table.c.task_no == task_no, table.c.id == own)
                if connection.execute(gone).rowcount:  # else its batch was counted meanwhile
                    _set_unused(connection, task_no, _split(bytes(held)), unused=True)
                    released += 1
        return released

    def _remove_ids(self) -> int:
        """Remove all listed ids, in transactions short enough for reports to come between.

        What listed them is committed, so an error here is not its caller's: the ids stay listed.
        """
        total = 0
        removed: int | None = 0
        try:
            while removed is not None:
                total += removed
                with self._writing() as connection:
                    removed = remove_listed_ids(connection)
        except StorageFailed as error:
            log.warning("report ids are removed later: %s", error.__cause__)
        return total

    def check(self) -> None:
        with self._writing() as connection:
            connection.execute(
                update(schema.tokens).where(schema.tokens.c.name == "").values(name="")
            )

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._failing(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with (
            self._failing(),
            self._engine.connect().execution_options(privet_writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    def _lock_alone(self, connection: Connection, task_ids: Sequence[str]) -> None:
        self._backend.lock_tasks(self._backend.cursor_of(connection.connection), [], task_ids)


def _hold(connection: Connection, task_no: int, digests: Sequence[bytes], now: float) -> set[bytes]:
    """Take the unused ones of these invitations out of use; which they were."""
    table, held = schema.invitations, set[bytes]()
    for part in _parts(digests):
        unused = select(table.c.digest).where(
            table.c.task_no == task_no,
            table.c.digest.in_(part),
            table.c.unused,
            table.c.expires.is_(None) | (table.c.expires > now),
        )
        held.update(bytes(digest) for digest in connection.scalars(unused))
    _set_unused(connection, task_no, sorted(held), unused=False)
    return held


def _set_unused(
    connection: Connection, task_no: int, digests: Sequence[bytes], *, unused: bool
) -> None:
    table = schema.invitations
    for part in _parts(digests):
        own = (table.c.task_no == task_no) & table.c.digest.in_(part)
        connection.execute(update(table).where(own).values(unused=unused))


def _parts(digests: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(digests), DIGESTS_AT_ONCE):
        yield digests[start : start + DIGESTS_AT_ONCE]


def _split(packed: bytes) -> list[bytes]:
    return [packed[start : start + 32] for start in range(0, len(packed), 32)]


def _read_sums(connection: Connection, task_no: int, sizes: Sequence[int]) -> list[QuestionSums]:
    """The sums of every question, over all buckets and curators, in one read."""
    totals = [QuestionSums(np.zeros(size, dtype=np.int64), 0) for size in sizes]
    for row in connection.execute(select(schema.sums).where(schema.sums.c.task_no == task_no)):
        old = totals[row.question]
        totals[row.question] = QuestionSums(old.vector + vector_of(row.vector), old.n + row.n)
    return totals


def _read_status(connection: Connection, task_no: int, questions: int) -> Status:
    """Counts, checksums and rejects of one task."""
    table, sums, rejects = schema.buckets, schema.sums, schema.rejects
    buckets: dict[int, tuple[int, int]] = {}
    for row in connection.execute(select(table).where(table.c.task_no == task_no)):
        reports, total = buckets.get(row.starts, (0, 0))
        total += int.from_bytes(row.checksum, "big")
        buckets[row.starts] = reports + row.reports, total
    answers = [0] * questions
    relayed = schema.relayed
    by_relay = (
        select(relayed.c.relay, func.sum(relayed.c.reports))
        .where(relayed.c.task_no == task_no)
        .group_by(relayed.c.relay)
    )
    answered = select(sums.c.question, sums.c.n).where(sums.c.task_no == task_no)
    for question, n in connection.execute(answered):
        answers[question] += n
    refused = select(rejects.c.reason, rejects.c.count).where(rejects.c.task_no == task_no)
    return Status(
        reports=sum(reports for reports, _ in buckets.values()),
        answers=tuple(answers),
        checksum=checksum_text(sum(total for _, total in buckets.values())),
        buckets=tuple(
            Bucket(starts, reports, checksum_text(total))
            for starts, (reports, total) in sorted(buckets.items())
        ),
        rejects=dict(iter(connection.execute(refused))),
        relayed={relay: int(reports) for relay, reports in connection.execute(by_relay)},
    )


LISTED = select(
    *(schema.tasks.c[name] for name in ("no", "id", "state", "created", "marked"))
).order_by(schema.tasks.c.no)


def insert_audit(connection: Connection, entry: AuditEntry) -> None:
    """Add an entry to the audit log, inside a transaction."""
    connection.execute(
        insert(schema.audit).values(
            at=entry.at,
            actor=entry.actor,
            action=entry.action,
            subject=entry.subject,
            detail=json.dumps(dict(entry.detail)),
            times=entry.times,
        )
    )


def _find(connection: Connection, task_id: str) -> AnyRow | None:
    return connection.execute(
        select(schema.tasks).where(schema.tasks.c.id == task_id)
    ).one_or_none()


def _need(connection: Connection, task_id: str) -> AnyRow:
    row = _find(connection, task_id)
    if row is None:
        raise no_task(task_id)
    return row


def _heads_from(connection: Connection, no: int) -> dict[str, TaskHead]:
    """The heads of the tasks from this one on, by id."""
    table = schema.tasks
    rows = connection.execute(select(table.c.id, table.c.canonical).where(table.c.no >= no))
    return {id_: TaskHead.read(id_, bytes(canonical)) for id_, canonical in rows}


def _listed(row: AnyRow, head: TaskHead) -> ListedTask:
    state = State(row.state) if head.version == TASK_VERSION else State.CLOSED
    return ListedTask(head, state, row.created, row.marked)


def _stored(row: AnyRow) -> StoredTask:
    published = published_task(row.id, bytes(row.canonical))
    return StoredTask(
        published,
        State(row.state) if isinstance(published, Task) else State.CLOSED,
        json.loads(row.settings),
        row.created,
        row.moved,
        row.marked,
    )
