"""What the API answers, as pydantic models; the OpenAPI document is made from them."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from privet.curator.datastore.base import Bucket, Status, StoredTask
from privet.curator.models.cache import FittedModel
from privet.protocol.lifecycle import State

EXAMPLE_ID = "6f1ed002ab5595859014ebf0951522d9" * 2


class Answer(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class TaskSummary(Answer):
    """One line about a task."""

    id: str = Field(description="SHA-256 of the task's canonical bytes.", examples=[EXAMPLE_ID])
    name: str = Field(examples=["Fair's survey"])
    state: State = Field(examples=["open"])
    collecting: bool = Field(description="Whether a report would be counted now.")
    created: datetime
    label: str = Field(examples=["affair"])
    epsilon: float = Field(description="What one holder spends.", examples=[1.0])
    questions: int = Field(examples=[1])

    @classmethod
    def of(cls, stored: StoredTask, now: float) -> "TaskSummary":
        """The summary of a stored task at the time ``now``."""
        task = stored.task
        return cls(
            id=task.id,
            name=task.name,
            state=stored.state,
            collecting=stored.takes_reports(now),
            created=moment(stored.created),
            label=task.label.name,
            epsilon=task.epsilon,
            questions=len(task.questions),
        )


class QuestionView(Answer):
    """A question in numbers."""

    mechanism: str = Field(examples=["subset"])
    epsilon: float = Field(examples=[1.0])
    asks: str = Field(examples=["label"])
    reach: float | None = Field(
        description="How far around its cell's centre a number is told; null on the whole range.",
        examples=[None],
    )
    cells: int = Field(description="Cells of its partition.", examples=[64])
    depth: int = Field(description="Splits on the longest path.", examples=[6])
    report_bytes: int = Field(description="Bytes of one answer.", examples=[16])


class TaskView(TaskSummary):
    """A task in full, and what follows from it."""

    questions_in_numbers: list[QuestionView]
    report_bytes: int = Field(description="Bytes of the longest whole report.", examples=[176])
    public_model: str | None = Field(
        description="SHA-256 of the public model that was brought along; null if Privet makes one.",
        examples=[None],
    )
    task: dict[str, Any] = Field(description="The published task, as holders answer it.")

    @classmethod
    def of(cls, stored: StoredTask, now: float) -> "TaskView":
        """The full view of a stored task at the time ``now``."""
        task = stored.task
        views = [
            QuestionView(
                mechanism=question.mechanism,
                epsilon=question.epsilon,
                asks=question.asks,
                reach=None if question.centring is None else question.centring.reach,
                cells=task.tree_of(i).cells,
                depth=task.tree_of(i).depth,
                report_bytes=task.mechanisms[i].report_bytes,
            )
            for i, question in enumerate(task.questions)
        ]
        return cls(
            **TaskSummary.of(stored, now).model_dump(),
            questions_in_numbers=views,
            report_bytes=task.longest_report,
            public_model=stored.public_model,
            task=task.model_dump(mode="json"),
        )


class BucketView(Answer):
    """What arrived in one stretch of time."""

    starts: datetime
    reports: int
    checksum: str

    @classmethod
    def of(cls, bucket: Bucket) -> "BucketView":
        """The view of a stored bucket."""
        return cls(starts=moment(bucket.starts), reports=bucket.reports, checksum=bucket.checksum)


class StatusView(Answer):
    """How a collection stands."""

    id: str = Field(examples=[EXAMPLE_ID])
    state: State
    collecting: bool = Field(description="Whether a report would be counted now.")
    reports: int = Field(description="Reports counted.", examples=[4456])
    answers: list[int] = Field(description="Answers counted, per question.", examples=[[4456]])
    rejects: dict[str, int] = Field(
        description="Refused reports by problem type.", examples=[{"wrong-payload": 2}]
    )
    checksum: str = Field(description="XOR of SHA-256 over the counted report ids.")
    buckets: list[BucketView]
    models: int = Field(description="Models fitted so far.")

    @classmethod
    def of(cls, stored: StoredTask, status: Status, models: int, now: float) -> "StatusView":
        """The view of a stored status at the time ``now``."""
        return cls(
            id=stored.task.id,
            state=stored.state,
            collecting=stored.takes_reports(now),
            reports=status.reports,
            answers=list(status.answers),
            rejects=dict(status.rejects),
            checksum=status.checksum,
            buckets=[BucketView.of(bucket) for bucket in status.buckets],
            models=models,
        )


class ModelView(Answer):
    """One fitted, numbered, immutable model."""

    task: str = Field(examples=[EXAMPLE_ID])
    number: int = Field(examples=[1])
    created: datetime
    estimator: str = Field(examples=["weighted"])
    parameters: dict[str, Any] = Field(examples=[{"weight": 1.0}])
    reports: int = Field(description="Reports it was fitted from.", examples=[4456])
    cells: int = Field(examples=[64])
    facts: dict[str, Any] = Field(description="What else the estimator found out.")

    @classmethod
    def of(cls, fitted: FittedModel) -> "ModelView":
        """The view of a fitted model."""
        return cls(
            task=fitted.task,
            number=fitted.number,
            created=moment(fitted.created),
            estimator=fitted.model.estimator,
            parameters=dict(fitted.model.parameters),
            reports=fitted.model.n,
            cells=fitted.model.partition.cells,
            facts=dict(fitted.model.facts),
        )


def moment(seconds: float) -> datetime:
    """Unix seconds as a date and time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
