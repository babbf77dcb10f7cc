"""Creating, moving and watching tasks; invitations."""

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any

from privet.admin.results import Scope
from privet.learning.core.public_data import PublicData
from privet.learning.planning import Plan, plan
from privet.learning.task_building.build import build_task
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.review import Preview, preview
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest, InvalidTask, TaskNotFound
from privet.protocol.lifecycle import Move, Phase, TaskState
from privet.protocol.limits import MAX_PANEL_SECONDS
from privet.protocol.results import Results
from privet.protocol.task import Task
from privet.protocol.task_head import TaskHead
from privet.tables.text_format import Stated

from ..access.actors import Actor
from ..datastore.invitations import InvitationCounts
from ..datastore.status import Status
from ..datastore.tasks import (
    PREVALENCE,
    PUBLIC_MODEL,
    REGISTER,
    ListedTask,
    StoredTask,
    no_task,
    packed,
)
from ..workers import Run
from .curator import Curator
from .registries import call
from .snapshot import Snapshot

INVITATION_BYTES = 16
DAY = 86_400.0
STEP = 1_000
"""Strangers see the number of reports in steps of this size."""


@dataclass(frozen=True)
class Uploaded:
    """The files of a new task: public records, and a public model and a register if given."""

    public: bytes
    onnx: bytes | None
    register: bytes | None


@dataclass(frozen=True)
class Standing:
    """The part of a collection's status that the actor may know."""

    stored: ListedTask
    at: float
    phase: Phase
    reports: int
    step: int
    """``reports`` is a multiple of this."""
    models: int
    invited: bool
    expected: int | None
    asks_again: bool
    """True if holders should resend counted reports, as some may be lost."""
    waves: Sequence[ListedTask]
    """The waves of a panel, which take its reports."""
    exact: Status | None
    """Shown to readers only."""
    results: Results | None = None
    """The figures of a collection that has ended; not read for pages."""


async def create_task(
    curator: Curator,
    actor: Actor,
    settings: Publication,
    public: bytes,
    onnx: bytes | None = None,
    register: bytes | None = None,
) -> tuple[StoredTask, bool]:
    """Grow, publish and (by default) open a task; whether it is new.

    ``onnx`` is an uploaded public model: cells are distilled from it, and every ``drift`` fit
    starts from it. ``register`` is a table of the people asked, without labels. The same settings
    and data lead to the same task, which is then left as it is; raises ``InvalidTask`` if it has
    another public model or register. If that task was deleted, they lead to its next edition, since
    holders who answered it would not answer it again.
    """
    actor.need(Scope.ADMIN)
    create = partial(_create, curator, actor, settings, Uploaded(public, onnx, register))
    return await call(curator.workers, create)


def _create(
    curator: Curator,
    actor: Actor,
    settings: Publication,
    uploaded: Uploaded,
    run: Run,
) -> tuple[StoredTask, bool]:
    now, store = curator.clock(), curator.store
    if settings.ends is not None and settings.ends <= now:
        what = "first wave" if settings.waves else "task"
        raise InvalidTask(f"The {what} would close in the past: give a later closing time.")
    task, data = run(make_task, settings, uploaded)
    if task.panel is not None and task.panel.span[1] - now > MAX_PANEL_SECONDS:
        raise InvalidTask(
            "The last wave would close in more than three years, and holders take part in no such "
            "panel: publish another one for the waves after that."
        )
    while store.tasks.was_deleted(task.id):
        task = task.model_copy(update={"edition": task.edition + 1})
    people = None if data.register is None else packed(data.register)
    brought = {PUBLIC_MODEL: _fingerprint(uploaded.onnx), REGISTER: _fingerprint(people)}
    stored_settings = settings.model_dump(mode="json") | brought
    facts: dict[str, Any] = {"name": task.name}
    if task.panel is not None:
        facts["waves"] = len(task.panel.waves)
    if data.register is not None:
        facts["registered"] = len(data.register)
        if "holders" not in settings.model_fields_set:
            stored_settings["holders"] = len(data.register)
    state = TaskState.DRAFT if settings.draft else TaskState.OPEN
    created = store.tasks.create(
        task, stored_settings, replace(data, onnx=uploaded.onnx), now, state
    )
    stored = store.tasks.read(task.id)
    kept: dict[str, tuple[str, Any]] = {
        PUBLIC_MODEL: ("public model", None),
        REGISTER: ("register", None),
        PREVALENCE: ("prevalence", {}),
    }
    for setting, (what, none) in kept.items():
        if not created and stored.settings.get(setting, none) != stored_settings[setting]:
            raise InvalidTask(
                f"The same task already exists, with another {what} or none: change the "
                "task's name or description, or delete the other one."
            )
    if created:
        curator.audit.add_entry(actor.id, "task created", task.id, **facts)
    return stored, created


