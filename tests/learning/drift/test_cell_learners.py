"""Models learned from the counts of strata."""

import json
from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.public_data import PublicData, class_count
from privet.learning.core.public_model import Trees
from privet.learning.core.trees import locate
from privet.learning.drift import cell_learners
from privet.learning.drift.cell_learners import (
    LEAVES,
    PARTS,
    LearnersTrial,
    Rows,
    extra_trees,
    learn,
    linear,
)
from privet.learning.drift.prior import Expected
from privet.learning.drift.shift import estimate_shift
from privet.learning.methods import fit
from privet.learning.public_model.knowledge import public_knowledge
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Numeric, Range
from privet.protocol.task import Task

from ..examples import unasked

COLUMNS = 3
FEATURES = tuple(Numeric(name=f"x{i}", low=0.0, high=1.0) for i in range(COLUMNS))
CLASSES = Classes(name="y", classes=("a", "b", "c"))
N = 6000


def shares(X: np.ndarray, *, misled: bool) -> np.ndarray:
    """Of three classes by the first two columns; misled by the first alone, and wrongly."""
    score = 4.0 * X[:, :1] * np.array([1.0, 0.0, -1.0]) + 4.0 * X[:, 1:2] * np.array([0, 1, 0])
    if misled:
        score = -3.0 * X[:, :1] * np.array([1.0, 0.0, -1.0])
    odds = np.exp(score)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def drawn(n: int, seed: int, *, misled: bool, rare: bool = False) -> PublicData:
    rng = np.random.default_rng(seed)
    X = rng.random((n, COLUMNS))
    p = shares(X, misled=misled)
    if rare:
        p = 0.85 * np.array([1.0, 0.0, 0.0]) + 0.15 * p
    return PublicData(X, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).astype(float))


@cache
def collected(
    kind: str, epsilon: float, seed: int, *, misled: bool, hidden_depth: int = 0
) -> tuple[Task, PublicData, list[QuestionCounts]]:
    rare = kind == "rare classes"
    public = drawn(400, 1, misled=misled, rare=rare)
    settings = TaskSettings(
        name="t",
        label="y",
        epsilon=epsilon,
        holders=N,
        disclosed=tuple(f.name for f in FEATURES)[: 1 if hidden_depth else None],
        hidden_depth=hidden_depth,
    )
    task = TaskBuilder(FEATURES, CLASSES, public).task(settings)
    holders = drawn(N, 100 + seed, misled=False, rare=rare)
    rng = np.random.default_rng(seed)
    return task, public, simulate_counts(task, holders.X, holders.y, rng)


def trial_of(task: Task, public: PublicData, question: QuestionCounts) -> LearnersTrial:
    knowledge = public_knowledge(public.X, public.y, class_count(task.label))
    means, points = knowledge.cell_means(question.partition)
    expected = Expected.classes(means, points, len(public))
    return LearnersTrial(question, expected, knowledge)


