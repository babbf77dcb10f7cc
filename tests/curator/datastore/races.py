"""Every verb of the store that writes, as two curators call it at the same moment."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.audit import AuditEntry
from privet.curator.datastore.expiry import GRACE_SECONDS, STEP_SECONDS
from privet.curator.datastore.invitations import HOLD_SECONDS
from privet.curator.datastore.reports import Outcome
from privet.curator.datastore.store import Store
from privet.curator.datastore.tokens import StoredToken
from privet.protocol.errors import PrivetError, TaskNotFound
from privet.protocol.lifecycle import Move, TaskState
from privet.protocol.task import Task
from tests.curator.datastore.made import FEW, NOW, group, many, open_task, public, report, task

READING = {
    *("task", "tasks", "public_data", "was_deleted", "sums", "status", "invitations", "models"),
    *("model", "tokens", "audit", "fact"),
}
"""The verbs that change nothing."""


def verbs() -> set[str]:
    names = {name for part in Store.__mro__ for name in vars(part) if not name.startswith("_")}
    return names - {"reading", "writing", "lock", "failing"}


ADMISSION = bytes(16)
Keep = tuple[float, float | None]
IDS_GO: Keep = (0.0, None)
TASKS_GO: Keep = (1e9, 0.0)
"""How long to keep report ids and tasks."""


@dataclass(frozen=True)
class Race:
    """What two curators do at once with a task of their round, and what must come of it."""

    verb: Callable[[Store, Task, int], object]
    """What curator 0 or 1 does; what it is told."""
    told: tuple[object, object]
    """What both are told, in either order; an error by its name."""
    seen: Callable[[Store, Task], object]
    """What the store says afterwards."""
    state: object
    before: Callable[[Store, Task], object] = open_task

    def run(self, store: Store, made: Task, curator: int) -> object:
        try:
            return self.verb(store, made, curator)
        except PrivetError as error:
            return type(error).__name__


def task_of(number: int) -> Task:
    """The task of a round, whose collection ends now."""
    return task(str(number), closes=int(NOW) + 10)


def code(made: Task, number: int = 0) -> bytes:
    """The SHA-256 of one of a task's invitations."""
    return sha256(f"{made.id} {number}".encode()).digest()


def token(made: Task, number: int = 0) -> StoredToken:
    return StoredToken(made.id, "reader", bytes([number]) * 32, NOW)


def kept_tokens(store: Store, made: Task) -> int:
    return sum(each.name == made.id for each in store.tokens())


def draft(store: Store, made: Task) -> None:
    store.create_task(made, {}, public(), NOW)


def with_quota(store: Store, made: Task) -> None:
    open_task(store, made, quota=1)


def with_models(store: Store, made: Task) -> None:
    open_task(store, made)
    for _ in range(2):
        store.add_model(made.id, b"model", {}, NOW)


def with_invitations(store: Store, made: Task) -> None:
    open_task(store, made)
    store.invite(made.id, [code(made), code(made, 1)])


def with_an_admission(store: Store, made: Task) -> None:
    with_invitations(store, made)
    store.admit(made.id, ADMISSION, [code(made)], NOW - HOLD_SECONDS)


def with_a_token(store: Store, made: Task) -> None:
    store.put_token(token(made))


def filled(store: Store, made: Task) -> None:
    """An open task with something of everything, its report ids in rows and runs."""
    cached = open_task(store, made)
    for seed in range(2):
        store.take([many(cached, FEW, seed)], NOW)
    some = group(cached, [report(made) for _ in range(FEW - 1)])
    store.take([replace(some, relay="relay")], NOW)
    store.count_rejects(made.id, {"too-large": 1})
    store.add_model(made.id, b"model", {}, NOW)
    store.name_model(made.id, "serving", 1)
    store.invite(made.id, [code(made)])
    store.admit(made.id, ADMISSION, [code(made)], NOW)


def ripe(keep: Keep, store: Store, made: Task) -> None:
    """A filled task whose removal, or that of its ids, has been due for almost a day."""
    filled(store, made)
    for step in range(int(GRACE_SECONDS / STEP_SECONDS)):
        store.expire(NOW + 10 + step * STEP_SECONDS, *keep)


def expire(keep: Keep, store: Store, made: Task, _: int = 0) -> int:
    """How often a round removed the task or its ids."""
    expired = store.expire(NOW + 10 + GRACE_SECONDS, *keep)
    return sum(task_id == made.id for _, task_id in expired.removals)