async def preview_task(
    curator: Curator,
    actor: Actor,
    settings: Publication,
    public: bytes,
    register: bytes | None = None,
) -> Task:
    """The task that ``create_task`` would publish, which is not kept."""
    actor.need(Scope.ADMIN)
    uploaded = Uploaded(public, None, register)
    return await call(curator.workers, lambda run: run(make_task, settings, uploaded)[0])


async def preview_table(curator: Curator, actor: Actor, public: bytes, stated: Stated) -> Preview:
    """A table as it was read and would be published; ``stated`` about a CSV file."""
    actor.need(Scope.ADMIN)
    return await call(curator.workers, lambda run: run(previewed, public, stated))


async def plan_task(
    curator: Curator,
    actor: Actor,
    public: bytes,
    settings: Publication,
    register: bytes | None = None,
) -> Plan:
    """The plan of a task that does not exist yet."""
    actor.need(Scope.ADMIN)
    return await call(curator.workers, lambda run: run(planned, public, settings, register))


def list_tasks(curator: Curator, actor: Actor) -> list[ListedTask]:
    """All tasks, oldest first; drafts for readers only."""
    reads = actor.reads
    return [
        listed
        for listed in curator.store.tasks.listed()
        if reads or listed.state is not TaskState.DRAFT
    ]


def count_people(curator: Curator, actor: Actor, listed: Iterable[ListedTask]) -> dict[str, int]:
    """The number of counted reports by the id of a task, of a panel those of its waves; for
    strangers in steps of ``STEP``."""
    reads, counted, people = actor.reads, curator.store.standing.counted(), Counter[str]()
    for each in listed:
        task_id, panel_id = each.head.id, each.head.panel
        reports = counted.get(task_id, 0)
        number = reports if reads else in_steps(curator, task_id, reports)
        for of in {task_id, panel_id or task_id}:
            people[of] += number
    return people


def read_task(curator: Curator, actor: Actor, task_id: str) -> StoredTask:
    """A task; raises ``TaskNotFound``, also for a stranger's look at a draft."""
    reads, stored = actor.reads, curator.store.tasks.read(task_id)
    if stored.state is TaskState.DRAFT and not reads:
        raise no_task(task_id)
    return stored


def read_head(curator: Curator, actor: Actor, task_id: str) -> ListedTask:
    """A task as lists show it, also one of an earlier version. Raises as ``read_task`` does."""
    reads, listed = actor.reads, curator.store.tasks.head(task_id)
    if listed.state is TaskState.DRAFT and not reads:
        raise no_task(task_id)
    return listed


def read_status(curator: Curator, actor: Actor, task_id: str) -> Standing:
    """The status of a collection, in steps for strangers. Raises as ``read_task`` does."""
    snapshot = Snapshot.of(curator, actor, task_id, models=False)
    return replace(standing_of(snapshot), results=snapshot.results)


def standing_of(snapshot: Snapshot) -> Standing:
    """The part of the status that the snapshot's actor may know."""
    stored, status, reads = snapshot.listed, snapshot.kept.task.status, snapshot.reads
    curator, phase = snapshot.curator, snapshot.phase
    restored = curator.restored
    return Standing(
        stored=stored,
        at=snapshot.now,
        phase=phase,
        reports=status.reports if reads else in_steps(curator, snapshot.id, status.reports),
        step=1 if reads else STEP,
        models=status.models,
        invited=status.invited,
        expected=status.expected,
        asks_again=restored is not None and stored.created <= restored and phase is Phase.OPEN,
        waves=snapshot.waves,
        exact=status if reads else None,
    )


def growth(stored: ListedTask, now: float, waves: Sequence[ListedTask] = ()) -> str:
    """The reason why a collection's counts may still grow, in a sentence; empty if they may not.

    Those of a panel are its ``waves``'.
    """
    taking = waves if stored.head.waves else [stored]
    phase = stored.phase(now, waves)
    if phase is Phase.OPEN:
        return "The collection takes answers, so its figures may still change."
    if phase is Phase.NOT_YET_OPEN and waves:
        return "Waves are still to open, so its figures may still change."
    late = [each.settles for each in taking if each.settles is not None and each.takes_late(now)]
    if not late:
        return ""
    until = datetime.fromtimestamp(max(late), UTC)
    return (
        "The collection has ended, and what relays took in time counts until "
        f"{until:%Y-%m-%d %H:%M} UTC, so its figures may still change."
    )


def in_steps(curator: Curator, task_id: str, reports: int) -> int:
    """A number of reports as strangers see it: a multiple of ``STEP``, each late at random.

    Whoever sends reports would otherwise find out by how many are missing to the next multiple
    whether another came (docs/adr/0303).
    """
    step, rest = divmod(reports, STEP)
    drawn = sha256(f"{curator.steps_key} {task_id} {step}".encode()).digest()
    return max(step - (rest < int.from_bytes(drawn) % STEP), 0) * STEP


