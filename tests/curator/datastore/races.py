"""Every verb of the store that writes, as two curators call it at the same moment."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.audit import RESTORED, AuditEntry
from privet.curator.datastore.expiry import GRACE_SECONDS, STEP_SECONDS
from privet.curator.datastore.invitations import HOLD_SECONDS
from privet.curator.datastore.reports import Outcome
from privet.curator.datastore.store import Store
from privet.curator.datastore.tokens import ISSUED, ROTATED, StoredToken
from privet.protocol.errors import PrivetError, TaskNotFound
from privet.protocol.lifecycle import Move, TaskState
from privet.protocol.status import Holdings
from privet.protocol.task import Task
from tests.curator.datastore.made import (
    FEW,
    NOW,
    group,
    many,
    only_invited,
    open_task,
    public,
    report,
    task,
)
from tests.curator.datastore.servers import new_store

READING = {
    *("tasks.read", "tasks.head", "tasks.listed", "tasks.public_data", "tasks.was_deleted"),
    *(
        "standing.collected",
        "standing.counted",
        "standing.holdings",
        "standing.missing",
        "standing.read",
        "standing.snapshot",
        "invitations.count",
        "models.listed",
        "models.document",
    ),
    *("tokens.listed", "audit.entries", "facts.read"),
}
"""The verbs that change nothing."""


def verbs() -> set[str]:
    """Those of the parts, and those of all of them together."""
    store = new_store()
    parts = {name: part for name, part in vars(store).items() if name != "database"}
    of_parts = {
        f"{name}.{verb}"
        for name, part in parts.items()
        for verb, made in vars(type(part)).items()
        if callable(made) and not verb.startswith("_")
    }
    store.close()
    return of_parts | {"check", "close"}


ADMISSION = bytes(16)
HELD = Holdings(reports=3, least=5, lost={"too-few": 2})
ABOUT = AuditEntry(NOW, "", ISSUED, "", {})
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
    invited: bool = False

    def run(self, store: Store, made: Task, curator: int) -> object:
        try:
            return self.verb(store, made, curator)
        except PrivetError as error:
            return type(error).__name__


def task_of(number: int, *, invited: bool = False) -> Task:
    """The task of a round, whose collection ends now."""
    return task(str(number), closes=int(NOW) + 10, invited=invited)


def code(made: Task, number: int = 0) -> bytes:
    """The SHA-256 of one of a task's invitations."""
    return sha256(f"{made.id} {number}".encode()).digest()


def token(made: Task, number: int = 0) -> StoredToken:
    return StoredToken(made.id, "reader", bytes([number]) * 32, NOW)


def with_a_spool(store: Store, made: Task) -> None:
    """A task of which a relay's spool holds reports; other rounds' are the same relay's."""
    open_task(store, made)
    store.standing.tell(made.id, "relay", HELD.model_copy(update={"spool": "aaaaaaaa"}), NOW)


def kept_tokens(store: Store, made: Task) -> int:
    return sum(each.name == made.id for each in store.tokens.listed())


def draft(store: Store, made: Task) -> None:
    store.tasks.create(made, {}, public(), NOW)


def with_quota(store: Store, made: Task) -> None:
    open_task(store, made, quota=1)


def with_models(store: Store, made: Task) -> None:
    open_task(store, made)
    for _ in range(2):
        store.models.add(made.id, b"model", {}, NOW)


def with_invitations(store: Store, made: Task) -> None:
    open_task(store, made)
    store.invitations.issue(made.id, [code(made), code(made, 1)])


def with_an_admission(store: Store, made: Task) -> None:
    with_invitations(store, made)
    store.invitations.admit(made.id, ADMISSION, [code(made)], NOW - HOLD_SECONDS)


def with_a_token(store: Store, made: Task) -> None:
    store.tokens.put(token(made), ABOUT)


