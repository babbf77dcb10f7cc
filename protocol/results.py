"""The results of a collection, for its holders: part of a task's status once it is over."""

from pydantic import BaseModel, ConfigDict, Field

from .limits import MAX_CATEGORY_LENGTH, MAX_CLASSES


class Figure(BaseModel):
    """One estimate about the holders, with its 95 % interval, beside that of the public records."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    name: str = Field(
        max_length=MAX_CATEGORY_LENGTH, description="The class; of a number, the label."
    )
    value: float = Field(description="Share of the class, or the mean.")
    low: float
    high: float
    public: float = Field(description="The same among the public records.")
    differs: bool = Field(
        description="Whether that differs beyond chance, all figures tested together."
    )


class Results(BaseModel):
    """The figures of all holders: one per class, or the mean of a number."""

    model_config = ConfigDict(frozen=True)

    figures: tuple[Figure, ...] = Field(max_length=MAX_CLASSES)
