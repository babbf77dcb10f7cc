"""The store's interface and its guarantees, the same for SQLite and PostgreSQL.

- A call that returns is durable; one that raises ``StorageFailed`` changed nothing.
- ``take`` counts a report id at most once per task, despite crashes, retries and races with other
  curators on the same database, and only while the task is open.
- Sums are additive, so the order of arrival, the batching and the number of curators that share a
  database do not change what ``sums`` returns.

Every method is synchronous and may be called from any thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from functools import lru_cache
from hashlib import sha256
from math import fsum
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from privet.learning.public_data import PublicData
from privet.protocol import wire
from privet.protocol.errors import (
    InvalidRequest,
    InvalidTask,
    ModelNotFound,
    TaskNotFound,
)
from privet.protocol.lifecycle import Move, State
from privet.protocol.task import TASK_BOUNDS, TASK_VERSION, Task

Ids = NDArray[np.uint8]
"""Report ids, shape ``(B, 16)``."""

Mask = NDArray[np.bool_]
Vector = NDArray[np.int64]


class Outcome(IntEnum):
    """What became of one report."""

    COUNTED = 0
    REPLAYED = 1
    CONFLICT = 2
    NOT_OPEN = 3
    NOT_INVITED = 4
    NO_TASK = 5
    OVER_QUOTA = 6
    NOT_ADMITTED = 7


Outcomes = NDArray[np.int8]
"""One ``Outcome`` per report, shape ``(B,)``."""


SERVING = "serving"
"""The alias of the model that predicts where none is named."""

PUBLIC_MODEL = "public_model"
"""Under this name a task's settings hold the SHA-256 of the public model it came with, or None."""

QUOTA = "quota"
"""Under this name a task's settings hold the most reports that are counted, or None."""

RESTORED = "restored"
"""The fact that says from when the backup is that a database was restored from, Unix time."""

CHECKSUM_BYTES = 8
CHECKSUM_MODULUS = 2**64


def checksum(ids: Ids) -> int:
    """The sum of all 64-bit big-endian halves of ``ids``, modulo 2^64; 0 for no ids.

    It is there to notice faults, not attackers: a lost, doubled or damaged id changes it, order and
    batching do not, and the checksum of a union is the sum of the checksums. Readers see it in a
    task's status, so it must not disclose the id of a report that came in alone: who knows an id
    could try answers under it until one is called a replay. The sum of the two halves leaves 64 of
    the 128 bits unknown.
    """
    return int(np.ascontiguousarray(ids).view(">u8").sum(dtype=np.uint64))


def sums_checksum(n: int, vector: Vector) -> int:
    """The checksum of a question's sums: n and the vector, each times an odd weight, modulo 2^64.

    It is linear, so what a group adds is added to it as well, and it does not depend on how
    reports were grouped. It notices faults (a changed, lost or exchanged entry), not attackers.
    """
    weights = _weights(len(vector) + 1)
    terms = np.ascontiguousarray(vector, dtype=np.int64).view(np.uint64) @ weights[1:]
    return (n * int(weights[0]) + int(terms)) % CHECKSUM_MODULUS


