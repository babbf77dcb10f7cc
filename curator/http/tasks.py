"""Tasks over HTTP: create, list, read, open, close, delete, status."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response, status
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from privet.http_server.fixed import is_known
from privet.learning.core.trees import describe_node
from privet.learning.task_building.publication import Publication
from privet.protocol.calls import JSON_MEDIA_TYPE, SIGNATURE_HEADER, TASK_MEDIA_TYPE, TASKS
from privet.protocol.errors import (
    IllegalMove,
    InvalidPublicData,
    InvalidRequest,
    InvalidTask,
    Overloaded,
    TooLarge,
)
from privet.protocol.lifecycle import Move, Phase, TaskState
from privet.protocol.signature import SIGNATURE_PATTERN
from privet.protocol.status import CollectionStatus
from privet.protocol.task import (
    Task,
)
from privet.protocol.wire import VERSION

from ..datastore.status import RelayHoldings
from ..datastore.tasks import ListedTask, StoredTask
from ..operations.parameters import EXAMPLE_ID, Days, TaskId
from ..service import tasks as cases
from ..service.tasks import Standing, growth
from .problems import described
from .requests import (
    BINARY,
    AdminOnly,
    PerhapsReader,
    StrictRoute,
    TheCaller,
    TheCurator,
    View,
    moment,
    while_waited,
)

MAX_SETTINGS_BYTES = 4 * 2**20
MOST_INVITATIONS = 100_000
A_DAY = "public, max-age=86400, immutable"

router = APIRouter(prefix=TASKS, tags=["tasks"], route_class=StrictRoute)
admin = APIRouter(prefix=TASKS, tags=["tasks"], route_class=StrictRoute, dependencies=[AdminOnly])

EXAMPLE_SETTINGS = (
    '{"name": "Fair\'s survey", "label": "affair", "epsilon": 1, "depth": 6, "holders": 4456}'
)
_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["public", "settings"],
                    "properties": {
                        "public": {
                            **BINARY,
                            "description": "Public records with their labels, CSV or Parquet.",
                        },
                        "public_model": {
                            **BINARY,
                            "description": "A public model over the encoded columns, ONNX; "
                            "by default one is made of the public records.",
                        },
                        "register": {
                            **BINARY,
                            "description": "The people asked, CSV or Parquet: their disclosed "
                            "columns, or all features if none is disclosed, without labels.",
                        },
                        "settings": {
                            "type": "string",
                            "contentMediaType": JSON_MEDIA_TYPE,
                            "contentSchema": Publication.model_json_schema(),
                            "description": "The settings as JSON text.",
                            "examples": [EXAMPLE_SETTINGS],
                        },
                    },
                }
            }
        },
    }
}


class TaskSummary(View):
    """One line about a task."""

    id: str = Field(description="SHA-256 of the task's canonical bytes.", examples=[EXAMPLE_ID])
    version: int = Field(description="Of its form.", examples=[VERSION])
    name: str = Field(examples=["Fair's survey"])
    state: TaskState = Field(examples=["open"])
    phase: Phase = Field(
        description="By its state, dates and quota; of a panel by its waves.",
        examples=["open"],
    )
    collecting: bool = Field(description="Whether a report would be counted now.")
    created: datetime
    label: str = Field(examples=["affair"])
    epsilon: float = Field(description="Epsilon spent by one holder.", examples=[1.0])
    questions: int = Field(examples=[1])
    panel: str | None = Field(
        description="The id of the panel that it is or is a wave of; null without one.",
        examples=[None],
    )
    wave: int | None = Field(
        description="The number of the wave that it is, from 1; null if it is none.",
        examples=[None],
    )
    marked: datetime | None = Field(
        description="Since when it, or its report ids, are due for removal, which follows a day "
        "later; null if they are not.",
        examples=[None],
    )

    @classmethod
    def of(cls, stored: ListedTask, now: float, waves: Sequence[ListedTask] = ()) -> "TaskSummary":
        """The line at a time; the phase of a panel is by its ``waves``."""
        head, phase = stored.head, stored.phase(now, waves)
        return cls(
            id=head.id,
            version=head.version,
            name=head.name,
            state=stored.state,
            phase=phase,
            collecting=phase is Phase.OPEN,
            created=moment(stored.created),
            label=head.label,
            epsilon=head.epsilon,
            questions=head.questions,
            panel=head.panel,
            wave=None if head.wave is None else head.wave + 1,
            marked=None if stored.marked is None else moment(stored.marked),
        )


class WaveView(View):
    """One wave of a panel."""

    id: str = Field(description="The id of the wave's task.", examples=[EXAMPLE_ID])
    opens: datetime
    closes: datetime


class QuestionView(View):
    """A question in numbers."""

    mechanism: str = Field(examples=["subset"])
    epsilon: float = Field(examples=[1.0])
    asks: str = Field(examples=["label"])
    radius: float | None = Field(
        description="Radius around a cell's centre in which a number is reported; "
        "null for the whole range.",
        examples=[None],
    )
    cells: int = Field(description="Cells of its partition.", examples=[64])
    depth: int = Field(description="Splits on the longest path.", examples=[6])
    report_bytes: int = Field(description="Bytes of one answer.", examples=[16])


class StratumView(View):
    """A stratum that reports may disclose."""

    where: list[str] = Field(
        description="Conditions on disclosed columns, all of which hold.", examples=[["age >= 60"]]
    )
    holders: int = Field(description="Holders that are expected there.", examples=[250])


class TaskView(TaskSummary):
    """A task in full, with sizes derived from it."""

    questions_in_numbers: list[QuestionView]
    strata: list[StratumView] = Field(
        description="The strata that reports may name, by number; empty if no column is disclosed."
    )
    report_bytes: int = Field(description="Bytes of the longest whole report.", examples=[176])
    quota: int | None = Field(
        description="The most reports that are counted; null for no bound.", examples=[None]
    )
    public_model: str | None = Field(
        description="SHA-256 of the uploaded public model; null if Privet makes one.",
        examples=[None],
    )
    waves: list[WaveView] = Field(description="The waves of its panel; empty without one.")
    lifetime: float = Field(
        description="Epsilon that one holder spends at most, in all waves together.", examples=[1.0]
    )
    registered: bool = Field(
        description="Whether groups were counted in a register of the people asked.",
        examples=[False],
    )
    task: dict[str, Any] = Field(description="The published task, as holders answer it.")

    @classmethod
    def whole(cls, stored: StoredTask, now: float, waves: Sequence[StoredTask]) -> "TaskView":
        """All of a task, which has these ``waves`` if it is a panel."""
        task = stored.task
        views = [
            QuestionView(
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
        return cls(
            **TaskSummary.of(stored, now, waves).model_dump(),
            questions_in_numbers=views,
            strata=_strata(task),
            report_bytes=task.longest_report,
            quota=stored.quota,
            public_model=stored.public_model,
            waves=[
                WaveView(id=wave.id, opens=moment(opens), closes=moment(closes))
                for wave, (opens, closes) in zip(task.waves, _dates_of(task), strict=True)
            ],
            lifetime=task.lifetime,
            registered=stored.register is not None,
            task=task.model_dump(mode="json"),
        )


def _dates_of(task: Task) -> tuple[tuple[int, int], ...]:
    return () if task.panel is None else task.panel.waves


def _strata(task: Task) -> list[StratumView]:
    if task.strata is None:
        return []
    tree, columns = task.tree_of(0), task.columns
    return [
        StratumView(where=describe_node(tree, columns, int(node)), holders=size)
        for node, size in zip(task.strata.nodes, task.group_sizes, strict=True)
    ]


class BucketView(View):
    """The reports of one period."""

    starts: datetime
    reports: int
    checksum: str


class RelayView(View):
    """The reports of a task that a relay holds and has lost, as it said last."""

    relay: str = Field(description="Name of the relay's token.", examples=["north"])
    held: int = Field(
        description="Reports that wait there; up to 20 too many while more may come.",
        examples=[40],
    )
    least: int = Field(description="Reports that it waits for.", examples=[100])
    lost: dict[str, int] = Field(
        description="Reports that it lost, by reason.", examples=[{"too-few": 7}]
    )
    reported: datetime = Field(description="When it said so; it does every hour.")
    since: datetime | None = Field(
        description="Since when it has held some and none of its reports counted."
    )

    @classmethod
    def of(cls, kept: RelayHoldings) -> "RelayView":
        since = None if kept.since is None else moment(kept.since)
        return cls(
            relay=kept.relay,
            held=kept.holdings.reports,
            least=kept.holdings.least,
            lost=kept.holdings.lost,
            reported=moment(kept.at),
            since=since,
        )


class StatusView(CollectionStatus):
    """The state of a collection."""

    id: str = Field(examples=[EXAMPLE_ID])
    state: TaskState
    reports: int = Field(
        description="Reports counted; without a token in steps, see `step`.", examples=[4456]
    )
    step: int = Field(
        description="`reports` is a multiple of this, and at most two steps behind; 1 is exact.",
        examples=[1],
    )
    models: int = Field(description="Models fitted so far.")
    answers: list[int] | None = Field(
        default=None,
        description="Answers counted, per question; this and the following fields need a token.",
        examples=[[4456]],
    )
    rejects: dict[str, int] | None = Field(
        default=None,
        description="Refused reports by problem type.",
        examples=[{"wrong-payload": 2}],
    )
    checksum: str | None = Field(
        default=None,
        description="Sum of the 64-bit halves of the counted report ids, modulo 2^64.",
    )
    buckets: list[BucketView] | None = None
    relays: list[RelayView] | None = None
    settles: datetime | None = Field(
        default=None, description="When the grace period after its end is over."
    )
    growth: str = Field(
        default="",
        description="Why the counts may still grow, in a sentence; empty if they may not.",
    )

    @classmethod
    def of(cls, standing: Standing) -> "StatusView":
        stored, exact = standing.stored, standing.exact
        view = cls(
            id=stored.head.id,
            state=stored.state,
            phase=standing.phase,
            settled=stored.is_settled(standing.at),
            expected=standing.expected,
            invited=standing.invited,
            asks_again=standing.asks_again,
            reports=standing.reports,
            step=standing.step,
            models=standing.models,
            results=standing.results,
            settles=None if stored.settles is None else moment(stored.settles),
            growth=growth(stored, standing.at, standing.waves),
        )
        if exact is None:
            return view
        buckets = [
            BucketView(starts=moment(b.starts), reports=b.reports, checksum=b.checksum)
            for b in exact.buckets
        ]
        counts = {
            "answers": list(exact.answers),
            "rejects": dict(exact.rejects),
            "checksum": exact.checksum,
            "buckets": buckets,
            "relays": [RelayView.of(kept) for kept in exact.holdings],
        }
        return view.model_copy(update=counts)


@admin.post(
    "",
    status_code=status.HTTP_201_CREATED,
    openapi_extra=_UPLOAD,
    summary="Grow and publish a task",
    responses={
        200: {"model": TaskView, "description": "The same task existed already."},
        **described(TooLarge, InvalidPublicData, InvalidTask, InvalidRequest, Overloaded),
    },
)
async def create_task(
    request: Request, response: Response, curator: TheCurator, caller: TheCaller
) -> TaskView:
    """Grow a partition on public data and publish the task, open unless `open` is false.

    The same data and settings give the same task; then the answer is 200 instead of 201. With a
    public model of the admin's own, `distilled` cells and every `drift` fit start from it.
    """
    settings, public, onnx, register = await _read_upload(request)
    creating = cases.create_task(curator, caller, settings, public, onnx, register)
    stored, created = await while_waited(request, creating)
    waves = await run_in_threadpool(cases.waves_of, curator, stored.head)
    view = TaskView.whole(stored, curator.clock(), waves)
    response.headers["Location"] = f"{TASKS}/{view.id}"
    if not created:
        response.status_code = status.HTTP_200_OK
    return view


@router.get("", summary="List tasks")
def list_tasks(curator: TheCurator, caller: PerhapsReader) -> list[TaskSummary]:
    """All tasks, oldest first; drafts for readers only."""
    now, found = curator.clock(), cases.list_tasks(curator, caller)
    waves: dict[str | None, list[ListedTask]] = {}
    for listed in found:
        waves.setdefault(listed.head.panel, []).append(listed)
    return [
        TaskSummary.of(each, now, waves[each.head.id] if each.head.waves else ()) for each in found
    ]


@router.get(
    "/{task_id}",
    summary="Read a task",
    response_model=TaskView,
    responses={
        200: {
            "content": {TASK_MEDIA_TYPE: {"schema": BINARY}},
            "headers": {
                SIGNATURE_HEADER: {
                    "description": "The curator's key and signature, where it signs its tasks.",
                    "schema": {"type": "string", "pattern": SIGNATURE_PATTERN},
                }
            },
        },
        304: {"description": "The caller's copy is still current."},
    },
)
def read_task(
    task_id: TaskId,
    curator: TheCurator,
    caller: PerhapsReader,
    accept: Annotated[str, Header()] = "",
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """The task as JSON, or as the canonical bytes whose SHA-256 is its id.

    Holders ask for the bytes with `Accept: application/vnd.privet.task+msgpack`. The bytes never
    change, and their ETag is the id; the JSON view also has the state, so it must be revalidated.
    A draft is shown to readers only.
    """
    stored = cases.read_task(curator, caller, task_id)
    headers, signer = {"Vary": "Accept"}, curator.signer
    if signer is not None:
        headers[SIGNATURE_HEADER] = signer.sign(stored.task.id).header
    if TASK_MEDIA_TYPE in accept:
        kept = "no-store" if stored.state is TaskState.DRAFT else A_DAY
        headers |= {"ETag": f'"{stored.task.id}"', "Cache-Control": kept}
        return _unless_known(if_none_match, headers, stored.task.canonical, TASK_MEDIA_TYPE)
    view = TaskView.whole(stored, curator.clock(), cases.waves_of(curator, stored.head))
    headers |= {"ETag": _json_tag(stored, view), "Cache-Control": "no-cache"}
    return _unless_known(if_none_match, headers, view.model_dump_json().encode(), JSON_MEDIA_TYPE)


@router.get("/{task_id}/status", summary="Status", response_model_exclude_none=True)
def read_status(task_id: TaskId, curator: TheCurator, caller: PerhapsReader) -> StatusView:
    """Counts of reports and answers, rejects by reason, and the checksum over report ids.

    Without a token of scope reader or admin only the number of reports, in steps that do not show
    when a single one arrives, and, once no new ones are taken, the results of all reports, if
    a model serves.
    """
    return StatusView.of(cases.read_status(curator, caller, task_id))


@admin.post("/{task_id}/open", summary="Open a task", responses=described(IllegalMove))
def open_task(task_id: TaskId, curator: TheCurator, caller: TheCaller) -> TaskSummary:
    """Take reports: for the first time, or again after a close."""
    opened = cases.move_task(curator, caller, task_id, Move.OPEN)
    return TaskSummary.of(opened, curator.clock(), cases.waves_of(curator, opened.head))


@admin.post("/{task_id}/close", summary="Close a task", responses=described(IllegalMove))
def close_task(task_id: TaskId, curator: TheCurator, caller: TheCaller) -> TaskSummary:
    """Take no more reports; fitting and predicting go on."""
    closed = cases.move_task(curator, caller, task_id, Move.CLOSE)
    return TaskSummary.of(closed, curator.clock(), cases.waves_of(curator, closed.head))


@admin.delete("/{task_id}", status_code=status.HTTP_204_NO_CONTENT, summary="Delete a task")
def delete_task(task_id: TaskId, curator: TheCurator, caller: TheCaller) -> None:
    """Delete the task with its public data, sums, report ids and models, permanently."""
    cases.delete_task(curator, caller, task_id)


class InviteRequest(BaseModel):
    """The number of holders to invite."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"count": 100}]})

    count: int = Field(ge=1, le=MOST_INVITATIONS, strict=True)
    days: Days = None


