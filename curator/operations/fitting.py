"""The work of a fit, and of a comparison of two models."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from privet.admin.results import IntervalFigure, ModelChange
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.figures.false_reports import worst_found
from privet.learning.figures.impossible import impossible
from privet.learning.figures.scores import known_scores, optimism, score_differences
from privet.learning.methods import Fitting
from privet.protocol.features import Classes

from ..datastore.status import Collected
from .curator import counts_of
from .snapshot import rows_to_predict


def fit_model(
    collected: Collected,
    public: PublicData,
    estimator: str,
    parameters: Mapping[str, Any],
    earlier: Sequence[Collected] = (),
) -> tuple[bytes, dict[str, Any]]:
    """A model's document, and its summary in lists, in JSON's types.

    ``earlier`` waves count if they can be honest. ``worst_found`` is how far as many false reports
    as came that way moved a value in the refits tried, and ``worst_of_one`` how far one did; None
    without reports.
    """
    questions = counts_of(collected)
    fitting = Fitting.of(estimator, collected.stored.task.label, public, **parameters)
    honest = [wave for wave in map(counts_of, earlier) if impossible(wave) is None]
    fitting = replace(fitting, earlier=honest)
    model = fitting.model(questions)
    model = replace(model, optimism=optimism(model, questions, fitting.estimate))
    ways = reports_by_way(model, collected.relayed)
    of_one, *worst = worst_found(model, questions, fitting.estimate, 1, *ways.values())
    scores = known_scores(model, questions)
    summary = {
        "estimator": model.estimator,
        "parameters": dict(model.parameters),
        "reports": model.n,
        "cells": model.partition.cells,
        "facts": dict(model.facts),
        "ways": [
            {"relay": relay, "reports": n, "worst_found": of}
            for (relay, n), of in zip(ways.items(), worst, strict=True)
        ],
        "worst_of_one": of_one if model.n else None,
        "scores": {name: asdict(of) for name, of in scores.items()},
    }
    return json.dumps(model.to_document()).encode(), summary


def reports_by_way(model: Model, relayed: Mapping[str, int]) -> dict[str | None, int]:
    """The numbers of its reports that came directly (None) and by each relay; ``relayed`` is a
    store's."""
    direct = max(model.n - sum(relayed.values()), 0)
    every: dict[str | None, int] = {None: direct, **dict(sorted(relayed.items()))}
    return {relay: n for relay, n in every.items() if n}


def change_of(
    first: Model, second: Model, public: PublicData, questions: Sequence[QuestionCounts] | None
) -> ModelChange:
    X = rows_to_predict(public)
    before, after = first.predict(X), second.predict(X)
    changed = np.abs(after.values - before.values)
    value = after.of_cells(second.values)
    outside = (value < before.of_cells(first.low)) | (value > before.of_cells(first.high))
    labels = before.labels(first.label) == after.labels(first.label)
    scores = None if questions is None else score_differences(first, second, questions)
    return ModelChange(
        records=len(X),
        same_label=float(labels.mean()) if isinstance(first.label, Classes) else None,
        mean=float(changed.mean()),
        largest=float(changed.max()),
        outside=float(outside.any(axis=1).mean()),
        scores=None
        if scores is None
        else {name: IntervalFigure.model_validate(of) for name, of in scores.items()},
    )