@lru_cache(maxsize=8)
def _weights(count: int) -> NDArray[np.uint64]:
    """Odd numbers that look random: those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def checksum_text(value: int) -> str:
    """A sum of checksums as people see it, 16 hexadecimal digits."""
    return f"{value % CHECKSUM_MODULUS:016x}"


def is_open(state: str, opens: int | None, closes: int | None, now: float) -> bool:
    """Whether a task in ``state`` with these published dates takes reports at ``now``."""
    return (
        state == State.OPEN and (opens is None or now >= opens) and (closes is None or now < closes)
    )


class _Named(BaseModel):
    name: str


class _Asked(BaseModel):
    epsilon: float


class TaskHead(BaseModel):
    """What lists show of a task, and all that is known of one of an earlier version."""

    model_config = ConfigDict(frozen=True)

    id: str
    version: int
    name: str
    label: _Named
    questions: tuple[_Asked, ...]
    allocation: Literal["all", "one"]
    opens: int | None = None
    closes: int | None = None

    @classmethod
    def read(cls, task_id: str, canonical: bytes) -> Self:
        """The head of a task from its canonical bytes; raises ``ValueError`` if it has none."""
        return cls.model_validate({"id": task_id, **wire.unpack(canonical, TASK_BOUNDS)})

    @property
    def epsilon(self) -> float:
        """What one holder spends."""
        spent = [question.epsilon for question in self.questions]
        return fsum(spent) if self.allocation == "all" else max(spent)


@lru_cache(maxsize=64)
def published_task(task_id: str, canonical: bytes) -> Task | TaskHead:
    """A task from its canonical bytes, or the head of one of an earlier version.

    Raises ``InvalidTask`` if they are damaged.
    """
    try:
        return Task.parse(canonical, task_id)
    except InvalidTask:
        with suppress(ValueError):
            head = TaskHead.read(task_id, canonical)
            if head.version < TASK_VERSION and sha256(canonical).hexdigest() == task_id:
                return head
        raise


@dataclass(frozen=True)
class StoredTask:
    """A published task with the curator's own data about it."""

    published: Task | TaskHead
    state: State
    settings: Mapping[str, Any]
    created: float
    moved: float
    """When it came into its state, Unix time."""
    marked: float | None = None
    """Since when its removal, or that of its report ids, is due; None if it is not."""

    @property
    def task(self) -> Task:
        """The task; raises ``InvalidTask`` for one of an earlier version."""
        if isinstance(self.published, TaskHead):
            raise InvalidTask(
                f"The task is of version {self.published.version} and this curator reads "
                f"{TASK_VERSION}: its models are listed and it can be deleted, but nothing else "
                "works. Create it again."
            )
        return self.published

    @property
    def public_model(self) -> str | None:
        """The SHA-256 of the uploaded public model in hexadecimal, if there is one."""
        return self.settings.get(PUBLIC_MODEL)

    @property
    def quota(self) -> int | None:
        """Maximum number of reports that are counted, if the task has one."""
        return self.settings.get(QUOTA)

    def is_over(self, now: float) -> bool:
        """Whether no report can count any more: it is of an earlier version, or has closed."""
        task = self.published
        return isinstance(task, TaskHead) or (task.closes is not None and now >= task.closes)

    def takes_reports(self, now: float) -> bool:
        """Whether it is open and ``now`` lies within its published dates."""
        task = self.published
        return isinstance(task, Task) and is_open(self.state, task.opens, task.closes, now)


@dataclass(frozen=True)
class ListedTask:
    """A task as lists show it, which takes no parsing of its trees."""

    published: TaskHead
    state: State
    created: float
    marked: float | None = None

    def takes_reports(self, now: float) -> bool:
        """Whether it is open and ``now`` lies within its published dates."""
        return is_open(self.state, self.published.opens, self.published.closes, now)


@dataclass(frozen=True, eq=False)
class QuestionSums:
    """All that the curator knows of one question: the sum of n payloads."""

    vector: Vector
    n: int


@dataclass(frozen=True, eq=False)
class Addition:
    """What a set of reports adds to a task."""

    reports: int
    checksum: int
    sums: Mapping[int, QuestionSums]
    """By question."""

    def minus(self, part: "Addition") -> "Addition":
        """What is left without a part of the reports, which answers the same questions."""
        sums = {
            question: QuestionSums(
                whole.vector - part.sums[question].vector, whole.n - part.sums[question].n
            )
            for question, whole in self.sums.items()
        }
        return Addition(
            self.reports - part.reports, (self.checksum - part.checksum) % CHECKSUM_MODULUS, sums
        )


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers to one question."""

    question: int
    payloads: NDArray[np.uint8]
    """Shape ``(R, report_bytes)``."""
    rows: NDArray[np.intp] | None = None
    """Places of their R reports in the group; None if all reports answer the question."""


@dataclass(frozen=True, eq=False)
class ReportGroup:
    """Checked reports for one task, in columns; they are counted in one transaction."""

    task: Task
    ids: Ids
    fingerprints: NDArray[np.int64]
    """One number per report that tells apart reports under one id with different answers."""
    answers: Sequence[Answers]
    """At most one entry per question."""
    invitations: NDArray[np.uint8] | None = None
    """SHA-256 of each report's invitation, shape ``(B, 32)``; None if none came with one."""
    admissions: tuple[bytes, ...] = ()
    """What a relay's batch names in their place; see ``Store.admit``."""
    relay: str = ""
    """Name of the token that a batch came with; empty for reports that came singly."""
    total: Addition | None = None
    """What all reports add, where that was worked out before the transaction."""

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, chosen: Mask) -> "ReportGroup":
        """The chosen reports alone."""
        places = np.cumsum(chosen) - 1
        answers = []
        for answer in self.answers:
            if answer.rows is None:
                answers.append(Answers(answer.question, answer.payloads[chosen]))
            else:
                kept = chosen[answer.rows]
                rows = places[answer.rows[kept]]
                answers.append(Answers(answer.question, answer.payloads[kept], rows))
        invitations = None if self.invitations is None else self.invitations[chosen]
        return replace(
            self,
            ids=self.ids[chosen],
            fingerprints=self.fingerprints[chosen],
            answers=answers,
            invitations=invitations,
            total=None,
        )

    def add_up(self, chosen: Mask | None = None) -> Addition:
        """What the chosen reports add, or all of them without ``chosen``.

        With a ``total`` only the reports that were not chosen are added up, and subtracted.
        """
        if chosen is not None and not chosen.all():
            if self.total is None:
                return self.only(chosen).add_up()
            return self.total.minus(self.only(~chosen).add_up())
        if self.total is not None:
            return self.total
        mechanisms = self.task.mechanisms
        sums = {
            answer.question: QuestionSums(
                mechanisms[answer.question].accumulate(answer.payloads), len(answer.payloads)
            )
            for answer in self.answers
        }
        return Addition(len(self), checksum(self.ids), sums)


