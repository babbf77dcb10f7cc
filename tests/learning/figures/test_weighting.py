"""Weights for who answered: the bias goes, intervals cover, small groups are joined."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from privet.learning.core.labels import kind_of
from privet.learning.core.trees import locate
from privet.learning.figures.compare import insight
from privet.learning.figures.figure import Reports
from privet.learning.figures.sentences import in_register
from privet.learning.figures.weighting import FEWEST, Groups, figures_of_register, weighted
from privet.learning.methods import fit

from ..examples import REPORTS_ALONE
from .who_answers import CLASSES, NUMBER, Setting, Study, measured

ALPHA = 1e-4


@pytest.mark.parametrize("setting", [Setting(8.0), Setting(8.0, label=NUMBER)])
def test_groups_count_as_their_people_do(setting: Setting) -> None:
    """Person by person: the mean over the register of the figure of each person's group, less what
    the slopes of groups say of the rest."""
    study = Study.of(setting)
    reports = Reports(kind_of(setting.label), study.collected(0))
    question, register = reports.question, study.public.register
    assert register is not None
    groups = Groups.of(question, register)
    weights = reports.kind.weights(question)[-1]
    holders = question.plausible.sum(axis=1)
    of_group = [
        float((question.counts * weights)[groups.of_cell == place].sum())
        / float(holders[groups.of_cell == place].sum())
        for place in range(len(groups.people))
    ]
    people = groups.of_cell[locate(question.partition, register)]
    mean = float(np.mean([of_group[place] for place in people]))
    one, _ = figures_of_register(reports, groups)[-1]
    off = float(mean - one.value)
    assert 0.0 < off < 0.03 * setting.label.span
    assert abs(float(one.value) - study.truth) < 0.02 * setting.label.span
    alike = replace(groups, X=np.zeros_like(groups.X))
    assert figures_of_register(reports, alike)[-1][0].value == pytest.approx(mean, rel=1e-3)


def test_small_groups_are_joined_and_never_shown() -> None:
    """Each has ``FEWEST`` people and reports; where a single one is left nothing is offered."""
    study = Study.of(Setting(2.0, people=400))
    register = study.public.register
    assert register is not None
    reports = Reports(kind_of(CLASSES), study.collected(0))
    groups = Groups.of(reports.question, register)
    assert len(groups.people) < reports.question.mechanism.stratum_count
    assert min(*groups.people, *groups.reports) >= FEWEST
    assert groups.people.sum() == len(register)
    assert groups.reports.sum() == reports.question.n
    asked = reports.kind, [reports.question]
    assert weighted(*asked, register[: FEWEST + 5]) == ()
    assert weighted(*asked, None) == ()


def test_an_insight_has_the_weighted_figures_and_a_sentence() -> None:
    study = Study.of(Setting(4.0))
    counts = study.collected(0)
    model = fit("weighted", CLASSES, study.public, [counts], **REPORTS_ALONE)
    found = insight(CLASSES, study.public, [counts], model)
    no, yes = found.weighted
    assert no.value + yes.value == pytest.approx(1.0)
    assert yes.low < study.truth < yes.high < found.overall[-1].low
    said = f"{100 * yes.value:.0f} % say yes ({100 * yes.low:.0f} % to {100 * yes.high:.0f} %)"
    assert found.of_register.replace("\u00a0", " ") == (
        f"Of all people in the register, {said}, if in each group those who answered are like "
        "those who did not."
    )
    assert in_register(CLASSES, ()) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [Setting(1.0), Setting(4.0), Setting(4.0, misled=True), Setting(4.0, label=NUMBER)],
)
def test_the_bias_of_who_answered_goes_and_intervals_cover(setting: Setting) -> None:
    """In 200 collections each; public records that mislead do not matter. ALPHA each."""
    collections, span = 200, setting.label.span
    found = measured(setting, collections)
    assert found["answered"][0] > 0.05 * span
    assert abs(found["weighted"][0]) < 0.01 * span
    missed = round((1.0 - found["weighted"][2]) * collections)
    assert missed <= binom.isf(ALPHA, collections, 0.05)
    assert found["weighted"][1] < 2.1 * found["answered"][1]


@pytest.mark.parametrize("collections", [40, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("setting", [Setting(1.0, part=0.35), Setting(2.0, label=NUMBER, part=0.5)])
def test_those_asked_for_the_label_alone_count_in_their_groups(
    setting: Setting, collections: int
) -> None:
    """Both questions give a narrower interval than that in cells, which covers. ALPHA each."""
    study, register = Study.of(setting), Study.of(setting).public.register
    assert register is not None
    kind, missed, halves = kind_of(setting.label), 0, []
    for seed in range(collections):
        questions = study.questions(seed)
        of_cells, of_both = (
            weighted(kind, some, register)[-1] for some in (questions[:1], questions)
        )
        missed += not of_both.low <= study.truth <= of_both.high
        halves.append([of.high - of.low for of in (of_cells, of_both)])
    assert missed <= binom.isf(ALPHA, collections, 0.05)
    cells, both = np.mean(halves, axis=0)
    assert both < 0.85 * cells
