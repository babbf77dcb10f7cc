"""An admin's settings of a new task: one strict form, with its help."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Name, category_text
from privet.protocol.limits import DEEPEST, LEAST_CROWD, MAX_CLASSES, MAX_QUESTIONS
from privet.protocol.wire import first_fault

from ..looks import Looks
from .columns import MAX_ROWS

DEFAULT_HOLDERS = 10_000
DEFAULT_CROWD = LEAST_CROWD

Text = Annotated[str, BeforeValidator(category_text)]
Number = Annotated[float, Field(strict=True)]
"""A number that is written as one: true and "1" are refused."""
Depth = Annotated[int, Field(ge=0, le=DEEPEST, strict=True)]
Epsilon = Annotated[float, Field(gt=0, le=100, strict=True)]
Rows = Annotated[int, Field(ge=0, le=MAX_ROWS, strict=True)]
Seed = Annotated[int, Field(ge=0, lt=2**64, strict=True)]
Count = Annotated[int, Field(ge=1, le=10**12, strict=True)]
Flag = Annotated[bool, Field(strict=True)]


class Settings(BaseModel):
    """Base of the forms: immutable, no unknown fields, finite numbers only."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FeatureSettings(Settings):
    """Declarations about one feature; everything else is inferred from the public data."""

    kind: Literal["numeric", "categorical"] | None = None
    low: Number | None = Field(default=None, description="Lower end of the published range.")
    high: Number | None = Field(default=None, description="Upper end of the published range.")
    categories: tuple[Text, ...] | None = Field(
        default=None, description="All categories, in the order they are published."
    )
    missing: float | str | None = Field(default=None, description="Stands in for a missing value.")
    unknown: Text | None = Field(default=None, description="Stands in for an unlisted category.")


class DescriptionSettings(Settings):
    """Help for people who fill in a field."""

    description: str | None = Field(default=None, description="What is asked for.")
    unit: str | None = Field(default=None, description="What a number is counted in.")


class QuestionSettings(Settings):
    """One question; what it leaves out is taken from the task."""

    grower: str | None = None
    depth: Depth | None = None
    criterion: str | None = None
    min_leaf: Rows | None = None
    seed: Seed | None = None
    mechanism: str | None = None
    parameters: dict[str, int | float | str] | None = None
    epsilon: Epsilon | None = None
    asks: Literal["label", "cell"] = "label"
    centred: Flag | None = None


