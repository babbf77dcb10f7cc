"""Results of the curator's calls, one type per thing: what ``/v1`` answers with, as JSON.

The curator's use cases return them, its pages and files show them, and ``CuratorClient`` reads
them. They need the base install only, so they live with the client and not with the curator.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.results import Comparison, Distribution, RegisterFigure
from privet.protocol.status import CollectionStatus, RelayDescription
from privet.protocol.wire import VERSION

EXAMPLE_ID = "6f1ed002ab5595859014ebf0951522d9" * 2
SERVING = "serving"
"""The alias of the model that predicts where none is named."""
ON_THIS_MACHINE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])[:/]?.*")


class Scope(StrEnum):
    """The scope of a token: everything, reading and fitting, reading, or sending batches."""

    ADMIN = "admin"
    FITTER = "fitter"
    READER = "reader"
    RELAY = "relay"

    def allows(self, needed: str) -> bool:
        """True if it covers the scope ``needed``."""
        return self in (Scope.ADMIN, needed) or (self, needed) == (Scope.FITTER, Scope.READER)

    @property
    def or_higher(self) -> str:
        """The scopes that cover it, such as ``reader, fitter or admin``."""
        *others, admin = (each for each in reversed(Scope) if each.allows(self))
        return " or ".join(filter(None, (", ".join(others), admin)))


class Result(BaseModel):
    """Base of all results. Moments are Unix seconds where they are made, and UTC in JSON."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, from_attributes=True)


class IssuedToken(Result):
    """A new token, shown only once."""

    name: str
    scope: Scope
    token: str


class Token(Result):
    """A token, without its value."""

    name: str
    scope: Scope
    source: Literal["database", "environment"] = Field(
        description="Origin: issued, or the curator's PRIVET_ADMIN_TOKEN."
    )
    created: datetime = Field(
        description="Time of issue; for a token from the environment, of the start."
    )
    expires: datetime | None
    used: datetime | None = Field(description="Its last use, to the minute.")


class AuditLogEntry(Result):
    """An entry of the audit log."""

    no: int
    at: datetime
    actor: str = Field(
        description="Name of the token, or oidc: and the subject of a person who signed in by "
        "OpenID Connect; empty for the curator, its commands, and strangers."
    )
    action: str = Field(examples=["task created"])
    subject: str = Field(description="A task's id, or a token's name.")
    detail: dict[str, Any]
    times: int = Field(description="How often within its hour; failed sign-ins are counted.")
    hash: str = Field(description="SHA-256 over the entry and the hash of the one before it.")


class NamedRelay(Result):
    """The relay that was named, and what it said when it was last asked."""

    address: str | None
    described: RelayDescription | None = None
    fault: str = Field(
        default="", description="Why nobody can answer there, in a sentence; empty if they can."
    )

    @property
    def works(self) -> bool:
        return not self.fault

    @property
    def shares_origin(self) -> bool:
        """True if it serves below a path, so that other pages of its host can read records."""
        return bool(urlsplit(self.address or "").path.strip("/"))

    @property
    def is_local(self) -> bool:
        """True if only the machine it is on can open the address."""
        return ON_THIS_MACHINE.fullmatch(self.address or "") is not None


class IntervalFigure(Result):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


class ReportSource(Result):
    """The source of some of a model's reports."""

    relay: str | None = Field(description="Name of the relay's token; null for direct reports.")
    reports: int
    worst_found: float | None = Field(
        default=None,
        description="How far this number of false reports moved a value of the model when some "
        "ways to choose them were tried; others may move it further. Null if nothing was tried "
        "when the model was fitted, by an earlier version.",
    )


