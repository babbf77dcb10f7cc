"""Tasks with shown columns, from an admin's settings."""

from typing import Any

import numpy as np
import pytest

from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.drift.knowledge import public_knowledge
from privet.learning.methods import fit
from privet.learning.simulation import simulate
from privet.learning.task_building.build import MOST_HIDDEN_LEVELS, build_task
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidTask, PrivetError
from privet.protocol.mechanisms import ShownMechanism
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


def published(label: str = "ill", **settings: Any) -> tuple[Task, PublicData]:
    other = {"ill": "stay", "stay": "ill"}[label]
    values = {"name": "ward", "label": label, "epsilon": 1.0, "holders": 5000, "ignore": (other,)}
    return build_task(TaskSettings(**{**values, **settings}), columns())


def build(label: str = "ill", **settings: Any) -> Task:
    return published(label, **settings)[0]


@pytest.mark.parametrize("label", ["ill", "stay"])
@pytest.mark.parametrize("grower", ["distilled", "cart", "max_edge"])
def test_a_task_with_some_columns_shown(grower: str, label: str) -> None:
    """It is canonical, its crowds add up to all, and each is large enough."""
    task = build(label, grower=grower, shown=("age", "ward"), depth=5, hidden_depth=1)
    assert Task.parse(task.canonical, task.id) == task
    assert task.shown == ("age", "ward")
    assert task.shown_cells is not None
    (mechanism,) = task.mechanisms
    assert isinstance(mechanism, ShownMechanism)
    assert mechanism.shown_cells == len(task.crowds) == len(task.shown_cells) > 1
    assert mechanism.inner.cells <= 2
    assert min(task.crowds) >= 20
    assert sum(task.crowds) == pytest.approx(5000, abs=len(task.crowds))
    assert task.log_ratio <= task.epsilon


def test_a_crowd_of_one_asks_no_public_record_to_vouch() -> None:
    """Shown cells may be more than public records, and hold none of them; not so a crowd of two."""
    every = ("age", "ward", "dose")
    alone, two = (build(shown=every, crowd=crowd, depth=10) for crowd in (1, 2))
    assert len(alone.crowds) == 2**10
    assert min(alone.crowds) == 0
    assert min(two.crowds) >= 2


def test_by_default_hidden_columns_get_as_few_levels_as_will_do() -> None:
    """A tenth of the public model's variation more, left in the cells, is worth a level less."""
    trees = [
        build(shown=("age", "ward"), hidden_depth=level).tree_of(0)
        for level in range(MOST_HIDDEN_LEVELS + 1)
    ]
    public = published()[1]
    known = public_knowledge(public.X, public.y, 2)

    def left(tree: Partition) -> float:
        cells, total = locate(tree, known.points), 0.0
        for cell in np.unique(cells):
            inside = known.scores[cells == cell]
            total += ((inside - inside.mean(axis=0)) ** 2).sum()
        return float(total)

    most = min(map(left, trees)) + 0.1 * left(Partition.root(public.X.shape[1]))
    chosen = build(shown=("age", "ward")).tree_of(0)
    few = next(tree for tree in trees if left(tree) <= most)
    assert left(chosen) == left(few)
    assert chosen.cells == few.cells


def test_all_columns_shown_have_more_cells_than_none() -> None:
    """Every cell is a shown one."""
    every = build(shown=("age", "ward", "dose"))
    assert every.mechanisms[0].shown_cells == every.tree_of(0).cells > build().tree_of(0).cells


def test_nothing_shown_is_the_task_of_before() -> None:
    """Byte for byte, without a field that says so."""
    assert build(shown=()).canonical == build().canonical
    assert b"shown" not in build().canonical
    assert b"crowds" not in build().canonical


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shown": ("ill",)}, "The label 'ill' cannot be shown"),
        ({"shown": ("height",)}, "'height' to be shown: the features are age, dose, ward"),
        ({"shown": ("stay",)}, "no column 'stay'"),
        ({"shown": ("age", "age")}, "named twice"),
        ({"shown": ("age",), "questions": [{}, {"asks": "cell"}]}, "one question"),
        ({"shown": ("age",), "questions": [{"asks": "cell"}]}, "about the label"),
        ({"shown": ("age",), "grower": "cart"}, "hidden_depth"),
        ({"shown": ("age",), "crowd": 0}, "crowd"),
        ({"crowd": 5}, "are for shown columns"),
        ({"hidden_depth": 2}, "are for shown columns"),
    ],
)
def test_what_cannot_be_shown(settings: dict[str, Any], message: str) -> None:
    """A clear refusal before anything is published."""
    with pytest.raises((PrivetError, ValueError), match=message):
        build(**settings)


@pytest.mark.parametrize("crowds", [(), (1, 2), (1,) * 1000])
def test_a_task_has_a_crowd_for_each_shown_cell(crowds: tuple[int, ...]) -> None:
    """Hostile or damaged tasks do not pass, nor do crowds where nothing is shown."""
    task = build(shown=("age", "ward"))
    assert len(task.crowds) > 2
    with pytest.raises(InvalidTask, match="crowds"):
        task.model_copy(update={"crowds": crowds})
    with pytest.raises(InvalidTask, match="crowds"):
        build().model_copy(update={"crowds": (5000,)})


@pytest.mark.parametrize("label", ["ill", "stay"])
@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [("drift", {}), ("weighted", {}), ("weighted", REPORTS_ALONE), ("weighted", PUBLIC_ALONE)],
)
@pytest.mark.parametrize("shown", [("age", "ward"), ("age", "dose", "ward")])
def test_estimators_serve_shown_columns(
    estimator: str, parameters: dict[str, Any], label: str, shown: tuple[str, ...]
) -> None:
    """Every estimator of one question fits, and without noise the reports alone are the truth."""
    task, public = published(label, shown=shown, epsilon=30.0, depth=4)
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
