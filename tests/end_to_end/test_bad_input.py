"""Bad input over real HTTP: a problem document that says what to do, and nothing has changed."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import httpx
import msgpack
import pytest

from privet.protocol.errors import (
    ERRORS_BY_URI,
    InvalidPublicData,
    InvalidRecord,
    InvalidRequest,
    InvalidTask,
    MalformedReport,
    ModelNotFound,
    NotAuthorized,
    PrivetError,
    ReportConflict,
    TaskMismatch,
    TaskNotFound,
    TaskNotOpen,
    TooLarge,
    WrongPayload,
    WrongQuestions,
    problem_of,
)
from privet.protocol.limits import MAX_REPORT_BYTES
from privet.protocol.report import make_report
from privet.protocol.task import Task
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator

HUGE = 10**400
PERSON = {"age": 50, "hours": 40, "job": "smith", "member": True}
ANSWER = {**PERSON, "label": 1}
JSON = {"Content-Type": "application/json"}
WRONG = {"Authorization": "Bearer wrong"}
SETTINGS: dict[str, Any] = {"label": "label", "epsilon": 1, "depth": 3, "grower": "cart"}


@dataclass
class Scene:
    """A curator with an open task that has one report and one model, and a closed task."""

    curator: RunningCurator
    task: Task
    closed: Task
    counted: bytes

    def state(self) -> Any:
        """Everything that a bad request might have changed; rejects may be counted."""
        stands = [self.curator.status(task.id) for task in (self.task, self.closed)]
        for status in stands:
            status.pop("rejects")
        paths = ("/v1/tasks", f"/v1/tasks/{self.task.id}/models")
        return [*stands, *map(self.curator.get, paths)]

    def send(self, body: Any, task_id: str | None = None, **headers: str) -> httpx.Response:
        """POST one report's body."""
        return self.curator.report(task_id or self.task.id, body, **headers)

    def upload(self, public: bytes = samples.survey(), **changes: Any) -> httpx.Response:
        """POST a new task."""
        return self.curator.upload(public, {**SETTINGS, **changes})

    def announce(self, path: str, length: int) -> httpx.Response:
        """POST the head of a request whose body never comes: the answer must not wait for it."""
        connection = HTTPConnection(httpx.URL(self.curator.url).netloc.decode(), timeout=60)
        with closing(connection):
            connection.putrequest("POST", path)
            for name, value in {**self.curator.admin, "Content-Length": str(length)}.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return httpx.Response(
                answer.status, headers=answer.headers.items(), content=answer.read()
            )

    def ask(self, call: str, body: Any, token: str | None = None) -> httpx.Response:
        """POST JSON to a call of the open task."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        admin = self.curator.admin if token is None else {"Authorization": f"Bearer {token}"}
        address = f"/v1/tasks/{self.task.id}/{call}"
        return self.curator.call("POST", address, content=content, headers=admin | JSON)


@pytest.fixture(scope="session")
def scene(curator: RunningCurator) -> Scene:
    ids = [
        curator.create(samples.survey(), description=text, **SETTINGS)
        for text in ("for bad input", "closed to bad input")
    ]
    curator.post(f"/v1/tasks/{ids[1]}/close")
    task, closed = map(curator.task, ids)
    made = Scene(curator, task, closed, make_report(task, ANSWER, os.urandom).pack())
    assert made.send(made.counted).status_code == 201
    curator.post(f"/v1/tasks/{ids[0]}/models", {"estimator": "public"})
    return made


def fields(scene: Scene, **changes: Any) -> bytes:
    """A fresh good report's bytes with some fields changed."""
    good = msgpack.unpackb(make_report(scene.task, ANSWER, os.urandom).pack())
    changed = {**good, **changes}
    return bytes(msgpack.packb({name: changed[name] for name in sorted(changed)}))


def payload(scene: Scene) -> bytes:
    return make_report(scene.task, ANSWER, os.urandom).answers[0][1]


def impossible(scene: Scene) -> bytes:
    return fields(scene, answers=[[0, b"\xff" * len(payload(scene))]])


def conflicting(scene: Scene) -> bytes:
    """A report with the id of the counted one and another answer."""
    counted = msgpack.unpackb(scene.counted)
    while (drawn := [[0, payload(scene)]]) == counted["answers"]:
        continue
    return fields(scene, id=counted["id"], answers=drawn)