def filled(store: Store, made: Task) -> None:
    """An open task with something of everything, its report ids in rows and runs."""
    cached = open_task(store, made)
    for seed in range(2):
        store.reports.take([many(cached, FEW, seed)], NOW)
    some = group(cached, [report(made) for _ in range(FEW - 1)])
    store.reports.take([replace(some, relay="relay")], NOW)
    store.standing.count_rejects(made.id, {"too-large": 1})
    store.standing.tell(made.id, "relay", HELD, NOW)
    store.models.add(made.id, b"model", {}, NOW)
    store.models.name(made.id, "serving", 1)
    only_invited(store, made.id)
    store.invitations.issue(made.id, [code(made)])
    store.invitations.admit(made.id, ADMISSION, [code(made)], NOW)
    only_invited(store, made.id, only=False)


def ripe(keep: Keep, store: Store, made: Task) -> None:
    """A filled task whose removal, or that of its ids, has been due for almost a day."""
    filled(store, made)
    for step in range(int(GRACE_SECONDS / STEP_SECONDS)):
        store.expiry.expire(NOW + 10 + step * STEP_SECONDS, *keep)


def expire(keep: Keep, store: Store, made: Task, _: int = 0) -> int:
    """How often a round removed the task or its ids."""
    expired = store.expiry.expire(NOW + 10 + GRACE_SECONDS, *keep)
    return sum(task_id == made.id for _, task_id in expired.removals)


def expire_or_delete(store: Store, made: Task, curator: int) -> int:
    """How often the task was removed, by a round or by an admin."""
    if not curator:
        return expire(TASKS_GO, store, made)
    try:
        store.tasks.move(made.id, Move.DELETE, NOW)
    except TaskNotFound:
        return 0
    return 1


def send(store: Store, made: Task, seed: int, count: int = 1, invitation: bool = False) -> str:
    """The outcome of reports that are the same for the same seed."""
    own = many(CachedTask(made), count, seed)
    if invitation:
        invited = group(CachedTask(made), [report(made)], [code(made)])
        own = replace(own, invitations=invited.invitations)
    (outcome,) = set(store.reports.take([own], NOW)[0].tolist())
    return Outcome(outcome).name


def send_admitted(store: Store, made: Task, curator: int) -> str:
    own = replace(many(CachedTask(made), 1, curator), admissions=(ADMISSION,), relay="relay")
    return Outcome(int(store.reports.take([own], NOW)[0][0])).name


def send_relayed(store: Store, made: Task, curator: int) -> str:
    own = replace(many(CachedTask(made), 2, curator), relay="relay")
    return Outcome(int(store.reports.take([own], NOW)[0][0])).name


def reject_or_delete(store: Store, made: Task, curator: int) -> None:
    if curator:
        store.tasks.move(made.id, Move.DELETE, NOW)
    else:
        store.standing.count_rejects(made.id, {"too-large": 1})


def add_entry(store: Store, made: Task, _: int, join_since: float | None = None) -> None:
    store.audit.add(AuditEntry(NOW, made.name, "something", "", {}), join_since)


def noted(store: Store, made: Task) -> int:
    """How often something was done, if all entries have numbers of their own."""
    log = [each for each in store.audit.entries(1_000) if each.actor == made.name]
    assert len({each.no for each in log}) == len(log)
    return sum(each.times for each in log)


def reports(store: Store, made: Task) -> int:
    return store.standing.read(made.id).reports


def is_gone(store: Store, made: Task) -> bool:
    there = {listed.head.id for listed in store.tasks.listed()}
    return store.tasks.was_deleted(made.id) and made.id not in there


