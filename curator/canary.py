"""The canary: made-up reports, sent as holders send theirs, must count, be fitted and predict.

They answer a task of their own, whose epsilon is above what a holder spends on one task unless told
otherwise, so that people do not answer it by mistake; and no other, since reports of nobody would
falsify a collection, and be company that hides nobody in a relay's batches. There is no record and
no ledger. docs/adr/0702-a-canary-of-the-operators-own.md has the reasons.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from anyio import fail_after, to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge
from pydantic import BaseModel, Field

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import ReportClient, Retry
from privet.protocol.errors import InsufficientScope, InvalidRequest, PrivetError, TaskNotFound
from privet.protocol.limits import TASK_CAP
from privet.protocol.report import Fate, make_report
from privet.protocol.task import Task

from .admin_client import CuratorClient, Document

NAME = "Privet canary"
EPSILON = 4 * TASK_CAP
RECORD = {"perch": "high", "sings": "yes"}
"""What every report says of the bird that is not there."""
PUBLIC = "perch,sings\n" + "high,no\nlow,no\nhigh,yes\nlow,no\n" * 10
SETTINGS: dict[str, Any] = {
    "name": NAME,
    "label": "sings",
    "epsilon": EPSILON,
    "depth": 1,
    "grower": "cart",
    "mechanism": "grr",
    "description": "The operator's own check that reports count. Nobody's data are asked for here, "
    "and no device of a person should answer.",
}
ESTIMATOR = "private"
ENOUGH = 4
"""Reports from which on a false prediction is a fault: with a probability of 7e-7 no more of four
say what the record says than the opposite."""
MOST = 50_000
"""Reports of one round, whatever a relay asks for."""
LOOK_SECONDS = 0.5
RETRY = Retry(attempts=3)
"""Less patient than holders, so that an error is seen before the round is over."""
STAGES = ("fetch", "send", "count", "fit", "predict")
DONE = "done"

T = TypeVar("T")


class CanaryFailed(PrivetError): ...


def make_task(api: CuratorClient) -> Document:
    """Publish the canary's task, or find it; takes a token of scope admin."""
    return api.create(PUBLIC.encode(), **SETTINGS)


@dataclass
class Round:
    """What a round has seen so far; ``stage`` is the one it is in, or ``DONE``."""

    stage: str = STAGES[0]
    sent: int = 0
    counted: int = 0
    """Of those sent, at most."""
    held: bool = False
    """Whether the relay says that it still has them."""
    model: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def at(self, stage: str) -> Iterator[None]:
        self.stage, began = stage, time.monotonic()
        yield
        self.seconds[stage] = time.monotonic() - began


class CanaryMetrics:
    """Counters and moments of rounds, for Prometheus."""

    def __init__(self, every: float) -> None:
        self.registry = CollectorRegistry()
        gauge = partial(Gauge, registry=self.registry)
        rounds = Counter(
            "privet_canary_rounds_total",
            "Rounds of the canary: done, or the stage that failed.",
            ["outcome"],
            registry=self.registry,
        )
        self._rounds = {outcome: rounds.labels(outcome) for outcome in (DONE, *STAGES)}
        self._seconds = gauge(
            "privet_canary_seconds",
            "Time that a stage took in the last round that got past it.",
            ["stage"],
        )
        self._success = gauge(
            "privet_canary_success_timestamp_seconds",
            "When a round was last done, in Unix time; 0 if none was since the start.",
        )
        self._passed = gauge("privet_canary_passed", "1 if the last round was done, else 0.")
        gauge("privet_canary_every_seconds", "Time between two rounds.").set(every)

    def ended(self, outcome: str, seconds: dict[str, float]) -> None:
        self._rounds[outcome].inc()
        self._passed.set(outcome == DONE)
        if outcome == DONE:
            self._success.set(time.time())
        for stage, took in seconds.items():
            self._seconds.labels(stage).set(took)


class _Shown(BaseModel):
    """What a status says of batches; a curator's says nothing."""

    least: int = Field(default=1, ge=1, le=MOST)