class TaskSettings(Settings):
    """The settings of a task; only ``name``, ``label`` and ``epsilon`` have no default."""

    name: Name = Field(description="What people call the task.")
    label: str = Field(min_length=1, description="The public column to be predicted.")
    epsilon: Epsilon = Field(description="Privacy budget of one holder in all.")
    description: str = Field(default="", max_length=10_000)
    ignore: tuple[str, ...] = Field(default=(), description="Public columns to leave out.")
    features: dict[str, FeatureSettings] = Field(
        default_factory=dict, description="What is declared about a feature, by its name."
    )
    describe: dict[str, DescriptionSettings] = Field(
        default_factory=dict, description="Descriptions and units of features and label, by column."
    )
    shown: tuple[str, ...] = Field(
        default=(),
        description="Columns whose part of the cell reports say in the clear, at no cost of "
        "privacy budget and with less noise; the others and the label stay hidden.",
    )
    hidden_depth: Depth | None = Field(
        default=None,
        description="How many of depth's levels split on hidden columns, below shown cells; by "
        "default the fewest whose cells follow the public model nearly as well as cells can.",
    )
    crowd: Count = Field(
        default=DEFAULT_CROWD,
        description="The fewest holders that may be expected in a shown cell; with 1 a shown cell "
        "may be as small as a single person.",
    )
    label_type: Literal["classes", "range"] | None = Field(
        default=None,
        description="Classes or a number; by default texts and few whole numbers are classes.",
    )
    classes: tuple[Text, ...] | None = Field(
        default=None, min_length=2, max_length=MAX_CLASSES, description="All classes, in order."
    )
    label_range: tuple[Number, Number] | None = Field(
        default=None, description="Range that a numeric label is clipped to."
    )
    grower: str = Field(default="distilled", description="How the partition is grown.")
    depth: Depth | None = Field(
        default=None,
        description="Splits per path, about log2 of the cells; by default from n and epsilon.",
    )
    criterion: str | None = Field(
        default=None, description="Split criterion: gini for classes and variance for numbers."
    )
    min_leaf: Rows = Field(
        default=0,
        description="Fewest public records in a cell; 0 keeps the full grid of max_edge's cells.",
    )
    seed: Seed = Field(default=0, description="Seed of growers that draw at random.")
    centred: Flag | None = Field(
        default=None,
        description="Whether a number is reported relative to the public model's mean in its cell; "
        "by default with the grower distilled and one question.",
    )
    mechanism: str = Field(
        default="subset", description="How answers are perturbed; auto takes the least variance."
    )
    max_report_bytes: int | None = Field(
        default=None, ge=1, strict=True, description="Longest answer that auto may choose."
    )
    parameters: dict[str, int | float | str] = Field(
        default_factory=dict, description="Parameters of the mechanism."
    )
    holders: Count = Field(
        default=DEFAULT_HOLDERS,
        description="Reports expected: for the depth, and where intervals are narrowest.",
    )
    looks: Looks = Field(
        default="many",
        description="Whether intervals hold at every look while reports come in, or at one chosen "
        "beforehand, and are narrower.",
    )
    allocation: Literal["all", "one"] = Field(
        default="all", description="Whether a holder answers all questions, or one by chance."
    )
    questions: tuple[QuestionSettings, ...] = Field(
        default=(QuestionSettings(),), min_length=1, max_length=MAX_QUESTIONS
    )
    opens: datetime | None = Field(default=None, description="First moment of collection.")
    closes: datetime | None = Field(default=None, description="End of collection.")
    quota: Count | None = Field(
        default=None, description="The most reports that are counted, known to the curator alone."
    )
    invited: Flag = Field(
        default=False,
        description="Count only reports with an invitation, from the start; the task says so.",
    )
    open: Flag = Field(default=True, description="Open the task at once; else it is a draft.")

    @field_validator("opens", "closes")
    @classmethod
    def _check_zone(cls, moment: datetime | None) -> datetime | None:
        if moment is not None and moment.tzinfo is None:
            msg = "say in which time zone, such as 2030-12-31T18:00Z or 2030-12-31T18:00+01:00"
            raise ValueError(msg)
        return moment

    @model_validator(mode="after")
    def _check_shown(self) -> Self:
        if not self.shown and (self.hidden_depth is not None or self.crowd != DEFAULT_CROWD):
            msg = "hidden_depth and crowd are for shown columns: name some with shown, or leave out"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _check_label(self) -> Self:
        if self.classes is not None and self.label_range is not None:
            msg = "give either classes or label_range, not both"
            raise ValueError(msg)
        if self.label_range is not None and not self.label_range[0] < self.label_range[1]:
            low, high = self.label_range
            msg = f"label_range is {low:g} to {high:g}: give its low end, then its high end"
            raise ValueError(msg)
        declared = {"classes": self.label_range, "range": self.classes}
        if self.label_type is not None and declared[self.label_type] is not None:
            msg = f"label_type {self.label_type!r} contradicts what is declared about the label"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        given = [question.epsilon for question in self.questions]
        if self.allocation == "all" and sum(e or 0.0 for e in given) > self.epsilon * (1 + 1e-9):
            msg = f"the questions' epsilon add up to more than the task's {self.epsilon}"
            raise ValueError(msg)
        if self.allocation == "one" and any((e or 0.0) > self.epsilon for e in given):
            msg = f"a question spends more than the task's epsilon of {self.epsilon}"
            raise ValueError(msg)
        return self

    def by_question(self) -> list[Self]:
        """The settings for each question: the question's own in place of the task's.

        Under ``all`` questions without an epsilon share the rest equally. A question about the cell
        has no centres of the task's.
        """
        stated = [question.epsilon for question in self.questions]
        epsilon = self.epsilon
        if self.allocation == "all":
            epsilon -= sum(e or 0.0 for e in stated)
            epsilon /= max(stated.count(None), 1)
        found = []
        for question in self.questions:
            shared = {"epsilon": epsilon, "questions": (question,)}
            if question.asks == "cell":
                shared["centred"] = None
            own = question.model_dump(exclude_none=True, exclude={"asks"})
            found.append(self.model_copy(update=shared | own))
        return found

    @property
    def asks_label(self) -> bool:
        """Whether any of its questions is about the label."""
        return any(question.asks == "label" for question in self.questions)

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """Settings from JSON text; raises ``InvalidRequest`` naming the field at fault."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InvalidRequest(first_fault(error)) from None


def unix_seconds(moment: datetime | None) -> int | None:
    """Whole Unix seconds of a moment with a time zone."""
    return None if moment is None else int(moment.timestamp())