RACES = {
    "tasks.create": Race(
        lambda store, made, which: bool(store.tasks.create(made, {"by": which}, public(), NOW)),
        (False, True),
        lambda store, made: len(store.tasks.public_data(made.id)),
        10,
        before=lambda store, made: None,
    ),
    "tasks.move, open": Race(
        lambda store, made, _: store.tasks.move(made.id, Move.OPEN, NOW),
        ("IllegalMove", None),
        lambda store, made: store.tasks.read(made.id).state,
        TaskState.OPEN,
        before=draft,
    ),
    "tasks.move, delete": Race(
        lambda store, made, _: store.tasks.move(made.id, Move.DELETE, NOW),
        ("TaskNotFound", None),
        is_gone,
        True,
        before=filled,
    ),
    "reports.take, one id": Race(
        lambda store, made, _: send(store, made, 0), ("COUNTED", "REPLAYED"), reports, 1
    ),
    "reports.take, one run": Race(
        lambda store, made, _: send(store, made, 0, FEW), ("COUNTED", "REPLAYED"), reports, FEW
    ),
    "reports.take, two ids": Race(send, ("COUNTED", "COUNTED"), reports, 2),
    "reports.take, row and run": Race(
        lambda store, made, which: send(store, made, which, 1 + which * FEW),
        ("COUNTED", "COUNTED"),
        reports,
        FEW + 2,
    ),
    "reports.take, one left of a quota": Race(
        send, ("COUNTED", "OVER_QUOTA"), reports, 1, before=with_quota
    ),
    "reports.take, one invitation": Race(
        lambda store, made, which: send(store, made, which, invitation=True),
        ("COUNTED", "NOT_INVITED"),
        reports,
        1,
        before=with_invitations,
        invited=True,
    ),
    "reports.take, one admission": Race(
        send_admitted,
        ("COUNTED", "NOT_ADMITTED"),
        reports,
        1,
        before=with_an_admission,
        invited=True,
    ),
    "reports.take, one relay": Race(
        send_relayed,
        ("COUNTED", "COUNTED"),
        lambda store, made: store.standing.read(made.id).relayed,
        {"relay": 4},
    ),
    "standing.count_rejects": Race(
        lambda store, made, _: store.standing.count_rejects(
            made.id, {"too-large": 1, "wrong-payload": 2}
        ),
        (None, None),
        lambda store, made: store.standing.read(made.id).rejects,
        {"too-large": 2, "wrong-payload": 4},
    ),
    "standing.count_rejects, and delete": Race(reject_or_delete, (None, None), is_gone, True),
    "models.add": Race(
        lambda store, made, _: store.models.add(made.id, b"model", {}, NOW).number,
        (1, 2),
        lambda store, made: [info.number for info in store.models.listed(made.id)],
        [1, 2],
    ),
    "models.add, one serves": Race(
        lambda store, made, _: store.models.add(made.id, b"model", {}, NOW).aliases,
        (("serving",), ()),
        lambda store, made: [info.aliases for info in store.models.listed(made.id)],
        [("serving",), ()],
    ),
    "models.name": Race(
        lambda store, made, which: store.models.name(made.id, "serving", which + 1),
        (None, None),
        lambda store, made: sum(len(info.aliases) for info in store.models.listed(made.id)),
        1,
        before=with_models,
    ),
    "standing.tell": Race(
        lambda store, made, _: store.standing.tell(made.id, "relay", HELD, NOW).since,
        (NOW, NOW),
        lambda store, made: [kept.holdings for kept in store.standing.read(made.id).holdings],
        [HELD],
    ),
    "standing.replace_spool": Race(
        lambda store, made, which: store.standing.replace_spool("relay", "bbbbbbbb", NOW + which),
        (None, None),
        lambda store, made: [kept.holdings.lost for kept in store.standing.read(made.id).holdings],
        [{"too-few": 2, "spool-gone": 3}],
        before=with_a_spool,
    ),
    "invitations.issue, different ones": Race(
        lambda store, made, which: len(store.invitations.issue(made.id, [code(made, which)])),
        (16, 16),
        lambda store, made: store.invitations.count(made.id, NOW).issued,
        2,
        invited=True,
    ),
    "invitations.issue, the same": Race(
        lambda store, made, _: len(store.invitations.issue(made.id, [code(made)])),
        (16, 16),
        lambda store, made: store.invitations.count(made.id, NOW).issued,
        1,
        invited=True,
    ),
    "invitations.admit, the same": Race(
        lambda store, made, _: len(store.invitations.admit(made.id, ADMISSION, [code(made)], NOW)),
        (0, 0),
        lambda store, made: store.invitations.count(made.id, NOW).used,
        1,
        before=with_invitations,
        invited=True,
    ),
    "invitations.admit, two want one": Race(
        lambda store, made, which: len(
            store.invitations.admit(made.id, bytes([which] * 16), [code(made)], NOW)
        ),
        (0, 1),
        lambda store, made: store.invitations.count(made.id, NOW).used,
        1,
        before=with_invitations,
        invited=True,
    ),
    "invitations.revoke": Race(
        lambda store, made, _: store.invitations.revoke(made.id),
        (0, 2),
        lambda store, made: store.invitations.count(made.id, NOW).revoked,
        2,
        before=with_invitations,
        invited=True,
    ),
    "tokens.put, new": Race(
        lambda store, made, which: store.tokens.put(token(made, which), ABOUT).action == ROTATED,
        (False, True),
        kept_tokens,
        1,
        before=lambda store, made: None,
    ),
    "tokens.put, in place": Race(
        lambda store, made, which: (
            store.tokens.put(token(made, which + 1), ABOUT).action == ROTATED
        ),
        (True, True),
        kept_tokens,
        1,
        before=with_a_token,
    ),
    "tokens.replace": Race(
        lambda store, made, which: bool(
            store.tokens.replace(token(made), token(made, which + 1), ABOUT)
        ),
        (False, True),
        kept_tokens,
        1,
        before=with_a_token,
    ),
    "tokens.replace, none": Race(
        lambda store, made, which: bool(store.tokens.replace(None, token(made, which), ABOUT)),
        (False, True),
        kept_tokens,
        1,
        before=lambda store, made: None,
    ),
    "tokens.drop": Race(
        lambda store, made, _: bool(store.tokens.drop(made.id, ABOUT)),
        (False, True),
        kept_tokens,
        0,
        before=with_a_token,
    ),
    "tokens.mark_used": Race(
        lambda store, made, _: store.tokens.mark_used(made.id, NOW),
        (None, None),
        kept_tokens,
        1,
        before=with_a_token,
    ),
    "audit.add": Race(add_entry, (None, None), noted, 2),
    "audit.add, joined": Race(
        partial(add_entry, join_since=NOW),
        (None, None),
        noted,
        3,
        before=lambda store, made: add_entry(store, made, 0),
    ),
    "audit.ask_again": Race(
        lambda store, made, _: (
            store.audit.ask_again(AuditEntry(NOW, made.name, "something", "", {}), NOW, made.id)
            is not None
        ),
        (True, False),
        noted,
        1,
        before=lambda store, made: store.facts.set(RESTORED, made.id),
    ),
    "facts.set": Race(
        lambda store, made, _: store.facts.set(made.id, "noted"),
        (None, None),
        lambda store, made: store.facts.read(made.id),
        "noted",
    ),
    "facts.set_once": Race(
        lambda store, made, which: (
            store.facts.set_once(made.id, str(which)) == store.facts.read(made.id)
        ),
        (True, True),
        lambda store, made: store.facts.read(made.id) in ("0", "1"),
        True,
    ),
    "expiry.expire, ids": Race(
        partial(expire, IDS_GO),
        (0, 1),
        reports,
        3 * FEW - 1,
        before=partial(ripe, IDS_GO),
    ),
    "expiry.expire, a task": Race(
        partial(expire, TASKS_GO), (0, 1), is_gone, True, before=partial(ripe, TASKS_GO)
    ),
    "expiry.expire, and delete": Race(
        expire_or_delete, (0, 1), is_gone, True, before=partial(ripe, TASKS_GO)
    ),
    "expiry.expire, an admission": Race(
        lambda store, made, _: store.expiry.expire(NOW, 0.0, None).admissions,
        (0, 1),
        lambda store, made: store.invitations.count(made.id, NOW).used,
        0,
        before=with_an_admission,
        invited=True,
    ),
    "check": Race(lambda store, made, _: store.check(), (None, None), is_gone, False),
}
"""By verb, and what of it."""
