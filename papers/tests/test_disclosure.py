"""What disclosing columns gains: who reports, what is known, scores by the law, and the holders
needed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet.learning.core.public_data import PublicData
from privet.learning.core.strata import least_rows
from privet.protocol.features import Classes
from reproduce import ROOT, derived, pages, problems
from reproduce.contestants import value_scores
from reproduce.datasets import Split, take
from reproduce.derived import FOREST
from reproduce.disclosure import ALONE, HALF, HIDDEN, LABEL, TREE_OF_HISTOGRAMS
from reproduce.experiment import EXPECTED
from reproduce.experiments import EXPERIMENTS
from reproduce.methods import METHODS
from reproduce.problems import PROBLEMS
from tests.small_models import small_public_models

__all__ = ["small_public_models"]

(SCORES,) = (e for e in EXPERIMENTS if e.name == "disclosed-scores")
(HOLDERS,) = (e for e in EXPERIMENTS if e.name == "disclosed-holders")
(RULE,) = (e for e in EXPERIMENTS if e.name == "disclosed-rule")


def test_fewer_holders_are_some_of_all() -> None:
    """The survey has its one test set in every replication; known are three of its columns."""
    whole, some, few, other = (
        PROBLEMS["survey"](Path(), seed, part=part)
        for seed, part in ((1, 1.0), (1, 0.1), (1, 0.02), (2, 0.02))
    )
    assert (len(whole.private), len(some.private), len(few.private)) == (4493, 449, 90)
    assert np.array_equal(some.private.X[:90], few.private.X)
    assert np.array_equal(some.private.y[:90], few.private.y)
    assert not np.array_equal(few.private.X, other.private.X)
    assert np.array_equal(whole.test.X, other.test.X)
    answers = [len(np.unique(whole.private.X[:, column])) for column in whole.known]
    assert answers == [6, 7, 6], "of age, years married, children"


def test_a_made_population_is_scored_by_its_law() -> None:
    """The law itself has distance 0, and is right as often as its likeliest class comes."""
    split = PROBLEMS["made, useless"](Path(), 0)
    assert split.chance.shape == (3000, 5)
    assert (len(split.public), len(split.private), split.known) == (300, 4000, (0, 1, 2))
    assert value_scores(split.chance, split) == {
        "score": pytest.approx(split.chance.max(axis=1).mean()),
        "brier": 0.0,
    }
    first = np.tile(np.eye(5)[0], (3000, 1))
    scores = value_scores(first, split)
    assert scores["score"] == pytest.approx(split.chance[:, 0].mean())
    assert scores["brier"] == pytest.approx(((first - split.chance) ** 2).sum(axis=1).mean())


def test_tested_records_are_nobodys_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """About a fifth of the distinct records, with all their rows; the other rows stay."""
    X = np.random.default_rng(1).integers(0, 9, size=(600, 2)).astype(float)
    rows = PublicData(X, np.arange(600.0))
    public, private, test = (
        take(rows, np.arange(*ends)) for ends in ((0, 100), (100, 500), (500, 600))
    )
    label = Classes(name="label", classes=("0", "1"))
    whole = Split(public, private, test, label)
    monkeypatch.setattr(problems, "classification", lambda *_, **__: whole)
    split = problems.unseen(Path(), 3, name="diabetes")
    tested, others = (
        {tuple(row) for part in kept for row in part.X}
        for kept in ((split.test,), (split.public, split.private))
    )
    assert not tested & others
    assert 8 <= len(tested) <= 24, "of 81, with this seed"
    every = [y for part in (split.public, split.private, split.test) for y in part.y]
    seen = set(range(500)) | {y for y, row in enumerate(X) if tuple(row) in tested}
    assert sorted(every) == sorted(seen)


def test_more_is_disclosed_from_method_to_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, the known columns, and all: of the task that is simulated."""
    split = replace(PROBLEMS["made, fair"](Path(), 0), known=(1, 4))
    told = []

    def stopped(task: object, *_: object) -> None:
        told.append(task.disclosed)  # type: ignore[attr-defined]
        raise InterruptedError

    monkeypatch.setattr("reproduce.disclosure.simulate_counts", stopped)
    for name in (HIDDEN, HALF, LABEL, ALONE):
        with pytest.raises(InterruptedError):
            list(METHODS[name](split, 1.0, 0))
    assert told == [(), ("x1", "x4"), *[("x0", "x1", "x2", "x3", "x4")] * 2]


@pytest.mark.parametrize(
    ("errors", "factor"),
    [
        ((0.1, 0.2, 0.4), "17"),
        ((0.1, 0.15, 0.2), "over 30"),
        ((0.31, 0.3, 0.3), "none"),
    ],
)
def test_holders_needed_are_read_off_between_two_parts(
    errors: tuple[float, ...], factor: str
) -> None:
    """0.3 lies half-way from the score at a tenth to that at a thirtieth: sqrt(10 x 30) = 17."""
    parts = (1.0, 0.1, 1 / 30)
    rows = [(HIDDEN, 1.0, 0.3), *((HALF, part, e) for part, e in zip(parts, errors, strict=True))]
    table = pd.DataFrame(rows, columns=["series", "part", "mean"])
    assert derived.fewer_holders(table, HALF) == factor


def test_each_measure_has_its_error() -> None:
    """In the table with columns disclosed, and not where the experiment does not ask for it."""
    row = pd.Series(
        {"mean": 0.8, "standard_error": 0.01, "brier": 0.15, "brier_error": 0.002}, dtype=float
    )
    assert pages.cell(SCORES, row, None) == "0.800 ± 0.010, 0.150 ± 0.002"
    assert pages.cell(replace(SCORES, errors=False), row, None) == "0.800, 0.150"
    alone = replace(SCORES, measures=("score",), errors=False)
    assert pages.cell(alone, row, None) == "0.800 ± 0.010"


