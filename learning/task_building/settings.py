"""The settings of a new task: each with its name, type, bounds, default and help."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, LiteralString, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Kind, Name
from privet.protocol.limits import (
    DEEPEST,
    MAX_CLASSES,
    MAX_LEVELS,
    MAX_QUESTIONS,
    SMALLEST_GROUP,
)
from privet.protocol.values import category_text
from privet.protocol.wire import first_fault
from privet.tables.cells import Decimal
from privet.tables.text_format import HELP, OF_FILE, Encoding, Separator, Stated

from ..core.looks import Looks
from .columns import MAX_ROWS
from .inputs import Asked

DEFAULT_HOLDERS = 10_000
DEFAULT_SMALLEST_GROUP = SMALLEST_GROUP

Text = Annotated[str, BeforeValidator(category_text)]
Number = Annotated[float, Field(strict=True)]
"""A number that is written as one: true and "1" are refused."""
Depth = Annotated[int, Field(ge=0, le=DEEPEST, strict=True)]
Epsilon = Annotated[float, Field(gt=0, le=100, strict=True)]
Rows = Annotated[int, Field(ge=0, le=MAX_ROWS, strict=True)]
Seed = Annotated[int, Field(ge=0, lt=2**64, strict=True)]
Count = Annotated[int, Field(ge=1, le=10**12, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Lines = Annotated[str, AfterValidator(lambda text: re.sub(r"\r\n?", "\n", text).replace("\t", " "))]
"""Text of several lines as a task may have it, whatever a form or an editor ends lines with."""


def setting_fault(
    name: str, said: str, kind: LiteralString = "settings_contradict"
) -> PydanticCustomError:
    """The error of a validator that compares settings, with the name of the one to change."""
    return PydanticCustomError(kind, "{said}", {"said": said, "setting": name})


class SettingsModel(BaseModel):
    """Base of the forms: immutable, no unknown fields, finite numbers only."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FeatureSettings(SettingsModel):
    """Declarations about one feature; everything else is inferred from the public data."""

    kind: Kind | None = None
    low: Number | None = Field(default=None, description="Lower end of the published range.")
    high: Number | None = Field(default=None, description="Upper end of the published range.")
    categories: tuple[Text, ...] | None = Field(
        default=None, description="All categories, in the order they are published."
    )
    missing: float | str | None = Field(default=None, description="Stands in for a missing value.")
    unknown: Text | None = Field(default=None, description="Stands in for an unlisted category.")


class DescriptionSettings(SettingsModel):
    """Help for people who fill in a field."""

    prompt: str | None = Field(
        default=None, description="The question that people read, instead of the column's name."
    )
    description: str | None = Field(
        default=None, description="Help with the answer, below the question."
    )
    unit: str | None = Field(default=None, description="Unit of a number.")


PER_QUESTION = (
    "grower",
    "depth",
    "min_leaf",
    "seed",
    "mechanism",
    "parameters",
    "epsilon",
    "centred",
)
"""Settings of a task that its questions may have for themselves."""


OF_PUBLIC_DATA = (
    "ignore",
    "features",
    "disclosed",
    "hidden_depth",
    "smallest_group",
    "prevalence",
    "grower",
    "depth",
    "min_leaf",
    "seed",
    "centred",
    "questions",
    "rename",
    "years",
    "numbers",
    *OF_FILE,
)
"""Settings that say something about public data, or what is made of them."""