class Invitations(BaseModel):
    """New invitations, shown only once."""

    invitations: list[str]


@admin.post(
    "/{task_id}/invitations",
    status_code=status.HTTP_201_CREATED,
    summary="Invite holders",
    responses=described(InvalidRequest, IllegalMove),
)
def invite(
    task_id: TaskId, body: InviteRequest, curator: TheCurator, caller: TheCaller
) -> Invitations:
    """Make invitations, each good for one report, to a task that was created with `invited`.

    A holder sends its own in the header `Privet-Invitation`. Give each person one, so that nobody
    can answer twice; the person who distributes them should not see who sends which report.
    """
    made = cases.invite(curator, caller, task_id, body.count, body.days)
    return Invitations(invitations=made)


class InvitationsView(View):
    """The numbers of a task's invitations, by outcome."""

    issued: int
    used: int = Field(description="Spent by a report, or held for a relay's batch.")
    revoked: int
    expired: int = Field(description="Invitations that expired unused.")


@admin.get("/{task_id}/invitations", summary="Count invitations")
def count_invitations(task_id: TaskId, curator: TheCurator, caller: TheCaller) -> InvitationsView:
    """Numbers of invitations issued, used, revoked and expired."""
    return InvitationsView(**asdict(cases.count_invitations(curator, caller, task_id)))


