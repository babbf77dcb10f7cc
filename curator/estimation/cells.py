"""From slots, which every label is counted in, to the values a model keeps per cell."""

from collections.abc import Mapping
from dataclasses import dataclass

from privet.curator.estimation.counts import Label, QuestionCounts
from privet.curator.estimation.model import Model, Value
from privet.curator.public_data import Floats
from privet.curator.public_model.base import BaseModel
from privet.protocol.features import Range


@dataclass(frozen=True, eq=False)
class SlotEstimates:
    """Per cell and slot, ``(cells, slots)``: shares of the cell, and how sure they are.

    ``public_share`` has shape ``(cells,)``; ``influence`` is the most that one report can move
    a share.
    """

    shares: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    public_share: Floats
    influence: Floats


def to_model(
    label: Label,
    question: QuestionCounts,
    slots: SlotEstimates,
    *,
    estimator: str,
    parameters: Mapping[str, Value],
    n: int | None = None,
    base: BaseModel | None = None,
    base_values: Floats | None = None,
) -> Model:
    """The model with these shares: class probabilities as they are, numbers in the label's units.

    Intervals are widened where they must be to hold their share. Numbers lie within the label's
    range, and within the reach of their cell's centre if the question has a centring.
    """
    low, high = slots.low.clip(max=slots.shares), slots.high.clip(min=slots.shares)
    values, error, influence = slots.shares, slots.standard_error, slots.influence
    span = None
    if isinstance(label, Range):
        scale = question.scale_of(label)
        span = scale.width if scale.width < label.high - label.low else None
        values, low, high = (scale.from_unit(ends[:, 1:]) for ends in (values, low, high))
        error, influence = scale.width * error[:, 1:], scale.width * influence[:, 1:]
    return Model(
        label=label,
        partition=question.partition,
        values=values,
        standard_error=error,
        low=low,
        high=high,
        public_share=slots.public_share,
        influence=influence,
        estimator=estimator,
        parameters=dict(parameters),
        n=question.n if n is None else n,
        base=base,
        base_values=base_values,
        span=span,
    )
