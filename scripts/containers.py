"""The demonstration's steps as separate programs, for the compose files.

``setup`` publishes the task and divides the holders' records into shards, ``holders`` answers
for one shard after another until none is left, ``report`` fits the model and prints the table. A
shard belongs to the agent that could rename it, so any number of agents may run. An agent that
died continues its shard when it is started again: a ledger next to the shard keeps the answers
that were drawn, so that each goes out again byte for byte and counts once.
"""

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from privet import CuratorClient, SqliteLedger
from scripts import fair_survey
from scripts.demo import compare, effort, print_results
from scripts.holder_pool import answer_all
from scripts.servers import wait_for_reports

FOLDER = Path(os.environ.get("SHARDS", "/data"))
SHARD_COUNT = 24
console = Console(width=100)
app = typer.Typer(add_completion=False)


@app.command()
def setup() -> None:
    """Publish the task and write ``task.url`` and the shards, unless that was done before.

    Holders use the relay at ``RELAY_URL``, if that is set.
    """
    if (FOLDER / "task.url").exists():
        return
    population = fair_survey.load()
    admin, settings = _admin(), fair_survey.settings(_epsilon(), len(population.holders))
    settings["smallest_batch"] = 1  # so that all are counted at the end, however few are left
    task = admin.create(fair_survey.as_csv(population.public), **settings)
    relay = os.environ.get("RELAY_URL")
    task_url = admin.task_url(task) if relay is None else f"{relay}/v1/tasks/{task['id']}"
    for number in range(SHARD_COUNT):
        records = population.holders[number::SHARD_COUNT]
        (FOLDER / f"{number:03d}.todo").write_text(json.dumps(records), encoding="utf-8")
    (FOLDER / "task.url").write_text(task_url, encoding="utf-8")
    console.print(f"Published {task_url} and distributed {len(population.holders)} records.")


@app.command()
def holders() -> None:
    """Answer for the records of every shard that nobody else has taken."""
    task_url = (FOLDER / "task.url").read_text(encoding="utf-8")
    agent = os.environ.get("AGENT") or socket.gethostname()  # which it keeps at a new start
    for shard in _taken_shards(agent):
        records = json.loads(shard.read_text(encoding="utf-8"))
        kept = shard.with_suffix(".ledger")
        # the network between the demonstration's containers has no TLS
        asyncio.run(answer_all(task_url, records, insecure_http=True, ledger=SqliteLedger(kept)))
        number = shard.name.partition(".")[0]
        shard.rename(FOLDER / f"{number}.done")
        kept.unlink(missing_ok=True)
        console.print(f"Shard {number}: {len(records)} holders have answered.")


@app.command()
def report(
    *, as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False
) -> None:
    """Fit, compare and print, once a relay has forwarded what it does."""
    task_url = (FOLDER / "task.url").read_text(encoding="utf-8")
    population, admin, task = fair_survey.load(), _admin(), task_url.rpartition("/")[2]
    if "RELAY_URL" in os.environ:
        least = int(os.environ["LEAST"])  # the relay forwards no fewer together
        wait_for_reports(admin, task, len(population.holders) - least + 1)
    reports = int(admin.status(task)["reports"])
    longest = int(admin.task(task)["report_bytes"])
    results = compare(admin, task, population, population.holders, _epsilon())
    if as_json:
        print(json.dumps([asdict(result) for result in results]))
        return
    taken = effort(reports, longest, _epsilon())
    print_results(console, results, population, taken)


def _taken_shards(agent: str) -> Iterator[Path]:
    """The shard this agent had when it died, then the remaining shards one by one."""
    yield from sorted(FOLDER.glob(f"*.{agent}.taken"))
    for shard in sorted(FOLDER.glob("*.todo")):
        mine = shard.with_suffix(f".{agent}.taken")
        try:
            shard.rename(mine)
        except FileNotFoundError:
            continue  # another agent was faster
        yield mine


def _admin() -> CuratorClient:
    file = os.environ.get("TOKEN_FILE")
    token = os.environ["PRIVET_TOKEN"] if file is None else Path(file).read_text().strip()
    return CuratorClient(os.environ["PRIVET_URL"], token, insecure_http=True)


def _epsilon() -> float:
    return float(os.environ.get("EPSILON", "2"))


if __name__ == "__main__":
    app()