class ModelSummary(Result):
    """One fitted, numbered, immutable model."""

    task: str = Field(examples=[EXAMPLE_ID])
    number: int = Field(examples=[1])
    created: datetime = Field(
        description="When it was fitted; without a token the start of that hour, or when the task "
        "was created if that is later."
    )
    estimator: str = Field(examples=["weighted"])
    parameters: dict[str, Any] = Field(examples=[{"weight": 1.0}])
    reports: int = Field(
        description="Reports it was fitted from; without a token in steps, see `step`.",
        examples=[4456],
    )
    step: int = Field(default=1, description="As in a task's status.", examples=[1])
    cells: int = Field(examples=[64])
    facts: dict[str, Any] = Field(description="Further results of the estimator.")
    scores: dict[str, IntervalFigure] = Field(
        default_factory=dict,
        description="Accuracy, Brier score and log loss of the cells' values for people like the "
        "holders, from their perturbed reports, as of the fit. Empty for a number, and for models "
        "of earlier versions.",
    )
    aliases: list[str] = Field(
        default_factory=list, description="Its aliases; `serving` predicts where no model is named."
    )
    ways: list[ReportSource] = Field(
        default_factory=list,
        description="Sources of the reports: direct, or the relays that sent them; for readers.",
    )
    worst_of_one: float | None = Field(
        default=None,
        description="How far one false report moved a value of the model when some ways to choose "
        "it were tried; another may move it further. Null without reports or a token, and if "
        "nothing was tried when the model was fitted, by an earlier version.",
    )

    @property
    def may_have_reports(self) -> bool:
        """True unless it is known to be fitted from none."""
        return self.reports > 0 or self.step > 1

    @property
    def serves(self) -> bool:
        """True if it predicts where no model is named."""
        return SERVING in self.aliases


class NewModel(ModelSummary):
    """A model that was just fitted."""

    same_as: int | None = Field(
        default=None,
        description="Number of the first model that has the same answers and settings, so that "
        "this one predicts the same; null if none has.",
    )


class ModelChange(Result):
    """The differences between two models' predictions for the public records."""

    records: int
    same_label: float | None = Field(
        description="Share of records whose likeliest class stays; null for a numeric label."
    )
    mean: float = Field(description="Mean absolute change of a value, in the label's units.")
    largest: float = Field(description="Largest absolute change of a value.")
    outside: float = Field(
        description="Share of records whose cell's value in the second model lies outside the "
        "95 % interval of their cell in the first."
    )
    scores: dict[str, IntervalFigure] | None = Field(
        description="The second model's scores for people like the holders less the first one's, "
        "with 95 % intervals, from the reports so far. For readers only; empty where both do not "
        "have the same cells, or one was fitted by an earlier version."
    )


class DifferingCell(Result):
    """A cell that differs from the public data: in its mass, or in a class's share or the mean."""

    cell: int
    path: list[str] = Field(description="The splits that lead to it.", examples=[["age < 32"]])
    name: str | None = Field(description="The class or the label; absent for the cell's mass.")
    reported: float
    low: float
    high: float
    public: float
    p_value: float


class FalseReports(Result):
    """Reports that no honest people can have sent together."""

    least: int = Field(description="Least number of false reports.")
    n: int = Field(description="The reports that were tested.")


class GroupFigure(IntervalFigure):
    """The share of a class in a group, or its mean label."""

    name: str
    public: float | None = Field(description="The same of the public records there, if any.")
    differs: bool = Field(
        description="Whether the two differ beyond chance, by a test of all figures of all groups."
    )


class PeopleGroup(Result):
    """People at a node of the tree."""

    node: int
    path: list[str] = Field(description="The splits that lead to it.", examples=[["age < 32"]])
    part: float = Field(description="Their part of those who answered.", examples=[0.25])
    figures: list[GroupFigure]


