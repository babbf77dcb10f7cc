"""A relay's metrics, for whoever has the token."""

import httpx
from starlette.types import ASGIApp

from privet.relay.app import Relay, create_app
from privet.relay.batches import StoredReport
from privet.relay.curator_calls import CountingClient
from privet.relay.metrics import RelayMetrics
from privet.relay.outcomes import COUNTED, Account
from privet.relay.spool import Spool
from privet.relay.status import BatchSizes
from tests.client.fakes import Network
from tests.fake_curator import FakeCurator
from tests.protocol.examples import make_task
from tests.relay.test_relay import CURATOR, RELAY

TOKEN = "for-prometheus"
TASK = make_task()


def serving(app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=RELAY)


async def test_tallies_and_calls_are_told_to_who_has_the_token(spool: Spool) -> None:
    """What waits, what became of the rest, and calls by the relay's own routes."""
    reports = [StoredReport(TASK.id, (0,), bytes([i]) * 16, b"x") for i in range(5)]
    spool.add(reports[:3])
    spool.seal(TASK.id, (0,), 3, 3, invited=False)
    (number,) = spool.sealed()
    spool.settle(number, Account({COUNTED: 3}), 0)
    spool.add(reports[3:])
    network = httpx.MockTransport(Network([FakeCurator(TASK)]))
    client = CountingClient(httpx.AsyncClient(transport=network))
    relay = Relay(client, CURATOR, spool, BatchSizes(3))
    async with serving(create_app(relay)) as http:  # where no token is set
        assert (await http.get("/metrics")).status_code == 404
    async with serving(create_app(relay, RelayMetrics(spool, client), TOKEN)) as http:
        assert (await http.get("/metrics")).status_code == 401
        assert (await http.get(f"/v1/tasks/{TASK.id}")).status_code == 200
        assert (await http.get("/nothing")).status_code == 404
        answer = await http.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    lines = answer.text.splitlines()
    for state, count in (("waiting", 2), ("counted", 3)):
        assert f'privet_relay_reports{{state="{state}",task="{TASK.id[:12]}"}} {count}.0' in lines
    for route, status in (("/v1/tasks/{task_id}", 200), ("/metrics", 401), ("other", 404)):
        labels = f'method="GET",route="{route}",status="{status}"'
        assert f"privet_http_requests_total{{{labels}}} 1.0" in lines
    assert "smallest_batch" not in answer.text
    assert "privet_memory_limit_bytes " in answer.text
    for outcome, count in (("answered", 1), ("no-response", 0), ("not-authorized", 0)):
        assert f'privet_relay_curator_calls_total{{outcome="{outcome}"}} {count}.0' in lines


async def test_what_only_waits_has_counted_nothing(spool: Spool) -> None:
    """0, and not nothing: an alert sees what was counted stay the same."""
    spool.add([StoredReport(TASK.id, (0,), bytes(16), b"x")])
    text = RelayMetrics(spool, CountingClient(httpx.AsyncClient())).text().decode()
    assert f'privet_relay_reports{{state="counted",task="{TASK.id[:12]}"}} 0.0' in text
