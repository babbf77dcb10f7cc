"""Sending reports on: shuffled, in batches that are large enough to hide in.

A batch leaves the spool when the curator has counted its reports or refused them for good. What was
taken while a task was open counts until the grace period after its end is over (docs/adr/0409): so
when a collection has ended, all that may go together goes. What is left then is lost, and this is
tallied by reason: too few for anybody to hide among, too late, or of a task that was deleted.

Where holders are invited, the curator is first asked about the invitations of at least as many, and
what it takes is sent later, in batches that name that admission (docs/adr/0402).

In a task with disclosed columns a report hides only among those of its stratum. One that would be
the only one of its cell waits; batches of admitted holders go out as they are, and the status says
how few of a cell have gone together.

Where a task wants all to go together, nothing goes while it collects. A minute after its end, when
what was just arriving is there too, all goes: in one message, or in as many as a curator takes.
Which of them a report is in depends on its random id alone, so they hide it like one batch of all.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread
from pydantic import ValidationError

from privet.http_client.address import TaskAddress
from privet.http_client.errors import UnexpectedResponse
from privet.http_client.report_client import ReportClient
from privet.protocol.batch import Admission, AdmissionResponse, Batch, BatchResponse, split
from privet.protocol.errors import (
    NotAdmitted,
    PrivetError,
    StorageFailed,
    TaskNotFound,
    TaskNotOpen,
    problem_of,
)
from privet.protocol.report import REPORT_ID_BYTES
from privet.protocol.status import CollectionStatus
from privet.protocol.task import Task

from .batches import MAX_BYTES, TaskQueue
from .errors import SpoolFailed
from .outcomes import HELD, Account
from .spool import NOT_INVITED, Spool
from .status import RELAY_COUNTS, BatchSizes
from .task_watch import CLOSED, TaskWatch
from .telling import Teller

if TYPE_CHECKING:
    from .batch_writer import BatchWriter

MAX_BATCH = 50_000
KEEP_STATES_DAYS = 30
DAY_SECONDS = 86_400
STRAGGLER_SECONDS = 60.0
"""After an end, seconds in which a report may still arrive that was sent before."""
REASON = re.compile(r"[a-z][a-z-]{0,63}")
TOO_FEW = "too-few"
NOT_OPEN = problem_of(TaskNotOpen("")).name
NOT_ADMITTED = problem_of(NotAdmitted("")).name
GONE = problem_of(TaskNotFound("")).name

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Forwarder:
    """Forwards a task's reports as soon as enough of them wait, by ``sizes``.

    ``address`` says where the curator publishes a task, by the task's id. What became of reports is
    known for ``KEEP_STATES_DAYS`` after they have left. With a ``folder``, batches are written
    there for ``privet collect``, not posted; with a ``teller``, the curator hears what is held.
    """

    client: ReportClient
    address: Callable[[str], TaskAddress]
    spool: Spool
    sizes: BatchSizes
    watch: TaskWatch
    clock: Callable[[], float] = time.time
    folder: "BatchWriter | None" = None
    teller: Teller | None = None
    _forgot: int = field(default=0, init=False)
    _ended: dict[str, float] = field(default_factory=dict, init=False)
    """Moments at which the end of tasks was seen whose reports all go together."""

    async def run(self, every: float) -> None:
        """Forward what may go, every ``every`` seconds, until cancelled.

        A spool that fails is tried again at the next turn; other exceptions end this.
        """
        while True:
            await asyncio.sleep(every)
            try:
                await self.forward()
                if self.teller is not None:
                    await self.teller.tell()
                await self._forget()
            except SpoolFailed as error:
                log.warning("nothing was forwarded: %s", error.detail)

    async def forward(self) -> None:
        """Send what was sealed before, then every queue that is long enough.

        What fails stays as it is and is sent again, the same reports in the same order.
        """
        await self._read_outcomes()
        stuck = await self._send_sealed() | await self._ask_drawn()
        queues = await to_thread.run_sync(self.spool.queues)
        ways = dict[str, _Way]()
        for task in dict.fromkeys(queue.task for queue in queues):
            way = await self._way(task)
            if way is not None:
                ways[task] = way
        asked = False
        for queue in queues:
            way = ways.get(queue.task)
            if way is not None and way.invited and not way.settled and queue.task not in stuck:
                stuck |= await self._ask(queue, way)
                asked = True
        if asked:
            queues = await to_thread.run_sync(self.spool.queues)
        for queue in queues:
            way = ways.get(queue.task)
            if way is not None and not way.settled and queue.task not in stuck:
                stuck |= await self._forward(queue, way)
        if any(way.last or way.settled for way in ways.values()):
            await self._end(ways, stuck)

    async def _end(self, ways: "Mapping[str, _Way]", stuck: Set[str]) -> None:
        """Give up what is left of tasks where it can count no more."""
        rest = dict[str, int]()
        for queue in await to_thread.run_sync(self.spool.queues):
            rest[queue.task] = max(rest.get(queue.task, 0), queue.single + queue.admitted)
        for task, most in rest.items():
            way = ways.get(task)
            if way is not None and way.settled:
                reason = TOO_FEW if most < way.least else NOT_OPEN
                await self._abandon(task, reason, sealed=False)
            elif way is not None and way.last and most < way.least and task not in stuck:
                await self._abandon(task, TOO_FEW, sealed=False)

    async def _way(self, task_id: str) -> "_Way | None":
        """The way of a task's reports now; None if they stay."""
        status = await self._look(task_id)
        if status is None or status is CLOSED:
            return None
        task = await self._task(task_id)
        if task is None:
            return None
        ended = not status.collecting
        if ended and task.opens is not None and self.clock() < task.opens:
            return None
        if task.smallest_batch == "all" and not self._all_are_here(task_id, ended=ended):
            return None
        return _Way(
            self.sizes.at_the_end(task) if ended else self.sizes.while_open(task, status),
            task.stratum_bytes,
            invited=bool(status.invited),
            last=ended and bool(status.over),
            settled=ended and bool(status.settled),
        )

    def _all_are_here(self, task: str, *, ended: bool) -> bool:
        """True if the task's end was seen long enough ago for stragglers to have arrived."""
        if not ended:
            self._ended.pop(task, None)
            return False
        return self.clock() - self._ended.setdefault(task, self.clock()) >= STRAGGLER_SECONDS

    async def _ask(self, queue: TaskQueue, way: "_Way") -> set[str]:
        """Ask about the waiting reports' invitations in batches; returns the tasks that stay."""
        away = await to_thread.run_sync(self.spool.turn_away, queue.task, self._today())
        _log_refusal(queue.task, away, NOT_INVITED)
        return await self._in_batches(queue, way, queue.single, self.spool.draw, self._ask_drawn)

    async def _ask_drawn(self) -> set[str]:
        """Ask about what is drawn; returns the tasks for which there is no answer."""
        stuck = set()
        for number, task in (await to_thread.run_sync(self.spool.drawn)).items():
            refused = None
            if task not in stuck and await self._takes(task):
                asked = await to_thread.run_sync(self.spool.admissions, number)
                refused = await self._refused(task, asked)
            if refused is None:
                stuck.add(task)
            else:
                left = await to_thread.run_sync(self.spool.admit, number, refused, self._today())
                _log_refusal(task, left, NOT_INVITED)
                await to_thread.run_sync(self.spool.purge)
        return stuck

    async def _refused(self, task: str, admissions: Sequence[Admission]) -> set[bytes] | None:
        """Invitations the curator rejected; None if it could not be asked."""
        refused, asked_of = set[bytes](), await self._task(task)
        if asked_of is None:
            return None
        try:
            for asked in admissions:
                message = asked.pack(asked_of.version)
                reply = await self.client.send_admission(self.address(task), message)
                refused |= refused_in(reply, asked)
        except PrivetError as error:
            log.warning("invitations of task %s are not asked about: %s", task[:16], error.detail)
            return None
        return refused

    async def _forward(self, queue: TaskQueue, way: "_Way") -> set[str]:
        """Seal and send what waits in a queue; returns the tasks that stay."""
        waiting = queue.admitted if way.invited else queue.single
        seal = partial(self.spool.seal, invited=way.invited)
        return await self._in_batches(queue, way, waiting, seal, self._send_sealed)

    async def _in_batches(
        self,
        queue: TaskQueue,
        way: "_Way",
        waiting: int,
        take: Callable[..., bool],
        send: Callable[[], Awaitable[set[str]]],
    ) -> set[str]:
        """Take and send batches until too few reports are left; returns the tasks that stay."""
        key, stuck = (queue.task, queue.questions, way.least), set[str]()
        take = partial(take, *key, stratum_bytes=way.stratum_bytes)
        while waiting >= way.least and not stuck:
            about = batch_size(waiting, way.least, queue.width)
            while not await to_thread.run_sync(take, about):
                if about >= waiting:
                    return stuck
                about *= 2  # lone reports are left out; more reports may share their stratum
            waiting -= about
            stuck = await send()
        return stuck

    async def _task(self, task_id: str) -> Task | None:
        """The task; None if it is unavailable."""
        try:
            return (await self.client.offer(self.address(task_id))).task
        except PrivetError as error:
            log.warning("reports of task %s stay here: %s", task_id[:16], error.detail)
            return None

    async def _send_sealed(self) -> set[str]:
        """Send what is sealed; returns the tasks whose reports stay here."""
        stuck = set()
        sealed = await to_thread.run_sync(self.spool.sealed)
        for number, task in sealed.items():
            if task in stuck:
                continue
            if not (await self._takes(task) and await self._send(number, task)):
                stuck.add(task)
        if sealed:
            await to_thread.run_sync(self.spool.purge)
        return stuck

    async def _send(self, number: int, task: str) -> bool:
        """Send a sealed batch and settle it; False if it stays here."""
        batch = await to_thread.run_sync(self.spool.batch, number)
        asked_of = await self._task(task)
        if asked_of is None:
            return False
        stratum_bytes = asked_of.stratum_bytes
        group_size = int(batch.group_sizes(stratum_bytes).min()) if stratum_bytes else None
        ids = split(batch.ids.tobytes(), REPORT_ID_BYTES)
        try:
            account, file = await self._deliver(asked_of, batch)
        except TaskNotFound:
            await self._abandon(task, GONE, sealed=True)
            return False
        except TaskNotOpen:
            account, file = Account({}, {NOT_OPEN: ids}), None
        except NotAdmitted as error:
            asked = await to_thread.run_sync(self.spool.admissions, number)
            if not await self._refused(task, asked):  # held again, or silent
                log.warning("reports of task %s stay here: %s", task[:16], error.detail)
                return False
            account, file = Account({}, {NOT_ADMITTED: ids}), None
        except PrivetError as error:
            log.warning("reports of task %s stay here: %s", task[:16], error.detail)
            return False
        if NOT_OPEN in account.refused and not await self._is_settled(task):
            log.warning("reports of task %s stay here: it takes none now", task[:16])
            return False
        settle = partial(self.spool.settle, file=file)
        await to_thread.run_sync(settle, number, account, self._today(), group_size)
        for reason, refused in account.refused.items():
            _log_refusal(task, len(refused), reason)
        return True

    async def _deliver(self, task: Task, batch: Batch) -> tuple[Account, str | None]:
        """Post a batch, or write it to the folder; return what became of its reports, and the
        file's name."""
        if self.folder is None:
            message = batch.pack(task.version)
            reply = await self.client.send_batch(self.address(task.id), message, receipts=True)
            return account_of(reply, split(batch.ids.tobytes(), REPORT_ID_BYTES)), None
        name = await to_thread.run_sync(self.folder.write, task.id, batch)
        return Account({HELD: len(batch)}), name

    async def _read_outcomes(self) -> None:
        """Record the outcomes that ``privet collect`` has written beside batches."""
        if self.folder is None:
            return
        for number, name, reports in await to_thread.run_sync(self.spool.files):
            try:
                reply = await to_thread.run_sync(self.folder.outcome, name)
                if reply is not None:
                    account = account_of(reply, reports)
                    await to_thread.run_sync(self.spool.settle_file, number, account, self._today())
            except (StorageFailed, UnexpectedResponse) as error:
                log.warning("the outcome of %s is not read: %s", name, error.detail)

    async def _look(self, task: str) -> CollectionStatus | None:
        """The task's status, None if unknown; drops what waits for a task that was deleted."""
        try:
            return await self.watch.look(task)
        except TaskNotFound:
            await self._abandon(task, GONE, sealed=True)
            return CLOSED

    async def _takes(self, task: str) -> bool:
        """False if the task is known to have been deleted."""
        return (await self._look(task)) is not CLOSED

    async def _is_settled(self, task: str) -> bool:
        """True if a task that takes no reports will not take these."""
        try:
            return bool((await self.watch.refused(task)).settled)
        except TaskNotFound:
            return True

    async def _abandon(self, task: str, reason: str, *, sealed: bool) -> None:
        drop = partial(self.spool.abandon, task, reason, self._today(), sealed=sealed)
        _log_refusal(task, await to_thread.run_sync(drop), reason)

    async def _forget(self) -> None:
        """Delete, once a day, the states of reports that are older than ``KEEP_STATES_DAYS``."""
        if self._forgot != self._today():
            self._forgot = self._today()
            await to_thread.run_sync(self.spool.forget, self._forgot - KEEP_STATES_DAYS)

    def _today(self) -> int:
        return int(self.clock() // DAY_SECONDS)


@dataclass(frozen=True)
class _Way:
    """The way of a task's reports to the curator."""

    least: int
    """Fewest that go together."""
    stratum_bytes: int
    invited: bool
    last: bool
    """True if no more can come, so that what does not go now never will."""
    settled: bool
    """True if nothing counts any more."""


def _log_refusal(task: str, count: int, reason: str) -> None:
    if count:
        log.warning("task %s: %d reports were refused (%s)", task[:16], count, reason)


def batch_size(waiting: int, least: int, width: int) -> int:
    """The batch size for waiting reports, so that batches are even and few are left over.

    At most what fits into a batch that curators take, with payloads of ``width`` bytes,
    unless ``least`` is more.
    """
    row = REPORT_ID_BYTES + width
    most = max(1, min(MAX_BATCH, MAX_BYTES // row))
    batches = max(1, min(-(-waiting // most), waiting // least))
    return min(-(-waiting // batches), max(most, least))


def account_of(reply: bytes, sent: Sequence[bytes] | int) -> Account:
    """The outcomes of the reports ``sent``; raises ``UnexpectedResponse`` unless all are accounted
    for.

    Of those in a file only their number is known.

    Reasons are words that cannot pass for the relay's own counts, and no id has two of them.
    """
    taken, refused, receipts = dict[str, int](), dict[str, list[bytes]](), list[str]()
    with suppress(ValidationError):
        answer = BatchResponse.model_validate_json(reply)
        refused = {why: list(map(bytes.fromhex, ids)) for why, ids in answer.failed.items() if ids}
        taken = {kind: n for kind in ("counted", "replayed") if (n := getattr(answer, kind))}
        receipts = answer.receipts
    named = [report_id for ids in refused.values() for report_id in ids]
    count, known = (sent, named) if isinstance(sent, int) else (len(sent), sent)
    complete = sum(taken.values()) + len(named) == count
    if not (complete and len(set(named)) == len(named) and set(named) <= set(known)):
        raise UnexpectedResponse(
            f"The curator does not account for all {count} reports: check its address and version."
        )
    if not all(REASON.fullmatch(name) and name not in RELAY_COUNTS for name in refused):
        raise UnexpectedResponse(
            "The curator accounts for reports in terms that the protocol does not have."
        )
    return Account(taken, refused, receipts)


def refused_in(reply: bytes, asked: Admission) -> set[bytes]:
    """The invitations that are not held; raises ``UnexpectedResponse`` if it leaves some out."""
    with suppress(ValidationError):
        answer = AdmissionResponse.model_validate_json(reply)
        refused = set(map(bytes.fromhex, answer.refused))
        once = len(refused) == len(answer.refused)
        if once and answer.held + len(refused) == len(asked) and refused <= set(asked.digests):
            return refused
    raise UnexpectedResponse(
        f"The curator does not account for all {len(asked)} invitations: check its address and "
        "version."
    )
