"""Bad input over real HTTP: a problem document that says what to do, and nothing has changed."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
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
from privet.protocol.report import REPORT_MEDIA_TYPE, make_report
from privet.protocol.task import TASK_MEDIA_TYPE, Task
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator

HUGE = 10**400
PERSON = {"age": 50, "hours": 40, "job": "smith", "member": True}
ANSWER = {**PERSON, "label": 1}


@dataclass
class Scene:
    """A curator with an open task that has one report and one model, and a closed task."""

    curator: RunningCurator
    task: Task
    closed: Task
    counted: bytes

    def address(self, task: Task | None = None) -> str:
        return f"/v1/tasks/{(task or self.task).id}"

    def state(self) -> Any:
        """Everything that a bad request might have changed; rejects may be counted."""
        seen = [self.curator.get("/v1/tasks")]
        for task in (self.task, self.closed):
            status = self.curator.status(task.id)
            status.pop("rejects")
            seen += [status, self.curator.get(f"{self.address(task)}/models")]
        return seen

    def send(self, body: Any, task_id: str | None = None, **headers: str) -> httpx.Response:
        """POST one report's body."""
        address = self.address() if task_id is None else f"/v1/tasks/{task_id}"
        with self.curator.http() as http:
            return http.post(
                f"{address}/reports",
                content=body,
                headers={"Content-Type": REPORT_MEDIA_TYPE, **headers},
            )

    def upload(self, public: bytes = samples.survey(), **changes: Any) -> httpx.Response:
        """POST a new task."""
        settings = {"name": "another", "label": "label", "epsilon": 1.0, "depth": 3, **changes}
        with self.curator.http() as http:
            return http.post(
                "/v1/tasks",
                headers=self.curator.admin,
                files={"public": ("public.csv", public)},
                data={"settings": json.dumps(settings)},
            )

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

    def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Any other call."""
        with self.curator.http() as http:
            return http.request(method, path, **request)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with RunningCurator(tmp_path_factory.mktemp("curator")) as curator:
        ids = [
            curator.create(samples.survey(), label="label", epsilon=1, depth=3, description=text)
            for text in ("open", "closed")
        ]
        accept = {"Accept": TASK_MEDIA_TYPE}
        with curator.http() as http:
            tasks = [Task.parse(http.get(f"/v1/tasks/{i}", headers=accept).content, i) for i in ids]
        curator.post(f"/v1/tasks/{ids[1]}/close")
        made = Scene(curator, tasks[0], tasks[1], make_report(tasks[0], ANSWER, os.urandom).pack())
        assert made.send(made.counted).status_code == 201
        curator.post(f"/v1/tasks/{ids[0]}/models", {"estimator": "public"})
        yield made


def fields(scene: Scene, **changes: Any) -> bytes:
    """A fresh good report's bytes with some fields changed or, if None, left out."""
    found = msgpack.unpackb(make_report(scene.task, ANSWER, os.urandom).pack())
    found |= changes
    return bytes(msgpack.packb({k: found[k] for k in sorted(found) if found[k] is not None}))


def payload(scene: Scene) -> bytes:
    return make_report(scene.task, ANSWER, os.urandom).answers[0][1]


