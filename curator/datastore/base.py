"""The store's verbs and their promises; memory, SQLite and PostgreSQL keep the same ones.

- A call that returns has happened durably; a call that raises ``StorageFailed`` has changed
  nothing.
- ``take`` counts a report id at most once per task, whatever crashes, is retried or is raced by
  other curators on the same database, and counts only while the task is open.
- Sums are additive, so the order of arrival, the batching and the number of curators that share a
  database do not change what ``sums`` returns.

Every method is synchronous and may be called from any thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.curator.public_data import PublicData
from privet.protocol.lifecycle import Move, State
from privet.protocol.task import Task

Ids = NDArray[np.uint8]
"""Report ids, shape ``(B, 16)``."""

Vector = NDArray[np.int64]


class Outcome(IntEnum):
    """What became of one report."""

    COUNTED = 0
    REPLAYED = 1
    CONFLICT = 2
    NOT_OPEN = 3
    NOT_INVITED = 4


Outcomes = NDArray[np.int8]
"""One ``Outcome`` per report, shape ``(B,)``."""


PUBLIC_MODEL = "public_model"
"""Under this name a task's settings hold the SHA-256 of the public model it came with, or None."""


@dataclass(frozen=True)
class StoredTask:
    """A published task with what the curator alone knows about it."""

    task: Task
    state: State
    settings: Mapping[str, Any]
    created: float
    moved: float
    """When it came into its state, Unix time."""

    @property
    def public_model(self) -> str | None:
        """The SHA-256 of the public model that was brought along, in hexadecimal, if one was."""
        return self.settings.get(PUBLIC_MODEL)

    def takes_reports(self, now: float) -> bool:
        """Whether it is open and ``now`` lies within its published dates."""
        opens, closes = self.task.opens, self.task.closes
        return (
            self.state is State.OPEN
            and (opens is None or now >= opens)
            and (closes is None or now < closes)
        )


@dataclass(frozen=True, eq=False)
class Addend:
    """What a set of reports adds to one question: the sum of ``n`` payloads."""

    question: int
    vector: Vector
    n: int


class Reports(ABC):
    """Checked reports for one task, in columns."""

    task_id: str
    ids: Ids
    fingerprints: NDArray[np.int64]
    """One number per report that tells apart reports under one id with different answers."""
    invitations: NDArray[np.uint8] | None = None
    """SHA-256 of each report's invitation, shape ``(B, 32)``; None if none came with one."""

    def __len__(self) -> int:
        return len(self.ids)

    @abstractmethod
    def addends(self, chosen: NDArray[np.bool_]) -> list[Addend]:
        """What the chosen reports add to each question they answer."""

    @abstractmethod
    def checksum(self, chosen: NDArray[np.bool_]) -> bytes:
        """XOR of SHA-256 over the ids of the chosen reports."""


@dataclass(frozen=True, eq=False)
class QuestionSums:
    """The curator's whole knowledge of one question: the sum of n payloads."""

    vector: Vector
    n: int


@dataclass(frozen=True)
class Bucket:
    """What arrived in one stretch of time: number of reports and the XOR of their ids' SHA-256."""

    starts: int
    reports: int
    checksum: str


@dataclass(frozen=True)
class Status:
    """What anyone may know about a task's collection."""

    reports: int
    answers: tuple[int, ...]
    """Number of counted answers, per question."""
    checksum: str
    """XOR of SHA-256 over the counted report ids, in hexadecimal."""
    buckets: tuple[Bucket, ...]
    rejects: Mapping[str, int]
    """Refused reports by the name of their problem type."""


@dataclass(frozen=True)
class ModelInfo:
    """One fitted model of a task: its number (1, 2, ...), when it was fitted, and what as."""

    number: int
    created: float
    summary: Mapping[str, Any]
    """What lists of models show, in JSON's types."""


@dataclass(frozen=True)
class StoredToken:
    """A token as it is kept: its SHA-256, never itself."""

    name: str
    scope: str
    digest: bytes
    created: float


@dataclass(frozen=True)
class Expired:
    """What an expiry run removed."""

    tasks: int
    ids: int


class Store(ABC):
    """Where tasks, sums, report ids and models are kept."""

    @abstractmethod
    def create_task(
        self, task: Task, settings: Mapping[str, Any], public: PublicData, now: float
    ) -> bool:
        """Keep a new task in state draft; False if the same task is there already.

        An existing task is left as it is, settings and public data included.
        """

    @abstractmethod
    def task(self, task_id: str) -> StoredTask:
        """The task; raises ``TaskNotFound``."""

    @abstractmethod
    def tasks(self) -> list[StoredTask]:
        """All tasks, oldest first."""

    @abstractmethod
    def public_data(self, task_id: str) -> PublicData:
        """The task's encoded public data; raises ``TaskNotFound``."""

    @abstractmethod
    def move(self, task_id: str, move: Move, now: float) -> State:
        """Open, close or delete a task; the state it is in afterwards.

        Once a close has returned no report is counted until the task is opened again. Delete
        removes everything that is kept about the task. Raises ``TaskNotFound``, and
        ``IllegalMove`` by the table in ``privet.protocol.lifecycle``.
        """

    @abstractmethod
    def take(self, groups: Sequence[Reports], now: float) -> list[Outcomes]:
        """Claim ids and add sums, all groups in one durable transaction; outcomes per group.

        An id that is new to its task is COUNTED. One that is known is REPLAYED if its fingerprint
        is the same and a CONFLICT otherwise, and adds nothing. New reports for a task that is gone
        or takes no reports at ``now`` are NOT_OPEN; for a task with invitations, a new report whose
        invitation is absent, unknown or used is NOT_INVITED. Of several reports under one id in a
        group the first decides. Every group is for a different task.
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
        """Keep a fitted model for ever under the next number. Raises ``TaskNotFound``."""

    @abstractmethod
    def models(self, task_id: str) -> list[ModelInfo]:
        """The task's models, oldest first, without reading them; raises ``TaskNotFound``."""

    @abstractmethod
    def model(self, task_id: str, number: int | None = None) -> bytes:
        """A model's document, the latest without a number.

        Raises ``TaskNotFound`` or ``ModelNotFound``.
        """

    @abstractmethod
    def invite(self, task_id: str, digests: Sequence[bytes]) -> None:
        """Keep invitations by their SHA-256; from then on the task counts invited reports only.

        Each serves for one report. Raises ``TaskNotFound``.
        """

    @abstractmethod
    def put_token(self, token: StoredToken) -> None:
        """Keep a token under its name, in place of any earlier one of that name."""

    @abstractmethod
    def tokens(self) -> list[StoredToken]:
        """All tokens, by name."""

    @abstractmethod
    def drop_token(self, name: str) -> bool:
        """Forget a token; False if there was none of that name."""

    @abstractmethod
    def expire(self, now: float, keep_ids: float, keep_tasks: float | None) -> Expired:
        """Remove what may go, for tasks whose published closing time has passed.

        Report ids go ``keep_ids`` seconds after it, since no replay can count any more; the whole
        task goes after ``keep_tasks`` seconds, unless that is None.
        """

    @abstractmethod
    def check(self) -> None:
        """Raise ``StorageFailed`` unless the store can be read and written now."""

    @abstractmethod
    def close(self) -> None:
        """Release connections; the store is not used afterwards."""
