"""The status of a collection, common to curators and relays: each adds counts of its own.

And what a relay tells its curator of the reports that wait there, or are lost.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, computed_field

from .lifecycle import Phase
from .results import Results

MOST_HELD = 10**12
"""Reports that a relay can say it holds, waits for or has lost: as many as a task can ask for."""
HELD_STEP = 20
"""Multiple to which a relay rounds up a number of held reports while more may come."""
Held = Annotated[int, Field(ge=0, le=MOST_HELD, strict=True)]


class CollectionStatus(BaseModel):
    """The part of a status that holders and relays read; null where a relay does not know it."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    phase: Phase | None = Field(description="By its state, dates and quota.")
    settled: bool | None = Field(
        default=None,
        description="Whether the grace period is over too, so that counts grow no more; before "
        "that, what relays took in time still counts.",
    )
    expected: int | None = Field(
        default=None, description="Number of reports that the asker expects."
    )
    invited: bool | None = Field(description="Whether only invited reports count.")
    asks_again: bool = Field(
        default=False,
        description="Whether holders should send again what was counted, since the curator's "
        "database was restored or put back. What was not lost is not counted twice.",
    )
    as_files: bool = Field(
        default=False,
        description="Whether this is a relay that writes reports as files, so that what became of "
        "one is known only when the curator has collected them.",
    )
    one_operator: bool = Field(
        default=False,
        description="Whether this is a relay run by the curator's own operator, for a trial.",
    )
    results: Results | None = Field(
        default=None,
        description="What the model that serves says of all holders, once no new reports are "
        "taken; for readers only where models are.",
    )

    @computed_field(description="Whether a report would be counted now.")  # type: ignore[prop-decorator]
    @property
    def collecting(self) -> bool | None:
        return None if self.phase is None else self.phase is Phase.OPEN

    @computed_field(description="Whether no new report can count any more.")  # type: ignore[prop-decorator]
    @property
    def over(self) -> bool | None:
        return None if self.phase is None else self.phase.is_final


class Holdings(BaseModel):
    """The reports of a task that a relay holds, and those that it lost."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"reports": 40, "least": 100, "lost": {"too-few": 7}}]},
    )

    reports: Held = Field(description="Reports that wait there; in steps while more may come.")
    least: int = Field(ge=1, le=MOST_HELD, strict=True, description="Reports that it waits for.")
    lost: dict[Annotated[str, Field(pattern="^[a-z][a-z-]{0,63}$")], Held] = Field(
        max_length=16, description="Reports that it lost, by reason."
    )
    spool: str = Field(
        default="",
        pattern="^([0-9a-f]{8})?$",
        description="The random name of its spool: what another one held is lost.",
    )
    delivered: Held = Field(
        default=0,
        description="Reports of that spool that the curator has said it counted: fewer are there "
        "once its database was put back.",
    )

    @property
    def lost_reports(self) -> int:
        """The reports that it lost, for whatever reason."""
        return sum(self.lost.values())


class RelayDescription(BaseModel):
    """A relay's description of itself: its curator, and how many reports go together."""

    model_config = ConfigDict(frozen=True)

    curator_key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(
        description="The key of its curator; null where that signs nothing."
    )
    least: int = Field(ge=1, description="Reports that wait for each other, unless a task says.")
    smallest_batch: int = Field(ge=1, description="Fewest that it forwards together.")
    as_files: bool
    one_operator: bool
