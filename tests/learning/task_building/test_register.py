"""Tasks whose groups are counted in a register of the people asked."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from privet import PrivateTreeClassifier, plan
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.methods import fit
from privet.learning.public_model import candidates
from privet.learning.public_model.knowledge import (
    public_knowledge,
    reference_points,
    registered_points,
)
from privet.learning.simulation import simulate
from privet.learning.task_building.build import build_task
from privet.learning.task_building.register import STEP
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Range
from privet.protocol.task import Task
from tests.keeping import keeps

from .test_disclosure import columns

PEOPLE, DISCLOSED = 5000, ("age", "ward")
ASKED = columns(PEOPLE, seed=9)
REGISTER = {name: ASKED[name] for name in DISCLOSED}
PEOPLE_OF = Counter(zip(REGISTER["age"].tolist(), REGISTER["ward"], strict=True))
COUNTED: dict[str, Any] = {
    "age": np.array([age for age, _ in PEOPLE_OF]),
    "ward": [ward for _, ward in PEOPLE_OF],
    "count": [*PEOPLE_OF.values()],
}


def build(register: Any = REGISTER, **settings: Any) -> tuple[Task, PublicData]:
    values = {"name": "ward", "label": "ill", "epsilon": 1.0, "ignore": ("stay",)}
    given = {"disclosed": DISCLOSED, **values, **settings}
    return build_task(TaskSettings.model_validate(given), columns(), None, register)


@keeps(
    "threat-model: group sizes of a register are rounded down",
    in_="learning/task_building/register.py",
    instead_of="return int(people) // STEP * STEP",
    plant="return int(people)",
)
def test_groups_are_counted_in_it() -> None:
    """More of them than public records speak for, none too small, and rounded down."""
    task, public = build()
    assert public.register is not None
    assert task.strata is not None
    strata = task.strata.of_cell[locate(task.tree_of(0), public.register)]
    people = np.bincount(strata, minlength=len(task.strata))
    assert people.min() >= 20
    published = np.array(task.group_sizes)
    assert (published >= 20).all()
    assert (published % STEP == 0).all()
    assert ((people - published >= 0) & (people - published < STEP)).all()
    without, _ = build(None, holders=PEOPLE)
    assert len(task.group_sizes) > 2 * len(without.group_sizes)


@keeps(
    "threat-model: no person's value in a register is published",
    in_="learning/public_model/knowledge.py",
    instead_of="points[:, column] = values[middles.searchsorted(points[:, column])]",
    plant="pass",
)
def test_nobodys_value_is_published() -> None:
    """Thresholds lie between values of public records, so small changes of people change nothing;
    nor does the register shift what numbers are reported relative to."""
    task, public = build()
    assert build({**REGISTER, "age": REGISTER["age"] + 0.2})[0].id == task.id
    tree = task.tree_of(0)
    for column in np.unique(tree.feature[tree.feature >= 0]):
        values = np.unique(public.X[:, column])
        middles = (values[:, None] + values[None, :]) / 2.0
        for threshold in tree.threshold[tree.feature == column]:
            assert np.abs(middles - threshold).min() < 1e-6
    number, public = build(label="stay", ignore=("ill",), centred=True)
    (centring,) = [question.centring for question in number.questions]
    assert centring is not None
    means, _ = public_knowledge(public.X, public.y, 0).cell_means(number.tree_of(0))
    assert isinstance(number.label, Range)
    clipped = np.clip(means[:, 0], number.label.low, number.label.high)
    assert centring.centres == pytest.approx(clipped)


def test_reference_points_are_the_people_asked() -> None:
    """Of another age than the public records are; their hidden columns are public rows' own."""
    old = {
        name: np.asarray(values)[REGISTER["age"] > 70].tolist() for name, values in ASKED.items()
    }
    _, public = build({name: old[name] for name in DISCLOSED})
    assert public.register is not None
    points = registered_points(public.X, public.register)
    assert points[:, 0].min() > np.median(public.X[:, 0])
    for column in range(points.shape[1]):
        assert np.isin(points[:, column], public.X[:, column]).all()
    task, public = build({name: old[name] for name in ("age", "ward", "dose")}, disclosed=())
    assert task.group_sizes == ()
    assert public.register is not None
    assert not np.isnan(public.register).any()


