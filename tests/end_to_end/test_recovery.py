"""Curator, relay and database are gone; a backup and the signing key were kept elsewhere."""

import shutil
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from privet.admin.client import CuratorClient
from privet.admin.results import Scope
from privet.curator.cli import main
from scripts.devices import Devices
from scripts.pages import shell_block
from scripts.postgres import postgres_server
from scripts.servers import running_curator, running_relay, wait_for_reports
from tests.curator import samples
from tests.curator.datastore.made import slow_checksum
from tests.end_to_end.population import thirds

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


class Site:
    """A database, a curator and a relay, with all their files in ``folder``."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self._stack = ExitStack()
        self.database = f"sqlite:///{folder}/privet.db"
        if kind == "postgresql":
            server = self._stack.enter_context(postgres_server())
            self.database = server.url

    def start(self, key: Path | None, ports: tuple[int, int] = (0, 0)) -> None:
        """Start both servers, the relay with a new token."""
        curator = running_curator(
            self.folder / "curator",
            database=self.database,
            signing_key=None if key is None else str(key),
            port=str(ports[0]),
        )
        self.curator = self._stack.enter_context(curator)
        self.admin = CuratorClient(self.curator.url, self.curator.token)
        token = self.admin.issue_token("relay", Scope.RELAY).token
        relay = running_relay(
            self.folder / "relay", self.curator.url, token, least=1, every=0.2, port=ports[1]
        )
        self.relay = self._stack.enter_context(relay)

    @property
    def ports(self) -> tuple[int, int]:
        """Where they answer."""
        curator, relay = (int(url.rpartition(":")[2]) for url in (self.curator.url, self.relay.url))
        return curator, relay

    def lose(self) -> None:
        """Kill all servers, and delete every file."""
        for process in (self.relay.process, self.curator.process):
            process.kill()
        self.close()
        shutil.rmtree(self.folder)

    def close(self) -> None:
        """End everything."""
        self._stack.close()


def restored_as_told(kept: Path, folder: Path) -> None:
    """Run the handbook's commands, with this test's folders and user in place of a machine's."""
    script = shell_block(PAGE, "systemctl enable")
    for place, ours in {
        "/opt/privet/bin/privet ": f"{sys.executable} -m privet.curator ",
        "/var/lib/privet": str(folder),
        "/kept": str(kept),
        "chown -R privet ": "chown -R $(id -u) ",
        "systemctl ": "true ",
    }.items():
        assert place in script
        script = script.replace(place, ours)
    subprocess.run(["sh", "-euc", script], input="\n", text=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_lost_site_comes_back_and_every_report_counts_once(kind: str, tmp_path: Path) -> None:
    """Reports of before and after the backup, direct and relayed, and some that the relay held."""
    kept, key = tmp_path / "kept", tmp_path / "kept" / "signing.key"
    kept.mkdir()
    assert main(["key", "make", str(key)]) == 0
    site = Site(tmp_path / "site", kind)
    site.start(key)
    task = site.admin.create(
        samples.classes(), name="thirds", label="level", epsilon=1, holders=60, smallest_batch=1
    )
    pinned = site.admin.key().key
    assert pinned
    devices = Devices(tmp_path / "ledger.db", pinned)
    direct, relayed = (f"{url}/v1/tasks/{task['id']}" for url in (site.curator.url, site.relay.url))

    devices.answer(direct, thirds(10, seed=1))
    devices.answer(relayed, thirds(10, seed=2))
    wait_for_reports(site.admin, task["id"], 20)
    backup = kept / "2026-11-23T0317.db"
    assert main(["backup", str(backup), "--database", site.database]) == 0
    devices.answer(direct, thirds(10, seed=3))
    devices.answer(relayed, thirds(10, seed=4))
    wait_for_reports(site.admin, task["id"], 40)
    devices.resend()
    site.curator.process.kill()
    devices.answer(relayed, thirds(5, seed=5))
    states = Counter(str(answer.state) for answer in devices.answers())
    assert states == {"counted": 40, "held": 5}
    ports = site.ports
    site.lose()

    site = Site(tmp_path / "site", kind)
    if kind == "sqlite":
        restored_as_told(kept, site.folder)
        site.start(None, ports)
    else:
        assert main(["restore", str(backup), "--database", site.database]) == 0
        site.start(key, ports)
    status = site.admin.status(task["id"])
    assert (status["reports"], status["asks_again"]) == (20, True)
    assert site.admin.key().key == pinned
    devices.answer(direct, thirds(5, seed=6))
    devices.resend()
    answers = devices.answers()
    assert len(answers) == 50
    wait_for_reports(site.admin, task["id"], len(answers))
    devices.resend()
    assert {answer.state for answer in devices.answers()} == {"counted"}
    status = site.admin.status(task["id"])
    assert status["reports"] == len(answers)
    ids = [bytes.fromhex(answer.report_id) for answer in answers]
    assert status["checksum"] == slow_checksum(ids)
    assert main(["verify", "--database", site.database]) == 0
    site.close()