@dataclass(frozen=True)
class Bucket:
    """What arrived in one stretch of time: number of reports and the checksum of their ids."""

    starts: int
    reports: int
    checksum: str


@dataclass(frozen=True)
class Status:
    """How a task's collection stands."""

    reports: int
    answers: tuple[int, ...]
    """Number of counted answers, per question."""
    checksum: str
    """The checksum of the counted report ids, see ``checksum``."""
    buckets: tuple[Bucket, ...]
    rejects: Mapping[str, int]
    """Refused reports by the name of their problem type."""
    relayed: Mapping[str, int]
    """Counted reports that came in batches, by the name of the relay's token."""
    invited: bool = False
    """Whether only invited reports count."""


@dataclass(frozen=True)
class ModelInfo:
    """One fitted model of a task: its number (1, 2, ...), when it was fitted, and what as."""

    number: int
    created: float
    summary: Mapping[str, Any]
    """What lists of models show, in JSON's types."""
    aliases: tuple[str, ...] = ()
    """Its names, which may go over to other models."""


@dataclass(frozen=True)
class InvitationCounts:
    """What became of a task's invitations."""

    issued: int
    used: int
    """Spent by a report, or held for a relay's batch."""
    revoked: int
    expired: int
    """Not used in time."""


@dataclass(frozen=True)
class StoredToken:
    """A token as it is kept: its SHA-256, never itself."""

    name: str
    scope: str
    digest: bytes
    created: float
    expires: float | None = None
    """When it ends, Unix time; None for never."""
    used: float | None = None
    """Its last use, to the minute, Unix time."""


@dataclass(frozen=True)
class AuditEntry:
    """What somebody did, see ``privet.curator.access.audit``."""

    at: float
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]
    times: int = 1
    """How often, of what is counted rather than listed."""
    no: int = 0
    """Its place in the log, from 1."""


@dataclass(frozen=True)
class Expired:
    """What an expiry run removed, and how many tasks are marked for a later one."""

    tasks: int
    ids: int
    marked: int = 0
    admissions: int = 0
    """Admissions whose batch did not come in time."""
    removals: tuple[tuple["Removal", str], ...] = field(default=(), compare=False)
    """What went of which task, by the task's id."""


STEP_SECONDS = 6 * 3_600.0
"""How much one reading of a clock can bring the seen time forward; rounds are an hour apart."""
GRACE_SECONDS = 86_400.0
"""Seen time between the mark and the removal, which is four steps or more."""

HOLD_SECONDS = 7 * 86_400.0
"""Seen time after which an admission without a batch is forgotten."""


class Removal(Enum):
    """What of a task has had its time."""

    IDS = "ids"
    TASK = "task"


