"""What a load test sends to: a given task or one of its own, with or without a relay in front."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from privet import CuratorClient
from privet.protocol.task import Task
from scripts.load import population
from scripts.load.meter import Meter, Use
from scripts.load.outcomes import Outcomes
from scripts.load.run import Load, send, wait_for_relay
from scripts.load.spool import Shard, groups
from scripts.servers import running_curator, running_relay

LEAST = 1_000
"""Fewest reports that the relay forwards together while the load lasts."""
EVERY = 0.2


@dataclass(frozen=True)
class Target:
    """A task to load: its address, who owns it if we do, and the curator's process if ours."""

    task_url: str
    folder: Path
    token: str = ""
    """What the curator takes batches with."""
    admin: CuratorClient | None = None
    process: int | None = None

    @property
    def servers(self) -> dict[str, int]:
        """The processes that can be watched."""
        return {} if self.process is None else {"curator": self.process}


@dataclass(frozen=True)
class Delivery:
    """How sending went: whether to its end, how long until all was counted, what it cost."""

    finished: bool
    seconds: float
    use: Use


@contextmanager
def open_target(
    task: str, folder: Path, cells: int, epsilon: float, settings: Mapping[str, str]
) -> Iterator[Target]:
    """The given task, or one that a curator of our own publishes."""
    if task:
        yield Target(task, folder, os.environ.get("PRIVET_RELAY_TOKEN", ""))
        return
    with running_curator(folder / "curator", **settings) as curator:
        admin = CuratorClient(curator.url, curator.token)
        url = population.publish(admin, cells, epsilon)
        yield Target(url, folder, curator.token, admin, curator.process.pid)


def deliver(
    target: Target,
    task: Task,
    shards: list[Shard],
    load: Load,
    outcomes: Outcomes,
    *,
    through_relay: bool,
) -> Delivery:
    """Send all reports and wait until the curator has them."""
    load = replace(load, token=target.token if load.mode == "relay" else "")
    if through_relay:
        return _relayed(target, task, shards, load, outcomes)
    meter = Meter(target.servers)
    finished = send(target.task_url, task, shards, load, outcomes)
    return Delivery(finished, outcomes.seconds, meter.stop())


def _relayed(
    target: Target, task: Task, shards: list[Shard], load: Load, outcomes: Outcomes
) -> Delivery:
    """Through a relay, which is started again at the end with a smaller ``least`` for the rest."""
    curator, folder = target.task_url.partition("/v1/")[0], target.folder / "relay"
    with running_relay(folder, curator, target.token, least=LEAST, every=EVERY) as relay:
        url = f"{relay.url}/v1/tasks/{task.id}"
        meter = Meter({**target.servers, "relay": relay.process.pid})
        finished = send(url, task, shards, load, outcomes)
        wait_for_relay(url, (LEAST - 1) * len(groups(task)))
        use = meter.stop()
    with running_relay(folder, curator, target.token, least=1, every=EVERY) as relay:
        wait_for_relay(f"{relay.url}/v1/tasks/{task.id}", 0)
    return Delivery(finished, time.perf_counter() - outcomes.started, use)
