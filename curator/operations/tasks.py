"""Creating, moving and watching tasks; invitations."""

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from privet.admin.calls import ApiCall
from privet.admin.results import (
    InvitationCounts,
    Invitations,
    PublishedTask,
    QuestionSizes,
    RelayReports,
    ReportBucket,
    Revoked,
    Scope,
    Stratum,
    TaskStatus,
    TaskSummary,
    WaveDates,
)
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import describe_node
from privet.learning.planning import Plan, plan
from privet.learning.task_building.build import build_task
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.review import Preview, preview
from privet.protocol.errors import (
    IllegalMove,
    InvalidPublicData,
    InvalidRequest,
    InvalidTask,
    Overloaded,
    TaskNotFound,
    TooLarge,
)
from privet.protocol.lifecycle import Move, Phase, TaskState
from privet.protocol.limits import MAX_PANEL_SECONDS
from privet.protocol.task import Task
from privet.protocol.task_head import TaskHead
from privet.tables.text_format import Stated

from ..datastore.account import public_digest
from ..datastore.status import KeptTasks, RelayHoldings
from ..datastore.tasks import PREVALENCE, PUBLIC_MODEL, REGISTER, ListedTask, StoredTask, packed
from .curator import Curator
from .parameters import Days, TaskId
from .snapshot import Snapshot
from .strangers import STEP, reports_in_steps
from .table import Acting, Open, job, operation

INVITATION_BYTES = 16
MOST_INVITATIONS = 100_000
DAY = 86_400.0


@dataclass(frozen=True)
class Uploaded:
    """The files of a new task: public records, a public model and a register, if given."""

    public: bytes | None
    onnx: bytes | None
    register: bytes | None


class InviteRequest(BaseModel):
    """The number of holders to invite."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"count": 100}]})

    count: int = Field(ge=1, le=MOST_INVITATIONS, strict=True)
    days: Days = None


class RevokeRequest(BaseModel):
    """The invitations to revoke."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}]})

    invitations: list[str] | None = Field(default=None, description="Some; null for all unused.")


@operation(ApiCall.LIST_TASKS, Open.TASKS)
def list_tasks(curator: Curator, actor: Acting) -> list[TaskSummary]:
    """All tasks, oldest first; drafts for readers only."""
    now, found = curator.clock(), listed_tasks(curator, actor)
    waves: dict[str | None, list[ListedTask]] = {}
    for listed in found:
        waves.setdefault(listed.head.panel, []).append(listed)
    return [summary_of(each, now, waves[each.head.id] if each.head.waves else ()) for each in found]


@operation(None, Open.TASKS)
def listed_tasks(curator: Curator, actor: Acting) -> list[ListedTask]:
    """The same as they are kept."""
    reads = actor.reads
    return [
        listed
        for listed in curator.store.tasks.listed()
        if reads or listed.state is not TaskState.DRAFT
    ]


@operation(None, Open.TASKS)
def count_people(curator: Curator, actor: Acting, listed: Iterable[ListedTask]) -> dict[str, int]:
    """The number of counted reports by the id of a task, of a panel those of its waves; for
    strangers in steps of ``STEP``."""
    reads, counted, people = actor.reads, curator.store.standing.counted(), Counter[str]()
    for each in listed:
        task_id, panel_id = each.head.id, each.head.panel
        reports = counted.get(task_id, 0)
        number = reports if reads else reports_in_steps(curator.steps_key, task_id, reports)
        for of in {task_id, panel_id or task_id}:
            people[of] += number
    return people


@operation(ApiCall.READ_TASK, Open.TASKS)
def read_task(curator: Curator, actor: Acting, task_id: TaskId) -> StoredTask:
    """The task as JSON, or as the canonical bytes whose SHA-256 is its id.

    Holders ask for the bytes with `Accept: application/vnd.privet.task+msgpack`. The bytes never
    change, and their ETag is the id; the JSON view also has the state, so it must be revalidated.
    A draft is shown to readers only.
    """
    return curator.store.tasks.read(task_id)


@operation(ApiCall.READ_STATUS, Open.TASKS, omits_none=True)
def read_status(curator: Curator, actor: Acting, task_id: TaskId) -> TaskStatus:
    """Counts of reports and answers, rejects by reason, and the checksum over report ids.

    For strangers only the number of reports, in steps that do not show when a single one arrives,
    and, once no new ones are taken, the results of all reports, if a model serves.
    """
    snapshot = Snapshot.of(curator, actor, task_id, models=False)
    return status_of(snapshot).model_copy(update={"results": snapshot.results})


