"""One collection over HTTP, step by step: publish, answer, fit, ask the model.

The demonstration and the containers do the same steps, in one process and in several.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from privet.client import Holder, Ledger, MemoryLedger, ReportClient
from privet.curator.cli.http import problem_in
from privet.transport.curator_client import new_http
from scripts.fair_survey import without_label

ADMIN_SECONDS = 300.0
AT_A_TIME = 8

Record = Mapping[str, float | str]


@dataclass(frozen=True)
class Admin:
    """The curator's owner: publishes tasks, fits models, asks them.

    Every call raises the ``PrivetError`` of the problem document that refuses it.
    """

    url: str
    token: str

    def publish(self, public_csv: bytes, settings: Mapping[str, Any]) -> str:
        """Create and open a task; its address."""
        answer = self._post(
            "/v1/tasks",
            files={"public": ("public.csv", public_csv, "text/csv")},
            data={"settings": json.dumps(settings)},
        )
        return f"{self.url}/v1/tasks/{answer['id']}"

    def fit(self, task_url: str, estimator: str | None = None, **parameters: Any) -> int:
        """Fit a model to the reports, by the default estimator or another; its number."""
        body = {"estimator": estimator, "parameters": parameters}
        return int(self._post(f"{_path(task_url)}/models", json=body)["number"])

    def predict(self, task_url: str, model: int, records: Sequence[Record]) -> list[Any]:
        """The model's label for each record; labels in the records are not sent."""
        columns = {name: [record[name] for record in records] for name in without_label(records[0])}
        body = {"model": model, "columns": columns}
        return list(self._post(f"{_path(task_url)}/predict", json=body)["label"])

    def read(self, path_or_url: str) -> dict[str, Any]:
        """What a GET answers."""
        return self._call("GET", _path(path_or_url))

    def _post(self, path: str, **content: Any) -> dict[str, Any]:
        return self._call("POST", path, **content)

    def _call(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=ADMIN_SECONDS) as http:
            answer = http.request(method, path, **content)
        if answer.is_error:
            raise problem_in(answer)
        found: dict[str, Any] = answer.json()
        return found


async def answer_all(
    task_url: str,
    records: Iterable[Record],
    progress: Callable[[], None],
    *,
    insecure_http: bool,
    ledger: Ledger | None = None,
) -> int:
    """Let one holder per record answer the task, some of them at a time; the bytes they sent.

    Every holder is an object of its own with a ledger of its own, or, where one is given, a
    subject of ``ledger``. It fetches the task, checks it, and sends one report; only the TCP
    connections are shared.
    """
    waiting = _by_ledger(records, ledger)

    async def work() -> int:
        sent = 0
        async with new_http() as http:
            for record, own, subject in waiting:
                curator = ReportClient(http, insecure_http=insecure_http)
                holder = Holder(curator, own, subject)
                sent += len((await holder.answer(task_url, record)).report)
                progress()
        return sent

    return sum(await asyncio.gather(*(work() for _ in range(AT_A_TIME))))


def _by_ledger(
    records: Iterable[Record], ledger: Ledger | None
) -> Iterator[tuple[Record, Ledger, str]]:
    for number, record in enumerate(records):
        own = MemoryLedger(cap=float("inf")) if ledger is None else ledger
        yield record, own, f"holder {number}"


def _path(task_url: str) -> str:
    return httpx.URL(task_url).path
