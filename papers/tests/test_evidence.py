"""The page for referees: its figures are those of the CSV files, and it says where none is."""

import re
from collections.abc import Iterable

import pandas as pd
import pytest

from reproduce import DOCS
from reproduce.effects import OWN, by_set, gain_over
from reproduce.experiment import EXPECTED
from reproduce.experiments import EXPERIMENTS
from reproduce.ours import IN_ONE
from reproduce.release import STEPS

TEXT = (DOCS / "evidence.md").read_text(encoding="utf-8")
PAGE = " ".join(TEXT.split())


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(EXPECTED / f"{name}.csv")


def exists(name: str) -> bool:
    return (EXPECTED / f"{name}.csv").exists()


def own_gains(
    table: pd.DataFrame, loss: "pd.Series[float]", epsilons: Iterable[float], *, in_points: bool
) -> list["pd.Series[float]"]:
    """Gains over the own public model, by row, at each ε."""
    named = table.assign(
        loss=loss, row=table["problem"] + ", " + table.get("shift", pd.Series("", table.index))
    )
    return [gain_over(named, OWN, epsilon, in_points=in_points) for epsilon in epsilons]


def said(gains: list["pd.Series[float]"], digits: int) -> list[str]:
    """Means ± errors over sets, as the page writes them."""
    of_sets = [by_set(one) for one in gains]
    sign = "+" if digits else ""
    return [
        f"{one.mean():{sign}.{digits}f} ± {one.sem():.{digits}f}".replace("-", "−")
        for one in of_sets
    ]


def test_the_gains_are_those_of_the_tables() -> None:
    """Means and errors over sets, and medians over rows, by ε."""
    shifts, classes, numbers = read("shifts"), read("accuracy-classes"), read("accuracy-numbers")
    gains = own_gains(shifts, shifts["brier"], (0.5, 2.0, 8.0), in_points=False)
    assert f"Brier score {', '.join(said(gains, 0))} % below the own public model" in PAGE
    half, two, eight = (one.median() for one in gains)
    assert f"medians {half:.1f}, {two:.0f}, {eight:.0f} %" in PAGE
    gains = own_gains(classes, -classes["mean"], (0.5, 2.0, 8.0), in_points=True)
    assert f"{', '.join(said(gains, 1))} points at ε = 0.5, 2, 8" in PAGE
    gains = own_gains(numbers, numbers["mean"], (2.0, 6.0), in_points=False)
    assert f"{', '.join(said(gains, 1))} % of squared error at 2, 6" in PAGE
    bench = pd.concat([read("blind-classes"), read("blind-numbers")], ignore_index=True)
    gains = own_gains(bench, bench["mean"], (0.5, 1.0, 2.0, 4.0), in_points=False)
    assert f"{', '.join(said(gains, 2))} % at ε = 0.5, 1, 2, 4" in PAGE
    errors = [by_set(one).mean() / by_set(one).sem() for one in gains]
    assert max(errors[:3]) < 2.0 < errors[3], "No gain is certain below ε = 4."
    drawn = pd.concat([read("second-bench-classes"), read("second-bench-numbers")])
    gains = own_gains(drawn, drawn["mean"], (0.5, 1.0, 2.0, 4.0), in_points=False)
    assert f"{', '.join(said(gains, 1))} % at ε = 0.5, 1, 2, 4, most of it from one set" in PAGE
    of_sets = by_set(gains[3])
    assert of_sets.max() > of_sets.sum() / 2.0
    errors = [by_set(one).mean() / by_set(one).sem() for one in gains]
    assert max(errors[:3]) < 2.0 < errors[3]
    medians = ", ".join(f"{one.median():+.1f}".replace("-", "−") for one in gains)
    assert f"medians {medians} %" in PAGE


def test_intervals_lists_and_relays_are_those_of_the_tables() -> None:
    of_name = read("statements-intervals")["mean"]
    assert f"{of_name.min():.2f} to {of_name.max():.2f} by name".replace("0.", ".", 1) in PAGE
    once = read("statements-differences").set_index("series")["mean"]["once"]
    none, looks = read("statements-none"), read("statements-looks")
    first = none.loc[none["series"] == "listed, one look", "mean"]
    many = looks.loc[(looks["series"] == "many") & (looks["statement"] == "list of differences")]
    listed = (
        f"0 to {max(once.max(), first.max()):.2f} at one look, ± .02, 0 to {many['mean'].max():.2f}"
    )
    assert f"{listed} at 1 000".replace("0.", ".") in PAGE
    relay = read("trust")
    local = relay.loc[(relay["series"] == IN_ONE) & (relay["epsilon"] == 0.5), "mean"]
    assert "batches of 1 000: nothing in 19 of 25 rows" in PAGE
    assert f"central 0.5 from local {local.min():.1f} to {local.max():.1f}" in PAGE


def test_the_page_says_what_is_measured_at_the_release() -> None:
    """Those steps of a release's run whose every figure is of it."""
    measured = [
        step
        for step, names in STEPS.items()
        if {
            version
            for one in EXPERIMENTS
            if one.name.startswith(names)
            for version in (read(one.name)["version"] if exists(one.name) else [""])
        }
        == {"0.2.0"}
    ]
    assert f"**At release 0.2.0 is measured: {', '.join(measured)}.**" in PAGE


@pytest.mark.parametrize("column", range(1, 5))
def test_every_claim_has_a_place_a_date_a_size_and_a_refutation(column: int) -> None:
    """In at most 600 words."""
    rows = [line.split("|")[1:-1] for line in TEXT.splitlines() if line.startswith("| ")]
    assert len(rows) > 12
    assert all(row[column].strip() for row in rows)
    assert len(re.findall(r"\S*\w\S*", TEXT)) <= 600
