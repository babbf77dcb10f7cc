import re
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from privet.learning.core.looks import factor_at
from privet.learning.task_building.publication import dates_of
from privet.protocol.panel import Panel
from scripts import demo, fair_survey
from scripts.demo import public_model, randomized_response, raw_forest, score, share_of
from scripts.fair_survey import has_affair


def test_the_split_is_fixed_and_only_its_volunteers_mislead() -> None:
    """600 public volunteers, a fifth for the test, all others holders; the same each time.

    Few volunteers had an affair; holders and test records are as the whole survey, a third.
    """
    population = fair_survey.load()
    parts = (population.public, population.holders, population.test)
    assert [len(part) for part in parts] == [600, 4493, 1273]
    assert sum(map(has_affair, (record for part in parts for record in part))) == 2053
    assert fair_survey.load() == population
    volunteers, (low, high) = share_of(population.public)
    assert low < volunteers < high < 0.15
    for others in parts[1:]:
        assert 0.29 < share_of(others)[0] < 0.37


def test_scores_are_those_of_the_definition() -> None:
    """Accuracy and Brier score of a probability for everybody, from the share of affairs alone."""
    population = fair_survey.load()
    truth = share_of(population.test)[0]
    result = score("nobody", np.full(len(population.test), 0.2), population, (0.2, (0.1, 0.3)))
    assert result.accuracy == pytest.approx(1.0 - truth)
    assert result.brier == pytest.approx(truth * 0.8**2 + (1.0 - truth) * 0.2**2)


def test_later_more_people_have_had_an_affair_and_nobody_fewer() -> None:
    """What changes before a demonstrated panel's last wave; its waves follow one another."""
    holders = fair_survey.load().holders
    later = demo.as_changed(holders)
    before, after = share_of(holders)[0], share_of(later)[0]
    assert after - before == pytest.approx(demo.CHANGED * (1.0 - before), abs=0.03)
    assert all(
        has_affair(new) or not has_affair(old) for old, new in zip(holders, later, strict=True)
    )
    panel = Panel(mode="rotate", waves=tuple(map(dates_of, demo.wave_dates(3, 600))))
    assert [opens for opens, _ in panel.waves][1:] == [closes for _, closes in panel.waves][:-1]


def test_randomized_response_is_as_precise_as_it_says() -> None:
    """Unbiased, with the interval's width by the spread of 200 surveys; each fails once in a
    million."""
    holders, epsilon = fair_survey.load().holders[:500], 1.0
    found = [randomized_response(holders, epsilon, seed) for seed in range(200)]
    shares = np.array([share for share, _ in found])
    spread = shares.std(ddof=1)
    assert abs(shares.mean() - share_of(holders)[0]) < 5.0 * spread / np.sqrt(200)
    low, high = found[0][1]
    assert (high - low) / 2.0 / factor_at(1.0) == pytest.approx(spread, rel=0.25)


@pytest.mark.slow
def test_a_demonstrated_panel_says_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices answer their wave, and no other; the curator fits the waves and says what it sees."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr(demo, "WAVE_SECONDS", 5)
    app = typer.Typer()
    app.command()(demo.main)
    options = ["--waves", "2", "--holders", "40", "--epsilon", "8", "--folder", str(tmp_path)]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    answered = re.search(r"The waves have (\d+), (\d+) answers\.", said)
    assert answered is not None
    missed = re.search(r"(\d+) devices were too slow", said)
    assert sum(map(int, answered.groups())) + (int(missed[1]) if missed else 0) == 40
    assert "The curator says: " in said
    assert "Each holder spent ε = 8 in all." in said


@pytest.mark.slow
def test_the_public_model_believes_the_volunteers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any report it predicts far too few affairs; raw records would set it right."""
    monkeypatch.setattr(demo, "LEAF_SIZES", (10,))
    population = fair_survey.load()
    truth = share_of(population.test)[0]
    believed = public_model(population.public, population.test)
    raw = raw_forest([*population.public, *population.holders], population.test)
    assert believed.mean() < truth / 2
    assert abs(raw.mean() - truth) < 0.05


@pytest.mark.slow
def test_a_demonstration_removes_its_own_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused epsilon is reported in one message, and what else the folder holds stays."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    for name in ("demo.db", "demo.db-wal", "privet.db", "letter.txt"):
        (tmp_path / name).touch()
    app = typer.Typer()
    app.command()(demo.main)
    result = CliRunner().invoke(app, ["--epsilon", "1000", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "epsilon" in result.output
    assert "Traceback" not in result.output
    assert (tmp_path / "privet.db").exists()
    assert (tmp_path / "letter.txt").exists()
    assert (tmp_path / "demo.db").stat().st_size > 0
