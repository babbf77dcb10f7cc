"""The results of a collection: for its holders, as part of a task's status once it is over, and
figures of its insight."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from .limits import MAX_CATEGORY_LENGTH, MAX_CLASSES, MAX_LEVELS


class Figure(BaseModel):
    """One estimate about the holders, with its 95 % interval, beside that of the public records, if
    there are any."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    name: str = Field(
        max_length=MAX_CATEGORY_LENGTH, description="The class; of a number, the label."
    )
    value: float = Field(description="Share of the class, or the mean.")
    low: float
    high: float
    public: float | None = Field(
        default=None, description="The same among the public records; null without any."
    )
    differs: bool = Field(
        description="Whether that differs beyond chance, all figures tested together."
    )


@dataclass(frozen=True)
class Comparison:
    """One figure of the holders with its 95 % interval, and the public records' value.

    ``p_value`` tests that both populations are alike. Every difference of ``seen_from`` or more
    would have been detected with the probability ``POWER``; None if no difference would. Without
    public records ``public`` is None, and nothing differs.
    """

    name: str
    reported: float
    low: float
    high: float
    public: float | None
    p_value: float
    seen_from: float | None


@dataclass(frozen=True)
class RegisterFigure:
    """A figure of all people in the register, with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float


class Bin(BaseModel):
    """The share of the holders around a level of a number, with its 95 % interval."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    level: float
    share: float = Field(
        description="Numbers between two levels count for both, for the nearer one more."
    )
    low: float
    high: float
    up_to_low: float = Field(
        description="The part of the holders up to the level lies between this and `up_to_high`."
    )
    up_to_high: float


class Quantile(BaseModel):
    """The number that a part of the holders do not exceed, with its 95 % interval."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    part: float = Field(description="The part of the holders.", examples=[0.5])
    value: float
    low: float
    high: float


class Distribution(BaseModel):
    """The distribution of a number over the holders, in bins around levels a step apart."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    step: float
    bins: tuple[Bin, ...] = Field(max_length=MAX_LEVELS)
    quantiles: tuple[Quantile, ...] = Field(max_length=MAX_LEVELS)


class Results(BaseModel):
    """The figures of all holders: one per class, or the mean of a number."""

    model_config = ConfigDict(frozen=True)

    figures: tuple[Figure, ...] = Field(max_length=MAX_CLASSES)
    distribution: Distribution | None = Field(
        default=None, description="Of a number that was asked alone, in several bins."
    )
    if_false: str = Field(
        default="",
        description="The ends of each figure if 1 % of the answers were false and chosen for "
        "effect, in words.",
    )
