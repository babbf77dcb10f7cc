"""A panel from its creation to its models, by the commands of curators and holders."""

import csv
import json
import re
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from privet.admin.client import CuratorClient
from privet.client.cli import app as holder
from privet.learning.core.amounts import amount
from privet.protocol.status import Holdings
from tests.curator import samples
from tests.curator.cli.conftest import Cli

ROOT = Path(__file__).parents[3]
RECORD = '{"age": 50, "hours": 40, "job": "smith", "member": true, "label": 1}'


@pytest.fixture
def panel(cli: Cli) -> str:
    """The id of a panel whose first wave is open, and the second a month away."""
    now = datetime.now(UTC)
    ends = [now + timedelta(days=days) for days in (-1, 1, 30, 40)]
    waves = [f"{one.isoformat()}/{other.isoformat()}" for one, other in (ends[:2], ends[2:])]
    Path("survey.csv").write_bytes(samples.survey())
    options = ("--label", "label", "--epsilon", "0.5", "--grower", "cart", "--depth", "1")
    asked = [option for wave in waves for option in ("--waves", wave)]
    found = cli.json("task", "create", "survey.csv", *options, *asked, "--mode", "repeat", "--yes")
    assert (found["panel"], found["lifetime"], len(found["waves"])) == (found["id"], 1.0, 2)
    return str(found["id"])


def answered(url: str, subject: str) -> str:
    """What a holder who answers a panel's address is told."""
    Path("record.json").write_text(RECORD)
    asked = ["answer", url, "--record", "record.json", "--yes", "--ledger", "ledger"]
    return CliRunner().invoke(holder, [*asked, "--subject", subject]).output


def test_a_panel_from_its_waves_to_its_models(cli: Cli, panel: str, curator_url: str) -> None:
    """People answer the panel's address; each wave has its reports, and those with some a model.
    A name that waves share is the panel's."""
    url = f"{curator_url}/v1/tasks/{panel}"
    for subject in ("a", "b", "b"):
        answered(url, subject)
    status = cli("panel", "status", "survey")
    assert status.code == 0
    assert "One wave has answers so far: a change shows once another has." in status.out
    waves = cli.json("panel", "status", panel)["waves"]
    assert [(wave["wave"], wave["reports"]) for wave in waves] == [(1, 2), (2, 0)]
    fitted = cli("panel", "fit", "survey", "--json")
    assert [(each["wave"], each["number"]) for each in json.loads(fitted.out)] == [(1, 1)]
    assert "Wave 1 has model 1." in fitted.err
    again = cli("panel", "fit", "survey")
    assert (again.code, again.out) == (0, "Every wave has a model of all its reports.\n")
    answered(url, "c")
    fitted = cli("panel", "fit", "survey", "--json")
    assert [(each["wave"], each["number"]) for each in json.loads(fitted.out)] == [(1, 2)]
    exported = cli("panel", "export", "survey", "--format", "csv", "--out", "waves.csv")
    assert exported.code == 0
    rows = list(csv.DictReader(Path("waves.csv").read_text().splitlines()))
    assert [row["reports"] for row in rows if row["row"] == "wave"] == ["3", "0"]
    assert {row["name"] for row in rows if row["row"] == "figure"} == {"0", "1"}
    again = cli("panel", "export", "survey", "--format", "csv", "--out", "waves.csv")
    assert "already exists" in again.err
    assert cli("panel", "export", "survey").code == 0
    assert json.loads(Path(f"privet-{panel[:12]}-waves.json").read_text()) == cli.json(
        "panel", "status", panel
    )
    assert [each["wave"] for each in cli.json("task", "list")] == [None, 1, 2]
    assert "2 waves, all for each holder" in cli("task", "show", "survey").out
    assert "fit each of them (privet panel fit)" in cli("fit", "survey").err
    refused = cli("panel", "status", panel[:8] + "0" * 56)
    assert refused.code == 1
    assert cli("task", "delete", panel, "--yes").code == 0
    assert cli.json("task", "list") == []


