"""Probes for alerting: database, open tasks, newest backup, certificate, impossible reports."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from privet.http_server.readiness import Readiness
from privet.learning.core.counts import QuestionCounts
from privet.learning.figures.impossible import impossible
from privet.protocol.errors import StorageFailed, TaskNotFound
from privet.protocol.lifecycle import Phase

from .datastore import Store
from .datastore.audit import BACKED_UP
from .datastore.backup_folder import newest_in
from .datastore.tasks import ListedTask
from .metrics import Metrics

EVERY_SECONDS = 60.0
PROBE_SECONDS = 15.0
"""Seconds between two writes that show whether the database takes any."""
ANSWER_SECONDS = 5.0

log = logging.getLogger(__name__)


async def watch_database(
    metrics: Metrics, readiness: Readiness, read_tokens: Callable[[], object]
) -> None:
    """Tell ``metrics`` every few seconds whether the database takes writes, until cancelled.

    While it does, ``read_tokens`` keeps those of metrics' readers, which serve on when it fails.
    """
    tokens = Readiness(read_tokens)  # which waits for no answer that does not come
    while True:
        metrics.database_up.set(not readiness.fails)  # at first true: a start opens it
        await asyncio.sleep(PROBE_SECONDS)
        try:
            await readiness.check()
            await tokens.check()
        except StorageFailed as error:
            log.warning("the database takes no writes: %s", error.__cause__ or error)


async def watch(
    metrics: Metrics,
    store: Store,
    look: Callable[[], tuple[Sequence[ListedTask], Mapping[str, int], object]],
    certificate_of: str,
    clock: Callable[[], float],
    backups: str = "",
) -> None:
    """Tell ``metrics`` every minute, until cancelled.

    ``look`` gives the tasks and their counted reports, by its own look at the database;
    ``certificate_of`` is ``host:port`` or a file, or empty where there is none to watch;
    ``backups`` is the folder with them, or empty where the database alone knows.
    """
    tested: dict[str, TaskVerdict] = {}
    known = set[tuple[str, str]]()
    while True:
        try:
            listed, counted, _ = await run_in_threadpool(look)
            moment = await run_in_threadpool(store.facts.read, BACKED_UP)
            newest = await run_in_threadpool(newest_in, Path(backups)) if backups else moment
            metrics.newest_backup.set(float(newest or 0.0))
            tested = await run_in_threadpool(judge_tasks, store, listed, clock(), tested)
            metrics.impossible_tasks.set(sum(one.false for one in tested.values()))
            metrics.collecting({task_id: counted.get(task_id, 0) for task_id in tested})
            held = await run_in_threadpool(store.standing.holdings)
            for relay, task_id in known - held.keys():  # the task was deleted
                metrics.held(relay, task_id, (0, 0, 0, 0))
            known = set(held)
            for (relay, task_id), each in held.items():
                metrics.held(relay, task_id, each.figures(counted.get(task_id, 0)))
        except StorageFailed as error:
            log.warning(
                "backups, reports and a database that was put back are not watched: %s",
                error.detail,
            )
        if certificate_of:
            metrics.certificate_end.set(await run_in_threadpool(certificate_end, certificate_of))
        await asyncio.sleep(EVERY_SECONDS)


@dataclass(frozen=True)
class TaskVerdict:
    """A test of a task's reports: ``false`` if its ``answers`` cannot all be honest."""

    answers: int
    false: bool


def judge_tasks(
    store: Store, listed: Sequence[ListedTask], now: float, before: Mapping[str, TaskVerdict]
) -> dict[str, TaskVerdict]:
    """Verdicts on the tasks that take reports at ``now``; those ``before`` hold until more come."""
    tested = {}
    for each in listed:
        if each.phase(now) is not Phase.OPEN:
            continue
        task_id = each.head.id
        try:
            collected = store.standing.collected(task_id)
        except TaskNotFound:  # deleted meanwhile
            continue
        answers = sum(question.n for question in collected.sums)
        if task_id in before and before[task_id].answers == answers:
            tested[task_id] = before[task_id]
            continue
        task, planned = collected.stored.task, collected.stored.planned
        counts = (
            QuestionCounts.of(task, number, question.vector, question.n, planned, question.events)
            for number, question in enumerate(collected.sums)
        )
        false = impossible(list(counts))
        tested[task_id] = TaskVerdict(answers, false is not None)
        if false is not None:
            log.warning("task %s: %s", task_id, false.sentence)
    return tested


def certificate_end(place: str) -> float:
    """Unix time at which the certificate at ``host:port``, or in a file, expires; 0 if it cannot
    be read."""
    from cryptography.x509 import load_pem_x509_certificate

    try:
        if place.startswith("/"):
            pem = Path(place).read_text(encoding="ascii")
        else:
            host, _, port = place.rpartition(":")
            address = (host.strip("[]"), int(port))
            pem = ssl.get_server_certificate(address, timeout=ANSWER_SECONDS)
        return load_pem_x509_certificate(pem.encode()).not_valid_after_utc.timestamp()
    except (OSError, ValueError) as error:
        log.warning("the certificate of %s cannot be seen: %s", place, error)
        return 0.0