def seen_time(before: float | None, now: float) -> float:
    """The time by which things expire: a clock's, but never far ahead of what it was before.

    A wrong clock that is ahead gets at most ``STEP_SECONDS`` at a time; one that is behind, or
    right again, is believed at once, since that only keeps things for longer.
    """
    return now if before is None else min(now, before + STEP_SECONDS)


def due(
    closes: int | None, seen: float, keep_ids: float, keep_tasks: float | None, *, ids_gone: bool
) -> Removal | None:
    """What should go of a task that ends at ``closes``, see ``Store.expire``."""
    if closes is None:
        return None
    if closes + keep_ids <= seen and not ids_gone:
        return Removal.IDS
    return Removal.TASK if keep_tasks is not None and closes + keep_tasks <= seen else None


class Store(ABC):
    """Where tasks, sums, report ids and models are kept."""

    @abstractmethod
    def create_task(
        self,
        task: Task,
        settings: Mapping[str, Any],
        public: PublicData,
        now: float,
        state: State = State.DRAFT,
    ) -> bool:
        """Store a new task in ``state``, in one transaction; False if the same task already exists.

        An existing task is left as it is, state, settings and public data included.
        """

    @abstractmethod
    def task(self, task_id: str) -> StoredTask:
        """The task; raises ``TaskNotFound``."""

    @abstractmethod
    def tasks(self) -> list[ListedTask]:
        """All tasks, oldest first."""

    @abstractmethod
    def public_data(self, task_id: str) -> PublicData:
        """The task's encoded public data; raises ``TaskNotFound``."""

    @abstractmethod
    def move(self, task_id: str, move: Move, now: float) -> State:
        """Open, close or delete a task; the state it is in afterwards.

        Once a close has returned no report is counted until the task is opened again. Delete
        removes everything that is kept about the task; its report ids are useless from then on,
        and what cannot be removed of them at once is removed by a later ``expire``. Raises
        ``TaskNotFound``, and ``IllegalMove`` by the table in ``privet.protocol.lifecycle``.
        """

    @abstractmethod
    def was_deleted(self, task_id: str) -> bool:
        """Whether a task of this id was here and was deleted, by a move or by expiry."""

    @abstractmethod
    def take(self, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        """Claim ids and add sums, all groups in one durable transaction; outcomes per group.

        An id that is new to its task is COUNTED. One that is known is REPLAYED if its fingerprint
        is the same and a CONFLICT otherwise, and adds nothing. New reports for a task that takes
        none at ``now`` are NOT_OPEN, and those beyond its quota OVER_QUOTA; reports for a task that
        is not there are NO_TASK. Of several reports under one id in a group the first decides.
        Every group is for a different task.

        In a task with invitations, a new report whose invitation is absent, unknown, held or used
        is NOT_INVITED. A group that names admissions needs one held invitation for each new report
        instead, or all its new ones are NOT_ADMITTED; what they hold is then used up.
        """

    @abstractmethod
    def sums(self, task_id: str) -> list[QuestionSums]:
        """The sums of every question, over all curators; raises ``TaskNotFound``.

        All questions are read at one moment.
        """

    @abstractmethod
    def count_rejects(self, task_id: str, rejects: Mapping[str, int]) -> None:
        """Add to the counts of refused reports by reason; a task that is gone is ignored."""

    @abstractmethod
    def status(self, task_id: str) -> Status:
        """Counts, checksums and rejects; raises ``TaskNotFound``."""

    @abstractmethod
    def add_model(
        self, task_id: str, document: bytes, summary: Mapping[str, Any], now: float
    ) -> ModelInfo:
        """Store a fitted model permanently under the next number. Raises ``TaskNotFound``."""

    @abstractmethod
    def name_model(self, task_id: str, alias: str, number: int) -> None:
        """Let ``alias`` stand for a model, and no longer for any other of the task.

        Raises ``TaskNotFound`` or ``ModelNotFound``.
        """

    @abstractmethod
    def models(self, task_id: str) -> list[ModelInfo]:
        """The task's models, oldest first, without reading them; raises ``TaskNotFound``."""

    @abstractmethod
    def model(self, task_id: str, number: int) -> bytes:
        """A model's document; raises ``TaskNotFound`` or ``ModelNotFound``."""

    @abstractmethod
    def invite(self, task_id: str, digests: Sequence[bytes], expires: float | None = None) -> None:
        """Keep invitations until ``expires``; from then on the task counts invited reports only.

        ``digests`` are their SHA-256, which reports have in a ``ReportGroup``; what is kept
        is ``hidden(digest)``. Each serves for one report. Raises ``TaskNotFound``.
        """

    @abstractmethod
    def admit(
        self, task_id: str, admission: bytes, digests: Sequence[bytes], now: float
    ) -> list[bytes]:
        """Hold the unused invitations among ``digests`` for a batch to come; returns the others.

        From then on they serve for no other report. The same admission again has the same answer
        until its batch is counted; ``expire`` makes its invitations unused again ``HOLD_SECONDS``
        after it was made. Raises ``TaskNotFound``, ``TaskNotOpen`` if the task takes no reports at
        ``now``, and ``InvalidRequest`` if the admission holds other invitations.
        """

    @abstractmethod
    def revoke_invitations(self, task_id: str, digests: Sequence[bytes] | None = None) -> int:
        """Take back the unused ones of these invitations, or of all; how many they were.

        Raises ``TaskNotFound``.
        """

    @abstractmethod
    def invitations(self, task_id: str, now: float) -> InvitationCounts:
        """What became of a task's invitations; raises ``TaskNotFound``."""

    @abstractmethod
    def put_token(self, token: StoredToken) -> None:
        """Keep a token under its name, in place of any earlier one of that name."""

    @abstractmethod
    def replace_token(self, old: StoredToken | None, new: StoredToken) -> bool:
        """Keep ``new`` in place of ``old``, which has its name, or of none.

        False if another of that name is kept by now: of several that do so at once one gets True.
        """

    @abstractmethod
    def tokens(self) -> list[StoredToken]:
        """All tokens, by name."""

    @abstractmethod
    def drop_token(self, name: str) -> bool:
        """Forget a token; False if there was none of that name."""

    @abstractmethod
    def note_use(self, name: str, now: float) -> None:
        """Note that a token was used."""

    @abstractmethod
    def add_audit(self, entry: AuditEntry, join_since: float | None = None) -> None:
        """Keep an entry for good.

        With ``join_since`` an entry of the same actor and action since then is counted up instead.
        """

    @abstractmethod
    def audit(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        """At most ``limit`` entries, the latest first, of those that came before number ``before``
        if it is given."""

    @abstractmethod
    def fact(self, name: str) -> str | None:
        """What is noted under ``name`` about the whole database; None if nothing is."""

    @abstractmethod
    def note(self, name: str, value: str) -> None:
        """Note a fact, in place of any earlier one of that name."""

    @abstractmethod
    def note_first(self, name: str, value: str) -> str:
        """Note a fact unless there is one of that name; the one that is there from now on.

        Of several that do so at once all get the same.
        """

    @abstractmethod
    def expire(self, now: float, keep_ids: float, keep_tasks: float | None) -> Expired:
        """One round: mark what may go, and remove what was marked ``GRACE_SECONDS`` ago.

        Report ids may go ``keep_ids`` seconds after the published closing time, since no replay
        can count any more; the whole task after ``keep_tasks`` seconds, unless that is None. Time
        is that of ``seen_time``, so no single ``now`` removes anything. What is not due any more
        loses its mark. Admissions are forgotten after ``HOLD_SECONDS``.
        """

    @abstractmethod
    def check(self) -> None:
        """Raise ``StorageFailed`` unless the store can be read and written now."""

    @abstractmethod
    def close(self) -> None:
        """Release connections; the store is not used afterwards."""


def hidden(digest: bytes) -> bytes:
    """What is kept of an invitation whose SHA-256 a relay presents: the SHA-256 of that.

    So nobody who reads the database or a backup can present an unused invitation.
    """
    return sha256(digest).digest()


def other_invitations() -> InvalidRequest:
    """The error for an admission whose id is in use."""
    return InvalidRequest("An admission of this id has other invitations: draw a new id.")


def no_task(task_id: str) -> TaskNotFound:
    """The error for a task that is not here."""
    return TaskNotFound(
        f"There is no task {task_id[:64]} here: it may have been deleted, or belong to another "
        "curator. GET /v1/tasks lists the tasks of this one."
    )


def no_model(number: int) -> ModelNotFound:
    """The error for a model that is not there."""
    return ModelNotFound(
        f"The task has no model {number}: fit one with POST /v1/tasks/{{id}}/models."
    )