class Canary:
    """Rounds against the curator at ``url``, whose reports go by ``way``: it, or a relay.

    ``token`` is of scope fitter. A round has ``within`` seconds.
    """

    def __init__(
        self, url: str, token: str | None, way: str, within: float, *, insecure_http: bool = False
    ) -> None:
        self._api = CuratorClient(url, token, within)
        self._way = way.rstrip("/")
        self._within = within
        self._insecure_http = insecure_http
        self._model: Document | None = None

    async def round(self, seen: Round, *, fit: bool = True) -> None:
        """Send as many reports as the relay forwards together, or one, and follow them.

        Without ``fit`` the model of an earlier round predicts, if there is one. Raises
        ``CanaryFailed``; ``seen`` says at which stage.
        """
        try:
            with fail_after(self._within):
                await self._follow(seen, fit=fit)
        except TimeoutError:
            said = f"not done within {self._within:g} s"
            if seen.stage == "count":
                said = f"{seen.counted} of {seen.sent} reports count after {self._within:g} s; "
                said += "the relay holds them" if seen.held else "all were acknowledged"
            raise CanaryFailed(said) from None
        except PrivetError as error:
            raise CanaryFailed(error.detail) from error
        except (LookupError, TypeError, ValueError) as error:
            raise CanaryFailed(f"What answers is no curator ({error!r}).") from error
        seen.stage = DONE

    async def _follow(self, seen: Round, *, fit: bool) -> None:
        async with ReportClient(insecure_http=self._insecure_http, retry=RETRY) as holder:
            with seen.at("fetch"):
                task_id = await self._task_id()
                address = holder.address(f"{self._way}/v1/tasks/{task_id}")
                task = (await holder.offer(address)).task
                check_canarys(task)
                seen.sent = _Shown.model_validate_json(await holder.status(address)).least
                before = await self._reports(task_id)
            with seen.at("send"):
                fates = await _send(holder, address, task, seen.sent)
            with seen.at("count"):
                await self._wait(holder, address, fates[0], before, seen)
        if fit or self._model is None:
            with seen.at("fit"):
                self._model = await self._ask(self._api.fit, task_id, ESTIMATOR)
                if self._model["reports"] < before + seen.sent:
                    raise CanaryFailed(f"The model was fitted without the reports: {self._model}.")
        seen.model = self._model["number"]
        with seen.at("predict"):
            told = await self._ask(partial(self._api.predict, model=seen.model), task_id, [RECORD])
            if self._model["reports"] >= ENOUGH and told["label"] != [RECORD["sings"]]:
                raise CanaryFailed(f"The prediction is not what all reports say: {told}.")

    async def _task_id(self) -> str:
        try:
            return await self._ask(self._api.task_id, NAME)
        except TaskNotFound:
            raise TaskNotFound(
                "The curator has no task for the canary: an admin makes it with 'privet canary "
                "make'."
            ) from None

    async def _reports(self, task_id: str) -> int:
        status = await self._ask(self._api.status, task_id)
        if status["step"] != 1:
            raise InsufficientScope(
                "Without a token counts come late and in steps: give one of scope fitter "
                "(privet token issue canary --scope fitter)."
            )
        return int(status["reports"])

    async def _wait(
        self, holder: ReportClient, address: TaskAddress, fate: Fate, before: int, seen: Round
    ) -> None:
        """Return once the reports count; what the relay says is for the error if they do not."""
        while True:
            seen.counted = min(await self._reports(address.id) - before, seen.sent)
            if seen.counted == seen.sent:
                return
            if fate.state == "held":
                fate = await holder.fate(address, fate.report)
            if fate.state == "refused":
                raise CanaryFailed(f"The curator refused them at the relay: {fate.reason}.")
            seen.held = fate.state == "held"
            await asyncio.sleep(LOOK_SECONDS)

    async def _ask(self, call: Callable[..., T], *given: Any) -> T:
        """The answer to a blocking call, which is left behind when the round is over."""
        return await to_thread.run_sync(call, *given, abandon_on_cancel=True)


async def _send(holder: ReportClient, address: TaskAddress, task: Task, count: int) -> list[Fate]:
    """Draw and send reports at once; raises what became of the first that was not taken."""
    reports = [make_report(task, RECORD, os.urandom) for _ in range(count)]
    sending = (holder.send(address, report.pack(), report.id.hex()) for report in reports)
    ended = await asyncio.gather(*sending, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in ended if isinstance(outcome, Fate)]


def check_canarys(task: Task) -> None:
    """Raise ``InvalidRequest`` for a task that asks anybody else anything."""
    asked = {*(feature.name for feature in task.features), task.label.name}
    if task.name != NAME or task.epsilon != EPSILON or asked != RECORD.keys():
        raise InvalidRequest(
            f"The task that is called {NAME!r} here asks something else: made-up reports go to the "
            "canary's own alone. Call it something else, and run 'privet canary make'."
        )
