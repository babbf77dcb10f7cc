"""A stated prevalence: where estimates start, what it gains, and when reports contradict it."""

from dataclasses import replace

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.labels import ClassLabel
from privet.learning.core.public_data import PublicData, stated_prevalence
from privet.learning.figures.compare import contradicted
from privet.learning.figures.figure import Reports
from privet.learning.methods import fit
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Numeric, Range
from tests.keeping import keeps

from ..examples import BINARY, complete, reports


def asked(question: QuestionCounts) -> Reports:
    """The reports to a question about as many classes as it has slots."""
    names = tuple("abcdefghijklmnop"[: question.mechanism.slots])
    return Reports(ClassLabel(Classes(name="y", classes=names)), question)


TRUE = 0.02
Y = np.array([0.0, 0.0, 0.0, 1.0])


def enriched(seed: int) -> tuple[PublicData, PublicData, np.ndarray, np.ndarray]:
    """Public records half of which are cases, 5 000 holders of whom 2 % are, and points with
    their chance."""
    rng = np.random.default_rng(seed)
    X = rng.random((60_000, 2))
    odds = np.exp(4.0 * (X[:, 0] - 0.5) - 4.45)
    chance = odds / (1.0 + odds)
    y = (rng.random(len(X)) < chance).astype(float)
    cases, others = (np.flatnonzero(y == value)[:150] for value in (1.0, 0.0))
    rows, people = np.concatenate([cases, others]), slice(40_000, 45_000)
    public, holders = PublicData(X[rows], y[rows]), PublicData(X[people], y[people])
    return public, holders, X[-3000:], chance[-3000:]


def error(seed: int, prevalence: np.ndarray | None, epsilon: float = 0.5) -> list[float]:
    """The mean squared error at the points, without reports and with those of all holders."""
    public, holders, points, chance = enriched(seed)
    features = tuple(Numeric(name=name, low=0.0, high=1.0) for name in ("a", "b"))
    settings = TaskSettings(
        name="s", label="y", epsilon=epsilon, holders=len(holders), depth=2, label_part=0.0
    )
    task = TaskBuilder(features, BINARY, public).task(settings)
    counts = simulate_counts(task, holders.X, holders.y, np.random.default_rng(seed))
    model = fit("drift", BINARY, replace(public, prevalence=prevalence), counts)
    return [
        float(np.mean((fitted.predict(points).values[:, 1] - chance) ** 2))
        for fitted in (model.without_reports(), model)
    ]


@keeps(
    "robustness: predictions start at the stated prevalence",
    in_="learning/drift/fit.py",
    instead_of="means, points, rows, public.odds_ratio",
    plant="means, points, rows, 1.0",
)
def test_enriched_public_records_predict_as_well_as_holders_records_would() -> None:
    """Before any report; and after them, on average over collections, with an eighth of the
    squared error that there is without it."""
    stated = np.array([1.0 - TRUE, TRUE])
    known = np.array([error(seed, stated) for seed in range(2)])
    unknown = np.array([error(seed, None) for seed in range(2)])
    assert (known < 0.003).all()
    assert (unknown[:, 0] > 0.03).all()
    assert known[:, 1].mean() < unknown[:, 1].mean() / 8.0


@keeps(
    "threat-model: no interval leans on a stated prevalence",
    in_="learning/methods.py",
    instead_of="""
        return replace(
            model,
            estimator""",
    plant="""
        if self.public.prevalence is not None:
            model = replace(model, low=np.minimum(model.low, self.public.prevalence))
        return replace(
            model,
            estimator""",
)
@pytest.mark.parametrize("planned", [None, 4000.0], ids=["once", "many"])
def test_intervals_are_those_of_the_reports_whatever_is_stated(planned: float | None) -> None:
    """At one look and at every look, whose intervals are wider."""
    question = reports(complete(1), np.array([[900, 100], [700, 300]]), 2.0, 1)
    question = replace(question, planned=planned)
    public = PublicData(np.linspace(0.0, 1.0, 80).reshape(40, 2), np.tile([0.0, 1.0], 20))
    one, other = (
        fit("drift", BINARY, replace(public, prevalence=np.array([1.0 - p, p])), [question])
        for p in (0.02, 0.6)
    )
    np.testing.assert_array_equal([one.low, one.high], [other.low, other.high])
    before = one.without_reports().values, other.without_reports().values
    assert (before[0][:, 1] < before[1][:, 1]).all()
    assert "by the reports" in str(one.facts["stated prevalence"])


@pytest.mark.parametrize("classes", [2, 4])
def test_reports_contradict_a_true_prevalence_in_at_most_one_collection_of_twenty(
    classes: int,
) -> None:
    """Of 200; and one that is twice as high in nearly all."""
    rng = np.random.default_rng(classes)
    law = np.append(np.full(classes - 1, 0.9 / (classes - 1)), 0.1)
    twice = np.append(np.full(classes - 1, 0.8 / (classes - 1)), 0.2)
    false = found = 0
    for seed in range(200):
        holders = rng.multinomial(4000, np.tile(law / 4.0, 4)).reshape(4, classes)
        question: QuestionCounts = reports(complete(2), holders, 3.0, seed)
        false += bool(contradicted(law, asked(question)))
        found += bool(contradicted(twice, asked(question)))
    assert false <= 18  # with .05 in truth, 19 or more come once in a thousand times
    assert found > 190


@keeps(
    "robustness: a true prevalence is contradicted at every look in at most 5 % of collections",
    in_="learning/figures/figure.py",
    instead_of="factor_at(self.progress, level)",
    plant="factor_at(None, level)",
)
def test_a_true_prevalence_is_contradicted_at_no_look() -> None:
    """Of 30 collections looked at ten times as they grow; by one look's rule it is in many more."""
    rng, law = np.random.default_rng(8), np.tile([0.225, 0.025], (4, 1))
    false = by_one_look = 0
    for seed in range(30):
        looks = np.zeros(2, dtype=bool)
        first, *others = (
            reports(complete(2), rng.multinomial(400, law.ravel()).reshape(4, 2), 3.0, at)
            for at in range(10 * seed, 10 * seed + 10)
        )
        question = first
        for other in others:
            sums, n = question.sums + other.sums, question.n + other.n
            question = replace(question, sums=sums, n=n, planned=None)
            for place, planned in enumerate((4000.0, None)):
                looked = replace(question, planned=planned)
                looks[place] |= bool(contradicted(law.sum(axis=0), asked(looked)))
        false += int(looks[0])
        by_one_look += int(looks[1])
    assert false <= 5  # with .05 in truth, 6 or more come once in three hundred times
    assert by_one_look > false + 3


def test_classes_without_a_share_have_the_rest_as_in_public_records() -> None:
    label = Classes(name="y", classes=("a", "b", "c"))
    y = np.array([0.0] * 60 + [1.0] * 30 + [2.0] * 10)
    shares = stated_prevalence({"c": 0.4}, label, y)
    assert shares is not None
    assert shares.tolist() == pytest.approx([0.399, 0.201, 0.4], abs=1e-3)
    assert stated_prevalence({}, label, y) is None


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"maybe": 0.1}, "'maybe', which is no class"),
        ({"no": 0.5, "yes": 0.6}, "adds up to 1.1: it must be exactly 1"),
    ],
)
def test_impossible_prevalences_are_refused(stated: dict[str, float], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        stated_prevalence(stated, Classes(name="y", classes=("no", "yes")), Y)


def test_a_number_has_no_prevalence() -> None:
    with pytest.raises(InvalidRequest, match="is a number"):
        stated_prevalence({"yes": 0.1}, Range(name="y", low=0.0, high=1.0), Y)
