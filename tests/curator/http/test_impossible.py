"""What a curator says of reports that cannot all be honest."""

import os

import httpx

from privet.curator.app import CuratorApp
from privet.curator.watch import judge_tasks
from privet.protocol.report import make_report

from .conftest import PERSON, Http

SENT = 150


async def test_certainty_is_withheld_wherever_it_was_stated(http: Http, app: CuratorApp) -> None:
    """API, card, page, results and the minute's test say so; predictions' intervals are whole."""
    task_id = await http.task(epsilon=1.0)
    task, store = await http.published(task_id), app.state.curator.store
    first = make_report(task, PERSON, os.urandom)
    assert judge_tasks(store, store.tasks.listed(), 0.0, {})[task_id].false is False
    for _ in range(SENT):
        copy = first.model_copy(update={"id": os.urandom(16)})
        assert (await http.post_report(task, copy)).status_code == 201
    fitted = (await http.fit(task_id)).json()
    assert fitted["facts"]["false reports"].endswith(f" of {SENT}")
    model = f"/v1/tasks/{task_id}/models/1"
    insight = (await http.get(f"{model}/insight", headers=http.admin)).json()
    least = insight["impossible"]["least"]
    assert 0 < least <= SENT
    assert {(row["low"], row["high"]) for row in insight["overall"]} == {(0.0, 1.0)}
    said = f"at least {least} of {SENT} are false"
    assert said in insight["sentence"]
    card = (await http.get(f"{model}/card", headers=http.admin)).text
    assert said in card
    assert "of the holders have the class" not in card
    body = {"records": [PERSON]}
    answer = await http.post(f"/v1/tasks/{task_id}/predict", json=body)
    (predicted,) = answer.json()["predictions"]
    assert set(predicted["cell_low"].values()) == {0.0}
    assert set(predicted["cell_high"].values()) == {1.0}
    assert judge_tasks(store, store.tasks.listed(), 0.0, {})[task_id].false is True
    await http.post(f"/v1/tasks/{task_id}/close", headers=http.admin)
    status: httpx.Response = await http.get(f"/v1/tasks/{task_id}/status")
    assert status.json().get("results") is None
    await http.sign_in()
    page = (await http.get(f"/tasks/{task_id}")).text
    assert said in page
    assert "Holders compared with public records" not in page