def chunked(size: int) -> Iterator[bytes]:
    """A body whose length is not declared."""
    for _ in range(size // 65536 + 1):
        yield b"x" * 65536


Case = tuple[str, Callable[[Scene], httpx.Response], type[PrivetError]]

REPORTS: list[Case] = [
    ("empty body", lambda s: s.send(b""), MalformedReport),
    ("not msgpack", lambda s: s.send(b"\xc1"), MalformedReport),
    ("text", lambda s: s.send(b"hello"), MalformedReport),
    ("truncated", lambda s: s.send(s.counted[:-1]), MalformedReport),
    ("one byte more", lambda s: s.send(s.counted + b"\x00"), MalformedReport),
    ("nested deeply", lambda s: s.send(b"\x91" * 60_000), MalformedReport),
    ("a list", lambda s: s.send(msgpack.packb([1, 2])), MalformedReport),
    ("no id", lambda s: s.send(fields(s, id=None)), MalformedReport),
    ("short id", lambda s: s.send(fields(s, id=b"1")), MalformedReport),
    ("unknown field", lambda s: s.send(fields(s, more=1)), MalformedReport),
    ("another version", lambda s: s.send(fields(s, version=2)), MalformedReport),
    ("no answers", lambda s: s.send(fields(s, answers=[])), MalformedReport),
    ("negative question", lambda s: s.send(fields(s, answers=[[-1, b""]])), MalformedReport),
    ("question asked twice", lambda s: s.send(fields(s, answers=[[0, b""]] * 2)), MalformedReport),
    ("a number as payload", lambda s: s.send(fields(s, answers=[[0, 1.5]])), MalformedReport),
    (
        "wrong question",
        lambda s: s.send(fields(s, answers=[[1, payload(s)]])),
        WrongQuestions,
    ),
    (
        "too many questions",
        lambda s: s.send(fields(s, answers=[[0, payload(s)], [1, payload(s)]])),
        WrongQuestions,
    ),
    ("short payload", lambda s: s.send(fields(s, answers=[[0, payload(s)[:-1]]])), WrongPayload),
    ("long payload", lambda s: s.send(fields(s, answers=[[0, payload(s) + b"x"]])), WrongPayload),
    (
        "impossible payload",
        lambda s: s.send(fields(s, answers=[[0, b"\xff" * len(payload(s))]])),
        WrongPayload,
    ),
    ("another task's report", lambda s: s.send(fields(s, task=b"x" * 32)), TaskMismatch),
    ("unknown task", lambda s: s.send(s.counted, task_id="0" * 64), TaskNotFound),
    ("no task id", lambda s: s.send(s.counted, task_id="x"), TaskNotFound),
    (
        "closed task",
        lambda s: s.send(make_report(s.closed, ANSWER, os.urandom).pack(), s.closed.id),
        TaskNotOpen,
    ),
    ("not JSON", lambda s: s.send(b"{", **{"Content-Type": "application/json"}), MalformedReport),
    (
        "NaN in JSON",
        lambda s: s.send(b'{"version": NaN}', **{"Content-Type": "application/json"}),
        MalformedReport,
    ),
    ("oversized", lambda s: s.send(b"x" * (MAX_REPORT_BYTES + 1)), TooLarge),
    ("oversized, undeclared", lambda s: s.send(chunked(2 * MAX_REPORT_BYTES)), TooLarge),
    (
        "same id, other bytes",
        lambda s: s.send(fields(s, id=msgpack.unpackb(s.counted)["id"], answers=other(s))),
        ReportConflict,
    ),
]


def other(scene: Scene) -> list[Any]:
    """Answers that differ from those of the counted report."""
    counted = msgpack.unpackb(scene.counted)["answers"]
    while (drawn := [[0, payload(scene)]]) == counted:
        continue
    return drawn


TASKS: list[Case] = [
    ("empty file", lambda s: s.upload(b""), InvalidPublicData),
    ("header only", lambda s: s.upload(b"age,label\n"), InvalidPublicData),
    ("wrong header", lambda s: s.upload(b"a,b\n1,2\n"), InvalidPublicData),
    ("no header", lambda s: s.upload(b"1,2\n3,4\n"), InvalidPublicData),
    ("same name twice", lambda s: s.upload(b"a,a,label\n1,2,3\n"), InvalidPublicData),
    ("one class only", lambda s: s.upload(b"a,label\n1,1\n2,1\n"), InvalidPublicData),
    ("a label is missing", lambda s: s.upload(b"a,label\n1,1\n2,\n"), InvalidPublicData),
    ("infinite number", lambda s: s.upload(b"a,label\n1,1\ninf,0\n"), InvalidPublicData),
    ("not UTF-8", lambda s: s.upload(b"\xff,label\n1,1\n"), InvalidPublicData),
    ("damaged Parquet", lambda s: s.upload(b"PAR1PAR1"), InvalidPublicData),
    ("zero epsilon", lambda s: s.upload(epsilon=0), InvalidRequest),
    ("negative epsilon", lambda s: s.upload(epsilon=-1), InvalidRequest),
    ("absurd epsilon", lambda s: s.upload(epsilon=1e9), InvalidRequest),
    ("tiny epsilon", lambda s: s.upload(epsilon=1e-12), InvalidTask),
    ("too many cells", lambda s: s.upload(depth=60), InvalidRequest),
    ("unknown mechanism", lambda s: s.upload(mechanism="magic"), InvalidTask),
    ("unknown grower", lambda s: s.upload(grower="oak"), InvalidTask),
    ("epsilon as truth value", lambda s: s.upload(epsilon=True), InvalidRequest),
    ("epsilon as text", lambda s: s.upload(epsilon="1"), InvalidRequest),
    ("holders as text", lambda s: s.upload(holders="100"), InvalidRequest),
    ("open as a number", lambda s: s.upload(open=1), InvalidRequest),
    ("epsilon of 400 digits", lambda s: s.upload(epsilon=HUGE), InvalidRequest),
    ("seed of 400 digits", lambda s: s.upload(seed=HUGE), InvalidRequest),
    ("min_leaf of 400 digits", lambda s: s.upload(min_leaf=HUGE), InvalidRequest),
    ("range of 400 digits", lambda s: s.upload(features={"age": {"low": HUGE}}), InvalidRequest),
    ("parameter of 400 digits", lambda s: s.upload(parameters={"k": HUGE}), InvalidTask),
    ("closing in 400 digits", lambda s: s.upload(closes=HUGE), InvalidRequest),
    ("closing in the year 1", lambda s: s.upload(closes="0001-01-01T00:00:00Z"), InvalidTask),
    ("control character in a name", lambda s: s.upload(name="a\x1b[8mb"), InvalidRequest),
    (
        "control character in a class",
        lambda s: s.upload(classes=["0", "1", "\x07"]),
        InvalidPublicData,
    ),
    (
        "control character in a feature",
        lambda s: s.upload(b"a\x07ge,label\n1,1\n2,0\n"),
        InvalidPublicData,
    ),
    (
        "control character in a category",
        lambda s: s.upload(b"job,label\na\x07,1\nb,0\na\x07,1\nb,0\n"),
        InvalidPublicData,
    ),
    (
        "control character in the label",
        lambda s: s.upload(b"age,\x1bl\n1,1\n2,0\n", label="\x1bl"),
        InvalidPublicData,
    ),
    ("unknown setting", lambda s: s.upload(colour="red"), InvalidRequest),
    ("oversized", lambda s: s.announce("/v1/tasks", 2**40), TooLarge),
]

IN_JSON = {"Content-Type": "application/json"}


def huge(scene: Scene, call: str, body: bytes) -> httpx.Response:
    """POST JSON that holds a huge integer."""
    return scene.call(
        "POST", f"{scene.address()}/{call}", content=body, headers=scene.curator.admin | IN_JSON
    )


RECORD = b'{"records": [{"age": N, "hours": 1, "job": "smith", "member": true}]}'
COLUMNS = b'{"columns": {"age": [N, 1], "hours": [1, 1], "job": ["smith", N], "member": [1, 0]}}'
NUMBERS: list[Case] = [
    (
        f"{name} of {digits} digits",
        partial(huge, call=call, body=body.replace(b"N", b"9" * digits)),
        error if digits < 4300 or call == "reports" else InvalidRequest,
    )
    for digits in (400, 5000)
    for name, call, body, error in (
        ("record", "predict", RECORD, InvalidRecord),
        ("columns", "predict", COLUMNS, InvalidRecord),
        ("model", "predict", b'{"model": N, "records": []}', ModelNotFound),
        (
            "parameter",
            "models",
            b'{"estimator": "weighted", "parameters": {"weight": N}}',
            InvalidRequest,
        ),
        ("count", "invitations", b'{"count": N}', InvalidRequest),
        ("report", "reports", b'{"version": N}', MalformedReport),
    )
]

WRONG = {"Authorization": "Bearer wrong"}

CALLS: list[Case] = [
    ("create without token", lambda s: s.call("POST", "/v1/tasks"), NotAuthorized),
    (
        "close with wrong token",
        lambda s: s.call("POST", s.address() + "/close", headers=WRONG),
        NotAuthorized,
    ),
    (
        "delete with wrong token",
        lambda s: s.call("DELETE", s.address(), headers=WRONG),
        NotAuthorized,
    ),
    (
        "fit with wrong token",
        lambda s: s.call("POST", s.address() + "/models", headers=WRONG),
        NotAuthorized,
    ),
    (
        "record with missing fields",
        lambda s: s.call("POST", s.address() + "/predict", json={"records": [{"age": 1}]}),
        InvalidRecord,
    ),
    (
        "record with unknown fields",
        lambda s: s.call("POST", s.address() + "/predict", json={"records": [{**PERSON, "q": 1}]}),
        InvalidRecord,
    ),
    (
        "record with NaN",
        lambda s: s.call(
            "POST",
            s.address() + "/predict",
            content=b'{"records": [{"age": NaN}]}',
            headers={"Content-Type": "application/json"},
        ),
        InvalidRequest,
    ),
    (
        "record with an infinite number",
        lambda s: s.call(
            "POST",
            s.address() + "/predict",
            content=json.dumps({"records": [PERSON]}).replace("50", "1e999").encode(),
            headers={"Content-Type": "application/json"},
        ),
        InvalidRecord,
    ),
    (
        "unknown estimator",
        lambda s: s.call(
            "POST", s.address() + "/models", json={"estimator": "x"}, headers=s.curator.admin
        ),
        InvalidRequest,
    ),
    ("unknown task", lambda s: s.call("GET", "/v1/tasks/x"), TaskNotFound),
]


@pytest.mark.parametrize(
    ("send", "error"),
    [pytest.param(send, error, id=name) for name, send, error in REPORTS + TASKS + NUMBERS + CALLS],
)
def test_bad_input_is_refused_and_changes_nothing(
    scene: Scene, send: Callable[[Scene], httpx.Response], error: type[PrivetError]
) -> None:
    """The refusal is a problem document of the right type with advice; the state is as before."""
    before = scene.state()
    response = send(scene)
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    assert ERRORS_BY_URI.get(document["type"]) is error, document
    assert response.status_code == document["status"] == problem_of(error("")).status
    assert len(document["detail"]) > 10
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
    scene.send(fields(scene, answers=[[0, b"\xff" * len(payload(scene))]]))
    deadline = time.monotonic() + 60
    while scene.curator.status(scene.task.id)["rejects"].get("wrong-payload", 0) == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert scene.curator.status(scene.task.id)["rejects"]["wrong-payload"] == before + 1
