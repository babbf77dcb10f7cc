"""The driver of the papers' experiments: kept results, the best point, missing sets, the page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet.baselines import LPCTClassifier
from scripts.reproduce import contestants, driver, paper_page
from scripts.reproduce.contestants import METHODS
from scripts.reproduce.datasets import CLASSIFICATION, REGRESSION, Split
from scripts.reproduce.experiments import EXPERIMENTS, Experiment, Job, jobs
from scripts.reproduce.problems import PROBLEMS, split_of

PLUGIN = """
from pathlib import Path
from scripts.reproduce.contestants import METHODS
from scripts.reproduce.experiments import EXPERIMENTS, Experiment, jobs

def constant(split, epsilon, seed):
    with Path("{log}").open("a") as stream:
        stream.write("ran ")
    for point in (1, 2, 3):
        yield "constant", {{"point": point}}, point % 3 + 0.1 * seed

METHODS["constant"] = constant
EXPERIMENTS.append(
    Experiment(
        "tiny",
        "A tiny experiment",
        (
            *jobs("sine", ("constant",), (1.0, 2.0), n_private=(20,), n_public=(5,)),
            *jobs("rice", ("constant",), (1.0,)),
        ),
        x="epsilon",
        line=("series",),
        series=("constant",),
        replications=2,
        published={{("constant", 1.0): 1.0, ("constant", 2.0): 2.04}},
    )
)
"""


def test_every_experiment_names_methods_and_problems_that_exist() -> None:
    """And its published numbers belong to its lines."""
    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS)
    for experiment in EXPERIMENTS:
        assert {job.method for job in experiment.jobs} <= set(METHODS)
        assert {job.problem for job in experiment.jobs} <= set(PROBLEMS)
        for key in experiment.published:
            assert len(key) == len(experiment.line) + 1
            assert experiment.line != ("series",) or key[0] in experiment.series


def test_results_are_kept_and_missing_sets_named(tmp_path: Path) -> None:
    """A researcher's file adds a method and an experiment; the second run measures nothing."""
    pytest.importorskip("matplotlib")
    plugin, log = tmp_path / "mine.py", tmp_path / "log"
    plugin.write_text(PLUGIN.format(log=log))
    known = len(EXPERIMENTS)
    driver.load(plugin)
    (tiny,) = EXPERIMENTS[known:]
    try:
        for _ in range(2):
            scores, skipped = driver.run(
                [tiny], tmp_path, tmp_path / "kept", n_jobs=1, plugin=plugin
            )
            assert log.read_text() == "ran " * 4
    finally:
        del EXPERIMENTS[known:], METHODS["constant"]
    assert list(skipped) == ["rice"]
    table = driver.summarized(tiny, scores)
    assert table["point"].tolist() == [2, 2]
    assert table["mean"].tolist() == pytest.approx([2.05, 2.05])
    text = paper_page.results_page(
        [tiny], {"tiny": table}, skipped, folder=tmp_path, results=tmp_path / "csv"
    )
    assert "missing: rice" in text
    assert "**2.05 ± 0.05** *(1)*" in text
    assert "| 2 | 2.05 ± 0.05 *(2.04)* |" in text
    assert (tmp_path / "figures" / "tiny.svg").read_text().startswith("<?xml")
    assert len(pd.read_csv(tmp_path / "csv" / "tiny.csv")) == 2


def test_a_point_wins_by_its_mean_over_all_replications() -> None:
    """Not by the best of each; and rows of other jobs with the same method do not count."""
    ours, other = Job("sine", "m", 1.0), Job("sine", "m", 1.0, (("n_public", 5.0),))
    rows = [
        (repr(job), "sine", 1.0, "s", depth, seed, score)
        for job, depth, scores in ((ours, 1, (5.0, 1.0)), (ours, 2, (2.0, 2.0)), (other, 3, (0, 0)))
        for seed, score in enumerate(scores)
    ]
    columns = ["job", "problem", "epsilon", "series", "depth", "seed", "score"]
    experiment = Experiment(
        "e", "E", (ours,), x="epsilon", line=("series",), series=("s",), replications=2, best="min"
    )
    table = driver.summarized(experiment, pd.DataFrame(rows, columns=columns))
    assert table[["depth", "mean", "replications"]].to_numpy().tolist() == [[2, 2.0, 2]]


@pytest.mark.parametrize("name", ["design", "sine", "noisy threshold"])
def test_problems_without_files(name: str) -> None:
    """The same seed gives the same split, in [0, 1], of the sizes asked for."""
    settings = {
        "design": (("gamma", 0.5), ("n_public", 30), ("n_private", 200), ("scaled", "public")),
        "sine": (("n_private", 200), ("n_public", 0)),
        "noisy threshold": (("n_private", 200), ("n_public", 30)),
    }[name]
    first, again = (split_of.__wrapped__(name, settings, Path("none"), 3) for _ in range(2))
    assert np.array_equal(first.private.X, again.private.X)
    assert len(first.private) == 200
    for part in (first.public, first.private, first.test):
        assert part.X.min() >= 0
        assert part.X.max() <= 1


def test_lpct_is_scored_by_cell_as_by_row() -> None:
    """The sums per cell give the accuracy of the model's own predictions."""
    split: Split = PROBLEMS["design"](Path("none"), 0, gamma=0.5, n_public=50, n_private=2000)
    lpct = contestants.Lpct("LPCT", "max_edge", (3,), (0,))
    found = {name: value for name, point, value in lpct(split, 2.0, 1) if point["weight"] in (0, 1)}
    for name, weight in (("LPCT-P", 0.0), ("LPCT", 1.0)):
        model = LPCTClassifier(2.0, depth=3, weight=weight, random_state=1)
        assert found[name] == pytest.approx(
            contestants.score(contestants.fitted(model, split), split)
        )


def test_public_names_of_the_sets() -> None:
    """Every set of the tables is a problem."""
    assert {*CLASSIFICATION, *REGRESSION} <= set(PROBLEMS)


def test_one_value_per_setting_is_a_list() -> None:
    """Jobs are all combinations; a method without privacy is run once, at ε = 0."""
    made = jobs("sine", ("DT", "LPDT-M"), (1.0, 2.0), n_private=(10,), n_public=(5, 6))
    assert len(set(made)) == 2 + 4
    assert {job.epsilon for job in made if job.method == "DT"} == {0.0}
