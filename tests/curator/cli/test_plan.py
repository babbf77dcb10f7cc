"""Planning from the command line, and tasks that are published as planned."""

import json
from pathlib import Path

import pytest

from tests.curator import samples
from tests.curator.cli.conftest import Cli

QUICK = ("--grower", "max_edge", "--mechanism", "grr")
"""Two choices of three are made already, which leaves the depth to the plan."""


def test_auto_publishes_what_the_plan_chose(cli: Cli, survey: str) -> None:
    """A plan says what it chose and why, and the task has it; what is given stays."""
    given = ("--label", "label", "--holders", "5000", "--epsilon", "2")
    planned = cli("plan", "--public", survey, *given, *QUICK, "--json")
    assert planned.code == 0
    best = json.loads(planned.out)["best"]["choice"]
    made = cli("task", "create", survey, *given, *QUICK, "--auto", "--json")
    assert made.code == 0
    told = " ".join(made.err.split())
    assert f"The task is made with grower max_edge, depth {best['depth']}, mechanism grr." in told
    assert "5000 reports at epsilon 2: expected accuracy" in told
    (question,) = json.loads(made.out)["questions_in_numbers"]
    assert question["mechanism"] == best["mechanism"] == "grr"
    assert question["depth"] == best["depth"]
    assert question["epsilon"] == 2.0


def test_auto_is_for_one_question(cli: Cli, survey: str) -> None:
    """A plan for several questions is refused before any work, with what to do."""
    two = 'questions=[{"asks": "cell"}, {}]'
    refused = cli(
        "task", "create", survey, "--label", "label", "--epsilon", "2", "--auto", "--set", two
    )
    assert refused.code == 1
    assert "leave out --auto" in refused.err


@pytest.mark.parametrize(
    ("data", "label", "wanted", "score"),
    [
        (samples.classes, "level", "0.9", "accuracy"),
        (samples.line, "y", "0.5", "mean squared error"),
    ],
    ids=["three classes", "a number"],
)
def test_a_plan_answers_in_words(cli: Cli, tmp_path: Path, data, label, wanted, score) -> None:
    """Expectation, verdict, bytes and what a wanted score takes, for classes and for numbers."""
    public = tmp_path / "public.csv"
    public.write_bytes(data(100))
    told = cli(
        "plan", "--public", str(public), "--label", label, "--holders", "20000", "--epsilon", "2",
        "--wanted", wanted, *QUICK, "--depth", "1", "--depth", "2",
    )  # fmt: skip
    assert told.code == 0
    for word in (f"expected {score}", "public data alone", "bytes per answer", "verdict"):
        assert word in told.out
    assert f"To reach {score} {wanted}" in told.out
    assert "or public records without reports" in told.out
    assert "20000 reports at epsilon 2" in " ".join(told.out.split())


def test_a_plan_heeds_the_settings_of_the_task(cli: Cli, survey: str) -> None:
    """Declared labels and limits hold in the plan: no mechanism with longer answers is tried."""
    told = cli(
        "plan", "--public", survey, "--label", "label", "--holders", "5000", "--epsilon", "2",
        "--grower", "max_edge", "--depth", "4", "--mechanism", "grr", "--mechanism", "laplace",
        "--set", "max_report_bytes=4", "--json",
    )  # fmt: skip
    assert told.code == 0
    tried = {each["choice"]["mechanism"] for each in json.loads(told.out)["outlooks"]}
    assert tried == {"grr"}


def test_a_plan_says_what_it_cannot_do(cli: Cli, survey: str) -> None:
    """An unknown grower is named with those there are."""
    given = ("--label", "label", "--holders", "50", "--epsilon", "2")
    refused = cli("plan", "--public", survey, *given, "--grower", "oak")
    assert refused.code == 1
    assert "max_edge" in refused.err
