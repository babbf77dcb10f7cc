"""A release's measurements: once, in order, again after a change; and the dates on pages."""

import subprocess
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest
import typer

from reproduce import ROOT, driver, pages, release
from reproduce import __main__ as command
from reproduce.contestants import Scored
from reproduce.datasets import Split
from reproduce.experiment import Experiment, jobs
from reproduce.experiments import EXPERIMENTS
from reproduce.methods import METHODS

Log = list[str]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Log]:
    """Two steps of an experiment each, whose method writes down that it ran."""
    ran: Log = []

    def method(name: str) -> Callable[[Split, float, int], Iterator[Scored]]:
        def measure(_split: Split, _epsilon: float, seed: int) -> Iterator[Scored]:
            ran.append(name)
            yield name, {}, {"score": 0.5 + 0.1 * seed}

        return measure

    built_in = len(EXPERIMENTS)
    for name in ("second", "first"):
        monkeypatch.setitem(METHODS, name, method(name))
        of_name = jobs("sine", (name,), (1.0,), n_private=(20,), n_public=(5,))
        EXPERIMENTS.append(
            Experiment(name, name, of_name, series=(name,), x="epsilon", replications=2)
        )
    monkeypatch.setattr(release, "STEPS", {"one": ("first",), "two": ("second",)})
    monkeypatch.setattr(command, "KEPT", tmp_path / "build")
    yield ran
    del EXPERIMENTS[built_in:]


def test_a_rehearsal_measures_what_has_changed_in_the_order_of_the_steps(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing twice; all again by other code; nothing outside build/."""
    release.main(rehearse=True, jobs=1)
    assert log == ["first", "first", "second", "second"]
    release.main(rehearse=True, jobs=1)
    assert len(log) == 4
    monkeypatch.setattr(driver, "fingerprint", lambda: "another")
    release.main(rehearse=True, jobs=1, steps="two")
    assert log[4:] == ["second", "second"]
    results = tmp_path / "build" / "results"
    assert {file.name for file in results.iterdir()} == {"first.csv", "second.csv", "release.json"}


def test_other_settings_of_an_experiment_are_measured_anew(log: Log) -> None:
    """Also where every single result is kept: the hash of the experiment is another."""
    release.main(rehearse=True, jobs=1, replications=1)
    assert log == ["first", "second"]
    release.main(rehearse=True, jobs=1)
    assert log == ["first", "second"] * 2, "Only the second replication of each."


def test_a_release_is_measured_at_its_tag_and_with_all_replications(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the second blind bench, whose step comes first, is not rehearsed."""
    monkeypatch.setattr(driver, "release", lambda: "0.2.0+abc")
    with pytest.raises(typer.BadParameter, match="no release"):
        release.main(jobs=1)
    monkeypatch.setattr(driver, "release", lambda: "0.2.0")
    with pytest.raises(typer.BadParameter, match="all replications"):
        release.main(jobs=1, replications=2)
    monkeypatch.setattr(release, "STEPS", {"the second blind bench": ("first",)})
    release.main(rehearse=True, jobs=1)
    assert log == []


def test_the_steps_are_those_of_the_readme_and_have_experiments() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"in this order: {', '.join(release.STEPS)}" in " ".join(text.split())
    for names in release.STEPS.values():
        assert all(command.beginning([name]) for name in names)


def test_a_release_is_a_tag_of_the_version_with_unchanged_code(tmp_path: Path) -> None:
    """Any other commit is named, and so are changes to what measurements load."""

    def git(*arguments: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *author, *arguments], check=True)

    number = version("privet")
    (tmp_path / "learning").mkdir()
    code = tmp_path / "learning" / "a.py"
    code.write_text("1")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "One")
    said = []
    for step in (
        lambda: None,
        lambda: git("tag", f"v{number}"),
        lambda: (tmp_path / "notes").write_text("1"),
        lambda: code.write_text("2"),
    ):
        step()
        driver.release.cache_clear()
        said.append(driver.release(tmp_path))
    driver.release.cache_clear()
    assert said[0].startswith(f"{number}+")
    assert said[1:3] == [number, number]
    assert said[3] == f"{number}+v{number}-changed"


def test_a_page_states_release_and_days_once() -> None:
    """A release alone only if all rows are of one; else the days of the others too."""
    (one,) = (e for e in EXPERIMENTS if e.name == "shifts")

    def said(*rows: tuple[str, str]) -> str:
        return pages.when({"shifts": pd.DataFrame(rows, columns=["version", "measured"])}, [one])

    assert said() == "Not measured yet.\n"
    day = ("0.2.0", "2027-01-02")
    assert said(day) == "**Measured with release 0.2.0**, on 2027-01-02.\n"
    text = said(day, ("0.2.0", "2027-01-04"))
    assert text == "**Measured with release 0.2.0**, from 2027-01-02 to 2027-01-04.\n"
    text = said(day, ("0.3.0", "2027-02-01"))
    assert text.startswith("**Measured with release 0.2.0 and 0.3.0**"), "What had not changed."
    for other in ("0.1.0", "0.2.0+abc"):
        assert said(day, (other, "2026-11-23")) == (
            "**Partly measured with release 0.2.0**, on 2027-01-02; "
            "the rest by code of its day, on 2026-11-23.\n"
        )
    assert said(("0.1.0", "2026-11-23")).startswith("**Not measured at a release**")


def test_replications_are_said_of_each_line_where_they_differ() -> None:
    experiment = Experiment("e", "E", (), ("a", "b", "c"), x="x")
    table = pd.DataFrame({"series": ["a", "a", "b", "c"], "replications": [50, 50, 20, 50]})
    assert pages.replicated(experiment, table) == "50 replications of a, c; 20 replications of b"
    assert pages.replicated(experiment, table.iloc[:2]) == "50 replications"
    table.loc[0, "replications"] = 20
    assert pages.replicated(experiment, table) == "20 to 50 replications"
    assert pages.replicated(experiment, table.assign(replications=1)) == "1 replication"


def test_to_be_near_a_line_that_hardly_moves_is_no_verdict() -> None:
    """Errors of .03 beside a line that spans .04, and errors of .01 beside the same line; a point
    beyond three errors of the first line is no near one."""
    experiment = Experiment(
        *("e", "E", (), ("a", "b")),
        x="epsilon",
        published={(s, e): 0.6 + 0.02 * e for s in ("a", "b") for e in (0.0, 2.0)},
    )
    rows = [
        ("a", 0.0, 0.65, 0.03),
        ("a", 2.0, 0.8, 0.03),
        ("b", 0.0, 0.6, 0.01),
        ("b", 2.0, 0.64, 0.01),
    ]
    table = pd.DataFrame(rows, columns=["series", "epsilon", "mean", "standard_error"])
    assert pages.is_flat(experiment, table).tolist() == [True, True, False, False]
    assert pages.no_verdict(experiment, table).startswith(", 1 of them on lines that in print")
    assert pages.no_verdict(experiment, table.iloc[2:]) == ""
