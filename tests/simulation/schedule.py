"""Two curators over one database, a relay, three holders and a stranger, and what they do.

A schedule is a list of steps; ``run`` carries it out in a ``World``, lets all faults end, lets
everybody try again, and returns what must not be:

- a report that was acknowledged as counted is not in the sums, or anything is in them twice;
- a report that a relay acknowledged is neither counted nor refused in the end, before the grace
  period of its task is over, nor is one that was drawn, while its task takes reports;
- a holder sends two different reports, or one that its ledger does not have;
- curators do not count a refused report once, or what they keep of a task does not fit together;
- a task is created twice, or removed before its time or without a note in the audit log;
- a server fails that had no reason to, a database is closed while it is written to, or an exception
  comes out anywhere.

Not failures: an acknowledgement that is lost after the commit; refusals that were not yet written
when a curator crashed; which of two different reports with one id counts.
"""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest import mock

import httpx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from privet.admin.results import Scope
from privet.client import Holder, ReportClient, Retry, SqliteLedger
from privet.client.ledger import UNLIMITED
from privet.curator.access.audit import NOBODY
from privet.curator.access.tokens import Tokens
from privet.curator.collection.batch import BatchUpload
from privet.curator.collection.intake import Intake
from privet.curator.collection.rejects import Rejects
from privet.curator.collection.task_cache import task_cache
from privet.curator.collection.writer import Writer
from privet.curator.datastore import expiry, garbage_collection, open_store
from privet.curator.datastore.verification import verify, verify_audit
from privet.curator.http import task_files
from privet.curator.http.requests import Caller
from privet.curator.limits import LIMITS
from privet.curator.metrics import Metrics
from privet.curator.operations.tasks import close_task, create_task, open_task, read_status
from privet.curator.settings import Settings
from privet.curator.workers import Run
from privet.http_server.bodies import BodyBudget
from privet.http_server.problems import add_problem_handlers
from privet.http_server.task_calls import Answer, TaskCalls
from privet.intake.upload import ReportUpload
from privet.learning.task_building.publication import Publication
from privet.protocol import lifecycle
from privet.protocol.calls import REPORT_MEDIA_TYPE, SEND_REPORT, TASK_MEDIA_TYPE, Call
from privet.protocol.errors import PrivetError, StorageFailed, TaskNotFound
from privet.protocol.features import Classes, Numeric
from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.partition import LEAF, Tree
from privet.protocol.report import (
    Report,
    make_report,
)
from privet.protocol.task import (
    Question,
    Task,
)
from privet.relay.app import Relay, create_app
from privet.relay.forwarding import Forwarder
from privet.relay.spool import Spool
from privet.relay.status import BatchSizes
from tests.curator.datastore.made import public
from tests.curator.datastore.servers import new_file
from tests.curator.use_cases import ADMIN, InPlace, done, new_curator

from .world import START, Fault, Node, World, connect

T = TypeVar("T")
HOUR = 3_600.0
STRANGER = Caller(Tokens(mock.Mock(), mock.Mock()), None, {})
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None
HOLDERS = 3
SERVERS = ("curator-0.example", "curator-1.example", "relay.example")
TRUTHFUL = 40.0
"""An epsilon at which every answer is the true one."""
TREE = Tree(
    columns=1,
    feature=(0, LEAF, 0, LEAF, LEAF),
    threshold=(1 / 3, 0.0, 2 / 3, 0.0, 0.0),
    left=(1, LEAF, 3, LEAF, LEAF),
    right=(2, LEAF, 4, LEAF, LEAF),
)
CLOSES = int(START + 2 * HOUR)
TASK = Task(
    name="simulated",
    features=(Numeric(name="x", low=0.0, high=float(HOLDERS)),),
    label=Classes(name="y", classes=("no", "yes")),
    partitions=(TREE,),
    questions=(Question(partition=0, mechanism="grr", epsilon=TRUTHFUL),),
    closes=CLOSES,
)
PUBLICATION = Publication(name=TASK.name, label="y", epsilon=TRUTHFUL)
SETTINGS = Settings(keep_tasks_days=0.0)
LATE_SECONDS = HOUR
ROUND_SECONDS = GRACE_SECONDS = 6 * HOUR
"""Of expiry, so that a day is enough for all of it."""
RETRY = Retry(attempts=2)
NOT_COUNTED = {"task-not-found", "storage-failed"}
"""Refusals that are not written down."""


