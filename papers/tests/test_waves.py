"""Panels in simulation: equal lifetimes are equal, what is listed is there, waves lend strength."""

import re

import numpy as np
import pandas as pd
import pytest

from privet import plan
from reproduce import DOCS, ROOT, waves
from reproduce.derived import what_earlier_waves_gain
from reproduce.driver import summarized
from reproduce.experiment import EXPECTED, Experiment
from reproduce.experiments import EXPERIMENTS
from reproduce.waves import (
    ALONE,
    FRESH,
    HISTORIES,
    MEMOIZED,
    OF,
    ROTATED,
    SMOOTHED,
    Panel,
    earlier_waves,
    equal_lifetimes,
    listed_changes,
    memoized_at,
)

KINDS = ("classes", "numbers")


@pytest.mark.parametrize("count", [2, 5])
def test_lifetimes_are_equal(count: int) -> None:
    """Of what is said to be of whole histories, all reports have the epsilon that they are to have,
    and not much less."""
    found = memoized_at(2.0, count, 2)
    of_histories = [each for name, each in found.items() if name.endswith(HISTORIES)]
    assert len(of_histories) == 2
    for each in of_histories:
        assert 1.9 < each.whole_history(count) <= 2.0 + 1e-9
    assert found["L-GRR, every value"].lifetime(count) == pytest.approx(2.0)
    assert found["LOLOHA, every value"].lifetime(count) == pytest.approx(2.0)
    assert found["L-GRR, one value"].lifetime(1) == 2.0


def test_rotating_is_better_than_fresh_answers_of_the_same_lifetime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waves, "PEOPLE", 2_000)
    found = equal_lifetimes(Panel(5, "slow", categories=64), 2.0, 0)
    scores = {name: each["score"] for name, _, each in found}
    assert scores[ROTATED] < 0.6 * scores[FRESH]
    assert set(scores) == {FRESH, ROTATED, *MEMOIZED} - {f"L-GRR, {HISTORIES}"}


