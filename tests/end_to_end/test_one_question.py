"""One question from the command that asks it to its figures, over real HTTP and a relay."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from privet.admin.client import CuratorClient
from privet.admin.results import Scope
from privet.curator.cli import main
from privet.protocol.errors import InvalidRequest
from scripts.servers import running_relay, wait_for_reports
from tests.client.command import Command
from tests.curator.cli.conftest import Cli
from tests.end_to_end import population
from tests.end_to_end.running_curator import RunningCurator

PEOPLE = 60
NEVER = ("cell", "tree", "public record", "feature")
"""Words that are not about such a task."""


@pytest.fixture
def cli(
    curator: RunningCurator, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """The command line, at the curator."""
    monkeypatch.setenv("PRIVET_URL", curator.url)
    monkeypatch.setenv("PRIVET_TOKEN", curator.token)
    return Cli(capsys, main)


@pytest.fixture
def relay(curator: RunningCurator, tmp_path: Path) -> Iterator[str]:
    """The address of a relay that is named at the curator, and forwards at once."""
    admin = CuratorClient(curator.url, curator.token)
    token = admin.issue_token("one question", Scope.RELAY).token
    with running_relay(tmp_path, curator.url, token, least=1, every=0.05) as running:
        admin.name_relay(running.url)
        yield running.url
    admin.name_relay("")


def answered(url: str, label: str, values: Sequence[Any]) -> None:
    population.answer_all(url, [{label: value} for value in values])


def of_a_holder(folder: Path, url: str) -> list[str]:
    """The words of a holder's commands: of the task, an answer, its receipt and the account."""
    holder = Command(folder, {"answer": "no"})
    said = [holder("show", url), holder("cap", "--task", "16", "--year", "16")]
    said += [holder.answer(url, "--yes"), holder("resend"), holder("budget")]
    assert [each.exit_code for each in said] == [0] * 5, said
    return [each.output for each in said]


def test_one_question_is_asked_answered_and_read(
    cli: Cli, curator: RunningCurator, relay: str
) -> None:
    """One command publishes it; at ε 16 an answer is another one once in nine million."""
    admin = CuratorClient(curator.url, curator.token)
    options = ("--epsilon", "16", "--smallest-batch", "1")
    asked = cli("ask", "Have you ever lied here?", "yes", "no", *options)
    assert asked.code == 0, asked.err
    link = asked.out.strip()
    task = link.rsplit("/", 1)[1]
    plan = ("--label", "answer", "--classes", "yes,no", "--epsilon", "16", "--holders", "10000")
    assert f"{cli.json('plan', *plan)['verdict']}.\n" in asked.err
    assert link == f"{relay}/answer/{task}"
    assert admin.task(task)["task"]["features"] == []
    answered(f"{relay}/v1/tasks/{task}", "answer", ["yes"] * 45 + ["no"] * 15)
    wait_for_reports(admin, task, PEOPLE)
    found = admin.insight(task)
    assert {row["name"]: row["reported"] for row in found["overall"]} == pytest.approx(
        {"yes": 0.75, "no": 0.25}, abs=1e-3
    )
    assert (found["model"], found["public_records"], found["differences"]) == (None, 0, [])
    assert [row["public"] for row in found["overall"]] == [None, None]
    figures = admin.status(task)["results"]["figures"]
    assert [row["value"] for row in figures] == [row["reported"] for row in found["overall"]]
    said = [cli("insight", task).out, cli("status", task).out, cli("task", "show", task).out]
    assert all("75" in text for text in said[:2]), said
    assert not [word for word in NEVER for text in said if word in text.lower()], said
    for refused in (
        lambda: admin.fit(task),
        lambda: admin.predict(task, [{}]),
        lambda: admin.export(task, model=1),
        lambda: admin.export(task),
        lambda: admin.card(task),
    ):
        with pytest.raises(InvalidRequest, match="nothing about who answers, so there is no model"):
            refused()
    stranger = CuratorClient(curator.url)
    assert "results" not in stranger.status(task)
    admin.close(task)
    assert stranger.status(task)["results"]["figures"] == figures


def test_the_distribution_of_a_number_makes_the_round(cli: Cli, curator: RunningCurator) -> None:
    """Whole numbers are levels, so at ε 32 their shares are exact."""
    admin = CuratorClient(curator.url, curator.token)
    options = ("--unit", "times", "--epsilon", "32", "--holders", "60")
    asked = cli.json("ask", "How often last week?", "0-10", *options)
    assert asked["link"] is None
    answered(admin.task_url(asked["id"]), "answer", [2] * 30 + [3] * 20 + [9] * 10)
    found = admin.insight(asked["id"])
    shares = {bin_["level"]: bin_["share"] for bin_ in found["distribution"]["bins"]}
    assert shares == pytest.approx(
        {level: {2: 0.5, 3: 1 / 3, 9: 1 / 6}.get(level, 0.0) for level in range(11)}, abs=1e-3
    )
    median = found["distribution"]["quantiles"][2]
    assert median["low"] <= 2 <= median["high"] <= 4
    assert found["overall"][0]["reported"] == pytest.approx(3.5, abs=1e-3)
    said = cli("insight", asked["id"]).out
    assert "median" in said
    assert not [word for word in NEVER if word in said.lower()], said


def test_one_question_in_two_waves(cli: Cli, curator: RunningCurator, tmp_path: Path) -> None:
    """The first of two waves is answered and shown; changes are of all holders alone."""
    now = datetime.now(UTC)
    ends = [(now + timedelta(days=day)).isoformat() for day in (-1, 1, 30, 40)]
    waves = ["--waves", "/".join(ends[:2]), "--waves", "/".join(ends[2:])]
    options = ("--epsilon", "8", "--mode", "repeat", *waves)
    asked = cli.json("ask", "Are you at work?", "yes", "no", *options)
    answered(f"{curator.url}/v1/tasks/{asked['id']}", "answer", ["yes"] * 6 + ["no"] * 2)
    found = CuratorClient(curator.url, curator.token).waves(asked["id"])
    assert [wave["reports"] for wave in found["waves"]] == [8, 0]
    assert not any(wave["to_fit"] for wave in found["waves"])
    assert found["comparisons"] == 1
    (figure,) = next(line for line in found["lines"] if line["name"] == "yes")["figures"]
    assert figure["value"] == pytest.approx(0.75, abs=0.05)
    shown = cli("panel", "status", asked["id"])
    assert "One wave has answers so far: a change shows once another has." in shown.out
    assert "no model to fit" in cli("panel", "fit", asked["id"]).err
    said = [shown.out, *of_a_holder(tmp_path, f"{curator.url}/v1/tasks/{asked['id']}")]
    assert not [word for word in NEVER for text in said if word in text.lower()], said


def test_plans_of_one_question_need_no_file(cli: Cli) -> None:
    """Precision and sizes, and nothing of cells or public records."""
    found = cli.json(
        "plan", "--label", "answer", "--classes", "yes,no", "--holders", "10000", "--epsilon", "1"
    )
    assert found["here"]["half_width"] == pytest.approx(0.038, abs=0.001)  # whatever they answer
    said = " ".join([found["verdict"], *found["answers"], *found["details"], found["board"]])
    assert not [word for word in NEVER if word in said.lower()], said