@pytest.mark.parametrize("collections", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_misleading_public_labels_are_learned_around(
    collections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The squared error falls by a fifth and more where the drift follows the wrong columns.

    In up to three collections on one population.
    """
    X = np.random.default_rng(0).random((2000, COLUMNS))
    truth = shares(X, misled=False)
    for seed in range(collections):
        task, public, questions = collected("classes", 2.0, seed, misled=True)
        with monkeypatch.context() as patched:
            patched.setattr("privet.learning.drift.fit.learn", lambda *_: None)
            drift = fit("drift", task.label, public, questions)
        learned = fit("drift", task.label, public, questions)
        before, after = (
            float(((model.predict(X).values - truth) ** 2).mean()) for model in (drift, learned)
        )
        assert after < 0.8 * before
        assert float(str(learned.facts["learned from cells"]).rstrip("%")) > 30
        np.testing.assert_array_equal(learned.standard_error, drift.standard_error)
        again = Model.from_document(json.loads(json.dumps(learned.to_document())))
        np.testing.assert_allclose(again.predict(X).values, learned.predict(X).values)
        for model in (learned, again):
            without = model.without_reports().predict(X).values
            np.testing.assert_allclose(without, drift.without_reports().predict(X).values)
        assert (learned.low <= learned.values).all()
        assert (learned.values <= learned.high).all()
        assert learned.base is not None
        assert learned.public_base is not None
        held = FittedModel("task", 1, 0.0, learned).nbytes
        assert held > learned.base.nbytes + learned.public_base.nbytes


def test_numbers_are_not_learned_from_strata() -> None:
    """A few records that are far off led these models to seven times the squared error (ADR 0121):
    one in 250 has 200 more, and is a stratum of its own in no tree."""
    rng, names = np.random.default_rng(5), ("x0", "x1", "x2")

    def records(n: int) -> PublicData:
        X = rng.random((n, COLUMNS))
        far = 200.0 * (X[:, 0] < 0.004) + 5.0 * np.sin(6.0 * X[:, 1]) + 3.0 * (X[:, 2] > 0.5)
        return PublicData(X, np.clip(far + rng.standard_normal(n), -10.0, 215.0))

    public, holders, test = records(400), records(3000), records(1000)
    label = Range(name="y", low=-10.0, high=215.0)
    error = {}
    for disclosed in ((), names):
        settings = TaskSettings(name="t", label="y", epsilon=1.0, holders=3000, disclosed=disclosed)
        task = TaskBuilder(FEATURES, label, public).task(settings)
        questions = simulate_counts(task, holders.X, holders.y, np.random.default_rng(0))
        model = fit("drift", label, public, questions)
        assert "learned from cells" not in model.facts
        error[disclosed] = float(((model.predict(test.X).values[:, 0] - test.y) ** 2).mean())
    assert error[names] < 1.1 * error[()]


def test_fair_public_labels_are_left_alone() -> None:
    """Without reports, and with reports too noisy to show that anything is better."""
    for seed in range(3):
        task, public, questions = collected("classes", 0.1, seed, misled=False)
        model = fit("drift", task.label, public, questions)
        none = fit("drift", task.label, public, list(map(unasked, questions)))
        assert "learned from cells" not in none.facts
        assert float(str(model.facts.get("learned from cells", "0%")).rstrip("%")) < 50


def test_parts_add_up_and_vary_as_thinned_ones() -> None:
    """What is kept and left out are the counts, and g_k - g has the variance (1 - 1/K) Var V / K.

    Then parts are uncorrelated. The mean square of the standardised values, some 400 with about
    300 degrees of freedom, strays .41 from 1 (5 sqrt(2 / 300)) with probability 6e-7.
    """
    task, public, (question,) = collected("classes", 1.0, 0, misled=False)
    trial = trial_of(task, public, question)
    pairs = list(trial.thinned())
    assert len(pairs) == PARTS
    for kept, left_out in pairs:
        np.testing.assert_allclose(kept + left_out, question.counts)
    parts = np.array([left_out for _, left_out in pairs])
    np.testing.assert_allclose(parts.sum(axis=0), question.counts, atol=1e-6)
    variance = np.diagonal(trial.covariance, axis1=1, axis2=2) / PARTS
    z2 = (parts - question.counts / PARTS) ** 2 / (variance * (1.0 - 1.0 / PARTS))
    assert z2.size > 300
    assert abs(z2.mean() - 1.0) < 0.41


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "epsilon"), [("classes", 1.0), ("rare classes", 8.0)])
def test_targets_vary_as_is_said(kind: str, epsilon: float) -> None:
    """Of a mixture of slots, over 30 collections of other holders and reports.

    The mean of some 30 x 100 squares, standardised, strays .14 from 1 with probability 1e-7.
    """
    contrast = np.array([1.0, -2.0, 0.5])
    found, stated = [], []
    for seed in range(30):
        task, public, (question,) = collected(kind, epsilon, seed, misled=False)
        trial = trial_of(task, public, question)
        data = trial.rows(question.counts, question.n)
        targets, variance = np.full((2, question.partition.cells), np.nan)
        targets[trial.cells] = data.T @ contrast
        variance[trial.cells] = np.einsum(
            "i,rij,j->r", contrast, trial.noise_of(question.n), contrast
        )
        found.append(targets)
        stated.append(variance)
    T = np.array(found)
    spread = ((T - np.nanmean(T, axis=0)) ** 2).sum(axis=0) / (len(T) - 1)
    ratio = float(np.nanmean(spread / np.nanmean(stated, axis=0)))
    assert 0.86 < ratio < 1.14


def rows(noise: float, cells: int = 300, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.random((cells, COLUMNS))
    p = shares(X, misled=False)
    return Rows(
        X,
        p + noise * rng.standard_normal(p.shape),
        np.full(cells, max(noise, 1e-3) ** -2),
        np.full(cells, 50.0),
        np.full_like(p, 1 / 3),
    )


def test_the_linear_model_finds_the_law_that_is_one() -> None:
    """Softmax of a linear map, from shares without noise, and no share below 0 with much."""
    exact = linear(rows(0.0)).model
    X = np.random.default_rng(9).random((100, COLUMNS))
    np.testing.assert_allclose(exact.predict(X), shares(X, misled=False), atol=5e-3)
    noisy = linear(rows(3.0)).model.predict(X)
    assert (noisy >= 0).all()
    np.testing.assert_allclose(noisy.sum(axis=1), 1.0)


@pytest.mark.parametrize("residual", [False, True])
def test_a_forest_as_arrays_predicts_what_scikit_learn_does(residual: bool) -> None:
    """At its own rows, as the sum of its trees, with the public model's means where residual."""
    data = rows(0.2)
    member = extra_trees(data, LEAVES[1], residual=residual)
    error = member.model.predict(data.X) + residual * data.public - shares(data.X, misled=False)
    assert np.sqrt((error**2).mean()) < 0.15


def test_each_tree_has_a_seed_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forest is to the bit that of trees which make a generator each; here one makes all."""
    from sklearn.tree import ExtraTreeRegressor  # slow to import

    data, (of_all,) = rows(0.2), extra_trees(rows(0.2), LEAVES[0], residual=False).model.components
    fit, made, seeds = ExtraTreeRegressor.fit, set[int](), np.random.RandomState(0)

    def alone(tree: ExtraTreeRegressor, *given: object, **named: object) -> ExtraTreeRegressor:
        made.add(id(tree.random_state))
        tree.set_params(random_state=seeds.randint(np.iinfo(np.int32).max))
        return fit(tree, *given, **named)

    monkeypatch.setattr(ExtraTreeRegressor, "fit", alone)
    (of_each,) = extra_trees(data, LEAVES[0], residual=False).model.components
    assert len(made) == 1
    assert isinstance(of_all, Trees)
    assert isinstance(of_each, Trees)
    for field in fields(Trees):
        assert np.array_equal(getattr(of_all, field.name), getattr(of_each, field.name))


def test_what_is_predicted_is_the_weighted_sum_of_the_members() -> None:
    """At points within cells, where the drift follows the public model by its mean slope."""
    task, public, (question,) = collected("classes", 2.0, 0, misled=True)
    trial, X = trial_of(task, public, question), np.random.default_rng(3).random((200, COLUMNS))
    drift = estimate_shift(question, trial.expected)
    assert drift.base_slope is not None
    learned = learn(question, trial.expected, trial.knowledge, drift)
    assert learned is not None
    weights, part = trial.judged()
    members, public_model = trial.fitted(trial.rows(question.counts, question.n)), trial.knowledge
    cells, f = locate(question.partition, X), public_model.model.predict(X)
    slope = np.average(drift.base_slope.mean(axis=1)[trial.cells], weights=trial.mass)
    own = 1.0 - part + part * weights[0]
    wanted = own * (drift.shares[cells] + slope * (f - trial.public[cells]))
    for weight, member in zip(part * weights[1:], members, strict=True):
        wanted += weight * (member.model.predict(X) + member.residual * f)
    given = learned.base.predict(X) + (learned.values - learned.base_values)[cells]
    np.testing.assert_allclose(given, wanted, atol=1e-6)
    of_public = [m.residual or m.model is public_model.model for m in members]
    assert learned.public == pytest.approx(part * weights[1:] @ of_public)
    assert 0.0 < own < 1.0


@pytest.mark.quick("1", "5")
@pytest.mark.parametrize("n", range(1, 6))
def test_very_few_reports_are_fitted(n: int) -> None:
    """Too few to leave a part of them out are not learned from."""
    task, public, _ = collected("classes", 2.0, 0, misled=True, hidden_depth=4)
    holders = drawn(n, 7, misled=False)
    questions = simulate_counts(task, holders.X, holders.y, np.random.default_rng(n))
    assert np.isfinite(fit("drift", task.label, public, questions).values).all()


def test_most_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    """With very many columns the linear model is left out, and the rest is fitted."""
    task, public, questions = collected("classes", 2.0, 0, misled=True)
    monkeypatch.setattr(cell_learners, "MOST_COEFFICIENTS", 1)
    model = fit("drift", task.label, public, questions)
    assert model.base is not None
    assert np.isfinite(model.values).all()
