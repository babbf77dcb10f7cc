"""Plans without a file hold whatever people answer."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.labels import kind_of
from privet.learning.figures.compare import over_time
from privet.learning.figures.figure import Reports
from privet.learning.planning import Plan, plan
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import build_without_features
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.task import Task

PEOPLE = 4_000
GIVEN: dict[str, dict[str, Any]] = {
    "classes": {"classes": ("low", "mid", "high"), "epsilon": 1.0},
    "number": {"label_range": (0.0, 10.0), "epsilon": 4.0},
}
ANSWERS = [
    ("classes", [0.334, 0.333, 0.333]),
    ("classes", [0.8, 0.1, 0.1]),
    ("classes", [0.0, 0.0, 1.0]),
    ("number", [0.2, 0.2, 0.2, 0.2, 0.2]),
    ("number", [1.0, 0.0, 0.0, 0.0, 0.0]),
    ("number", [0.5, 0.0, 0.0, 0.0, 0.5]),
]
"""Shares of the classes, or of the numbers 0, 2.5, 5, 7.5 and 10."""


@cache
def planned(kind: str) -> Plan:
    return plan(label="answer", holders=PEOPLE, waves=2, **GIVEN[kind])


@cache
def published(kind: str) -> Task:
    settings = TaskSettings(name="a", label="answer", holders=PEOPLE, **GIVEN[kind])
    return build_without_features(settings)


def answered(kind: str, shares: list[float], seed: int) -> list[QuestionCounts]:
    """What people with these answers report."""
    rng = np.random.default_rng(seed)
    answers = rng.choice(len(shares), PEOPLE, p=shares)
    y = np.asarray(answers * (2.5 if kind == "number" else 1.0), np.float64)
    asked = simulate_counts(published(kind), np.zeros((PEOPLE, 0)), y, rng)
    return [replace(each, planned=float(PEOPLE)) for each in asked]


@pytest.mark.parametrize(("kind", "shares"), ANSWERS)
def test_figures_are_as_precise_as_planned_whatever_is_answered(
    kind: str, shares: list[float]
) -> None:
    """They were up to a third wider, as answers were taken to be equally frequent."""
    assert "whatever people answer" in planned(kind).details[0]
    of, halves = kind_of(published(kind).label), []
    for seed in range(4):
        reports = Reports(of, *map(of.scaled, answered(kind, shares, seed)))
        figures = reports.overall(of.middle if of.is_share else None)
        halves.append(max(float(figure.half_width()) for figure in figures))
    assert np.mean(halves) < 1.02 * planned(kind).here.half_width


@pytest.mark.parametrize(("kind", "shares"), ANSWERS)
def test_waves_show_the_planned_change_whatever_is_answered(kind: str, shares: list[float]) -> None:
    """Less than the planned one showed 8 times in 10 of equally frequent answers alone."""
    (made, *_), said = planned(kind).panel.modes, []  # type: ignore[union-attr]
    for seed in range(4):
        waves = {number: answered(kind, shares, seed + 4 * number) for number in (1, 2)}
        sentence = over_time(published(kind).label, waves, 2).sentence
        least = re.search(r"a change of ([\d.]+)( points)? or more would have shown", sentence)
        if least is not None:
            said.append(float(least[1]) / (100.0 if least[2] else 1.0))
    assert made.overall_change is not None
    assert np.mean(said) < 1.02 * made.overall_change
