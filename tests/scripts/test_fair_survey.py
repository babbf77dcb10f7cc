from pathlib import Path

import typer
from typer.testing import CliRunner

from scripts import demo, fair_survey
from scripts.demo import best_public_model, majority, score
from scripts.fair_survey import LABEL, Record


def test_split_is_fixed_and_covers_everybody_once() -> None:
    """A tenth is public, seven tenths are holders, a fifth is the test, the same ones each time."""
    population = fair_survey.load()
    parts = (population.public, population.holders, population.test)
    assert [len(part) for part in parts] == [636, 4456, 1274]
    affairs = sum(record[LABEL] == "yes" for part in parts for record in part)
    assert affairs == 2053
    again = fair_survey.load()
    assert [again.public, again.holders, again.test] == list(map(list, parts))


def test_public_part_is_not_sorted_by_label() -> None:
    """The survey's file lists all affairs first; the shuffle undoes that."""
    public = fair_survey.load().public
    share = sum(record[LABEL] == "yes" for record in public) / len(public)
    assert 0.25 < share < 0.40


def test_accuracy_of_the_majority_class_is_its_share() -> None:
    """Predicting the commonest class is right as often as it occurs."""
    records: list[Record] = [{LABEL: said} for said in ("no", "no", "no", "yes")]
    result = score("majority", majority(records, records), [str(r[LABEL]) for r in records])
    assert result.accuracy == 0.75


def test_the_public_model_beats_chance() -> None:
    """What can be had without any holder beats the majority class on the test records."""
    population = fair_survey.load()
    truth = [str(record[LABEL]) for record in population.test]
    public = score("public", best_public_model(population.public, population.test), truth)
    chance = score("majority", majority(population.public, population.test), truth)
    assert public.accuracy > chance.accuracy + public.standard_error


def test_a_demonstration_removes_its_own_files_only(tmp_path: Path) -> None:
    """A refused mechanism is told in one message, and what else the folder holds stays."""
    for name in ("demo.db", "demo.db-wal", "privet.db", "letter.txt"):
        (tmp_path / name).touch()
    app = typer.Typer()
    app.command()(demo.main)
    result = CliRunner().invoke(app, ["--mechanism", "magic", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "Unknown mechanism 'magic'" in result.output
    assert "Traceback" not in result.output
    assert (tmp_path / "privet.db").exists()
    assert (tmp_path / "letter.txt").exists()
    assert (tmp_path / "demo.db").stat().st_size > 0