@job(
    ApiCall.CREATE_TASK,
    Scope.ADMIN,
    pool="workers",
    audit="task created",
    refuses=(TooLarge, InvalidPublicData, InvalidTask, InvalidRequest, Overloaded),
    status=201,
)
def create_task(
    curator: Curator,
    actor: Acting,
    settings: Publication,
    public: bytes | None,
    onnx: bytes | None = None,
    register: bytes | None = None,
) -> tuple[StoredTask, bool]:
    """Grow a partition on public data and publish the task, open unless `draft` is true.

    The same data and settings give the same task; then the answer is 200 instead of 201. With a
    public model of the admin's own, `distilled` cells and every `drift` fit start from it. Without
    public data the task asks for the label alone, of which `classes` or `label_range` say what may
    be answered.
    """
    uploaded = Uploaded(public, onnx, register)
    now, store = curator.clock(), curator.store
    if settings.ends is not None and settings.ends <= now:
        what = "first wave" if settings.waves else "task"
        raise InvalidTask(f"The {what} would close in the past: give a later closing time.")
    task, data = actor.run(make_task, settings, uploaded)
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
    facts: dict[str, Any] = {"name": task.name, "public": public_digest(data)}
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
    actor.leaves_entry, actor.subject = bool(created), task.id
    if created:
        waves = {name: digest for name, digest in created.items() if name != task.id}
        facts |= {"waves": waves} if waves else {}
        actor.note(**facts, state=state, moved=now, row=created[task.id])
    return stored, bool(created)


@job(None, Scope.ADMIN, pool="workers")
def preview_task(
    curator: Curator,
    actor: Acting,
    settings: Publication,
    public: bytes | None,
    register: bytes | None = None,
) -> Task:
    """The task that ``create_task`` would publish, which is not kept."""
    return actor.run(make_task, settings, Uploaded(public, None, register))[0]


@job(None, Scope.ADMIN, pool="workers")
def preview_table(curator: Curator, actor: Acting, public: bytes, stated: Stated) -> Preview:
    """A table as it was read and would be published; ``stated`` about a CSV file."""
    return actor.run(previewed, public, stated)


@job(None, Scope.ADMIN, pool="workers")
def plan_task(
    curator: Curator,
    actor: Acting,
    public: bytes | None,
    settings: Publication,
    register: bytes | None = None,
) -> Plan:
    """The plan of a task that does not exist yet."""
    return actor.run(planned, public, settings, register)


@operation(ApiCall.OPEN_TASK, Scope.ADMIN, audit=f"task {Move.OPEN.state}", refuses=(IllegalMove,))
def open_task(curator: Curator, actor: Acting, task_id: TaskId) -> TaskSummary:
    """Take reports: for the first time, or again after a close."""
    return _moved(curator, actor, task_id, Move.OPEN)


@operation(
    ApiCall.CLOSE_TASK, Scope.ADMIN, audit=f"task {Move.CLOSE.state}", refuses=(IllegalMove,)
)
def close_task(curator: Curator, actor: Acting, task_id: TaskId) -> TaskSummary:
    """Take no more reports; fitting and predicting go on."""
    return _moved(curator, actor, task_id, Move.CLOSE)


def _moved(curator: Curator, actor: Acting, task_id: str, move: Move) -> TaskSummary:
    now = curator.clock()
    curator.store.tasks.move(task_id, move, now)
    actor.note(moved=now)
    moved = curator.store.tasks.head(task_id)
    return summary_of(moved, now, waves_of(curator, moved.head))


@operation(ApiCall.DELETE_TASK, Scope.ADMIN, audit="task deleted", status=204)
def delete_task(curator: Curator, actor: Acting, task_id: TaskId) -> None:
    """Delete the task with its public data, sums, report ids and models, permanently."""
    _delete(curator, actor, curator.store.standing.snapshot(task_id))


@operation(None, Scope.ADMIN, audit="task deleted")
def delete_named_task(curator: Curator, actor: Acting, task_id: str, name: str) -> None:
    """The same, only if that is the task's name; raises ``InvalidRequest`` otherwise."""
    kept = curator.store.standing.snapshot(task_id)
    if name.strip() != kept.task.stored.head.name.strip():
        raise InvalidRequest("The name is not that of the task: nothing was deleted.")
    _delete(curator, actor, kept)


def _delete(curator: Curator, actor: Acting, kept: KeptTasks) -> None:
    head = kept.task.stored.head
    for each in (head.id, *kept.own_waves):
        curator.models.forget(each)
    curator.store.tasks.move(head.id, Move.DELETE, curator.clock())
    actor.note(name=head.name, reports=kept.reports)


@operation(
    ApiCall.INVITE,
    Scope.ADMIN,
    audit="invitations made",
    refuses=(InvalidRequest, IllegalMove),
    status=201,
)
def invite(curator: Curator, actor: Acting, task_id: TaskId, body: InviteRequest) -> Invitations:
    """Make invitations, each good for one report, to a task that was created with `invited`.

    A holder sends its own in the header `Privet-Invitation`. Give each person one, so that nobody
    can answer twice; the person who distributes them should not see who sends which report.
    """
    invitations = [secrets.token_urlsafe(INVITATION_BYTES) for _ in range(body.count)]
    expires = None if body.days is None else curator.clock() + body.days * DAY
    rows = curator.store.invitations.issue(task_id, digests_of(invitations), expires)
    actor.note(count=body.count, days=body.days, rows=rows)
    return Invitations(invitations=invitations)