class Op(Enum):
    """What a step begins."""

    CREATE = "an admin creates the task at a curator"
    ANSWER = "a holder answers, at a curator or the relay"
    RESEND = "a holder looks after what it answered"
    CLASH = "a stranger sends another report under a holder's id"
    SPOIL = "a stranger sends what is no report"
    FORWARD = "the relay forwards what it has"
    MOVE = "an admin closes the task, or opens it again"
    JUMP = "a server's clock is wrong from now on"
    WAIT = "a minute passes"
    DAY = "a day passes"


class Pace(Enum):
    """When the next step begins, and what else happens meanwhile."""

    ALONE = "when this one has ended"
    ALONG = "at once"
    TWICE = "when this one has ended, which another server is asked for at the same moment"
    CUT = "when this one has ended, as far as it comes: its server stops in good order, and starts"


@dataclass(frozen=True)
class Step:
    """Who does what, at which server, and which faults strike at places from then on."""

    op: Op
    server: int = 0
    holder: int = 0
    faults: tuple[tuple[int, Fault], ...] = ()
    pace: Pace = Pace.ALONE


class Maker(InPlace):
    """Makes the task of the simulation, whatever it is asked to make."""

    async def call(self, function: Callable[[Run], T]) -> T:
        return function(cast("Run", lambda *_, **__: (TASK, public())))


class CuratorNode(Node):
    """A curator: what ``create_app`` assembles, without the calls that are not made here."""

    world: "Collection"

    def set_up(self) -> None:
        self.store = open_store(self.world.database)
        self.service = new_curator(self.store, self.clock)
        self.service.workers = Maker(1, 1)
        tokens = self.service.tokens
        self.writer = Writer(self.store, self.clock, metrics(), max_queue=100)
        self.rejects = Rejects(self.store.standing.count_rejects)
        budget = BodyBudget(LIMITS.batch_bytes)
        intake = Intake(task_cache(self.store), self.writer, self.rejects, metrics(), budget)
        batch = BatchUpload(intake, 0, tokens, self.store, self.clock)
        answers: dict[Call, Answer] = {SEND_REPORT: ReportUpload(intake), **batch.answers()}

        def note(action: str, subject: str = "", **detail: Any) -> None:
            self.world.noted[action, subject] += 1
            tokens.audit.add_entry(NOBODY, action, subject, **detail)

        self.spawn(
            garbage_collection.collect_garbage(self.store.expiry, SETTINGS, self.clock, note)
        )
        self.handle = httpx.ASGITransport(TaskCalls(self.reads(), answers)).handle_async_request

    def reads(self) -> Starlette:
        """The calls that read, by the functions of the real routes."""

        async def task(request: Request) -> Response:
            task_id, curator = request.path_params["id"], self.service
            given = task_id, curator, STRANGER, TASK_MEDIA_TYPE, ""
            return await run_in_threadpool(task_files.read_task, *given)

        async def status(request: Request) -> Response:
            given = self.service, STRANGER, request.path_params["id"]
            view = await run_in_threadpool(read_status, *given)
            return JSONResponse(view.model_dump(mode="json"))

        app = Starlette(
            routes=[Route("/v1/tasks/{id}", task), Route("/v1/tasks/{id}/status", status)]
        )
        add_problem_handlers(app, {})
        return app

    def tear_down(self) -> None:
        self.writer.stop()
        self.rejects.close()
        self.store.close()


