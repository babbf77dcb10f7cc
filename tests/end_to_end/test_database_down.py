"""The database's server goes while a curator runs: whoever watches it is told."""

import time
from pathlib import Path

import httpx
import pytest

from privet.admin.client import CuratorClient
from privet.admin.results import Scope
from scripts.postgres import postgres_server
from scripts.servers import running_curator
from tests.curator.http.checks import values


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_metrics_tell_that_the_database_is_down(workers: str, tmp_path: Path) -> None:
    """To a token that was there when a process started, and when the database is back."""
    with postgres_server() as server:
        with running_curator(tmp_path, database=server.url) as curator:
            issued = CuratorClient(curator.url, curator.token).issue_token("watch", Scope.READER)
        with running_curator(tmp_path, database=server.url, workers=workers) as curator:
            reader = {"Authorization": f"Bearer {issued.token}"}

            def scraped() -> httpx.Response:
                return httpx.get(f"{curator.url}/metrics", headers=reader, timeout=10)

            def wait_for(up: float) -> None:
                last = time.monotonic() + 90
                while values(scraped().text, "privet_database_up") != {(): up}:
                    assert time.monotonic() < last
                    time.sleep(0.5)

            wait_for(1.0)
            server.stop()
            for _ in range(20):  # whichever process answers
                assert scraped().status_code == 200
            wait_for(0.0)
            assert httpx.get(f"{curator.url}/readyz", timeout=30).status_code == 503
            server.start()
            wait_for(1.0)
