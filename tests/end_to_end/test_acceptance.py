"""A curator and a relay take the same and refuse the same: one table, sent to both on loopback."""

import gzip
import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest

from privet.http_server.connections import allow_connections
from privet.protocol.batch import Admission
from privet.protocol.calls import ADMISSION_MEDIA_TYPE, BATCH_MEDIA_TYPE, REPORT_MEDIA_TYPE
from privet.protocol.errors import (
    ERRORS_BY_URI,
    PROBLEMS,
    MalformedReport,
    NotAdmitted,
    NotAuthorized,
    PrivetError,
    ReportConflict,
    TaskMismatch,
    TaskNotFound,
    TaskNotOpen,
    TooLarge,
    UnsupportedMediaType,
    WrongPayload,
    WrongQuestions,
)
from privet.protocol.report import (
    Report,
    make_report,
)
from privet.protocol.task import Task
from scripts.servers import free_port, running_relay
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator
from tests.keeping import keeps
from tests.processes import ROOT
from tests.protocol.examples import batch_of

ANSWER = {"age": 50, "hours": 40, "job": "smith", "member": True, "label": 1}
SETTINGS: dict[str, Any] = {
    "label": "label",
    "epsilon": 1,
    "depth": 3,
    "grower": "cart",
    "smallest_batch": 1,  # so that a relay forwards each report at once
}
TAKEN = {
    "reports": {"curator": {201}, "relay": {202}},
    "reports/batch": {"curator": {200}},
    "admissions": {"curator": {200}},
    "receipts": {"curator": {200}, "relay": {200}},
}
"""What is answered where nothing is wrong: a relay holds what a curator counts."""