class RevokeRequest(BaseModel):
    """The invitations to revoke."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}]})

    invitations: list[str] | None = Field(default=None, description="Some; null for all unused.")


class Revoked(BaseModel):
    """The number of unused invitations that were revoked."""

    revoked: int


@admin.post(
    "/{task_id}/invitations/revoke",
    summary="Revoke invitations",
    responses=described(InvalidRequest),
)
def revoke_invitations(
    task_id: TaskId, body: RevokeRequest, curator: TheCurator, caller: TheCaller
) -> Revoked:
    """Take back unused invitations, some or all; the task goes on counting invited reports only."""
    revoked = cases.revoke_invitations(curator, caller, task_id, body.invitations)
    return Revoked(revoked=revoked)


async def _read_upload(
    request: Request,
) -> tuple[Publication, bytes, bytes | None, bytes | None]:
    """The parts of the form. Only called for an admin, so a stranger's upload is not read."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InvalidRequest("Send multipart/form-data with the parts 'public' and 'settings'.")
    try:
        async with request.form(
            max_files=4, max_fields=2, max_part_size=MAX_SETTINGS_BYTES
        ) as form:
            public, settings = await _part(form, "public"), await _part(form, "settings")
            onnx, register = [
                await _part(form, name) if name in form else None
                for name in ("public_model", "register")
            ]
    except HTTPException as error:
        if error.status_code in {408, 413}:  # of the layer that reads the body
            raise
        raise InvalidRequest(f"The form cannot be read: {error.detail}") from None
    return Publication.parse(settings), public, onnx, register


async def _part(form: Any, name: str) -> bytes:
    part = form.get(name)
    if part is None:
        raise InvalidRequest(f"The form has no part {name!r}: send 'public' and 'settings'.")
    if isinstance(part, UploadFile):
        return await part.read()
    return str(part).encode()


def _json_tag(stored: StoredTask, view: TaskView) -> str:
    collecting = "collecting" if view.collecting else "waiting"
    marked = "" if view.marked is None else "-marked"
    return f'W/"{stored.task.id}-{stored.state}-{collecting}{marked}"'


def _unless_known(
    if_none_match: str, headers: dict[str, str], body: bytes, media_type: str
) -> Response:
    if is_known(if_none_match, headers["ETag"]):
        return Response(status_code=status.HTTP_304_NOT_MODIFIED, headers=headers)
    return Response(body, headers=headers, media_type=media_type)
