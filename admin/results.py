"""Results of the curator's calls, one type per thing: what ``/v1`` answers with, as JSON.

The curator's use cases return them, its pages and files show them, and ``CuratorClient`` reads
them. They need the base install only, so they live with the client and not with the curator.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.status import CollectionStatus, RelayDescription
from privet.protocol.wire import VERSION

EXAMPLE_ID = "6f1ed002ab5595859014ebf0951522d9" * 2

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
    def is_local(self) -> bool:
        """True if only the machine it is on can open the address."""
        return ON_THIS_MACHINE.fullmatch(self.address or "") is not None


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
    buckets: list[ReportBucket] | None = None
    relays: list[RelayReports] | None = None
    settles: datetime | None = Field(
        default=None, description="When the grace period after its end is over."
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