def test_what_is_listed_over_waves_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing where nothing changes, at every look and over all waves; and what changed a lot."""
    monkeypatch.setattr(waves, "LOOKS", 2)
    for seed in range(4):
        for _, _, found in listed_changes(Panel(5, "none"), 2.0, seed):
            assert found["listed"] == 0.0
    monkeypatch.setattr(waves, "MANY", 1_000_000)
    for _, _, found in listed_changes(Panel(2, "sudden"), 2.0, 0):
        assert (found["score"], found["found"]) == (0.0, 1.0)


def errors_of(panel: Panel, epsilon: float, seeds: int) -> dict[tuple[str, str], list[float]]:
    errors: dict[tuple[str, str], list[float]] = {}
    for seed in range(seeds):
        for name, point, scores in earlier_waves(panel, epsilon, seed):
            errors.setdefault((name, str(point["of"])), []).append(scores["score"])
    return errors


def test_each_error_is_measured_with_earlier_waves_and_alone() -> None:
    errors = errors_of(Panel(2, "none"), 2.0, 1)
    assert set(errors) == {(name, of) for name in (ALONE, SMOOTHED) for of in OF}
    assert errors[ALONE, OF[0]] == errors[ALONE, OF[1]], "The second wave is that of the jump."


@pytest.mark.slow
def test_a_jump_between_two_waves_loses_no_more_than_noise() -> None:
    """In cells, and by less than a tenth; of all holders, one figure, by less than a third."""
    errors = {of: np.array(each) for of, each in errors_of(Panel(2, "sudden"), 2.0, 24).items()}
    cells = errors[SMOOTHED, OF[0]] - errors[ALONE, OF[0]]
    assert cells.mean() < 2.0 * cells.std() / np.sqrt(len(cells))
    assert cells.mean() < 0.1 * errors[ALONE, OF[0]].mean()
    assert errors[SMOOTHED, OF[2]].mean() < 1.33 * errors[ALONE, OF[2]].mean()


def test_ratios_are_those_of_means() -> None:
    """The note divides the mean error with earlier waves by that alone, and counts."""
    made: Experiment = next(each for each in EXPERIMENTS if each.name == "waves-smoothed")
    rows = [
        {
            "job": repr(made.jobs[0]),
            "series": name,
            "of": of,
            "panel": " 2 waves, none",
            "kind": "classes",
            "epsilon": 0.5,
            "seed": seed,
            "score": score,
        }
        for of in OF
        for name, scores in ((ALONE, (1.0, 3.0)), (SMOOTHED, (2.0, 6.0)))
        for seed, score in enumerate(scores)
    ]
    note = what_earlier_waves_gain(made, summarized(made, pd.DataFrame(rows)))
    assert note.count("| 2.00 ± 0.00 |") == len(OF)
    assert note.count("1 of 1 are above 1 and 0 below.") == len(OF)


def measured(name: str) -> pd.DataFrame:
    return pd.read_csv(EXPECTED / f"{name}.csv")


def panels_page() -> str:
    return " ".join((DOCS / "panels.md").read_text(encoding="utf-8").split())


def test_as_measured_errors_of_earlier_waves_are_those_of_the_page() -> None:
    """Its sentence on all cells, on those that change little, and on what can lose."""
    means = measured("waves-smoothed").set_index(["of", "panel", "kind", "epsilon", "series"])
    of_all = means["mean"].unstack()
    ratio = of_all[SMOOTHED] / of_all[ALONE]
    cells = ratio.xs(OF[0])
    assert (len(cells), round(cells.min(), 2), round(cells.max(), 2)) == (39, 0.78, 1.03)
    five = {
        kind: [cells[f" 5 waves, {of}", kind, 2.0] for of in ("none", "slow")] for kind in KINDS
    }
    assert all(0.77 < each < 0.81 for each in five["classes"])
    assert [round(100.0 * (1.0 - each)) for each in five["numbers"]] == [5, 11]
    assert round(ratio[OF[1], " 5 waves, sudden", "classes", 2.0], 2) == 1.12
    assert round(ratio[OF[2], " 2 waves, sudden", "classes", 2.0], 2) == 1.14
    page = panels_page()
    for said in ("is 0.78 to 1.03 times", "in none of 39 settings", "(cells 1.12 ± 0.06 times"):
        assert said in page
    assert "lower by a fifth of classes and by 5 and 11 % of numbers" in page
    assert "of all holders (1.14 ± 0.06" in page


def test_what_rotating_gains_is_in_the_table_of_mechanisms() -> None:
    """The page's intervals are as the square roots of the table's variances."""
    table = (ROOT / "tables" / "mechanisms.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| 4 \| .*×4\.1.*$", table, re.MULTILINE)
    rotating, repeating = map(float, re.findall(r"([\d.]+), ([\d.]+) \(", row)[2])
    assert f"{(repeating / rotating) ** 0.5:.1f} times as narrow" in panels_page()


@pytest.mark.slow
def test_what_rotating_gains_in_the_pages_example() -> None:
    found = plan(
        pd.read_csv(DOCS / "examples" / "clinic.csv"),
        label="readmitted",
        epsilon=2.0,
        holders=10_000,
        waves=4,
    )
    assert found.panel is not None
    changes = [100.0 * (each.overall_change or 0.0) for each in found.panel.modes]
    assert [round(each) for each in changes] == [9, 14]
    assert "a change of 9 points if they rotate and of 14 if they repeat" in panels_page()


def test_as_measured_earlier_waves_never_lose_by_more_than_noise() -> None:
    """Of cells, in no setting by three standard errors; at most one in twenty by two."""
    table = measured("waves-smoothed")
    cells = table[table["of"] == OF[0]].set_index(["panel", "kind", "epsilon", "series"])["scores"]
    lost = []
    for setting in dict.fromkeys(key[:3] for key in cells.index):
        alone, smoothed = (
            np.array(cells[*setting, name].split(), float) for name in (ALONE, SMOOTHED)
        )
        off = smoothed - alone
        lost.append(off.mean() / max(off.std(ddof=1) / np.sqrt(len(off)), 1e-12))
        assert len(off) >= 20
    assert max(lost) < 3.0
    assert np.mean(np.array(lost) > 2.0) <= 0.05


def test_as_measured_rotation_is_better_than_answers_of_the_same_epsilon_over_histories() -> None:
    """With five waves and more; the sentences of the page."""
    table = measured("waves-lifetimes")
    table = table[~table["panel"].str.startswith(" 2")].set_index(["panel", "categories", "series"])
    error = table["mean"].unstack()
    ratio = (
        error[[name for name in MEMOIZED if name.endswith(HISTORIES)]]
        .div(error[ROTATED], axis=0)
        .stack()
    )
    assert (error[FRESH] / error[ROTATED]).min() > 2.0
    assert ratio.min() > 1.35
    assert 6.2 < ratio.max() < 6.3
    assert "off by 1.4 to 6.3 times as much as rotation with 5 to 20 waves" in panels_page()
    twenty = error[error.index.get_level_values("panel").str.startswith("20")].xs(2, level=1)
    assert (twenty["L-GRR, one value"].round(1) <= 0.7).all()
    assert (twenty[ROTATED].round(1) >= 2.0).all()


def test_as_measured_listed_changes_are_false_as_rarely_as_stated() -> None:
    table = measured("waves-changes")
    for of, error in (("mean", "standard_error"), ("missed", "missed_error")):
        assert (table[of] <= 0.05 + 2.0 * table[error].fillna(0.0)).all(), of
    worst = []
    for of, error in (("mean", "standard_error"), ("missed", "missed_error")):
        highest = table.loc[table[of].idxmax()]
        worst.append(f"{100.0 * highest[of]:.0f} ± {100.0 * highest[error]:.0f} %")
    said = "at most {} were false and {} of intervals missed at some look".format(*worst)
    assert said in panels_page()
    assert (table["listed"] > 1.0).sum() > len(table) / 4, "Nothing is listed, so nothing is shown."