class ModelInsight(Result):
    """The differences between the holders and the public data."""

    task: str = Field(examples=[EXAMPLE_ID])
    model: int | None = Field(description="Null for a task without features, which has none.")
    reports: int
    model_reports: int = Field(description="Reports that the model was fitted from.")
    misfits: IntervalFigure = Field(description="Share of the reports whose record did not fit.")
    public_records: int
    cells: int
    headline: str = Field(description="What is known of all holders, in one or two sentences.")
    sentence: str = Field(
        description="The headline, the groups that differ, and what reports changed."
    )
    overall: list[Comparison]
    distribution: Distribution | None = Field(
        default=None, description="Of a number that was asked without features, in several bins."
    )
    differences: list[DifferingCell] = Field(
        description="Cells that differ beyond chance, at a false discovery rate of 5 %."
    )
    groups: list[PeopleGroup] = Field(
        default_factory=list,
        description="Those who answered, divided at the tree's first two splits where figures of "
        "one side are known to ± a quarter of all that is possible, in the order of the tree; "
        "empty where no group's are.",
    )
    seen_in_a_cell: float | None = Field(
        description="In half of the cells every difference from this one on would have been "
        "listed with a probability of 80 %; null if none would. The same of an overall figure is "
        "its `seen_from`."
    )
    moved: float = Field(description="How far reports moved the model's values on average.")
    relabelled: int | None = Field(description="Cells whose likeliest class the reports changed.")
    looks: Literal["many", "once"] = Field(
        description="Whether intervals and differences hold at every look while reports come in, "
        "or at one that was chosen beforehand."
    )
    weighted: list[RegisterFigure] = Field(
        default_factory=list,
        description="The same figures allowing for who answered: each group of disclosed columns "
        "counts as its people in the register do. Empty without a register.",
    )
    of_register: str = Field(
        default="", description="The weighted figures in a sentence; empty without any."
    )
    gathered: str = Field(
        description="Of groups by disclosed columns, in words: where records that did not fit "
        "gather, reports that the register does not account for, and groups with fewer reports "
        "than expected from each; empty if there is nothing to say."
    )
    if_false: str = Field(
        default="",
        description="The ends of each overall figure if 1 % of the answers were false and chosen "
        "for effect, in words.",
    )
    impossible: FalseReports | None = Field(
        description="Absent where honest people may have sent all reports. Where they cannot, "
        "intervals are as wide as can be and no difference is listed."
    )


class Prediction(Result):
    """The prediction for one record."""

    label: str | float = Field(description="The likeliest class, or the mean label.")
    probabilities: dict[str, float] | None = Field(
        default=None, description="Per class; absent for a numeric label."
    )
    cell_value: dict[str, float] | float = Field(
        description="Estimated share of each class, or the mean label, among the holders in the "
        "record's cell; the prediction differs from it by the public model."
    )
    cell_low: dict[str, float] | float = Field(
        description="Lower end of the 95 % interval of the cell's share or mean. It is about the "
        "cell's holders together, not about those like the record."
    )
    cell_high: dict[str, float] | float = Field(description="Its upper end.")
    cell: int = Field(description="The cell the record falls into.")
    path: list[str] = Field(description="The splits that led there.", examples=[["age < 32"]])
    outside: list[str] = Field(
        description="Fields whose number lies outside the published range; its nearest end counts."
    )


