"""Planning from the command line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from privet.learning.public_model import candidates
from tests.curator import samples
from tests.curator.cli.conftest import Cli


@pytest.fixture(autouse=True)
def no_boosting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan fits three stacks; forests and linear models are enough."""
    monkeypatch.setattr(candidates, "BOOSTING_COLUMNS", 0)


@pytest.mark.parametrize(
    ("data", "label", "score"),
    [
        (samples.classes, "level", "predictions from it are right for"),
        (samples.line, "y", "expect a mean squared error"),
    ],
    ids=["three classes", "a number"],
)
def test_a_plan_answers_in_words(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    data: Callable[[int], bytes],
    label: str,
    score: str,
) -> None:
    """What is expected, shown and gained, for classes and for numbers, in 80 columns."""
    public = tmp_path / "public.csv"
    public.write_bytes(data(100))
    asked = (
        "plan", "--public", str(public), "--label", label, "--holders", "20000", "--epsilon", "2",
        "--grower", "max_edge", "--mechanism", "grr", "--depth", "2",
    )  # fmt: skip
    monkeypatch.setenv("COLUMNS", "36")
    narrow = cli(*asked).out
    assert not re.search(r"\d[^\S\n]*\n\d", narrow), "no number is parted by an end of a line"
    monkeypatch.setenv("COLUMNS", "80")
    printed = cli(*asked)
    assert printed.code == 0
    for words in (
        "with 20\u202f000 people",
        "In half of the 4 planned groups",
        "People needed, by precision",
    ):
        assert words in printed.out
    assert max(map(len, printed.out.splitlines())) <= 80
    assert score in " ".join(printed.out.split())
    assert "…" not in printed.out


def test_a_plan_is_for_the_settings_of_the_task(cli: Cli, survey: str) -> None:
    """The plan and the task that the same settings create have the same questions and bytes."""
    given = (
        "--label", "label", "--holders", "5000", "--epsilon", "2", "--grower", "max_edge",
        "--depth", "4", "--mechanism", "projective",
    )  # fmt: skip
    planned = cli.json("plan", "--public", survey, *given, "--waves", "2")
    made = cli.json("task", "create", survey, *given)
    assert planned["report_bytes"] == made["report_bytes"]
    assert [each["mode"] for each in planned["panel"]["modes"]] == ["rotate", "repeat"]
    (mine,), (theirs,) = planned["questions"], made["questions_in_numbers"]
    assert (mine["mechanism"], mine["cells"]) == (theirs["mechanism"], theirs["cells"])


def test_a_plan_says_what_it_cannot_do(cli: Cli, survey: str) -> None:
    """An unknown grower is named with those there are."""
    given = ("--label", "label", "--holders", "50", "--epsilon", "2")
    refused = cli("plan", "--public", survey, *given, "--grower", "oak")
    assert refused.code == 1
    assert "Unknown grower 'oak': choose one of" in refused.err


def test_a_plan_behind_a_relay_says_what_shuffling_allows(cli: Cli, survey: str) -> None:
    """The local epsilon, in place of one that is given, and what it rests on."""
    given = ("--label", "label", "--holders", "5000", "--central-epsilon", "0.2", "--batch", "2000")
    printed = cli("plan", "--public", survey, *given, "--grower", "max_edge", "--depth", "2")
    assert printed.code == 0
    words = " ".join(printed.out.split())
    assert "sends at least 2 000 reports together, a central (ε, δ) = (0.2, 1e-06) allows" in words
    assert "from honest holders" in words
    refused = cli("plan", "--public", survey, *given[:4])
    assert refused.code == 1
    assert "give it, or a central epsilon behind a relay" in " ".join(refused.err.split())
