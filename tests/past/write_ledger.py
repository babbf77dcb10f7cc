"""Write a ledger, and what its program says of it, by the program of an older commit.

It runs in a checkout of that commit, as README.md shows::

    PYTHONPATH=$PWD python .../tests/past/write_ledger.py FILE.sqlite3

The ledger is made by that commit's own holder and commands, and compacted; one that is there is
only opened, which upgrades it. FILE.json has the time of the device's clock and, for each subject,
what that commit's ``cap --json`` and ``budget --json`` print at that time; of ``budget`` null where
it fails, or would ask a relay. Nothing is sent anywhere.
"""

import asyncio
import json
import sqlite3
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

NOW, DAY = 1_830_000_000.0, 86_400.0
"""The device's clock, in December 2027."""
clock = [NOW]
time.time = lambda: clock[0]  # before the program takes it

import httpx  # noqa: E402
from pydantic import ValidationError  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from privet.client import (  # noqa: E402
    CuratorUnreachable,
    Holder,
    ReportClient,
    ReportState,
    Retry,
    SqliteLedger,
)
from privet.client.cli import app  # noqa: E402
from privet.protocol.errors import PrivetError  # noqa: E402
from privet.protocol.report import Report  # noqa: E402
from tests.protocol.examples import make_task, question  # noqa: E402

DISCLOSING: Any = None
"""A task with disclosed columns, unless that program knew none."""
for module, name in (
    ("scripts.make_message_vectors", "SHOWN"),
    ("tests.protocol.vectors", "DISCLOSING"),
):
    with suppress(ImportError):
        DISCLOSING = getattr(import_module(module), name, DISCLOSING)

RECORD = {"age": 33.5, "work": "shop", "answer": "yes"}
IN_A_WARD = {"age": 25, "ward": "heart", "work": "shop", "answer": "yes"}


def task(name: str, epsilon: float, **more: Any) -> Any:
    return make_task(name=name, questions=(question(epsilon=epsilon),), **more)


def panel() -> Any:
    """A panel whose first wave runs now; None if that program knew none."""
    waves = tuple((int(NOW + day * DAY), int(NOW + (day + 20) * DAY)) for day in (-5, 60, 180))
    try:
        return task(
            "panel",
            0.25,
            panel={"mode": "repeat", "waves": waves},
            opens=waves[0][0],
            closes=waves[-1][1],
        )
    except (PrivetError, ValidationError):
        return None


class Curator:
    """Publishes every task, and counts reports; where it is ``down`` nobody takes them."""

    def __init__(self, *tasks: Any) -> None:
        self.tasks = {each.id: each for each in tasks}
        self.down = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.split("/")
        if request.method == "POST":
            if self.down:
                raise httpx.ConnectError("no route to host")
            report = Report.unpack(request.content).id.hex()
            return httpx.Response(201, json={"report": report, "counted": True})
        if len(parts) > 4:
            return httpx.Response(200, json={"phase": "open", "invited": False})
        kind = {"Content-Type": request.headers["accept"]}
        return httpx.Response(200, content=self.tasks[parts[3]].canonical, headers=kind)


async def write(ledger: SqliteLedger) -> None:
    old, new = task("a year ago", 1.0), task("within the year", 0.5)
    kept, refused, held = task("kept", 0.75), task("refused", 0.25), task("held", 0.125)
    asked, waves = panel(), []
    if asked is not None:
        waves = [asked, *asked.waves]
    disclosing = [] if DISCLOSING is None else [DISCLOSING]
    curator = Curator(old, new, kept, refused, held, *waves, *disclosing)

    async def answer(
        subject: str, which: Any, at: float, record: Any = RECORD, invitation: str | None = None
    ) -> None:
        clock[0] = at
        network = httpx.AsyncClient(transport=httpx.MockTransport(curator))
        holder = Holder(ReportClient(network, retry=Retry(attempts=1)), ledger, subject)
        with suppress(AttributeError):
            holder.wait = False
        url = f"https://curator.example/v1/tasks/{which.id}"
        with suppress(CuratorUnreachable):
            await holder.answer(url, record, invitation)

    await answer("me", old, NOW - 400 * DAY)
    await answer("me", new, NOW - 100 * DAY)
    for which in disclosing:
        await answer("me", which, NOW - 50 * DAY, IN_A_WARD)
    for which in waves[:1]:
        await answer("me", which, NOW - DAY)
    curator.down = True
    await answer("ann", kept, NOW - 3600, invitation="code-1")
    await answer("ann", refused, NOW - 3600)
    await answer("bob", held, NOW - 3600)
    clock[0] = NOW
    for subject, which, state in (
        ("ann", refused, ReportState.REFUSED),
        ("bob", held, ReportState.HELD),
    ):
        settled: Any = ledger.find(subject, which.id)
        ledger.settle(replace(settled, state=state, reason="too late"))


def said(path: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(app, [*arguments, "--json", "--ledger", str(path)])
    return json.loads(done.stdout) if done.exit_code == 0 else None


def main() -> None:
    path = Path(sys.argv[1])
    is_new, ledger = not path.exists(), SqliteLedger(path)
    if is_new:
        given = ["--task", "1.5", "--year", "3.5"]
        if "disclosed" in said(path, "cap")["caps"]:
            given += ["--disclosed", "12"]
        said(path, "cap", *given)
        asyncio.run(write(ledger))
    values = {"now": NOW, "subjects": {}}
    for who in ("ann", "bob", "first", "me"):
        caps = said(path, "cap", "--subject", who)["caps"]
        budget = None if who == "bob" else said(path, "budget", "--subject", who)
        values["subjects"][who] = {"caps": caps, "budget": budget}  # type: ignore[index]
    with closing(sqlite3.connect(path)) as db:
        db.execute("VACUUM")
    path.chmod(0o644)
    path.with_suffix(".json").write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")


main()
