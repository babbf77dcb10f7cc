import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scripts import fair_survey
from scripts.collection import Admin, answer_all
from scripts.servers import running_curator

pytestmark = pytest.mark.slow


def test_holders_of_the_survey_are_all_counted(tmp_path: Path) -> None:
    """Holders that only touch HTTP fill the curator's sums, and its model answers."""
    population = fair_survey.load()
    with running_curator(tmp_path) as curator:
        admin = Admin(curator.url, curator.token)
        task_url = admin.publish(
            fair_survey.as_csv(population.public), fair_survey.settings(2.0, 40)
        )
        records = population.holders[:40]
        sent = asyncio.run(answer_all(task_url, records, lambda: None, insecure_http=False))
        assert sent == 40 * admin.read(task_url)["report_bytes"]
        assert admin.read(f"{task_url}/status")["reports"] == 40
        labels = admin.predict(task_url, admin.fit(task_url, "weighted"), population.test)
    assert len(labels) == len(population.test)
    assert set(labels) <= {"yes", "no"}


@pytest.mark.parametrize("mode", ["single", "relay"])
def test_load_test_accounts_for_every_report(mode: str, tmp_path: Path) -> None:
    """With duplicates and rubbish mixed in, every holder's report is counted once."""
    import typer

    from scripts import load_test

    app = typer.Typer()
    app.command()(load_test.main)
    options = ["--holders", "400", "--cells", "16", "--mode", mode, "--batch", "150"]
    mischief = ["--duplicates", "20", "--malformed", "10", "--slow", "0.5"]
    result = CliRunner().invoke(app, [*options, *mischief, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "load.json").read_text())
    assert (found["lost"], found["doubled"], found["checksum_matches"]) == (0, 0, True)
    if mode == "single":
        answers = found["answers"]
        # a duplicate may overtake its original on another connection
        assert answers["report 201"] + answers.get("duplicate 201", 0) == 400
        assert answers["duplicate 200"] + answers.get("report 200", 0) > 40
        assert found["answers"]["malformed 400"] > 10