@operation(ApiCall.COUNT_INVITATIONS, Scope.ADMIN)
def count_invitations(curator: Curator, actor: Acting, task_id: TaskId) -> InvitationCounts:
    """Numbers of invitations issued, used, revoked and expired."""
    return curator.store.invitations.count(task_id, curator.clock())


@operation(
    ApiCall.REVOKE_INVITATIONS, Scope.ADMIN, audit="invitations revoked", refuses=(InvalidRequest,)
)
def revoke_invitations(
    curator: Curator, actor: Acting, task_id: TaskId, body: RevokeRequest
) -> Revoked:
    """Take back unused invitations, some or all; the task goes on counting invited reports only."""
    digests = None if body.invitations is None else digests_of(body.invitations)
    revoked = curator.store.invitations.revoke(task_id, digests)
    actor.note(count=revoked)
    return Revoked(revoked=revoked)


def summary_of(stored: ListedTask, now: float, waves: Sequence[ListedTask] = ()) -> TaskSummary:
    """The line about a task at a time; the phase of a panel is by its ``waves``."""
    return TaskSummary.model_validate(_line(stored, now, waves))


def _line(stored: ListedTask, now: float, waves: Sequence[ListedTask]) -> dict[str, Any]:
    head, phase = stored.head, stored.phase(now, waves)
    return {
        **vars(head),
        "state": stored.state,
        "phase": phase,
        "collecting": phase is Phase.OPEN,
        "created": stored.created,
        "wave": None if head.wave is None else head.wave + 1,
        "marked": stored.marked,
    }


def published(curator: Curator, stored: StoredTask) -> PublishedTask:
    """A task in full, with the waves that are there if it is a panel."""
    task, waves = stored.task, waves_of(curator, stored.head)
    sizes = [
        QuestionSizes(
            mechanism=question.mechanism,
            epsilon=question.epsilon,
            asks=question.asks,
            radius=None if question.centring is None else question.centring.radius,
            cells=task.tree_of(i).cells,
            depth=task.tree_of(i).depth,
            report_bytes=task.mechanisms[i].report_bytes,
        )
        for i, question in enumerate(task.questions)
    ]
    dates = () if task.panel is None else task.panel.waves
    return PublishedTask.model_validate(
        {
            **_line(stored, curator.clock(), waves),
            "questions_in_numbers": sizes,
            "strata": _strata(task),
            "report_bytes": task.longest_report,
            "quota": stored.quota,
            "public_model": stored.public_model,
            "waves": [
                WaveDates.model_validate({"id": wave.id, "opens": opens, "closes": closes})
                for wave, (opens, closes) in zip(task.waves, dates, strict=True)
            ],
            "lifetime": task.lifetime,
            "registered": stored.register is not None,
            "task": task.model_dump(mode="json"),
        }
    )


def _strata(task: Task) -> list[Stratum]:
    if task.strata is None:
        return []
    tree, columns = task.tree_of(0), task.columns
    return [
        Stratum(where=describe_node(tree, columns, int(node)), holders=size)
        for node, size in zip(task.strata.nodes, task.group_sizes, strict=True)
    ]


def status_of(snapshot: Snapshot) -> TaskStatus:
    """The part of a collection's status that the snapshot's actor may know, without results."""
    stored, status, reads = snapshot.listed, snapshot.kept.task.status, snapshot.reads
    curator, phase, now = snapshot.curator, snapshot.phase, snapshot.now
    restored = curator.restored
    known = {
        "id": snapshot.id,
        "state": stored.state,
        "phase": phase,
        "settled": stored.is_settled(now),
        "expected": status.expected,
        "invited": status.invited,
        "asks_again": restored is not None and stored.created <= restored and phase is Phase.OPEN,
        "reports": snapshot.reports,
        "step": 1 if reads else STEP,
        "models": status.models,
        "serving": status.serving if snapshot.sees_models else None,
        "settles": snapshot.settles,
        "growth": snapshot.growth,
    }
    if reads:
        known |= {
            "answers": list(status.answers),
            "rejects": dict(status.rejects),
            "checksum": status.checksum,
            "buckets": [ReportBucket.model_validate(bucket) for bucket in status.buckets],
            "relays": [_at_relay(kept, stored.head) for kept in status.holdings],
        }
    return TaskStatus.model_validate(known)


def _at_relay(kept: RelayHoldings, head: TaskHead) -> RelayReports:
    held = kept.holdings
    known = {"relay": kept.relay, "held": held.reports, "lost": held.lost}
    known["least"] = None if head.at_the_end else held.least
    return RelayReports.model_validate({**known, "reported": kept.at, "since": kept.since})


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
    public = uploaded.public
    columns = None if public is None else read_table(public, settings.stated)
    return build_task(settings, columns, make_base, register)


def previewed(public: bytes, stated: Stated) -> Preview:
    from privet.learning.task_building.table import read_table  # slow to import

    return preview(read_table(public, stated, undecided=True))


def planned(public: bytes | None, settings: Publication, register: bytes | None) -> Plan:
    return plan(public, register=register, **settings.of_plan())