def test_hidden_columns_are_of_all_rows_that_are_as_near() -> None:
    """Of two disclosed values each has 150 public rows, whose doses all come, and not five."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 150), rng.random((300, 2))])
    X[:, 1] **= 2.0 - X[:, 0]
    people = np.full((3000, 3), np.nan)
    people[:, 0] = rng.integers(2, size=3000)
    points = registered_points(X, people)
    for value in (0.0, 1.0):
        doses, public = points[points[:, 0] == value, 1], X[X[:, 0] == value, 1]
        assert len(np.unique(doses)) > 100
        assert doses.mean() == pytest.approx(public.mean(), abs=0.03)
        assert doses.std() == pytest.approx(public.std(), abs=0.03)


def test_no_more_points_are_public_rows_than_rows_repeat() -> None:
    """Of which the model has memorised the labels: no row repeats, and a third of the rows."""
    rng = np.random.default_rng(0)
    once = np.column_stack([rng.integers(3, size=200), rng.random((200, 2))]).astype(float)
    people = np.column_stack([rng.integers(3, size=3000), np.full((3000, 2), np.nan)]).astype(float)
    for X, repeats in ((once, 0.0), (np.vstack([once[:100], once[:50]]), 2 / 3)):
        rows = {tuple(row) for row in X}
        among = np.mean([tuple(row) in rows for row in registered_points(X, people)])
        assert among == pytest.approx(repeats, abs=0.005)


def test_of_many_public_rows_there_are_as_many_points_as_without_a_register() -> None:
    """And they are public rows alike, of which the model has memorised little: each person comes
    with the hidden columns of several."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(3, size=9000), rng.random((9000, 2))]).astype(float)
    people = np.column_stack([rng.integers(3, size=300), np.full((300, 2), np.nan)]).astype(float)
    rows = {tuple(row) for row in X}
    points = registered_points(X, people)
    assert len(points) == len(reference_points(X)) == 9000
    assert all(tuple(row) in rows for row in points)
    assert len(np.unique(points, axis=0)) > 5000


def test_a_fit_starts_from_it() -> None:
    """Without reports a cell's share is the public model's mean over the people there."""
    task, public = build(depth=2)
    reports = simulate(task, {name: values[:0] for name, values in ASKED.items()})
    model = fit("drift", task.label, public, reports, plain=True)
    known = public_knowledge(public.X, public.y, 2, None, public.register)
    means, _ = known.cell_means(task.tree_of(0))
    np.testing.assert_allclose(model.values, means, atol=0.02)


def test_a_table_of_counts_is_the_same_register() -> None:
    """As a statistics office has them; nobody is in a row of none, and a feature is no count."""
    _, one = build()
    empty: dict[str, Any] = {"age": 30.0, "ward": "eye", "count": 0}
    with_none = {name: [*values, empty[name]] for name, values in COUNTED.items()}
    for counted in (COUNTED, with_none, {**COUNTED, "count": [f"{n}.0" for n in COUNTED["count"]]}):
        _, other = build(counted)
        assert one.register is not None
        assert other.register is not None
        people = np.sort(one.register, axis=0)
        np.testing.assert_array_equal(people, np.sort(other.register, axis=0))
    counts, rows = columns(), {**columns(PEOPLE, seed=9), "count": ASKED["dose"]}
    named = {**counts, "count": counts["dose"]}
    task, public = build_task(
        TaskSettings(name="t", label="ill", epsilon=1.0, disclosed=("age", "count")),
        {name: named[name] for name in ("age", "count", "ill")},
        None,
        {name: rows[name] for name in ("age", "count")},
    )
    assert public.register is not None
    assert len(public.register) == PEOPLE
    assert task.group_sizes