def chunked(size: int) -> Iterator[bytes]:
    """A body whose length is not declared."""
    for _ in range(size // 65536 + 1):
        yield b"x" * 65536


def body(
    name: str, error: type[PrivetError], make: Callable[[Scene], Any], *place: str, **headers: str
) -> Any:
    """A case of a report's body."""
    send = lambda scene: scene.send(make(scene), *place, **headers)  # noqa: E731
    return pytest.param(send, error, "", id=f"report: {name}")


def upload(
    case: str,
    error: type[PrivetError],
    said: str = "",
    *,
    public: bytes = samples.survey(),
    **changes: Any,
) -> Any:
    """A case of a new task, and what its refusal says."""
    return pytest.param(lambda s: s.upload(public, **changes), error, said, id=f"task: {case}")


def ask(
    name: str, error: type[PrivetError], call: str, asked: Any, token: str | None = None
) -> Any:
    """A case of JSON to a call of the open task."""
    return pytest.param(lambda s: s.ask(call, asked, token), error, "", id=f"{call}: {name}")


REPORTS = [
    body("empty", MalformedReport, lambda _: b""),
    body("nested deeply", MalformedReport, lambda _: b"\x91" * 60_000),
    body("one byte more", MalformedReport, lambda s: s.counted + b"\x00"),
    body("unknown field", MalformedReport, lambda s: fields(s, more=1)),
    body("not JSON", MalformedReport, lambda _: b"{", **JSON),
    body("NaN in JSON", MalformedReport, lambda _: b'{"version": NaN}', **JSON),
    body("wrong question", WrongQuestions, lambda s: fields(s, answers=[[1, payload(s)]])),
    body("short payload", WrongPayload, lambda s: fields(s, answers=[[0, payload(s)[:-1]]])),
    body("impossible payload", WrongPayload, impossible),
    body("of another task", TaskMismatch, lambda s: fields(s, task=b"x" * 32)),
    body("to an unknown task", TaskNotFound, lambda s: s.counted, "0" * 64),
    body("to no task id", TaskNotFound, lambda s: s.counted, "x"),
    body("oversized", TooLarge, lambda _: b"x" * (MAX_REPORT_BYTES + 1)),
    body("oversized, undeclared", TooLarge, lambda _: chunked(2 * MAX_REPORT_BYTES)),
    body("same id, other bytes", ReportConflict, conflicting),
]

TWICE = b"a,a,label\n1,2,3\n"
IN_A_FEATURE = b"a\x07ge,label\n1,1\n2,0\n"
IN_A_CATEGORY = b"job,label\na\x07,1\nb,0\na\x07,1\nb,0\n"
IN_THE_LABEL = b"age,\x1bl\n1,1\n2,0\n"
TASKS = [
    upload("empty file", InvalidPublicData, "empty", public=b""),
    upload("wrong header", InvalidPublicData, "no column 'label'", public=b"a,b\n1,2\n"),
    upload("no header", InvalidPublicData, "header", public=b"1,2\n3,4\n"),
    upload("same name twice", InvalidPublicData, public=TWICE),
    upload("one class", InvalidPublicData, "one class only", public=b"a,label\n1,1\n2,1\n"),
    upload("damaged Parquet", InvalidPublicData, public=b"PAR1PAR1"),
    upload("no name", InvalidRequest, "name", name=""),
    upload("large epsilon", InvalidRequest, "epsilon", epsilon=1000),
    upload("tiny epsilon", InvalidTask, epsilon=1e-12),
    upload("epsilon of 400 digits", InvalidRequest, epsilon=HUGE),
    upload("epsilon as text", InvalidRequest, epsilon="1"),
    upload("broken depth", InvalidRequest, "depth", depth=2.5),
    upload("unknown mechanism", InvalidTask, "subset", mechanism="magic"),
    upload("parameter of 400 digits", InvalidTask, parameters={"k": HUGE}),
    upload("closing in the year 1", InvalidTask, closes="0001-01-01T00:00:00Z"),
    upload("unknown setting", InvalidRequest, "colour", colour="red"),
    upload("control character in a name", InvalidRequest, name="a\x1b[8mb"),
    upload("control character in a class", InvalidPublicData, classes=["0", "1", "\x07"]),
    upload("control character in a feature", InvalidPublicData, public=IN_A_FEATURE),
    upload("control character in a category", InvalidPublicData, public=IN_A_CATEGORY),
    upload("control character in the label", InvalidPublicData, public=IN_THE_LABEL, label="\x1bl"),
]

RECORD = b'{"records": [{"age": N, "hours": 1, "job": "smith", "member": true}]}'
COLUMNS = b'{"columns": {"age": [N, 1], "hours": [1, 1], "job": ["smith", N], "member": [1, 0]}}'
WEIGHT = b'{"estimator": "weighted", "parameters": {"weight": N}}'
NUMBERS = [
    ask(
        f"{name} of {digits} digits",
        error if digits < 4300 or call == "reports" else InvalidRequest,
        call,
        content.replace(b"N", b"9" * digits),
    )
    for digits in (400, 5000)
    for name, call, content, error in (
        ("record", "predict", RECORD, InvalidRecord),
        ("columns", "predict", COLUMNS, InvalidRecord),
        ("model", "predict", b'{"model": N, "records": []}', ModelNotFound),
        ("parameter", "models", WEIGHT, InvalidRequest),
        ("count", "invitations", b'{"count": N}', InvalidRequest),
        ("report", "reports", b'{"version": N}', MalformedReport),
    )
]

INFINITE = json.dumps({"records": [PERSON]}).replace("50", "1e999").encode()
CALLS = [
    ask("wrong token", NotAuthorized, "close", {}, "wrong"),
    ask("wrong token", NotAuthorized, "models", {}, "wrong"),
    ask("missing fields", InvalidRecord, "predict", {"records": [{"age": 1}]}),
    ask("unknown fields", InvalidRecord, "predict", {"records": [{**PERSON, "q": 1}]}),
    ask("NaN", InvalidRequest, "predict", b'{"records": [{"age": NaN}]}'),
    ask("an infinite number", InvalidRecord, "predict", INFINITE),
    ask("unknown estimator", InvalidRequest, "models", {"estimator": "x"}),
]


@pytest.mark.parametrize(
    ("send", "error", "said"),
    [
        *REPORTS,
        *TASKS,
        *NUMBERS,
        *CALLS,
        pytest.param(
            lambda s: s.send(make_report(s.closed, ANSWER, os.urandom).pack(), s.closed.id),
            TaskNotOpen,
            "",
            id="report: to a closed task",
        ),
        pytest.param(
            lambda s: s.announce("/v1/tasks", 2**40), TooLarge, "", id="task: announced oversize"
        ),
        pytest.param(
            lambda s: s.curator.call("POST", "/v1/tasks"), NotAuthorized, "", id="task: no token"
        ),
        pytest.param(
            lambda s: s.curator.call("DELETE", f"/v1/tasks/{s.task.id}", headers=WRONG),
            NotAuthorized,
            "",
            id="delete: wrong token",
        ),
        pytest.param(
            lambda s: s.curator.call("GET", "/v1/tasks/x"), TaskNotFound, "", id="get: unknown"
        ),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    scene: Scene, send: Callable[[Scene], httpx.Response], error: type[PrivetError], said: str
) -> None:
    """The refusal is a problem document of the right type with advice; the state is as before."""
    before = scene.state()
    response = send(scene)
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    assert ERRORS_BY_URI.get(document["type"]) is error, document
    assert response.status_code == document["status"] == problem_of(error("")).status
    assert len(document["detail"]) > 10
    assert said in document["detail"]
    assert scene.state() == before


def test_the_same_report_again_is_no_error(scene: Scene) -> None:
    """200 and not counted again: what looks like bad input most often is a retry."""
    before = scene.state()
    response = scene.send(scene.counted)
    assert response.status_code == 200
    assert response.json()["counted"] is False
    assert scene.state() == before


def test_rejects_are_counted_by_reason(scene: Scene) -> None:
    """An operator sees how many reports were refused, and why."""
    before = scene.curator.status(scene.task.id)["rejects"].get("wrong-payload", 0)
    scene.send(impossible(scene))
    deadline = time.monotonic() + 60
    while (rejects := scene.curator.status(scene.task.id)["rejects"]).get(
        "wrong-payload", 0
    ) == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert rejects["wrong-payload"] == before + 1