class RelayNode(Node):
    """A relay that forwards single reports, when it is told to."""

    world: "Collection"

    def set_up(self) -> None:
        self.spool = Spool(self.world.folder / "spool.db")
        client = self.world.client(self.world.token)
        relay = Relay(client, f"https://{SERVERS[0]}", self.spool, BatchSizes(1), clock=self.clock)
        relay.watch.clock = self.world.loop.time
        self.forwarder = Forwarder(
            client, relay.address, self.spool, BatchSizes(1), relay.watch, clock=self.clock
        )
        self.writer = relay.writer
        self.working: list[asyncio.Task[Any]] = []
        self.handle = httpx.ASGITransport(create_app(relay)).handle_async_request

    def forward(self) -> "asyncio.Task[Any]":
        self.working.append(self.spawn(self.forwarder.forward()))
        return self.working[-1]

    def tear_down(self) -> None:
        for task in self.working:
            task.cancel()
        self.writer.stop()
        self.spool.close()


class Collection(World):
    """The world of one task."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(seed)
        self.folder = folder
        file, self.token = template()
        path = folder / "privet.db"
        path.touch(0o600)
        path.write_bytes(file)
        self.database = f"sqlite:///{path}"
        self.curators = [CuratorNode(self, name) for name in SERVERS[:2]]
        self.relay = RelayNode(self, SERVERS[2])
        self.servers: list[CuratorNode | RelayNode] = [*self.curators, self.relay]
        self.holders = [Node(self, f"holder-{place}") for place in range(HOLDERS)]
        self.stranger = Node(self, "stranger")
        everybody = [*self.servers, *self.holders, self.stranger]
        self.nodes = {node.name: node for node in everybody}
        self.created: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.acknowledged: dict[bytes, int] = {}
        """The best status that each body was ever answered with: 202, or 201 for counted."""
        self.clashed = False
        self.noted: Counter[tuple[str, str]] = Counter()
        """What expiry put into the audit log, by action and subject."""

    def client(self, token: str | None = None) -> ReportClient:
        return ReportClient(httpx.AsyncClient(transport=self), retry=RETRY, token=token)

    def holder(self, place: int) -> Holder:
        node = self.holders[place]
        ledger = SqliteLedger(self.folder / node.name)
        return Holder(self.client(), ledger, randomness=self.urandom, clock=node.clock, wait=False)

    def drawn(self, place: int) -> bytes | None:
        """The report that a holder has on its disk."""
        path = self.folder / self.holders[place].name
        if not path.exists():
            return None
        disk = connect(path)
        row = disk.execute("SELECT report FROM answers").fetchone()
        disk.close()
        return None if row is None else bytes(row[0])

    # ---- what is seen of the network

    def sending(self, sender: Node, request: httpx.Request) -> None:
        is_report = sender in self.holders and request.method == "POST"
        if is_report and request.content != self.drawn(self.holders.index(sender)):
            self.fault(f"{sender.name} sends what its ledger does not have")

    def answered(self, server: Node, request: httpx.Request, reply: httpx.Response) -> None:
        problem = reply.json()["type"].rpartition(":")[2] if reply.status_code >= 400 else ""
        if problem in {"internal", "storage-failed"} and not (
            server.failed or server.handle is None
        ):
            self.fault(f"{server.name} fails without a reason: {reply.text}")
        if server in self.curators and request.method == "POST":
            failed = reply.json().get("failed", {})
            self.refused += Counter({reason: len(ids) for reason, ids in failed.items()})
            if request.url.path.endswith("/reports") and problem not in {"", *NOT_COUNTED}:
                self.refused[problem] += 1

    def arrived(self, request: httpx.Request, reply: httpx.Response) -> None:
        if request.url.path.endswith("/reports") and reply.is_success:
            best = 202 if reply.status_code == 202 else 201
            before = self.acknowledged.get(request.content, best)
            self.acknowledged[request.content] = min(best, before)

    # ---- what is done

    def begin(self, step: Step) -> "Iterator[asyncio.Task[Any]]":
        """Begin a step, and what its pace adds."""
        places = [step.server, *([step.server + 1] if step.pace is Pace.TWICE else [])]
        for place in places:
            yield from self.begin_at(step, place)
        if step.pace is Pace.CUT:
            server = self.relay if step.op is Op.FORWARD else self.servers[step.server]
            yield self.stranger.spawn(self.restart(server))

    def begin_at(  # noqa: C901 - a case for each operation
        self, step: Step, place: int
    ) -> "Iterator[asyncio.Task[Any]]":
        server, who = self.servers[place % 3], self.holders[step.holder]
        curator, stranger = self.curators[place % 2], self.stranger
        match step.op:
            case Op.CREATE if curator.handle:
                yield curator.thread(self.create, curator)
            case Op.ANSWER:
                yield who.spawn(self.answer(step.holder, server.name))
            case Op.RESEND:
                yield who.spawn(self.holder(step.holder).resend())
            case Op.CLASH:
                yield stranger.spawn(self.clash(step.holder, server.name))
            case Op.SPOIL:
                yield stranger.spawn(self.post(server.name, b"no report"))
            case Op.FORWARD if self.relay.handle:
                yield self.relay.forward()
            case Op.MOVE if curator.handle:
                yield curator.thread(self.move, curator)
            case Op.JUMP:
                server.offset = (-5 * HOUR, 0.0, 30 * HOUR)[step.holder]
            case Op.WAIT:
                yield stranger.spawn(asyncio.sleep(60.0))
            case Op.DAY:
                yield stranger.spawn(asyncio.sleep(26 * HOUR))

    def create(self, curator: CuratorNode) -> None:
        with self.good_reason(curator):
            task, is_new = done(create_task(curator.service, ADMIN, PUBLICATION, b""))
            self.created[task.task.id] += is_new

    def move(self, curator: CuratorNode) -> None:
        with self.good_reason(curator):
            is_open = curator.store.tasks.read(TASK.id).state is TaskState.OPEN
            (close_task if is_open else open_task)(curator.service, ADMIN, TASK.id)

    @contextmanager
    def good_reason(self, node: Node) -> Iterator[None]:
        """Note a failure of a store none of whose statements was made to fail."""
        try:
            yield
        except StorageFailed as error:
            if not node.failed:
                self.fault(f"{node.name} fails without a reason: {error.__cause__}")

    async def answer(self, place: int, server: str) -> None:
        holder = self.holder(place)
        holder.ledger.set_caps(holder.subject, UNLIMITED)
        await holder.answer(url(server), {"x": place + 0.5, "y": "yes"})

    async def clash(self, place: int, server: str) -> None:
        drawn = self.drawn(place)
        if drawn is not None:
            other = make_report(TASK, {"x": place + 0.5, "y": "no"}, self.urandom)
            self.clashed = True
            await self.post(server, other.model_copy(update={"id": Report.unpack(drawn).id}).pack())

    async def post(self, server: str, body: bytes) -> None:
        async with httpx.AsyncClient(transport=self) as http:
            headers = {"Content-Type": REPORT_MEDIA_TYPE}
            await http.post(f"{url(server)}/reports", content=body, headers=headers)

    async def restart(self, server: "CuratorNode | RelayNode") -> None:
        if server.handle is not None:
            server.handle = None
            while server.serving:
                await asyncio.wait(server.serving)
            await asyncio.wait([server.thread(server.tear_down)])
            server.end()
            await asyncio.wait([server.start()])

    # ---- the whole

    async def carry_out(self, steps: Sequence[Step]) -> None:
        for node in self.nodes.values():
            await asyncio.wait([node.start()])
        running: set[asyncio.Task[Any]] = set()
        for step in steps:
            self.trace.append(str(step))
            self.plan(step.faults)
            running.update(self.begin(step))
            if running and step.pace is not Pace.ALONG:
                await asyncio.wait(running)
                running.clear()
        self.calm()
        await asyncio.sleep(60.0)
        await self.heal()
        self.check()

    async def heal(self) -> None:
        """All clocks are right, and everybody tries again until nothing is left to do."""
        for server in self.servers:
            server.offset = 0.0
        with suppress(PrivetError):
            if self.curators[0].store.tasks.read(TASK.id).state is TaskState.CLOSED:
                self.move(self.curators[0])
        for _ in range(2):
            for place, node in enumerate(self.holders):
                await asyncio.wait([node.spawn(self.holder(place).resend())])
            await asyncio.wait([self.relay.forward()])
            await asyncio.sleep(120.0)

    def check(self) -> None:
        """Add what is wrong to ``faults``."""
        store = self.curators[0].store
        self.faults += [fault for found in verify(store.engine) for fault in found.faults]
        self.faults += verify_audit(store.engine).faults
        crashes = sum(curator.crashes for curator in self.curators)
        failed = [what for curator in self.curators for what in curator.failed]
        if any(times > 1 for times in self.created.values()):
            self.fault("two curators say that they created the task")
        if store.tasks.was_deleted(TASK.id):
            self.check_expiry(excused=crashes > 0)
            return
        try:
            (sums,), status = store.standing.collected(TASK.id).sums, store.standing.read(TASK.id)
        except TaskNotFound:
            if self.created or self.acknowledged:
                self.fault("the task is gone")
            return
        if status.reports != sums.n or sums.n != sums.vector.sum() or sums.vector.max() > 1:
            self.fault(f"{status.reports} reports, {sums.n} answers, sums {sums.vector}")
        counted = {place for place, number in enumerate(sums.vector.tolist()) if number}
        for body, best in self.acknowledged.items():
            self.check_acknowledged(body, best, counted)
        for place in range(HOLDERS):
            if (
                self.drawn(place)
                and not self.clashed
                and self.takes_reports()
                and 2 * place + 1 not in counted
            ):
                self.fault(f"what holder {place} has drawn does not count")
        lost = self.refused - Counter(status.rejects)
        if Counter(status.rejects) - self.refused or (lost and not crashes and not failed):
            self.fault(f"refused {dict(self.refused)}, and written down {dict(status.rejects)}")

    def check_acknowledged(self, body: bytes, best: int, counted: set[int]) -> None:
        report = Report.unpack(body)
        ((_, payload),) = report.answers
        if payload[0] not in counted and (best == 201 or self.takes_late()):
            state = self.relay.spool.state(TASK.id, report.id)
            if best == 201 or state in {None, "held", "counted"}:
                self.fault(f"a report was acknowledged with {best} and does not count ({state})")

    def check_expiry(self, *, excused: bool) -> None:
        if self.stranger.clock() < CLOSES + LATE_SECONDS:
            self.fault("the task was removed before its time")
        for removal in expiry.Removal:
            times = self.noted[removal.value, TASK.id]
            if times > 1 or not (times or excused):
                self.fault(f"{removal.value} is noted {times} times")

    def takes_late(self) -> bool:
        """True if what a relay took in time still counts."""
        return self.curators[0].store.tasks.read(TASK.id).takes_late(self.stranger.clock())

    def takes_reports(self) -> bool:
        return self.curators[0].store.tasks.read(TASK.id).phase(self.stranger.clock()) is Phase.OPEN


def run(steps: Sequence[Step], seed: int = 0) -> tuple[list[str], list[str]]:
    """What must not be and was, and what happened at which place."""
    template(), metrics()
    with (
        tempfile.TemporaryDirectory(dir=FAST) as folder,
        mock.patch.object(garbage_collection, "EVERY_SECONDS", ROUND_SECONDS),
        mock.patch.object(expiry, "GRACE_SECONDS", GRACE_SECONDS),
        mock.patch.object(garbage_collection, "LATE_SECONDS", LATE_SECONDS),
        mock.patch.object(lifecycle, "LATE_SECONDS", LATE_SECONDS),
    ):
        world = Collection(Path(folder), seed)
        with world.running() as runner:
            runner.run(world.stranger.within(world.carry_out(steps)))
        return world.faults, world.trace


@cache
def metrics() -> Metrics:
    return Metrics(None)


@cache
def template() -> tuple[bytes, str]:
    """A database with a relay's token, and the token."""
    with tempfile.TemporaryDirectory() as folder:
        address = new_file(Path(folder))
        store = open_store(address)
        token = Tokens(store, time.time).issue("relay", Scope.RELAY)
        verify(store.engine)  # which works out once, outside of all traces, what it compares with
        store.close()
        return Path(address.removeprefix("sqlite:///")).read_bytes(), token


def url(server: str) -> str:
    return f"https://{server}/v1/tasks/{TASK.id}"
