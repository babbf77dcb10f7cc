"""``privet pilot``: what it refuses, what it keeps; and, slowly, a whole trial."""

import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography import x509

from privet.admin.client import CuratorClient
from privet.curator.access.self_signed import certificate_for
from privet.curator.cli.pilot import Secrets
from privet.protocol.calls import REPORT_MEDIA_TYPE, TASK_MEDIA_TYPE
from privet.protocol.report import make_report
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.cli.conftest import Cli
from tests.curator.http.conftest import PERSON


def test_a_file_needs_a_label(run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which one could be is said; settings belong to a file. Nothing is started or written."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    refused = run("pilot", str(file))
    assert refused.code == 1
    assert "--label: the file has age, hours, job, member, label" in refused.err
    assert "name its file first" in run("pilot", "--epsilon", "1").err
    assert list(tmp_path.iterdir()) == [file]


def test_how_a_file_was_read_is_said_before_anything_starts(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what looks wrong, for how many the task is planned, and the option that changes it."""
    file = tmp_path / "survey.csv"
    file.write_text("x;town;y\n1,5;Bern;a\n2,5;bern;b\n2,5;bern;b\n3,5;Chur;a\n")
    began: list[str] = []
    monkeypatch.setattr("privet.curator.cli.pilot.signal.signal", lambda *_: None)
    monkeypatch.setattr(
        "privet.curator.cli.pilot._run", lambda *given, **_: began.append(given[5]["name"])
    )
    command = ["pilot", str(file), "--label", "y", "--folder", str(tmp_path / "kept")]
    refused = run(*command, "--port=0", "--relay-port=0")
    assert refused.code == 1
    assert "--rename" in refused.err
    assert "'privet pilot' without a file" in refused.err
    assert not began
    assert not (tmp_path / "kept").exists()
    merged = '{"town": {"bern": "Bern"}}'
    assert run(*command, "--port=0", "--relay-port=0", "--rename", merged).code == 0
    assert began.pop() == "survey"
    command.append("--yes")
    said = run(*command, "--port=0", "--relay-port=0").err
    assert "separated by semicolons, with decimal commas" in said
    assert "Please check: 'town' has categories that differ only in case" in said
    assert "for 10000 reports: set --holders" in said
    assert said.index("Please check") < said.index("Starting curator")
    assert began == ["survey"]
    fewer = run(*command, "--port=0", "--relay-port=0", "--holders=50").err
    assert "set --holders" not in fewer


def test_columns_that_no_task_can_have_are_named_before_anything_starts(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the option that leaves them out, whatever else looks wrong, and also with ``--yes``."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "survey.csv"
    rows = "".join(f"{i:05d};{('Bern', 'bern')[i % 2]};{'ab'[i % 2]}\n" for i in range(30))
    file.write_text(f"patient;town;y\n{rows}")
    for more in ([], ["--yes"]):
        refused = run("pilot", str(file), "--label", "y", *more)
        assert refused.code == 1
        assert "'town' has categories that differ only in case" in refused.err
        assert "'patient' has 30 different texts in 30 rows" in refused.err
        assert "--ignore patient" in refused.err
    assert list(tmp_path.iterdir()) == [file]


def test_tokens_are_kept_for_their_owner(tmp_path: Path) -> None:
    """The same at every start, and readable by nobody else."""
    made = Secrets.of(tmp_path)
    Secrets(made.admin, "relay's").keep(tmp_path)
    assert Secrets.of(tmp_path) == Secrets(made.admin, "relay's")
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_certificate_is_of_one_address(tmp_path: Path) -> None:
    """Kept while it serves the address; another network has another."""
    file, key = certificate_for("192.168.1.5", tmp_path)
    first = file.read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    assert certificate_for("192.168.1.5", tmp_path)[0].read_bytes() == first
    other = x509.load_pem_x509_certificate(certificate_for("10.0.0.7", tmp_path)[0].read_bytes())
    names = other.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]
    ssl.create_default_context().load_cert_chain(file, key)


@contextmanager
def piloting(folder: Path, stop: signal.Signals) -> Iterator[dict[str, str]]:
    """A pilot as a process, for phones: what it said, by its lines' first words, and its link.

    The link for people is all that standard output has.
    """
    file = folder / "survey.csv"
    file.write_bytes(samples.survey())
    words = ["pilot", str(file), "--label", "label", "--grower", "cart", "--depth", "2"]
    words += ["--folder", str(folder / "kept"), "--host", "127.0.0.1", "--no-browser"]
    command = [sys.executable, "-m", "privet.curator", *words, "--port=0", "--relay-port=0"]
    link = folder / "link"
    with (
        link.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stderr is not None
        said = {}
        for line in process.stderr:
            name, _, rest = line.strip().partition(": ")
            said[name] = rest
            if line.startswith("Everything"):
                break
        try:
            (said["People"],) = link.read_text().splitlines()
            yield said
        finally:
            process.send_signal(stop)
            rest = process.communicate(timeout=60)[1]
        assert "goes on from" in rest
        assert process.returncode == 0


@pytest.mark.slow
def test_a_trial_counts_an_answer_and_goes_on(tmp_path: Path) -> None:
    """Over https at the answer page's address; the second start has the same task and report."""
    with piloting(tmp_path, signal.SIGINT) as said:
        tls = ssl.create_default_context(cafile=tmp_path / "kept" / "certificate.pem")
        with httpx.Client(verify=tls) as http:
            shown = http.get(said["People"])
            assert "privet-answer" in http.get(f"{said['People']}/../privet-answer.js").text
            task_url = said["People"].replace("/answer/", "/v1/tasks/")
            status = http.get(f"{task_url}/status").json()
            task = Task.parse(http.get(task_url, headers={"Accept": TASK_MEDIA_TYPE}).content)
            report = make_report(task, PERSON, os.urandom).pack()
            kind = {"Content-Type": REPORT_MEDIA_TYPE}
            taken = http.post(f"{task_url}/reports", content=report, headers=kind)
        assert shown.status_code == 200
        assert status["one_operator"]
        assert taken.status_code == 202
        assert counted(said, task.id) == 1
    with piloting(tmp_path, signal.SIGTERM) as again:
        assert again["People"].rsplit("/", 1)[1] == task.id
        assert counted(again, task.id) == 1
    assert subprocess.run(["pgrep", "-f", str(tmp_path)], check=False).returncode == 1


def counted(said: dict[str, str], task: str) -> int:
    """The reports that the dashboard's curator has counted, once there is one."""
    found = re.fullmatch(r"(http://[\d.:]+)/sign-in\?then=/tasks/\w+#([\w-]+)", said["You"])
    assert found
    admin = CuratorClient(found[1], found[2])
    deadline = time.monotonic() + 60
    while not (reports := int(admin.status(task)["reports"])) and time.monotonic() < deadline:
        time.sleep(0.1)
    return reports