def expire_or_delete(store: Store, made: Task, curator: int) -> int:
    """How often the task was removed, by a round or by an admin."""
    if not curator:
        return expire(TASKS_GO, store, made)
    try:
        return int(store.move(made.id, Move.DELETE, NOW) is TaskState.DELETED)
    except TaskNotFound:
        return 0


def send(store: Store, made: Task, seed: int, count: int = 1, invitation: bool = False) -> str:
    """The outcome of reports that are the same for the same seed."""
    own = many(CachedTask(made), count, seed)
    if invitation:
        invited = group(CachedTask(made), [report(made)], [code(made)])
        own = replace(own, invitations=invited.invitations)
    (outcome,) = set(store.take([own], NOW)[0].tolist())
    return Outcome(outcome).name


def send_admitted(store: Store, made: Task, curator: int) -> str:
    own = replace(many(CachedTask(made), 1, curator), admissions=(ADMISSION,), relay="relay")
    return Outcome(int(store.take([own], NOW)[0][0])).name


def send_relayed(store: Store, made: Task, curator: int) -> str:
    own = replace(many(CachedTask(made), 2, curator), relay="relay")
    return Outcome(int(store.take([own], NOW)[0][0])).name


def reject_or_delete(store: Store, made: Task, curator: int) -> None:
    if curator:
        store.move(made.id, Move.DELETE, NOW)
    else:
        store.count_rejects(made.id, {"too-large": 1})


def add_entry(store: Store, made: Task, _: int, join_since: float | None = None) -> None:
    store.add_audit(AuditEntry(NOW, made.name, "something", "", {}), join_since)


def noted(store: Store, made: Task) -> int:
    """How often something was done, if all entries have numbers of their own."""
    log = [each for each in store.audit(1_000) if each.actor == made.name]
    assert len({each.no for each in log}) == len(log)
    return sum(each.times for each in log)


def reports(store: Store, made: Task) -> int:
    return store.status(made.id).reports


def is_gone(store: Store, made: Task) -> bool:
    there = {listed.task.id for listed in store.tasks()}
    return store.was_deleted(made.id) and made.id not in there