class TaskSettings(SettingsModel):
    """The settings of a task; only ``name``, ``label`` and ``epsilon`` have no default.

    Each is declared here only: commands, the dashboard's form, the API's schema, the classes for
    scikit-learn and the table in docs/api.md take name, type, bounds, default and help from here,
    and the form the label of its field (``Asked``).
    """

    name: Name = Field(description="Name of the task, for people.")
    label: str = Field(
        min_length=1,
        description="Public column to predict; without public data the name of what is asked.",
    )
    epsilon: Epsilon = Field(
        description="Privacy budget of one holder, for all questions together."
    )
    holders: Count = Field(
        default=DEFAULT_HOLDERS,
        description="Number of reports expected; the default depth follows from it, and intervals "
        "are narrowest there.",
    )
    description: Lines = Field(
        default="", max_length=10_000, description="What the task is about, for holders to read."
    )
    ignore: tuple[str, ...] = Field(default=(), description="Public columns to leave out.")
    features: dict[str, FeatureSettings] = Field(
        default_factory=dict,
        description="What is declared about features, by column: kind (numeric or categorical), "
        "low, high, categories, missing and unknown; the rest is inferred from the public data.",
    )
    describe: dict[str, DescriptionSettings] = Field(
        default_factory=dict,
        description="What people read at each question, by column, the label included: prompt (the "
        "question, instead of the column's name), description (help below it) and, for a number, "
        "unit.",
    )
    disclosed: tuple[str, ...] = Field(
        default=(),
        description="Columns that reports may disclose in the clear, at the resolution of the "
        "tree, at no cost of privacy budget; all others and the label stay protected. With depth "
        "and hidden_depth left open the task hides some where that tells more.",
    )
    hidden_depth: Annotated[Depth | None, Asked("Levels that split on hidden columns")] = Field(
        default=None,
        description="How many of the depth's levels split on hidden columns, below the disclosed "
        "ones; by default the fewest that follow the public model nearly as well. Growers other "
        "than distilled need it, unless all columns are disclosed.",
    )
    smallest_group: Annotated[
        Count, Asked("Smallest group with the same disclosed answers", method=False)
    ] = Field(
        default=DEFAULT_SMALLEST_GROUP,
        description="Minimum number of holders expected to share the disclosed "
        "values; 1 allows a single person.",
    )
    label_type: Annotated[
        Literal["classes", "range"] | None, Asked("Kind of the answer you want to know")
    ] = Field(
        default=None,
        description="Whether the label is one of several classes or a number in a range; by "
        "default texts and few whole numbers are classes.",
    )
    classes: tuple[Text, ...] | None = Field(
        default=None,
        min_length=2,
        max_length=MAX_CLASSES,
        description="All classes of the label, in order; by default those of the public data. "
        "Without these give them, or label_range for a number.",
    )
    headline: Annotated[Text | None, Asked("The answer you want to count", method=False)] = Field(
        default=None,
        description='The class of which headlines speak, such as yes in "24 % say yes"; by '
        "default, of two, the one that is a word for yes, or else the last.",
    )
    label_range: tuple[Number, Number] | None = Field(
        default=None,
        description="Low and high end of the range that a numeric label is clipped to; by default "
        "that of the public data.",
    )
    bins: Annotated[
        Annotated[int, Field(ge=2, le=MAX_LEVELS, strict=True)] | None,
        Asked("Values around which shares are known", method=False),
    ] = Field(
        default=None,
        description="Of a number asked without public data: how many evenly spaced values, both "
        "ends of its range among them, it is rounded to at random, so that the share of people "
        "around each is known. By default 11; 2 gives the mean alone, and more exactly.",
    )
    prevalence: Annotated[
        dict[Text, Annotated[float, Field(gt=0.0, lt=1.0, strict=True)]],
        Asked("Known shares among the people asked", method=False),
    ] = Field(
        default_factory=dict,
        description="Share of the holders in a class, by class, as far as it is known: estimates "
        "start there instead of at the public records, which may be enriched with a rare class; "
        "the other classes share the rest.",
    )
    grower: Annotated[str, Asked("How the tree is grown")] = Field(
        default="distilled",
        description="How the partition is grown: distilled from a public model, cart, grid, or "
        "LPCT's max_edge and random_max_edge.",
    )
    depth: Annotated[Depth | None, Asked("Levels of the tree")] = Field(
        default=None,
        description="Splits per path, about log2 of the number of groups; by default from the "
        "number of holders, epsilon and the features.",
    )
    min_leaf: Annotated[Rows, Asked("Fewest public records beside a split")] = Field(
        default=0,
        description="Minimum number of public records on each side of a split; 0 keeps all 2^depth "
        "groups of max_edge.",
    )
    seed: Annotated[Seed, Asked("Start of what is drawn")] = Field(
        default=0, description="Seed of growers that draw at random."
    )
    centred: Annotated[Flag | None, Asked("Report numbers relative to the public model")] = Field(
        default=None,
        description="Whether a numeric label is reported relative to the public model's mean in "
        "its group: predictions get closer, and of its figures only the overall mean is stated, "
        "from those asked for it alone. By default above epsilon 4 with the grower distilled, "
        "one question and no disclosed columns.",
    )
    mechanism: Annotated[str, Asked("How answers are changed")] = Field(
        default="subset", description="Mechanism that perturbs answers."
    )
    parameters: Annotated[dict[str, int | float | str], Asked("Numbers of the mechanism")] = Field(
        default_factory=dict, description="Parameters of the mechanism, by name."
    )
    looks: Annotated[Looks, Asked("Looks at the figures", method=False)] = Field(
        default="many",
        description="Whether intervals hold at every look while answers come in (many), or at one "
        "look chosen beforehand (once) and are narrower.",
    )
    allocation: Annotated[Literal["all", "one"], Asked("Questions to each person")] = Field(
        default="all",
        description="Whether a holder answers all questions, or one of them drawn at random.",
    )
    label_part: Annotated[
        Annotated[float, Field(ge=0.0, le=0.9, strict=True)] | None,
        Asked("Share asked only for the answer you want to know"),
    ] = Field(
        default=None,
        description="Share of the holders, drawn by their devices, who answer the label alone at "
        "the full epsilon; overall figures then take fewer reports, and groups more. By default "
        ".35 to .5 of those asked one question with the grower distilled and an epsilon at which "
        "groups have noise (with disclosed columns, where these hide many groups), or with centred "
        "numbers, a third of those asked for a number alone below epsilon 2, whose mean it gives, "
        "and nobody of others; 0 asks nobody.",
    )
    questions: Annotated[tuple["QuestionSettings", ...], Asked("Several questions")] = Field(
        default_factory=lambda: (QuestionSettings(),),
        min_length=1,
        max_length=MAX_QUESTIONS,
        description="For several questions, a list of their own settings, in place of the task's: "
        f"{', '.join(PER_QUESTION)}; and asks (label or cell).",
    )
    rename: dict[str, dict[Text, str]] = Field(
        default_factory=dict,
        description="New names of categories and classes, by column and old name: equal ones are "
        "merged, and an empty one is a missing value. A label renamed to nothing leaves out the "
        "rows without one.",
    )
    years: tuple[str, ...] = Field(
        default=(),
        description="Public columns of dates of which the year counts; holders are then asked for "
        "a year.",
    )
    numbers: tuple[str, ...] = Field(
        default=(),
        description="Public columns of numbers that are written with their unit, such as 76,8 kg; "
        "holders are then asked for a number in this unit.",
    )
    encoding: Encoding | None = Field(default=None, description=HELP["encoding"])
    separator: Separator | None = Field(default=None, description=HELP["separator"])
    decimal: Decimal | None = Field(default=None, description=HELP["decimal"])
    sheet: str | None = Field(default=None, description=HELP["sheet"])
    skip_rows: str | None = Field(default=None, description=HELP["skip_rows"])
    opens: datetime | None = Field(
        default=None,
        description="First moment at which reports count, with its time zone, such as "
        "2030-12-01T08:00Z.",
    )
    closes: datetime | None = Field(
        default=None,
        description="Moment from which reports no longer count, with its time zone, such as "
        "2030-12-31T18:00Z.",
    )
    quota: Annotated[Count | None, Asked("Most answers that count", method=False)] = Field(
        default=None,
        description="Maximum number of answers that are counted; it is not published.",
    )
    invited: Flag = Field(
        default=False,
        description="Count only reports with an invitation, from the start; the task says so.",
    )
    draft: Annotated[Flag, Asked("Draft", method=False)] = Field(
        default=False, description="Keep the task as a draft, which takes no answers yet."
    )

    @field_validator("opens", "closes")
    @classmethod
    def _check_zone(cls, moment: datetime | None) -> datetime | None:
        if moment is not None and moment.tzinfo is None:
            msg = "say in which time zone, such as 2030-12-31T18:00Z or 2030-12-31T18:00+01:00"
            raise ValueError(msg)
        return moment

    @model_validator(mode="after")
    def _check_dates(self) -> Self:
        if self.opens is not None and self.closes is not None and self.opens >= self.closes:
            raise setting_fault("closes", "a task must open before it closes", "dates_swapped")
        return self

    @model_validator(mode="after")
    def _check_disclosed(self) -> Self:
        if not self.disclosed and (
            self.hidden_depth is not None or self.smallest_group != DEFAULT_SMALLEST_GROUP
        ):
            depth = self.hidden_depth is not None
            raise setting_fault(
                "hidden_depth" if depth else "smallest_group",
                "hidden_depth and smallest_group need disclosed columns: name some, or leave both "
                "out",
            )
        return self

    @model_validator(mode="after")
    def _check_label_part(self) -> Self:
        if self.label_part and (len(self.questions) > 1 or not self.asks_label):
            raise setting_fault(
                "label_part",
                "label_part is for a task with one question, about the label: leave label_part "
                "out, or ask one",
            )
        return self

    @model_validator(mode="after")
    def _check_label(self) -> Self:
        if self.classes is not None and self.label_range is not None:
            msg = "give either classes or label_range, not both"
            raise ValueError(msg)
        if self.label_range is not None and not self.label_range[0] < self.label_range[1]:
            low, high = self.label_range
            raise setting_fault(
                "label_range",
                f"label_range is {low:g} to {high:g}: give its low end, then its high end",
            )
        declared = {"classes": self.label_range, "range": self.classes}
        if self.label_type is not None and declared[self.label_type] is not None:
            msg = f"label_type {self.label_type!r} contradicts what is declared about the label"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        given = [question.epsilon for question in self.questions]
        if self.allocation == "all" and sum(e or 0.0 for e in given) > self.epsilon * (1 + 1e-9):
            raise setting_fault(
                "questions",
                f"the questions' epsilon add up to more than the task's {self.epsilon}",
            )
        if self.allocation == "one" and any((e or 0.0) > self.epsilon for e in given):
            raise setting_fault(
                "questions", f"a question spends more than the task's epsilon of {self.epsilon}"
            )
        return self

    def by_question(self) -> list[Self]:
        """The settings for each question: the question's own in place of the task's.

        Under ``all`` questions without an epsilon share the rest equally. A question about the cell
        has no centres of the task's.
        """
        stated, epsilon = [question.epsilon for question in self.questions], self.epsilon
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

    def published(self) -> dict[str, Any]:
        """The task's fields that are published as they are set."""
        return {
            "name": self.name,
            "description": self.description,
            "opens": unix_seconds(self.opens),
            "closes": unix_seconds(self.closes),
            "invited": self.invited,
            "disclosed": self.disclosed,
        }

    @property
    def stated(self) -> Stated:
        """The statements about the file."""
        return Stated(*(getattr(self, name) for name in OF_FILE))

    @property
    def asks_label(self) -> bool:
        """True if any of its questions is about the label."""
        return any(question.asks == "label" for question in self.questions)

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """Settings from JSON text; raises ``InvalidRequest`` naming the field at fault."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InvalidRequest(first_fault(error)) from None


def _optional(field: FieldInfo) -> Any:
    """The same field with None as its default."""
    bounds = field.metadata
    kind: Any = Annotated[field.annotation, *bounds] if bounds else field.annotation
    return kind | None, Field(default=None, description=field.description)


if TYPE_CHECKING:

    class QuestionSettings(SettingsModel):
        asks: Literal["label", "cell"] = "label"
        epsilon: float | None = None
        mechanism: str | None = None

else:
    QuestionSettings = create_model(
        "QuestionSettings",
        __base__=SettingsModel,
        __doc__="One question; what it leaves out is taken from the task.",
        **{name: _optional(TaskSettings.model_fields[name]) for name in PER_QUESTION},
        asks=(
            Literal["label", "cell"],
            Field(default="label", description="Whether it asks for cell and label or the cell."),
        ),
    )
    TaskSettings.model_rebuild()


def unix_seconds(moment: datetime | None) -> int | None:
    """Whole Unix seconds of a moment with a time zone."""
    return None if moment is None else int(moment.timestamp())