def test_the_page_says_on_how_many_sets_disclosing_makes_nothing_worse() -> None:
    """In numbers of the table, in whose every row there are 20 replications."""
    table = pages.kept(RULE, EXPECTED)
    page = (ROOT / "tables" / "disclosed-columns.md").read_text()
    said = " ".join(page.split())
    assert set(table["replications"]) == {20}
    assert table["problem"].nunique() == 24
    assert len(table) == 2 * 24 * 5
    assert "holds on these twenty-four sets, seven of numbers. The note" in said
    assert f"(5 % over all {len(table)} rows, Bonferroni): none." in (
        derived.what_disclosing_costs(RULE, table)
    )
    means = table.groupby("series")["mean"].mean()
    assert (means.drop("all hidden, register") < 0.0).all(), "With nothing disclosed it is ± 0.8."


def test_a_loss_beyond_chance_is_named_with_what_would_have_been_found() -> None:
    """By Student's t: of one row of 20 at 1 ± .1 from .26 on, and no longer where it is 1 ± 1."""
    row = {"series": "label only", "problem": "a", "epsilon": 4.0, "mean": 1.0, "replications": 20}
    said = derived.what_disclosing_costs(RULE, pd.DataFrame([{**row, "standard_error": 0.1}]))
    assert "1 rows, Bonferroni): a, label only, ε = 4 +1.0 %. Four times" in said
    assert "from 0.3 % on in half of the rows" in said
    said = derived.what_disclosing_costs(RULE, pd.DataFrame([{**row, "standard_error": 1.0}]))
    assert "Bonferroni): none. Four times in five a loss would have been found from 2.6 %" in said


def brier(problem: str, series: str, epsilon: float) -> float:
    """As measured."""
    table = pages.kept(SCORES, EXPECTED).set_index(["problem", "series", "epsilon"])
    return float(table.loc[(problem, series, epsilon), "brier"])


SETS = tuple(dict.fromkeys(pages.kept(SCORES, EXPECTED)["problem"]))
FINE = tuple(problem for problem in SETS if problem != "census")
"""Those with groups of one."""
MISLEADING = tuple(
    problem for problem in SETS if problem.endswith(("changed", "volunteers", "flipped", "useless"))
)
RIGHT = ("anonymity", "diabetes", "employ", "rice", "made, fair")
UNSEEN = ("diabetes, unseen", "employ, unseen")


@pytest.mark.parametrize("problem", ["made, flipped", "made, useless"])
def test_the_page_is_right_about_public_data_that_mislead(problem: str) -> None:
    """Label only at a quarter of the budget tells more than everything hidden."""
    assert brier(problem, LABEL, 0.5) < brier(problem, HIDDEN, 2.0)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_page_is_right_about_public_data_that_are_right(epsilon: float) -> None:
    """Little is gained."""
    for problem in ("anonymity", "census", "diabetes", "made, fair"):
        for series in (HALF, LABEL):
            assert brier(problem, HIDDEN, epsilon) - brier(problem, series, epsilon) < 0.01


def test_the_page_is_right_about_groups() -> None:
    """Each needs 6 of 200 records, so that there are some 20 to 33; half may be better than all."""
    assert least_rows(200, 2000, 20) == 6
    assert brier("employ", HALF, 2.0) < brier("employ", LABEL, 2.0)


def test_the_page_is_right_about_groups_of_one() -> None:
    """Much better than label only where public data mislead, and close to whole records."""
    ratios = {problem: brier(problem, ALONE, 2.0) / brier(problem, LABEL, 2.0) for problem in FINE}
    misleading = {p: r for p, r in ratios.items() if p in MISLEADING}
    assert 0.55 < min(misleading.values()) < 0.65
    assert max(misleading.values()) < 1.03
    for problem in FINE:
        behind = brier(problem, ALONE, 2.0) - brier(problem, FOREST, 2.0)
        if problem.startswith(("survey", "rice", "anonymity")):
            assert abs(behind) < 0.01, problem
        elif problem.startswith("made"):
            assert 0.001 <= round(behind, 3) <= 0.015, problem
    for problem in RIGHT:
        assert brier(problem, FOREST, 0.5) > brier(problem, ALONE, 0.5)


def test_the_page_is_right_about_whole_records() -> None:
    """Better at ε = 2 on most sets; at ε = 0.5 worse where public data are right."""
    better = [brier(problem, FOREST, 2.0) < brier(problem, LABEL, 2.0) for problem in SETS]
    assert 0.6 < np.mean(better) < 1.0
    for problem in (*RIGHT, "census"):
        assert brier(problem, FOREST, 0.5) > brier(problem, LABEL, 0.5)


def test_the_page_is_right_about_unseen_records() -> None:
    """The forest's lead is gone; and of employ nothing is better than the public records."""
    for problem in UNSEEN:
        assert brier(problem, ALONE, 2.0) - brier(problem, FOREST, 2.0) < 0.015
        assert brier(problem, ALONE, 0.5) < brier(problem, FOREST, 0.5)
    alone = brier("employ, unseen", "public stack", 0.0)
    assert brier("employ, unseen", "everybody's forest", 0.0) >= alone
    for series in (HIDDEN, HALF, LABEL, ALONE, FOREST, TREE_OF_HISTOGRAMS):
        assert min(brier("employ, unseen", series, epsilon) for epsilon in (0.5, 2.0)) >= alone


def test_there_are_as_many_replications_as_the_page_says() -> None:
    """Of everything."""
    for experiment in (SCORES, HOLDERS):
        assert set(pages.kept(experiment, EXPECTED)["replications"]) == {20}
