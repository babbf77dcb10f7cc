"""The database's server goes while a curator runs: whoever watches it is told."""

import time
from pathlib import Path

import httpx
import pytest

from privet.admin.client import CuratorClient
from scripts.postgres import postgres_server
from scripts.servers import running_curator
from tests.curator.http.checks import values


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_metrics_tell_that_the_database_is_down(workers: str, tmp_path: Path) -> None:
    """To a token that was read before, of each of several processes; and when it is back."""
    with (
        postgres_server() as server,
        running_curator(tmp_path, database=server.url, workers=workers) as curator,
    ):
        admin = CuratorClient(curator.url, curator.token)
        issued = admin.call("PUT", "/v1/tokens/watch", json={"scope": "reader"}).json()
        reader = {"Authorization": f"Bearer {issued['token']}"}

        def scraped() -> httpx.Response:
            return httpx.get(f"{curator.url}/metrics", headers=reader, timeout=10)

        def wait_for(up: float) -> None:
            last = time.monotonic() + 90
            while values(scraped().text, "privet_database_up") != {(): up}:
                assert time.monotonic() < last
                time.sleep(0.5)

        for _ in range(40):  # until each process has been asked
            assert scraped().status_code == 200
        wait_for(1.0)
        server.stop()
        assert scraped().status_code == 200
        wait_for(0.0)
        assert httpx.get(f"{curator.url}/readyz", timeout=30).status_code == 503
        server.start()
        wait_for(1.0)
