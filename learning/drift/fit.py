"""The default estimator: a public model with a private correction per cell.

The public model f_Q predicts; reports only show how the holders differ from it. In cell l the
expected shares q_l are f_Q's mean there, and the holders' shares p_l are those of a shift on the
tree (``shift``). The prediction is p_l + k_l (f_Q(x) - q_l) at a record x of cell l: what reports
change the shares of cells by, they change within a cell (``shift``, equation 15).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from privet.protocol.features import Classes, Label

from ..core.amounts import percent
from ..core.counts import QuestionCounts, without_label_question
from ..core.estimator import Estimator, Parameter
from ..core.model import Model, to_model
from ..core.public_data import Floats, PublicData
from ..public_model.knowledge import Knowledge
from .cell_learners import Learned, learn
from .prior import Expected
from .shift import estimate_shift, history_with
from .waves import History


def fit_drift(
    label: Label,
    public: PublicData,
    questions: Sequence[QuestionCounts],
    *,
    plain: bool,
    knowledge: Knowledge,
    earlier: Sequence[Sequence[QuestionCounts]] = (),
) -> Model:
    """f_Q, which ``knowledge`` is of, plus a correction per cell; with ``plain`` just a tree.

    ``earlier`` are the waves of a panel before this one, the first one first.
    """
    (question,), alone = without_label_question(questions)
    expected, base_values = _expected(label, public, question, knowledge)
    history = None
    if earlier:
        history = _history(label, public, knowledge, tuple(map(tuple, earlier)))
    estimates = estimate_shift(question, expected, alone=alone, history=history)
    model = to_model(
        label,
        question,
        estimates,
        base=None if plain else knowledge.model,
        base_values=None if plain else base_values,
    )
    if plain or question.mechanism.stratum_count == 1 or not isinstance(label, Classes):
        return model
    learned = learn(question, expected, knowledge, estimates)
    return model if learned is None else with_learned(model, learned)


def _expected(
    label: Label, public: PublicData, question: QuestionCounts, knowledge: Knowledge
) -> tuple[Expected, Floats]:
    """The shares that the public model expects in cells, and their values, ``(cells, slots)``."""
    means, points = knowledge.cell_means(question.partition)
    rows = len(public)
    if isinstance(label, Classes):
        expected = Expected.classes(means, points, rows, public.odds_ratio)
        return expected, expected.of_public
    scale = question.scale_of(label)
    t = scale.to_unit(np.arange(len(means)), means[:, 0])
    expected = Expected.numbers(t, means[:, 0] / scale.width, points, rows)
    # for a mean outside its cell's scale its nearer end: values less this are corrections
    return expected, scale.from_unit(expected.q[:, 1:])


@lru_cache(maxsize=8)
def _history(
    label: Label,
    public: PublicData,
    knowledge: Knowledge,
    earlier: tuple[tuple[QuestionCounts, ...], ...],
) -> History:
    """The history of ``earlier`` waves; kept, since a fit asks for it some twenty times, and that
    of the next wave begins with it."""
    *before, last = earlier
    history = _history(label, public, knowledge, tuple(before)) if before else None
    (asked,), alone = without_label_question(last)
    expected, _ = _expected(label, public, asked, knowledge)
    return history_with(history, asked, expected, alone)


def with_learned(model: Model, learned: Learned) -> Model:
    """``model`` with what was learned from cells; intervals stay those of the reports."""
    own = learned.own
    values = np.clip(learned.values, *model.label.bounds)
    values /= values.sum(axis=1, keepdims=True)
    return replace(
        model,
        values=values,
        low=np.minimum(model.low, values),
        high=np.maximum(model.high, values),
        public_share=own * model.public_share + learned.public,
        public_base=model.base,
        public_base_values=model.base_values,
        base=learned.base,
        base_values=learned.base_values,
        base_slope=None,
        facts={**model.facts, "learned from cells": percent(learned.part, whole=True)},
    )


DRIFT = Estimator(
    "drift",
    "Public model plus a private correction, a shift on the tree; the default.",
    fit_drift,
    {"plain": Parameter(False, "Return a tree that predicts without the public model.")},
    takes_base=True,
    takes_label_question=True,
    takes_waves=True,
)
