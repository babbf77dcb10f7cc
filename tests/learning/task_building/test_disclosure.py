"""Tasks with disclosed columns, from an admin's settings."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.methods import fit
from privet.learning.public_model.knowledge import public_knowledge
from privet.learning.simulation import simulate
from privet.learning.task_building.build import (
    MOST_HIDDEN_LEVELS,
    build_task,
)
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidTask, PrivetError
from privet.protocol.mechanisms import StratifiedMechanism
from privet.protocol.partition import Partition
from privet.protocol.task import Task

from ..examples import PUBLIC_ALONE, REPORTS_ALONE


def columns(rows: int = 300, seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age, dose = rng.integers(20, 90, rows), rng.random(rows)
    ward = rng.choice(["heart", "lung", "eye"], rows)
    risk = 1 / (1 + np.exp(-(age - 55) / 10 - 2 * (ward == "heart") - 2 * (dose - 0.5)))
    ill = np.where(rng.random(rows) < risk, "yes", "no")
    return {
        "age": age.astype(float),
        "dose": dose,
        "ward": ward.tolist(),
        "ill": ill.tolist(),
        "stay": np.round(20 * risk + rng.random(rows), 2),
    }


def made(label: str = "ill", **settings: Any) -> tuple[Task, PublicData]:
    other = {"ill": "stay", "stay": "ill"}[label]
    values = {"name": "ward", "label": label, "epsilon": 1.0, "holders": 5000, "ignore": (other,)}
    return build_task(TaskSettings(**{**values, **settings}), columns())


published = cache(made)


def build(label: str = "ill", **settings: Any) -> Task:
    return published(label, **settings)[0]


@pytest.mark.parametrize("label", ["ill", "stay"])
@pytest.mark.parametrize("grower", ["distilled", "cart", "max_edge"])
def test_a_task_with_some_columns_disclosed(grower: str, label: str) -> None:
    """It is canonical, its groups add up to all, and each is large enough."""
    task = build(label, grower=grower, disclosed=("age", "ward"), depth=5, hidden_depth=1)
    assert Task.parse(task.canonical, task.id) == task
    assert task.disclosed == ("age", "ward")
    assert task.strata is not None
    (mechanism,) = task.mechanisms
    assert isinstance(mechanism, StratifiedMechanism)
    assert mechanism.stratum_count == len(task.group_sizes) == len(task.strata) > 1
    assert mechanism.inner.cells <= 2
    assert min(task.group_sizes) >= 20
    assert sum(task.group_sizes) == pytest.approx(5000, abs=len(task.group_sizes))
    assert task.log_ratio <= task.epsilon


def test_a_group_of_one_asks_no_public_record_to_vouch() -> None:
    """Strata may be more than public records, and hold none of them; not so a group of two."""
    every = ("age", "ward", "dose")
    alone, two = (build(disclosed=every, smallest_group=size, depth=10) for size in (1, 2))
    assert len(alone.group_sizes) == 2**10
    assert min(alone.group_sizes) == 0
    assert min(two.group_sizes) >= 2


@pytest.mark.parametrize(("epsilon", "worth"), [(1.0, 0.1), (2.0, 0.1), (6.0, 0.0117)])
def test_by_default_hidden_columns_get_as_few_levels_as_will_do(
    epsilon: float, worth: float
) -> None:
    """A tenth of the public model's variation more, left in the cells, is worth a level less; with
    less noise than at epsilon 2 in proportion less."""
    given: dict[str, Any] = {"disclosed": ("age", "ward"), "epsilon": epsilon}
    trees = [
        build(**given, hidden_depth=level).tree_of(0) for level in range(MOST_HIDDEN_LEVELS + 1)
    ]
    public = published()[1]
    known = public_knowledge(public.X, public.y, 2)

    def left(tree: Partition) -> float:
        cells, total = locate(tree, known.points), 0.0
        for cell in np.unique(cells):
            inside = known.scores[cells == cell]
            total += ((inside - inside.mean(axis=0)) ** 2).sum()
        return float(total)

    def few(worth: float) -> Partition:
        most = min(map(left, trees)) + worth * left(Partition.root(public.X.shape[1]))
        return next(tree for tree in trees if left(tree) <= most)

    chosen = build(**given).tree_of(0)
    assert (left(chosen), chosen.cells) == (left(few(worth)), few(worth).cells)
    assert (few(worth).cells != few(0.1).cells) == (epsilon > 2.0)


@pytest.mark.parametrize("label", ["ill", "stay"])
def test_a_part_is_asked_for_the_label_alone_where_groups_hide_many_cells(label: str) -> None:
    """By default with eight cells in a group, not with two or one; a part that is set holds where a
    group has more than one."""
    given: dict[str, Any] = {"disclosed": ("age",), "epsilon": 2.0}
    many, two, one = (build(label, **given, depth=5, hidden_depth=level) for level in (3, 1, 0))
    assert many.parts == (13, 7)
    assert many.tree_of(1).cells == len(many.group_sizes) > 1
    assert [len(task.questions) for task in (two, one)] == [1, 1]
    asked = [
        build(label, **given, depth=5, hidden_depth=level, label_part=0.5) for level in (3, 1, 0)
    ]
    assert [task.parts for task in asked] == [(1, 1), (1, 1), ()]


def test_all_columns_disclosed_have_more_cells_than_none() -> None:
    """Every cell is a disclosed one."""
    every = build(disclosed=("age", "ward", "dose"))
    assert every.mechanisms[0].stratum_count == every.tree_of(0).cells > build().tree_of(0).cells


@pytest.mark.parametrize("label", ["ill", "stay"])
def test_columns_are_hidden_where_levels_below_groups_tell_more(label: str) -> None:
    """The half that explains less, where noise is small; never with levels that are given."""
    every = ("age", "dose", "ward")
    noisy, clear = (build(label, disclosed=every, epsilon=epsilon) for epsilon in (1.0, 8.0))
    assert (noisy.disclosed, clear.disclosed) == (every, ("age", "ward"))
    assert len(clear.group_sizes) < clear.tree_of(0).cells
    assert min(clear.group_sizes) >= 20
    given: tuple[dict[str, Any], ...] = (
        {"depth": 6},
        {"hidden_depth": 0},
        {"grower": "cart"},
        {"smallest_group": 1},
        {"questions": [{"depth": 6}]},
        {"questions": [{"grower": "cart"}]},
    )
    for levels in given:
        assert made(label, disclosed=every, epsilon=8.0, **levels)[0].disclosed == every


def test_nothing_disclosed_is_the_task_of_before() -> None:
    """Byte for byte, without a field that says so."""
    assert build(disclosed=()).canonical == build().canonical
    assert b"disclosed" not in build().canonical
    assert b"group_sizes" not in build().canonical


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"disclosed": ("ill",)}, "The label 'ill' cannot be disclosed"),
        (
            {"disclosed": ("height",)},
            "'height' to be disclosed: the features are 'age', 'dose', 'ward'",
        ),
        ({"disclosed": ("stay",)}, "no column 'stay'"),
        ({"disclosed": ("age", "age")}, "named twice"),
        ({"disclosed": ("age",), "questions": [{}, {"asks": "cell"}]}, "one question"),
        ({"disclosed": ("age",), "questions": [{"asks": "cell"}]}, "about the label"),
        ({"disclosed": ("age",), "grower": "cart"}, "hidden_depth"),
        ({"disclosed": ("age",), "smallest_group": 0}, "smallest_group"),
        ({"smallest_group": 5}, "need disclosed columns"),
        ({"hidden_depth": 2}, "need disclosed columns"),
    ],
)
def test_what_cannot_be_disclosed(settings: dict[str, Any], message: str) -> None:
    """A clear refusal before anything is published."""
    with pytest.raises((PrivetError, ValueError), match=message):
        made(**settings)


@pytest.mark.parametrize("group_sizes", [(), (1, 2), (1,) * 1000])
def test_a_task_has_a_group_size_for_each_stratum(group_sizes: tuple[int, ...]) -> None:
    """Hostile or damaged tasks do not pass, nor do groups where nothing is disclosed."""
    task = build(disclosed=("age", "ward"))
    assert len(task.group_sizes) > 2
    with pytest.raises(InvalidTask, match="group sizes"):
        task.model_copy(update={"group_sizes": group_sizes})
    with pytest.raises(InvalidTask, match="group sizes"):
        build().model_copy(update={"group_sizes": (5000,)})


@pytest.mark.quick("*-weighted-*", "disclosed1-drift-*-ill")
@pytest.mark.parametrize("label", ["ill", "stay"])
@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [("drift", {}), ("weighted", {}), ("weighted", REPORTS_ALONE), ("weighted", PUBLIC_ALONE)],
)
@pytest.mark.parametrize("disclosed", [("age", "ward"), ("age", "dose", "ward")])
def test_estimators_serve_disclosed_columns(
    estimator: str, parameters: dict[str, Any], label: str, disclosed: tuple[str, ...]
) -> None:
    """Every estimator of one question fits, and without noise the reports alone are the truth."""
    task, public = published(label, disclosed=disclosed, epsilon=30.0, depth=4)
    questions = simulate(task, columns(4000, seed=4), seed=1)
    model = fit(estimator, task.label, public, questions, **parameters)
    assert np.isfinite(model.values).all()
    assert (model.low <= model.values).all()
    assert (model.values <= model.high).all()
    if parameters is REPORTS_ALONE and label == "ill":
        (question,) = questions
        np.testing.assert_allclose(question.counts, np.rint(question.counts), atol=0.1)
        truth = question.counts[:, 1] / question.counts.sum(axis=1)
        np.testing.assert_allclose(model.values[:, 1], truth, atol=1e-2)