@pytest.mark.usefixtures("planned_alone")
def test_a_plan_says_what_the_list_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many groups it allows in place of how many, as the plan without it has."""
    monkeypatch.setattr(candidates, "BOOSTING_COLUMNS", 0)
    asked: dict[str, Any] = {"label": "ill", "holders": 3000, "epsilon": 1.0, "ignore": ("stay",)}
    planned = plan(columns(), register=COUNTED, disclosed=DISCLOSED, **asked)
    counted, estimated = planned.disclosing[1].stratum_count, planned.strata_without_register
    assert estimated == plan(columns(), disclosed=DISCLOSED, **asked).disclosing[1].stratum_count
    assert estimated is not None
    assert counted > 2 * estimated
    assert planned.details[2].replace("\u00a0", " ") == (
        f"Disclosed groups are counted among the 5\u202f000 people of your list: {counted}; your "
        f"file alone "
        f"would allow {estimated}."
    )
    hidden = plan(columns(), **asked)
    assert hidden.details[2].startswith("Do you have a list of the people you ask, without their")


@keeps(
    "disclosed-columns: a register with answers is refused",
    in_="learning/task_building/register.py",
    instead_of="if label in columns:",
    plant="if False:",
)
@pytest.mark.parametrize(
    ("register", "message"),
    [
        ({"age": REGISTER["age"]}, "no column 'ward'"),
        ({**REGISTER, "ill": ASKED["ill"]}, "'ill', which is the label"),
        ({name: values[:39] for name, values in REGISTER.items()}, "39 people, which are not two"),
        ({**REGISTER, "age": ["old"] * PEOPLE}, "Row 1: .*must be a number"),
        ({**REGISTER, "ward": ["nose"] * PEOPLE}, "Row 1: .*one of eye, heart, lung"),
        ({**REGISTER, "age": 12 * REGISTER["age"]}, "another unit, or of other people"),
        ({**REGISTER, "id": ["a"] * PEOPLE, "age": np.full(PEOPLE, 50.0)}, "equal in every column"),
        ({**REGISTER, "Count": [1.5] * PEOPLE}, "no whole number of people in row 1: 'Count'"),
        ({**REGISTER, "count": [-3] * PEOPLE}, "no whole number of people in row 1"),
        ({**REGISTER, "count": [None] * PEOPLE}, "no whole number of people in row 1"),
        ({**REGISTER, "count": [1] * PEOPLE, "Count": [1] * PEOPLE}, "two columns 'count'"),
        ({**REGISTER, "count": [1000] * PEOPLE}, "5000000 people, and at most 2000000"),
        ({name: values[:1] for name, values in COUNTED.items()}, "people, which are not two"),
        ({**REGISTER, "id": [*range(1, PEOPLE), 7]}, "Rows 7 and 5000 .* have the same 'id'"),
    ],
)
def test_what_is_no_register(register: dict[str, Any], message: str) -> None:
    """A clear refusal, before anything is kept."""
    with pytest.raises(InvalidPublicData, match=message):
        build(register)


def test_more_reports_than_people_are_not_expected() -> None:
    """All people are, where nothing is said; columns that are not disclosed are not kept."""
    with pytest.raises(InvalidPublicData, match="5000 people, and 5001 are expected"):
        build(holders=PEOPLE + 1)
    towns = [str(i % 99) for i in range(PEOPLE)]
    ids = [str(i) for i in range(PEOPLE)]
    _, public = build({**REGISTER, "dose": ASKED["dose"], "id": ids, "town": towns})
    assert public.register is not None
    assert np.isnan(public.register[:, 1]).all()
    halves, _ = build(holders=PEOPLE // 2)
    assert min(halves.group_sizes) >= 20
    assert sum(halves.group_sizes) <= PEOPLE // 2


def test_the_classes_take_it() -> None:
    """A simulated collection counts its groups in it."""
    rng = np.random.default_rng(4)
    X, X_public = rng.random((500, 2)), rng.random((60, 2))
    y, y_public = (rng.random(len(rows)) < rows[:, 0] for rows in (X, X_public))
    public = X_public, y_public
    tree = PrivateTreeClassifier(2.0, grower="cart", depth=5, estimator="weighted")
    tree.set_params(disclosed=["x0", "x1"], random_state=0)
    few = len(tree.fit(X, y, public=public).task_.group_sizes)
    assert len(tree.fit(X, y, public=public, register=X).task_.group_sizes) > few
    with pytest.raises(ValueError, match="shape"):
        tree.fit(X, y, public=public, register=X[:, :1])


@pytest.mark.slow
def test_plans_take_it() -> None:
    """A plan's tasks have groups that public records do not speak for."""
    given: dict[str, Any] = {"label": "ill", "epsilon": 1.0, "holders": PEOPLE, "ignore": ["stay"]}
    given |= {"depth": 3, "hidden_depth": 0, "smallest_group": 400, "disclosed": list(DISCLOSED)}
    public = {name: list(values) for name, values in columns(60).items()}
    few, more = (plan(public, register=register, **given) for register in (None, REGISTER))
    assert more.disclosing[1].stratum_count > few.disclosing[1].stratum_count
