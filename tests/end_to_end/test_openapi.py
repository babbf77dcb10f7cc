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
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from privet.curator.datastore import Store, open_store
from privet.protocol.calls import ADMISSION_MEDIA_TYPE, BATCH_MEDIA_TYPE, REPORT_MEDIA_TYPE
from privet.protocol.report import make_report
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator

pytestmark = pytest.mark.slow

ANSWER = {"age": 50, "hours": 40, "job": "smith", "member": True, "label": 1}
NO_TASK = "0" * 64
NUMBERED = "{number}"
FIT = "POST /v1/tasks/{task_id}/models"
EXAMPLES = 20
FITS = 5
"""Fitting takes long, and what may be asked is two names."""
ONLY_BINARY = {REPORT_MEDIA_TYPE, BATCH_MEDIA_TYPE, ADMISSION_MEDIA_TYPE}


@dataclass
class Scene:
    """A curator with one open task, one report and one model, and the calls that it documents."""

    curator: RunningCurator
    task: str
    store: Store
    session: Any
    operations: dict[str, Any]

    def counted(self) -> Any:
        """What no request may change."""
        (sums,) = self.store.standing.collected(self.task).sums
        status = self.store.standing.read(self.task)
        return sums.vector.tolist(), sums.n, status.reports, status.answers, status.checksum


@pytest.fixture(scope="session")
def scene(curator: RunningCurator) -> Iterator[Scene]:
    schemathesis = pytest.importorskip("schemathesis")
    from requests import Session
    from schemathesis.core.result import Ok

    for binary in ONLY_BINARY:
        schemathesis.openapi.media_type(binary, st.binary(max_size=200))
    schema = schemathesis.openapi.from_dict(curator.get("/openapi.json"))
    operations_there = [
        result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)
    ]
    task_id = curator.create(
        samples.survey(), name="fuzzed", label="label", epsilon=1, grower="cart"
    )
    body = make_report(curator.task(task_id), ANSWER, os.urandom).pack()
    assert curator.report(task_id, body).status_code == 201
    curator.post(
        f"/v1/tasks/{task_id}/models", {"estimator": "weighted", "parameters": {"weight": "inf"}}
    )
    store = open_store(curator.database)
    with Session() as session:
        operations = {f"{each.method.upper()} {each.path}": each for each in operations_there}
        yield Scene(curator, task_id, store, session, operations)
    store.close()


@pytest.mark.parametrize("who", ["stranger", "holder", "admin"])
@pytest.mark.parametrize("good", [True, False], ids=["good", "bad"])
def test_the_document_is_kept(scene: Scene, good: bool, who: str) -> None:
    """Whatever is sent to any call, the answer is documented and the counts are as before.

    A stranger knows no task; the others know the open one, unless the call would delete it. Where
    nothing but text or bytes is asked for, nothing is bad, and a number can only be bad where the
    task is drawn too.
    """
    from schemathesis import Case, GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
    ]
    mode = GenerationMode.POSITIVE if good else GenerationMode.NEGATIVE
    headers = scene.curator.admin if who == "admin" else None
    for name, operation in scene.operations.items():
        asked = {body.media_type for body in operation.body} - ONLY_BINARY
        if not (good or asked or NUMBERED in name):
            continue
        of_task = {"task_id": NO_TASK if operation.method == "delete" else scene.task}
        drawn = who == "stranger" or (not good and NUMBERED in name)
        chosen = of_task if not drawn and "{task_id}" in name else None
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
            parts = case.meta.components.items()
            bad = {where.name for where, part in parts if part.mode is GenerationMode.NEGATIVE}
            # a missing token is no fault where it is sent after all
            refused = bad & {"BODY", "PATH"} or (bad and "HEADER" not in bad)
            case.call_and_validate(
                base_url=scene.curator.url,
                session=scene.session,
                headers=headers,
                checks=[*checks, negative_data_rejection] if refused else checks,
                timeout=60,
            )

        check()
        assert scene.counted() == before, name
