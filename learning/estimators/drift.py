"""The default estimator: a public model with a private correction per cell.

The public model f_Q predicts; reports only show how the holders differ from it. In cell l the
expected shares q_l are f_Q's mean there, and the holders' shares p_l are those of a shift on the
tree (``shift``). The prediction is p_l + k_l (f_Q(x) - q_l) at a record x of cell l: what reports
change the shares of cells by, they change within a cell (``shift``, equation 4).
"""

from collections.abc import Sequence

import numpy as np

from privet.protocol.features import Classes, Range

from ..counts import Label, QuestionCounts
from ..model import Model, to_model
from ..public_data import Floats, PublicData
from ..public_model.base import BaseModel
from ..public_model.knowledge import public_knowledge
from .estimator import Estimator, Parameter
from .shift import Expected, estimate_shift


def fit_drift(
    label: Label,
    public: PublicData,
    questions: Sequence[QuestionCounts],
    *,
    plain: bool,
    base: BaseModel | None = None,
) -> Model:
    """f_Q plus a correction per cell; with ``plain`` a tree that needs no f_Q.

    ``base`` is f_Q; without it, the stacked public model of the public records.
    """
    (question,) = questions
    slots = label.slots if isinstance(label, Classes) else 0
    knowledge = public_knowledge(public.X, public.y, slots, base)
    means, points = knowledge.cell_means(question.partition)
    expected = expected_shares(label, means, question, points, len(public))
    return to_model(
        label,
        question,
        estimate_shift(question, expected),
        base=None if plain else knowledge.model,
        base_values=None if plain else expected_values(label, question, expected),
    )


def expected_shares(
    label: Label, means: Floats, question: QuestionCounts, points: Floats, rows: int
) -> Expected:
    """q: the public model's cell means ``(cells, S)`` as shares of slots."""
    if isinstance(label, Classes):
        return Expected.classes(means, points, rows)
    scale = question.scale_of(label)
    t = scale.to_unit(np.arange(len(means)), means[:, 0])
    return Expected.numbers(t, means[:, 0] / scale.width, points, rows)


def expected_values(label: Label, question: QuestionCounts, expected: Expected) -> Floats:
    """What q stands for, so that a cell's value less this is its correction alone.

    For a number outside its cell's scale that is the scale's nearer end, not the mean.
    """
    if isinstance(label, Range):
        return question.scale_of(label).from_unit(expected.q[:, 1:])
    return expected.q


DRIFT = Estimator(
    "drift",
    "Public model plus a private correction, a shift on the tree; the default.",
    fit_drift,
    {"plain": Parameter(False, "Give a tree that predicts without the public model.")},
    takes_base=True,
)