def test_the_command_of_the_page_publishes_a_panel(
    cli: Cli, curator_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it is run: its dates are counted from the day of reading."""
    page = (ROOT / "docs/panels.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n([^`]*privet task create.*?)^```", page, re.M | re.S)
    made = f'privet() {{ printf "%s\\n" "$@"; }}\n{block}'
    words = subprocess.run(["bash", "-euc", made], stdout=subprocess.PIPE, text=True, check=True)
    monkeypatch.chdir(ROOT)
    found = cli.json(*words.stdout.splitlines(), "--yes")
    assert len(found["waves"]) == 3
    assert cli.json("panel", "status", "Months")["waves"][0]["phase"] == "not-yet-open"


def test_a_lifetime_beyond_peoples_caps_is_asked_about(cli: Cli) -> None:
    """Nothing is published before it is confirmed; of a mode without waves nothing ever."""
    Path("survey.csv").write_bytes(samples.survey())
    asked = ["task", "create", "survey.csv", "--label", "label", "--epsilon", "2", "--depth", "1"]
    asked += ["--mode", "repeat"]
    assert "give its waves" in cli(*asked, "--yes").err
    now = datetime.now(UTC)
    for days in (1, 3):
        ends = [(now + timedelta(days=each)).isoformat() for each in (days, days + 1)]
        asked += ["--waves", "/".join(ends)]
    refused = cli(*asked)
    assert refused.code == 1
    assert "together cost epsilon 4, and people's devices refuse more than 2" in refused.err
    assert cli.json("task", "list") == []
    assert cli(*asked, "--yes").code == 0


def test_what_relays_hold_and_lost_of_a_wave_is_said(
    cli: Cli, panel: str, served: tuple[str, Any]
) -> None:
    assert "relays" not in cli("panel", "status", panel).out
    first = cli.json("panel", "status", panel)["waves"][0]["id"]
    told = Holdings(reports=20, least=20, lost={"too-few": 12, "task-not-open": 1})
    served[1].application.state.curator.store.standing.tell(first, "post", told, time.time())
    said = cli("panel", "status", panel).out
    assert "Of wave 1 relays hold about 20 reports, and lost 13, too late or too few" in said
    (of_first, of_second) = cli.json("panel", "status", panel)["waves"]
    assert (of_first["held"], of_first["lost"]) == (20, 13)
    assert (of_second["held"], of_second["lost"]) == (0, 0)


def test_changes_of_large_numbers_have_no_exponent(
    cli: Cli, panel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page of the panel writes them."""
    told = cli.json("panel", "status", panel)
    change = {"path": [], "name": "pay", "since": 1, "wave": 2, "before": 2.5e6, "after": 2.4e6}
    told |= {"changes": [change | {"low": -150_000.0, "high": 20_000.0}]}
    monkeypatch.setattr(CuratorClient, "waves", lambda *_, **__: told)
    said = cli("panel", "status", panel).out
    assert f"{amount(2.5e6)} to {amount(2.4e6)}" in said
    assert f"{amount(-150_000.0)} to +{amount(20_000.0)}" in said


def test_each_wave_has_one_word_and_its_hours(
    cli: Cli, panel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each of the lists, on a narrow terminal too; what there is not yet is said."""
    assert "No wave has reports yet" in cli("panel", "fit", panel).err
    monkeypatch.setenv("COLUMNS", "80")
    status, tasks = cli("panel", "status", panel).out, cli("task", "list").out
    for text in (status, tasks):
        assert "open" in text
        assert "not open yet" in text
        assert "outside" not in text
    opens = datetime.fromisoformat(cli.json("panel", "status", panel)["waves"][0]["opens"])
    assert f"{opens:%H:%M}" in status
    (head,) = [line for line in tasks.splitlines() if "label" in line and "id" in line]
    assert "epsilon" in head


def test_the_lifetime_is_said_before_anything_is_sent(
    cli: Cli, panel: str, curator_url: str
) -> None:
    """And a budget shows what is kept for later waves."""
    url = f"{curator_url}/v1/tasks/{panel}"
    said = CliRunner().invoke(holder, ["show", url]).output
    assert "All your answers together cost epsilon 1 at most" in " ".join(said.split())
    answered(url, "a")
    budget = CliRunner().invoke(holder, ["budget", "--ledger", "ledger", "--subject", "a"]).output
    assert (
        "Spent 0.5 of epsilon 4 within a year; 3 left.\n0.5 more is kept for later waves" in budget
    )
    Path("people.csv").write_text("")
    with Path("people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["who", "age", "hours", "job", "member", "label"])
        rows.writerows([[who, 40, 30, "nurse", "true", 0] for who in ("c", "d")])
    asked = ["answer", url, "--csv", "people.csv", "--subject-column", "who", "--yes"]
    sent = CliRunner().invoke(holder, [*asked, "--ledger", "ledger"])
    assert sent.exit_code == 0, sent.output
    waves = cli.json("panel", "status", panel)["waves"]
    assert [wave["reports"] for wave in waves] == [3, 0]