RACES = {
    "create_task": Race(
        lambda store, made, which: store.create_task(made, {"by": which}, public(), NOW),
        (False, True),
        lambda store, made: len(store.public_data(made.id)),
        10,
        before=lambda store, made: None,
    ),
    "move, open": Race(
        lambda store, made, _: store.move(made.id, Move.OPEN, NOW),
        ("IllegalMove", TaskState.OPEN),
        lambda store, made: store.task(made.id).state,
        TaskState.OPEN,
        before=draft,
    ),
    "move, delete": Race(
        lambda store, made, _: store.move(made.id, Move.DELETE, NOW),
        ("TaskNotFound", TaskState.DELETED),
        is_gone,
        True,
        before=filled,
    ),
    "take, one id": Race(
        lambda store, made, _: send(store, made, 0), ("COUNTED", "REPLAYED"), reports, 1
    ),
    "take, one run": Race(
        lambda store, made, _: send(store, made, 0, FEW), ("COUNTED", "REPLAYED"), reports, FEW
    ),
    "take, two ids": Race(send, ("COUNTED", "COUNTED"), reports, 2),
    "take, row and run": Race(
        lambda store, made, which: send(store, made, which, 1 + which * FEW),
        ("COUNTED", "COUNTED"),
        reports,
        FEW + 2,
    ),
    "take, one left of a quota": Race(
        send, ("COUNTED", "OVER_QUOTA"), reports, 1, before=with_quota
    ),
    "take, one invitation": Race(
        lambda store, made, which: send(store, made, which, invitation=True),
        ("COUNTED", "NOT_INVITED"),
        reports,
        1,
        before=with_invitations,
    ),
    "take, one admission": Race(
        send_admitted, ("COUNTED", "NOT_ADMITTED"), reports, 1, before=with_an_admission
    ),
    "take, one relay": Race(
        send_relayed,
        ("COUNTED", "COUNTED"),
        lambda store, made: store.status(made.id).relayed,
        {"relay": 4},
    ),
    "count_rejects": Race(
        lambda store, made, _: store.count_rejects(made.id, {"too-large": 1, "wrong-payload": 2}),
        (None, None),
        lambda store, made: store.status(made.id).rejects,
        {"too-large": 2, "wrong-payload": 4},
    ),
    "count_rejects, and delete": Race(reject_or_delete, (None, None), is_gone, True),
    "add_model": Race(
        lambda store, made, _: store.add_model(made.id, b"model", {}, NOW).number,
        (1, 2),
        lambda store, made: [info.number for info in store.models(made.id)],
        [1, 2],
    ),
    "name_model": Race(
        lambda store, made, which: store.name_model(made.id, "serving", which + 1),
        (None, None),
        lambda store, made: sum(len(info.aliases) for info in store.models(made.id)),
        1,
        before=with_models,
    ),
    "invite, different ones": Race(
        lambda store, made, which: store.invite(made.id, [code(made, which)]),
        (None, None),
        lambda store, made: store.invitations(made.id, NOW).issued,
        2,
    ),
    "invite, the same": Race(
        lambda store, made, _: store.invite(made.id, [code(made)]),
        (None, None),
        lambda store, made: store.invitations(made.id, NOW).issued,
        1,
    ),
    "admit, the same": Race(
        lambda store, made, _: len(store.admit(made.id, ADMISSION, [code(made)], NOW)),
        (0, 0),
        lambda store, made: store.invitations(made.id, NOW).used,
        1,
        before=with_invitations,
    ),
    "admit, two want one": Race(
        lambda store, made, which: len(
            store.admit(made.id, bytes([which] * 16), [code(made)], NOW)
        ),
        (0, 1),
        lambda store, made: store.invitations(made.id, NOW).used,
        1,
        before=with_invitations,
    ),
    "revoke_invitations": Race(
        lambda store, made, _: store.revoke_invitations(made.id),
        (0, 2),
        lambda store, made: store.invitations(made.id, NOW).revoked,
        2,
        before=with_invitations,
    ),
    "put_token, new": Race(
        lambda store, made, which: store.put_token(token(made, which)),
        (False, True),
        kept_tokens,
        1,
        before=lambda store, made: None,
    ),
    "put_token, in place": Race(
        lambda store, made, which: store.put_token(token(made, which + 1)),
        (True, True),
        kept_tokens,
        1,
        before=with_a_token,
    ),
    "replace_token": Race(
        lambda store, made, which: store.replace_token(token(made), token(made, which + 1)),
        (False, True),
        kept_tokens,
        1,
        before=with_a_token,
    ),
    "replace_token, none": Race(
        lambda store, made, which: store.replace_token(None, token(made, which)),
        (False, True),
        kept_tokens,
        1,
        before=lambda store, made: None,
    ),
    "drop_token": Race(
        lambda store, made, _: store.drop_token(made.id),
        (False, True),
        kept_tokens,
        0,
        before=with_a_token,
    ),
    "mark_used": Race(
        lambda store, made, _: store.mark_used(made.id, NOW),
        (None, None),
        kept_tokens,
        1,
        before=with_a_token,
    ),
    "add_audit": Race(add_entry, (None, None), noted, 2),
    "add_audit, joined": Race(
        partial(add_entry, join_since=NOW),
        (None, None),
        noted,
        3,
        before=lambda store, made: add_entry(store, made, 0),
    ),
    "set_fact": Race(
        lambda store, made, _: store.set_fact(made.id, "noted"),
        (None, None),
        lambda store, made: store.fact(made.id),
        "noted",
    ),
    "set_fact_once": Race(
        lambda store, made, which: store.set_fact_once(made.id, str(which)) == store.fact(made.id),
        (True, True),
        lambda store, made: store.fact(made.id) in ("0", "1"),
        True,
    ),
    "expire, ids": Race(
        partial(expire, IDS_GO),
        (0, 1),
        reports,
        3 * FEW - 1,
        before=partial(ripe, IDS_GO),
    ),
    "expire, a task": Race(
        partial(expire, TASKS_GO), (0, 1), is_gone, True, before=partial(ripe, TASKS_GO)
    ),
    "expire, and delete": Race(
        expire_or_delete, (0, 1), is_gone, True, before=partial(ripe, TASKS_GO)
    ),
    "expire, an admission": Race(
        lambda store, made, _: store.expire(NOW, 0.0, None).admissions,
        (0, 1),
        lambda store, made: store.invitations(made.id, NOW).used,
        0,
        before=with_an_admission,
    ),
    "check": Race(lambda store, made, _: store.check(), (None, None), is_gone, False),
}
"""By verb, and what of it."""
