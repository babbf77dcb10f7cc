"""Every call of the OpenAPI document, fuzzed against a real curator: it answers as documented.

Requests are drawn from the document, good and bad, with and without the admin's token, the same
ones in every run. No answer is a failure, each has a status, type and form that the document
names, what is refused is refused by a problem document, and no request changes what was counted.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from privet.curator.app import create_app
from privet.curator.datastore import open_store
from privet.curator.settings import Settings
from privet.protocol.batch import ADMISSION_MEDIA_TYPE, BATCH_MEDIA_TYPE
from privet.protocol.report import REPORT_MEDIA_TYPE, make_report
from privet.protocol.task import TASK_MEDIA_TYPE, Task
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator
from tests.memory_store import MemoryStore

ANSWER = {"age": 50, "hours": 40, "job": "smith", "member": True, "label": 1}
NO_TASK = "0" * 64
FIT = "POST /v1/tasks/{task_id}/models"
EXAMPLES = 20
FITS = 5
"""Fitting takes a second each time, and what may be asked is two names."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


ONLY_BINARY = {BATCH_MEDIA_TYPE, ADMISSION_MEDIA_TYPE}
for binary in (REPORT_MEDIA_TYPE, *ONLY_BINARY):
    schemathesis.openapi.media_type(binary, st.binary(max_size=200))


def operations() -> dict[str, APIOperation[Any, Any, Any, Any]]:
    """Every call of the document, by its name."""
    app = create_app(Settings(), store=MemoryStore())
    schema = schemathesis.openapi.from_dict(app.api.openapi())
    app.state.writer.stop()
    app.state.rejects.close()
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    return {f"{operation.method.upper()} {operation.path}": operation for operation in found}


OPERATIONS = operations()


@dataclass
class Scene:
    """A curator with one open task, one report and one model."""

    curator: RunningCurator
    task: str
    session: requests.Session

    def counted(self) -> Any:
        """What no request may change."""
        store = open_store(self.curator.database)
        try:
            (sums,) = store.sums(self.task)
            status = store.status(self.task)
        finally:
            store.close()
        return sums.vector.tolist(), sums.n, status.reports, status.answers, status.checksum


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with (
        RunningCurator(tmp_path_factory.mktemp("curator")) as curator,
        requests.Session() as session,
    ):
        made = Scene(curator, curator.create(samples.survey(), label="label", epsilon=1), session)
        address = f"/v1/tasks/{made.task}"
        with curator.http() as http:
            task = Task.parse(http.get(address, headers={"Accept": TASK_MEDIA_TYPE}).content)
            body = make_report(task, ANSWER, os.urandom).pack()
            sent = http.post(
                f"{address}/reports", content=body, headers={"Content-Type": REPORT_MEDIA_TYPE}
            )
        assert sent.status_code == 201
        curator.post(f"{address}/models", {"estimator": "public"})
        yield made


NUMBERED = "{number}"
GOOD = [pytest.param(name, GenerationMode.POSITIVE, id=f"{name} good") for name in OPERATIONS]
BAD = [
    pytest.param(name, GenerationMode.NEGATIVE, id=f"{name} bad")
    for name, operation in OPERATIONS.items()
    if NUMBERED in name or {body.media_type for body in operation.body} - ONLY_BINARY
]
"""Where nothing but text or bytes is asked for, nothing is bad."""


@pytest.mark.slow
@pytest.mark.parametrize("who", ["stranger", "holder", "admin"])
@pytest.mark.parametrize(("name", "mode"), GOOD + BAD)
def test_the_document_is_kept(scene: Scene, name: str, mode: GenerationMode, who: str) -> None:
    """Whatever is sent, the answer is documented and the counts are as before.

    A stranger knows no task; the others know the open one, unless the call would delete it. A
    number can only be bad where the task is drawn too.
    """
    operation = OPERATIONS[name]
    known = {"task_id": NO_TASK if operation.method == "delete" else scene.task}
    drawn = who == "stranger" or (mode is GenerationMode.NEGATIVE and NUMBERED in name)
    chosen = known if not drawn and "{task_id}" in name else None
    checks = CHECKS if mode is GenerationMode.POSITIVE else [*CHECKS, negative_data_rejection]
    headers = scene.curator.admin if who == "admin" else None
    before = scene.counted()

    @settings(
        max_examples=FITS if name == FIT else EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(mode, path_parameters=chosen))
    def check(case: Case[Any]) -> None:
        case.call_and_validate(
            base_url=scene.curator.url,
            session=scene.session,
            headers=headers,
            checks=checks,
            timeout=60,
        )

    check()
    assert scene.counted() == before
