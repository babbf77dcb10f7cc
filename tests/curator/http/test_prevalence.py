"""A stated prevalence over HTTP: kept with the task, and where its models start."""

from typing import Any

from privet.protocol.errors import InvalidRequest, InvalidTask
from tests.curator import samples
from tests.curator.http.conftest import Http
from tests.problems import assert_problem


async def test_models_start_from_the_prevalence_that_the_curator_states(http: Http) -> None:
    """Their cards say so, holders are not told, and the same task has no other one."""
    settings: dict[str, Any] = {"grower": "max_edge", "depth": 2}
    task = await http.published(await http.task(**settings, prevalence={"1": 0.02}))
    assert b"prevalence" not in task.canonical
    for _ in range(3):
        assert (await http.report(task)).status_code == 201
    assert (await http.fit(task.id)).status_code == 201
    model = (await http.get(f"/v1/tasks/{task.id}/models/1", headers=http.admin)).json()
    assert model["facts"]["stated prevalence"] == "0 98.00%, 1 2.00%"
    card = (await http.get(f"/v1/tasks/{task.id}/models/1/card", headers=http.admin)).text
    assert "0 98.00%, 1 2.00%" in card
    record = {"age": 45, "hours": 10.0, "job": "nurse", "member": True}
    asked = await http.post(
        f"/v1/tasks/{task.id}/predict", json={"records": [record]}, headers=http.admin
    )
    assert asked.json()["predictions"][0]["probabilities"]["1"] < 0.1
    other = await http.create(samples.survey(), **settings, prevalence={"1": 0.3})
    assert_problem(other, InvalidTask, "another prevalence")
    unknown = await http.create(samples.survey(), **settings, prevalence={"yes": 0.3})
    assert_problem(unknown, InvalidRequest, "'yes', which is no class")
