"""Tasks with disclosed columns over HTTP: from the settings to a prediction, and what is
refused."""

import json
import os
from html import unescape
from typing import Any

import numpy as np
import pytest

from privet.protocol.batch import Batch
from privet.protocol.calls import BATCH_MEDIA_TYPE
from privet.protocol.errors import InvalidPublicData, InvalidTask, WrongPayload
from privet.protocol.mechanisms import StratifiedMechanism
from privet.protocol.report import Report, make_report
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.http.conftest import Http
from tests.problems import assert_problem

RECORD = {"age": 45, "hours": 10.0, "job": "nurse", "member": True, "label": 1}


async def disclosing_task(http: Http) -> Task:
    """One whose cells tell age and job."""
    settings: dict[str, Any] = {"disclosed": ["age", "job"], "hidden_depth": 1, "depth": 4}
    return await http.published(await http.task(holders=5000, grower="cart", **settings))


async def test_a_task_with_disclosed_columns_from_end_to_end(http: Http) -> None:
    """Its view says what is disclosed; reports count; models and their cards say what was told."""
    task = await disclosing_task(http)
    view = (await http.get(f"/v1/tasks/{task.id}", headers={"Accept": "application/json"})).json()
    assert view["task"]["disclosed"] == ["age", "job"]
    cells = view["strata"]
    assert [cell["holders"] for cell in cells] == list(task.group_sizes)
    said = " ".join(condition for cell in cells for condition in cell["where"])
    assert "age" in said
    assert "hours" not in said
    rng = np.random.default_rng(0)
    for _ in range(40):
        record = RECORD | {"age": int(rng.integers(18, 70)), "label": int(rng.integers(2))}
        assert (await http.report(task, record)).status_code == 201
    assert (await http.fit(task.id, estimator="weighted")).status_code == 201
    card = (await http.get(f"/v1/tasks/{task.id}/models/1/card", headers=http.admin)).text
    disclosed = f"but for age, job: those put the person into one of {len(cells)} disclosed groups"
    assert disclosed in card
    await http.sign_in()
    page = unescape((await http.get(f"/tasks/{task.id}")).text)
    assert f"each message reveals one of {len(cells)} disclosed groups; at least" in page
    assert f"What stays hidden splits these into the {task.tree_of(0).cells} groups of the" in page
    assert f"each of at least {min(task.group_sizes)} people who were expected" in card
    least = min(task.group_sizes)
    few = f"Fewer than the {least} reports expected from each disclosed group came from "
    insight = await http.get(f"/v1/tasks/{task.id}/models/1/insight", headers=http.admin)
    assert few in card
    assert insight.json()["gathered"].startswith(few)
    asked = {"records": [{k: v for k, v in RECORD.items() if k != "label"}]}
    predicted = await http.post(f"/v1/tasks/{task.id}/predict", json=asked, headers=http.admin)
    (row,) = predicted.json()["predictions"]
    assert sum(row["probabilities"].values()) == pytest.approx(1.0)


async def test_groups_are_counted_in_a_register(http: Http) -> None:
    """Through the form's part; kept, audited by its number of people, and gone with the task."""
    rng = np.random.default_rng(7)
    people = [
        (int(age), str(rng.choice(["farmer", "nurse", "smith"])))
        for age in rng.integers(18, 70, 3000)
    ]

    def register(rows: list[tuple[int, str]], header: str = "age,job") -> bytes:
        return "\n".join([header, *(f"{age},{job}" for age, job in rows)]).encode()

    settings = {"name": "counted", "label": "label", "epsilon": 1.0, "grower": "cart", "depth": 9}
    settings |= {"disclosed": ["age", "job"], "hidden_depth": 1}

    async def create(content: bytes, **more: Any) -> Any:
        files = {"public": ("a.csv", samples.survey()), "register": ("b.csv", content)}
        data = {"settings": json.dumps(settings | more)}
        return await http.post("/v1/tasks", headers=http.admin, files=files, data=data)

    made = await create(register(people))
    assert made.status_code == 201, made.text
    view = made.json()
    assert view["registered"]
    sizes = [stratum["holders"] for stratum in view["strata"]]
    assert min(sizes) >= 20
    assert {size % 10 for size in sizes} == {0}
    assert (await create(register(people))).status_code == 200
    assert_problem(
        await create(register([(people[0][0] + 1, people[0][1]), *people[1:]])), InvalidTask
    )
    assert_problem(await create(register(people, "age,post")), InvalidPublicData)
    (entry,) = [entry for entry in await http.audit() if entry["action"] == "task created"]
    assert entry["detail"]["registered"] == 3000
    without = await http.post(
        "/v1/tasks",
        headers=http.admin,
        files={"public": ("a.csv", samples.survey())},
        data={"settings": json.dumps(settings | {"holders": 3000})},
    )
    assert not without.json()["registered"]
    assert len(without.json()["strata"]) < len(sizes)


async def test_a_stratum_that_does_not_exist_counts_nothing(http: Http) -> None:
    """Neither alone nor in a batch, whose other reports count."""
    task = await disclosing_task(http)
    (mechanism,) = task.mechanisms
    assert isinstance(mechanism, StratifiedMechanism)
    good = [make_report(task, RECORD, os.urandom) for _ in range(5)]
    ((question, payload),) = good[0].answers
    beyond = (
        mechanism.stratum_count.to_bytes(mechanism.width, "little") + payload[mechanism.width :]
    )
    lie = Report(task=good[0].task, id=os.urandom(16), answers=((question, beyond),))
    said = f"stratum must be below {mechanism.stratum_count}"
    assert_problem(await http.post_report(task, lie), WrongPayload, said)
    rows = [*good, lie]
    ids = np.array([[*report.id] for report in rows], dtype=np.uint8)
    payloads = np.array([[*report.answers[0][1]] for report in rows], dtype=np.uint8)
    batch = await http.post(
        f"/v1/tasks/{task.id}/reports/batch",
        content=Batch((0,), ids, payloads).pack(),
        headers={"Content-Type": BATCH_MEDIA_TYPE, **http.admin},
    )
    assert batch.json()["counted"] == 5
    assert batch.json()["failed"] == {"wrong-payload": [lie.id.hex()]}


async def test_what_cannot_be_disclosed_is_refused(http: Http) -> None:
    """With the columns that there are, before anything is published."""
    for column, said in (("height", "no column 'height'"), ("label", "cannot be disclosed")):
        assert_problem(await http.create(disclosed=[column]), InvalidTask, said)
    assert (await http.get("/v1/tasks")).json() == []
