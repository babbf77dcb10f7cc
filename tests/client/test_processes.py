"""The holder in processes of its own: killed in the middle, or started twice at once."""

import subprocess
import sys
from pathlib import Path

from privet.client import Holder, SqliteLedger
from tests.client.fakes import TASK, URL, Network, publish
from tests.client.test_holder import no_randomness, no_record
from tests.protocol.examples import RECORD

DIES_WHILE_SENDING = """
import asyncio, os, sys
from pathlib import Path
import httpx
from privet.client import ReportClient, Holder, SqliteLedger
task, url, ledger, record = bytes.fromhex(sys.argv[1]), sys.argv[2], sys.argv[3], eval(sys.argv[4])
def network(request):
    if request.method == "POST":
        print(request.content.hex(), flush=True)
        os.kill(os.getpid(), 9)
    kind = {"Content-Type": "application/vnd.privet.task+msgpack"}
    return httpx.Response(200, content=task, headers=kind)
client = ReportClient(httpx.AsyncClient(transport=httpx.MockTransport(network)))
asyncio.run(Holder(client, SqliteLedger(Path(ledger))).answer(url, record))
"""


async def test_a_killed_process_leaves_the_answer_that_it_was_sending(tmp_path: Path) -> None:
    """kill -9 at the first request: the next process sends those very bytes, and draws nothing."""
    path = tmp_path / "answers.sqlite3"
    code = [sys.executable, "-c", DIES_WHILE_SENDING, TASK.canonical.hex(), URL, str(path)]
    done = subprocess.run([*code, repr(RECORD)], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    network = Network([publish])
    again = Holder(network.client(), SqliteLedger(path), randomness=no_randomness)
    assert (await again.answer(URL, no_record())).counted
    assert [request.content.hex() for request in network.requests] == done.stdout.split()
    assert SqliteLedger(path).spent("me") == TASK.epsilon