def move_task(curator: Curator, actor: Actor, task_id: str, move: Move) -> ListedTask:
    """Open or close a task; raises ``TaskNotFound`` or ``IllegalMove``."""
    actor.need(Scope.ADMIN)
    curator.store.tasks.move(task_id, move, curator.clock())
    curator.audit.add_entry(actor.id, f"task {move.state}", task_id)
    return curator.store.tasks.head(task_id)


def delete_task(curator: Curator, actor: Actor, task_id: str, *, named: str | None = None) -> None:
    """Delete a task with all its data, permanently; raises ``TaskNotFound``.

    With ``named`` only if that is its name: raises ``InvalidRequest`` otherwise.
    """
    actor.need(Scope.ADMIN)
    kept = curator.store.standing.snapshot(task_id)
    head, reports = kept.task.stored.head, kept.task.status.reports
    if named is not None and named.strip() != head.name.strip():
        raise InvalidRequest("The name is not that of the task: nothing was deleted.")
    for wave_id, wave in kept.waves.items():
        reports += wave.status.reports
        curator.models.forget(wave_id)
    curator.models.forget(task_id)
    curator.store.tasks.move(task_id, Move.DELETE, curator.clock())
    curator.audit.add_entry(actor.id, "task deleted", task_id, name=head.name, reports=reports)


def waves_of(curator: Curator, head: TaskHead) -> list[StoredTask]:
    """The waves of a panel that were not deleted, in their order; empty for any other task."""
    found = []
    for task_id in head.waves:
        with suppress(TaskNotFound):
            found.append(curator.store.tasks.read(task_id))
    return found


def was_deleted(curator: Curator, task_id: str) -> bool:
    """True if a task of this id was here."""
    return curator.store.tasks.was_deleted(task_id)


def invite(
    curator: Curator, actor: Actor, task_id: str, count: int, days: float | None = None
) -> list[str]:
    """New invitations, each good for one report within ``days``; only a hash is kept.

    Raises ``TaskNotFound``, and ``IllegalMove`` for a task that was published for everybody.
    """
    actor.need(Scope.ADMIN)
    invitations = [secrets.token_urlsafe(INVITATION_BYTES) for _ in range(count)]
    expires = None if days is None else curator.clock() + days * DAY
    curator.store.invitations.issue(task_id, digests_of(invitations), expires)
    curator.audit.add_entry(actor.id, "invitations made", task_id, count=count, days=days)
    return invitations


def count_invitations(curator: Curator, actor: Actor, task_id: str) -> InvitationCounts:
    """The numbers of a task's invitations, by outcome; raises ``TaskNotFound``."""
    actor.need(Scope.ADMIN)
    return curator.store.invitations.count(task_id, curator.clock())


def revoke_invitations(
    curator: Curator, actor: Actor, task_id: str, invitations: Sequence[str] | None
) -> int:
    """Revoke the unused ones of these invitations, or of all; return how many they were.

    Raises ``TaskNotFound``.
    """
    actor.need(Scope.ADMIN)
    digests = None if invitations is None else digests_of(invitations)
    revoked = curator.store.invitations.revoke(task_id, digests)
    curator.audit.add_entry(actor.id, "invitations revoked", task_id, count=revoked)
    return revoked


def digests_of(invitations: Sequence[str]) -> list[bytes]:
    """The SHA-256 of each invitation, as relays present it."""
    return [sha256(text.encode()).digest() for text in invitations]


def _fingerprint(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def make_task(settings: Publication, uploaded: Uploaded) -> tuple[Task, PublicData]:
    """A task and its encoded public data, from uploaded tables; in a worker process."""
    from privet.learning.public_model.onnx_trial import tried_model  # slow to import
    from privet.learning.task_building.table import read_table  # slow to import

    make_base = None if uploaded.onnx is None else partial(tried_model, uploaded.onnx)
    register = None
    if uploaded.register is not None:
        register = read_table(uploaded.register, Stated(decimal=settings.decimal))
    columns = read_table(uploaded.public, settings.stated)
    return build_task(settings, columns, make_base, register)


def previewed(public: bytes, stated: Stated) -> Preview:
    from privet.learning.task_building.table import read_table  # slow to import

    return preview(read_table(public, stated, undecided=True))


def planned(public: bytes, settings: Publication, register: bytes | None) -> Plan:
    values = settings.model_dump(
        mode="json", exclude_unset=True, include=set(TaskSettings.model_fields)
    )
    if settings.waves:
        values |= {"waves": len(settings.waves), "mode": settings.mode}
    return plan(public, register=register, **values)
