"""Simulated collections: the same numbers wherever they are computed, and right ones."""

import math
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from privet.protocol.errors import InvalidTask
from privet.protocol.features import ColumnValues
from scripts import pages
from scripts import simulate as command
from scripts.reproduce.lpct_design import bayes_accuracy
from scripts.simulate import Design, Job, Outcome, Records, grid, simulate, sweep, take

SOURCE = Design(rows=100)
QUICK = {"grower": "max_edge", "estimator": "weighted"}


def stripes(rows: int = 400) -> Records:
    """Records whose label depends on one of two features, and not on the colour."""
    rng = np.random.default_rng(0)
    x = rng.random(rows)
    columns: dict[str, ColumnValues] = {
        "x": x,
        "colour": [str(name) for name in rng.choice(["red", "blue"], rows)],
        "label": ["high" if value > 0.5 else "low" for value in x],
    }
    return Records(columns, "label")


def jobs() -> list[Job]:
    return grid(epsilon=[0.5, 2.0], mechanism=["subset", "laplace"], depth=[3], seed=[0, 1])


def test_a_grid_has_every_combination_once() -> None:
    """Values are combined, the last one fastest; a setting that is not named keeps its default."""
    found = grid(epsilon=[1.0, 2.0], seed=[0, 1])
    assert [(job.epsilon, job.seed) for job in found] == [(1.0, 0), (1.0, 1), (2.0, 0), (2.0, 1)]
    assert {job.depth for job in found} == {None}


def test_a_job_depends_on_itself_alone() -> None:
    """Alone or in a sweep, in whatever order, a job gives the same; another seed another."""
    every, source = jobs(), stripes()
    outcomes = sweep(source, every)
    assert outcomes == list(reversed(sweep(source, every[::-1])))
    assert simulate(source, every[3]) == outcomes[3]
    assert outcomes[0].score != outcomes[1].score


def test_jobs_of_one_seed_share_their_public_records() -> None:
    """Settings are compared on equal worlds: in equal cells the public score is the same."""
    outcomes = sweep(stripes(), jobs())
    for seed in (0, 1):
        assert len({o.public_score for o in outcomes if o.job.seed == seed}) == 1


@pytest.mark.slow
def test_processes_give_the_serial_numbers() -> None:
    """Two processes give exactly what a plain loop gives."""
    serial = [simulate(stripes(), job) for job in jobs()]
    assert sweep(stripes(), jobs(), workers=2) == serial


@pytest.mark.slow
def test_a_dask_cluster_gives_the_serial_numbers() -> None:
    """A real local cluster gives exactly what a plain loop gives."""
    distributed = pytest.importorskip("distributed")
    serial = [simulate(stripes(), job) for job in jobs()]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        found = sweep(stripes(), jobs(), scheduler=cluster.scheduler_address)
    assert found == serial


@pytest.mark.parametrize("chosen", [QUICK, pytest.param({}, marks=pytest.mark.slow)])
def test_a_billion_holders_nearly_reach_the_best_possible(chosen: dict[str, str]) -> None:
    """10**9 holders at depth 8 come within two points of Bayes, far above public records alone."""
    found = simulate(SOURCE, Job(holders=10**9, epsilon=1.0, depth=8, **chosen))  # type: ignore[arg-type]
    assert bayes_accuracy() - 0.02 < found.score <= bayes_accuracy() + 1e-9
    assert found.public_score < found.score - 0.05
    assert found.cells == 256


def test_people_of_the_design_follow_its_law() -> None:
    """Weights of all records add up to 1, and labels 1 have the mean of eta."""
    world = SOURCE.world(0)
    ones = np.asarray(world.holders["y"]) == 1.0
    assert math.isclose(world.holder_weights.sum(), 1.0)
    assert 0.3 < world.holder_weights[ones].sum() < 0.7
    assert len(world.public["y"]) == 100


def test_a_table_is_split_without_overlap() -> None:
    """Public, holders' and test rows of one table are different rows, and all of them."""
    columns: dict[str, ColumnValues] = {"row": np.arange(200.0), "label": ["a", "b"] * 100}
    world = Records(columns, "label", public_share=0.25, test_share=0.4).world(3)
    parts = [world.public["row"], world.holders["row"], world.test["row"]]
    assert [len(part) for part in parts] == [50, 90, 60]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), columns["row"])


def test_a_population_of_its_own_leaves_the_public_table_whole() -> None:
    """With two tables the first is public as it is."""
    source = stripes()
    world = replace(source, population=take(source.columns, np.arange(100))).world(0)
    assert (len(world.public["x"]), len(world.holders["x"]), len(world.test["x"])) == (400, 80, 20)