class RecordPredictions(Result):
    """The answer to records: one prediction each, in the same order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": 1,
                    "predictions": [
                        {
                            "label": "yes",
                            "probabilities": {"no": 0.31, "yes": 0.69},
                            "cell_value": {"no": 0.33, "yes": 0.67},
                            "cell_low": {"no": 0.22, "yes": 0.6},
                            "cell_high": {"no": 0.4, "yes": 0.78},
                            "cell": 7,
                            "path": ["age < 32", "religious < 2.5"],
                            "outside": [],
                        }
                    ],
                }
            ]
        }
    )

    model: int
    predictions: list[Prediction]


class ColumnPredictions(Result):
    """The answer to columns: the same facts, column by column."""

    model: int
    classes: list[str] | None = Field(description="Order of the values per row.")
    label: list[str | float]
    values: list[list[float]] = Field(description="Probabilities, or only the mean label.")
    cell_value: list[list[float]] = Field(description="Shares, or the mean, of the row's cell.")
    cell_low: list[list[float]] = Field(description="Lower ends of their 95 % intervals.")
    cell_high: list[list[float]] = Field(description="Upper ends.")
    cell: list[int]
    outside: list[list[str]] = Field(description="Each row's fields outside their range.")
    paths: dict[str, list[str]] = Field(description="The splits that lead to each cell met.")


class CuratorKey(Result):
    """The public half of the curator's key."""

    key: str | None = Field(
        description="64 hexadecimal digits (Ed25519), or null where tasks are not signed.",
        examples=["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
    )


class ParameterHelp(Result):
    """One parameter of an estimator."""

    default: float | int | str | bool
    help: str
    choices: list[str]


class EstimatorHelp(Result):
    """One estimator, in words, with its parameters."""

    summary: str
    parameters: dict[str, ParameterHelp]


class Methods(Result):
    """Everything that a task or a model can name."""

    growers: list[str]
    mechanisms: list[str]
    estimators: dict[str, EstimatorHelp]
    default_estimator: str
    formats: list[str]
    limits: dict[str, int]


class TaskSummary(Result):
    """One line about a task."""

    id: str = Field(description="SHA-256 of the task's canonical bytes.", examples=[EXAMPLE_ID])
    version: int = Field(description="Of its form.", examples=[VERSION])
    name: str = Field(examples=["Fair's survey"])
    state: TaskState = Field(examples=["open"])
    phase: Phase = Field(
        description="By its state, dates and quota; of a panel by its waves.", examples=["open"]
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


class WaveDates(Result):
    """One wave of a panel."""

    id: str = Field(description="The id of the wave's task.", examples=[EXAMPLE_ID])
    opens: datetime
    closes: datetime


class QuestionSizes(Result):
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


class Stratum(Result):
    """A stratum that reports may disclose."""

    where: list[str] = Field(
        description="Conditions on disclosed columns, all of which hold.", examples=[["age >= 60"]]
    )
    holders: int = Field(description="Holders that are expected there.", examples=[250])


class PublishedTask(TaskSummary):
    """A task in full, with sizes derived from it."""

    questions_in_numbers: list[QuestionSizes]
    strata: list[Stratum] = Field(
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
    waves: list[WaveDates] = Field(description="The waves of its panel; empty without one.")
    lifetime: float = Field(
        description="Epsilon that one holder spends at most, in all waves together.", examples=[1.0]
    )
    registered: bool = Field(
        description="Whether groups were counted in a register of the people asked.",
        examples=[False],
    )
    task: dict[str, Any] = Field(description="The published task, as holders answer it.")


class ReportBucket(Result):
    """The reports of one period."""

    starts: datetime
    reports: int
    checksum: str


class RelayReports(Result):
    """The reports of a task that a relay holds and has lost, as it said last."""

    relay: str = Field(description="Name of the relay's token.", examples=["north"])
    held: int = Field(
        description="Reports that wait there; up to 20 too many while more may come.", examples=[40]
    )
    least: int | None = Field(
        description="Reports that it waits for; null where all wait until the end.", examples=[100]
    )
    lost: dict[str, int] = Field(
        description="Reports that it lost, by reason.", examples=[{"too-few": 7}]
    )
    reported: datetime = Field(description="When it said so; it does every hour.")
    since: datetime | None = Field(
        description="Since when it has held some and none of its reports counted."
    )


class TaskStatus(CollectionStatus):
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
    serving: int | None = Field(
        default=None,
        description="Number of the model that predicts where none is named; null without one, and "
        "for whoever sees no models.",
    )
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
        default=None, description="Sum of the 64-bit halves of the counted report ids, modulo 2^64."
    )
    buckets: list[ReportBucket] | None = None
    relays: list[RelayReports] | None = None
    settles: datetime | None = Field(
        default=None,
        description="When the grace period after its end is over; without a token the end of that "
        "hour.",
    )
    growth: str = Field(
        default="",
        description="Why the counts may still grow, in a sentence; empty if they may not.",
    )


class Invitations(Result):
    """New invitations, shown only once."""

    invitations: list[str]


class InvitationCounts(Result):
    """The numbers of a task's invitations, by outcome."""

    issued: int
    used: int = Field(description="Spent by a report, or held for a relay's batch.")
    revoked: int
    expired: int = Field(description="Invitations that expired unused.")


class Revoked(Result):
    """The number of unused invitations that were revoked."""

    revoked: int