@dataclass
class Pair:
    """A curator and a relay in front of it, their tasks, and a token of scope relay."""

    urls: dict[str, str]
    token: str
    tasks: dict[str, Task]

    def is_held(self, report: Report) -> bool:
        """True if the relay has a report that the curator has not counted yet."""
        url = f"{self.urls['relay']}/v1/tasks/{report.task.hex()}/reports/{report.id.hex()}"
        return bool(httpx.get(url, timeout=60).json()["state"] == "held")

    def post(
        self, server: str, call: str, content: Any, task_id: str, **headers: str
    ) -> httpx.Response:
        """POST to a call of a task."""
        url = f"{self.urls[server]}/v1/tasks/{task_id}/{call}"
        return httpx.post(url, content=content, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def pair(curator: RunningCurator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Tasks that are open, closed, and open to invited holders; what comes goes on at once."""
    ids = {
        name: curator.create(
            samples.survey(),
            description=f"acceptance, {name}",
            invited=name == "invited",
            **SETTINGS,
        )
        for name in ("open", "closed", "invited")
    }
    curator.post(f"/v1/tasks/{ids['closed']}/close")
    curator.post(f"/v1/tasks/{ids['invited']}/invitations", {"count": 1})
    issued = curator.call(
        "PUT", "/v1/tokens/acceptance", headers=curator.admin, json={"scope": "relay"}
    )
    token, folder = issued.json()["token"], tmp_path_factory.mktemp("relay")
    with running_relay(folder, curator.url, token, least=1, every=0.05) as relay:
        tasks = {name: curator.task(task_id) for name, task_id in ids.items()}
        yield Pair({"curator": curator.url, "relay": relay.url}, token, tasks)


def make(task: Task, **changes: Any) -> Report:
    """A fresh report."""
    return make_report(task, ANSWER, os.urandom).model_copy(update=changes)


def other(task: Task, own: Report) -> Report:
    """Another report under the same id."""
    while (drawn := make(task, id=own.id)).answers == own.answers:
        pass
    return drawn


def impossible(task: Task) -> Report:
    ((question, payload),) = make(task).answers
    return make(task, answers=((question, b"\xff" * len(payload)),))


def good(task: Task) -> bytes:
    return make(task).pack()


def most_bytes(task: Task) -> int:
    return len(good(task)) + 2**16


def elsewhere(task: Task) -> Report:
    """A report to another task."""
    return make(task).model_copy(update={"task": bytes(32)})


def batch(*reports: Report, admission: bytes = b"") -> bytes:
    return batch_of(reports, *filter(None, [admission])).pack()


def three(task: Task) -> bytes:
    return batch(*(make(task) for _ in range(3)))


def packed(made: Callable[[Task], bytes]) -> Callable[[Task], bytes]:
    """The same body, compressed."""
    return lambda task: gzip.compress(made(task))


def unknown(_task: Task) -> bytes:
    """An admission for an invitation that was never issued."""
    return Admission.of(os.urandom(16), [sha256(os.urandom(16)).digest()]).pack()


def to_second_question(task: Task) -> Report:
    return make(task, answers=tuple((1, payload) for _, payload in make(task).answers))


@dataclass(frozen=True)
class Case:
    """A body to a call, and the error that it ends in."""

    name: str
    make: Callable[[Task], Any]
    error: type[PrivetError] | None = None
    media_type: str = ""
    task: str = "open"
    call: str = "reports"
    token: str = "own"
    encoding: str = ""


JSON, HTML = "application/json", "text/html"
BATCH: Any = {"call": "reports/batch"}
ADMISSION: Any = {"call": "admissions"}
NOWHERE, NO_ID = "0" * 64, "x"
CASES = [
    Case("as published", good, None, REPORT_MEDIA_TYPE),
    Case("with a parameter", good, None, f"{REPORT_MEDIA_TYPE}; a=b"),
    Case("in capitals", good, None, REPORT_MEDIA_TYPE.upper()),
    Case("without a type", good),
    Case("JSON", lambda _: b"{}", UnsupportedMediaType, JSON),
    Case("HTML", good, UnsupportedMediaType, HTML),
    Case("compressed", packed(good), UnsupportedMediaType, encoding="gzip"),
    Case("compressed twice", packed(good), UnsupportedMediaType, encoding="gzip, br"),
    Case("compressed batch", packed(three), UnsupportedMediaType, encoding="GZIP", **BATCH),
    Case("not compressed", good, encoding="identity"),
    Case("typed as a batch", good, UnsupportedMediaType, BATCH_MEDIA_TYPE),
    Case("empty", lambda _: b"", MalformedReport),
    Case("the longest", lambda t: bytes(most_bytes(t)), MalformedReport),
    Case("too long", lambda t: bytes(most_bytes(t) + 1), TooLarge),
    Case("too long, in pieces", lambda _: iter([bytes(2**16)] * 9), TooLarge),
    Case("of another task", lambda t: elsewhere(t).pack(), TaskMismatch),
    Case("another question", lambda t: to_second_question(t).pack(), WrongQuestions),
    Case("impossible", lambda t: impossible(t).pack(), WrongPayload),
    Case("to no task", good, TaskNotFound, task=NOWHERE),
    Case("to no id", good, TaskNotFound, task=NO_ID),
    Case("closed", good, TaskNotOpen, task="closed"),
    Case("closed, malformed", lambda _: b"x", MalformedReport, task="closed"),
    Case("closed, impossible", lambda t: impossible(t).pack(), WrongPayload, task="closed"),
    Case("uninvited", good, NotAuthorized, task="invited"),
    Case("receipt, HTML", good, UnsupportedMediaType, HTML, call="receipts"),
    Case("receipt, malformed", lambda _: b"x", MalformedReport, call="receipts"),
    Case("batch", three, **BATCH),
    Case("typed batch", three, None, BATCH_MEDIA_TYPE, **BATCH),
    Case("HTML batch", three, UnsupportedMediaType, HTML, **BATCH),
    Case("JSON batch", lambda _: b"{}", UnsupportedMediaType, JSON, **BATCH),
    Case("batch, a report", good, MalformedReport, **BATCH),
    Case("batch, malformed", lambda _: b"\xc1", MalformedReport, **BATCH),
    Case("batch, question", lambda t: batch(to_second_question(t)), WrongQuestions, **BATCH),
    Case("batch, no token", three, NotAuthorized, token="", **BATCH),
    Case("batch, wrong token", three, NotAuthorized, token="guess", **BATCH),
    Case("batch to no task", three, TaskNotFound, task=NOWHERE, **BATCH),
    Case(
        "batch, unknown admission",
        lambda t: batch(make(t), admission=os.urandom(16)),
        NotAdmitted,
        task="invited",
        **BATCH,
    ),
    Case("admission", unknown, task="invited", **ADMISSION),
    Case("typed admission", unknown, None, ADMISSION_MEDIA_TYPE, "invited", **ADMISSION),
    Case("HTML admission", unknown, UnsupportedMediaType, HTML, "invited", **ADMISSION),
    Case("admission, malformed", lambda _: b"x", MalformedReport, **ADMISSION),
    Case("admission, closed", unknown, TaskNotOpen, task="closed", **ADMISSION),
    Case("admission to no task", unknown, TaskNotFound, task=NOWHERE, **ADMISSION),
    Case("admission, no token", unknown, NotAuthorized, token="", **ADMISSION),
    Case("admission, wrong token", unknown, NotAuthorized, token="guess", **ADMISSION),
]


def error_in(answer: httpx.Response) -> type[PrivetError] | None:
    """The error that a problem document names; its status is that of the type."""
    if not answer.is_error:
        return None
    error = ERRORS_BY_URI[answer.json()["type"]]
    assert answer.status_code == PROBLEMS[error].status
    return error


@keeps(
    "deployment: other content types are refused",
    in_="http_server/acceptance.py",
    instead_of="head.media_type and head.media_type != media_type.encode()",
    plant="False",
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_taken_and_refused(pair: Pair, case: Case) -> None:
    """By content type, size, form, task and token, whether the body has one report or many."""
    headers = {"Content-Type": case.media_type} if case.media_type else {}
    if case.encoding:
        headers["Content-Encoding"] = case.encoding
    if case.token and case.call not in {"reports", "receipts"}:
        headers["Authorization"] = f"Bearer {pair.token if case.token == 'own' else case.token}"
    task = pair.tasks.get(case.task, pair.tasks["open"])
    task_id = case.task if case.task in {NOWHERE, NO_ID} else task.id
    for server in TAKEN[case.call]:
        answer = pair.post(server, case.call, case.make(task), task_id, **headers)
        assert error_in(answer) is case.error, (server, answer.text)
        assert case.error or answer.status_code in TAKEN[case.call][server], server


@pytest.mark.parametrize("counted", [False, True])
def test_a_report_under_a_used_id(pair: Pair, *, counted: bool) -> None:
    """The same bytes again are taken, others are the same conflict, counted already or not."""
    task = pair.tasks["open"]
    for server in pair.urls:
        own = make(task)
        first = pair.post(server, "reports", own.pack(), task.id)
        assert first.status_code in TAKEN["reports"][server]
        while counted and server == "relay" and pair.is_held(own):
            time.sleep(0.02)
        again = pair.post(server, "reports", own.pack(), task.id)
        assert again.status_code in ({200} if counted else {200, 202}), server
        clash = pair.post(server, "reports", other(task, own).pack(), task.id)
        assert error_in(clash) is ReportConflict, (server, clash.text)


@pytest.mark.parametrize("name", ["open", "closed", "invited"])
def test_what_fails_within_a_batch(pair: Pair, name: str) -> None:
    """Each id with its reason: impossible, twice with other bytes, closed, uninvited."""
    task = pair.tasks[name]
    own, bad = make(task), impossible(task)
    body = batch(own, make(task), own, bad, other(task, own))
    token = f"Bearer {pair.token}"
    answer = pair.post("curator", "reports/batch", body, task.id, Authorization=token)
    assert error_in(answer) is None, answer.text
    failed = answer.json()["failed"]
    assert failed["wrong-payload"] == [bad.id.hex()]
    assert len(failed) == 2


@pytest.mark.parametrize("call", [*TAKEN])
def test_announced_bodies_that_are_too_large(pair: Pair, call: str) -> None:
    """Refused by their length, before anything has come."""
    for url in map(pair.urls.__getitem__, TAKEN[call]):
        connection = HTTPConnection(httpx.URL(url).netloc.decode(), timeout=60)
        with closing(connection):
            connection.putrequest("POST", f"/v1/tasks/{pair.tasks['open'].id}/{call}")
            connection.putheader("Content-Length", str(2**27))
            connection.putheader("Authorization", f"Bearer {pair.token}")
            connection.endheaders()
            answer = connection.getresponse()
            told = httpx.Response(answer.status, content=answer.read())
        assert error_in(told) is TooLarge, url


@pytest.mark.parametrize("server", ["curator", "relay"])
def test_one_address_does_not_take_all_connections(pair: Pair, server: str) -> None:
    """4200 silent connections, as many as a process takes, do not keep others out."""
    url = httpx.URL(pair.urls[server])
    allow_connections(4_200)
    with ExitStack() as idle:
        for _ in range(4_200):
            connection = idle.enter_context(socket.socket())
            connection.bind(("127.0.0.2", 0))
            connection.connect((url.host, url.port or 0))
        assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200
        connection.settimeout(60)
        assert connection.recv(12) == b"HTTP/1.1 429"


@pytest.mark.parametrize(("target", "port"), [("curator", 8000), ("relay", 8100)])
def test_the_images_ask_by_bash_whether_a_server_is_ready(
    pair: Pair, target: str, port: int
) -> None:
    """Yes from a server that is; no where nobody listens, and from one that answers otherwise."""
    own, text = httpx.URL(pair.urls[target]).port, (ROOT / "Dockerfile").read_text("utf-8")
    (command,) = re.findall(rf'CMD (\["bash", .*/{port} .*\])', text)

    def healthy(*changes: tuple[str, str]) -> bool:
        words = json.loads(command)
        for old, new in changes:
            assert old in words[-1]
            words[-1] = words[-1].replace(old, new)
        return subprocess.run(words, capture_output=True, check=False, timeout=60).returncode == 0

    here = (f"/{port} ", f"/{own} ")
    assert healthy(here)
    assert not healthy(here, ("/readyz", "/nothing"))
    assert not healthy((f"/{port} ", f"/{free_port()} "))