def test_text_features_and_labels_are_learned() -> None:
    """A table with texts becomes a task; with many holders the label is predicted nearly always."""
    found = simulate(stripes(), Job(holders=10**6, epsilon=2.0, depth=4, grower="cart"))
    assert found.measure == "accuracy"
    assert found.score > 0.9


def test_numbers_are_judged_by_squared_error() -> None:
    """A numeric label is predicted with an error well below its variance."""
    x = np.random.default_rng(1).random(500)
    source = Records({"x": x, "other": x[::-1].copy(), "y": 10 * x}, "y")
    job = Job(holders=10**6, epsilon=2.0, depth=4, grower="cart", estimator="weighted")
    found = simulate(source, job)
    assert found.measure == "mse"
    assert found.score < 0.25 * np.var(10 * x)


def test_settings_of_any_task_are_taken() -> None:
    """Two questions, declared classes: the settings file's words are those of a task."""
    settings = {"questions": [{"depth": 3}, {"depth": 1}], "classes": ["high", "low"]}
    job = Job(epsilon=1.0, estimator="pruned", grower="cart")
    found = simulate(stripes(), job, settings)
    one = simulate(stripes(), replace(job, depth=3))
    assert found.report_bytes > one.report_bytes
    with pytest.raises(InvalidTask, match="grower"):
        simulate(stripes(), Job(grower="oak"))


QUICKLY = ("--depth", "2", "--grower", "max_edge", "--estimator", "private", "--workers", "1")


def run(*options: str, columns: str = "200") -> str:
    app = typer.Typer()
    app.command()(command.main)
    result = CliRunner().invoke(app, list(options), env={"COLUMNS": columns})
    assert result.exit_code in (0, 2), result.output
    return result.output


def test_the_command_writes_what_it_shows(tmp_path: Path) -> None:
    """The table has a line per combination, the files a row per collection."""
    shown = run("--holders", "1e4,1e5", "--seeds", "0-1", *QUICKLY, "--out", str(tmp_path))
    assert "1e+04" in shown
    assert "1e+05" in shown
    rows = pages.read(tmp_path / "simulate.csv")
    found = [(row["holders"], row["seed"]) for row in rows]
    assert found == [(holders, seed) for holders in ("10000", "100000") for seed in ("0", "1")]


def test_a_table_on_the_command_line(tmp_path: Path) -> None:
    """A CSV file and its label are enough; without the label the columns are listed."""
    file = tmp_path / "people.csv"
    lines = [f"{i / 100},{'yes' if i > 50 else 'no'}" for i in range(100)]
    file.write_text("\n".join(["x,smokes", *lines]))
    common = ("--public", str(file), *QUICKLY, "--out", str(tmp_path))
    assert "accuracy" in run(*common, "--label", "smokes", "--public-share", "0.5")
    assert "smokes" in run(*common)


@pytest.mark.parametrize(
    ("option", "value", "advice"),
    [
        ("--holders", "many", "numbers with commas between them"),
        ("--holders", "1.5", "whole number of at least 1"),
        ("--holders", "inf", "whole number of at least 1"),
        ("--epsilon", "1;2", "numbers with commas between them"),
        ("--epsilon", "-1", "epsilon"),
        ("--mechanism", "magic", "mechanism"),
    ],
)
def test_mistakes_are_refused_with_advice(option: str, value: str, advice: str) -> None:
    """A value that cannot be simulated is refused with what to give instead."""
    assert advice in run(option, value, "--workers", "1")


def test_tables_average_over_seeds() -> None:
    """Outcomes that differ in their seed only make one line, with a standard error."""
    one = Outcome(Job(), "accuracy", 0.5, 0.4, 8, 2, 1.0)
    other = Outcome(Job(seed=1), "accuracy", 0.7, 0.4, 8, 2, 1.0)
    shown = command.table([one, other])
    assert shown.row_count == 1
    scores = next(c for c in shown.columns if c.header == "accuracy")
    assert list(scores.cells) == ["0.6000 ± 0.1000"]


def test_a_piped_table_is_whole_and_its_files_say_what_made_them(tmp_path: Path) -> None:
    """Nothing is cut however narrow the screen; rows have the version and population's settings."""
    asked = ("--holders", "1e4", "--epsilon", "1", "--mechanism", "subset", *QUICKLY)
    population = ("--n-public", "50", "--gamma", "2", "--out", str(tmp_path))
    shown = run(*asked, *population, columns="30")
    assert "…" not in shown
    assert "public alone" in shown
    (row,) = pages.read(tmp_path / "simulate.csv")
    assert (row["version"], row["gamma"], row["n_public"]) == (version("privet"), "2.0", "50")
