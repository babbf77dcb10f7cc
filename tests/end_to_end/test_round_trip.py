"""One full round: public data in, private reports over real HTTP, predictions out.

The curator is a process of its own and is stopped, or killed, in the middle of the collection.
"""

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest

from privet.client import Answer
from privet.curator.datastore import open_store
from privet.learning.trees import locate
from privet.protocol.features import encode_table
from privet.protocol.report import REPORT_MEDIA_TYPE, Report
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.datastore.made import slow_checksum
from tests.end_to_end import population
from tests.end_to_end.running_curator import RunningCurator


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCurator]:
    with RunningCurator(tmp_path_factory.mktemp("curator")) as running:
        yield running


def expected_sums(task: Task, answers: Sequence[Answer]) -> list[tuple[np.ndarray, int]]:
    """What the payloads that holders keep add up to, per question."""
    found = []
    for question, mechanism in enumerate(task.mechanisms):
        reports = [Report.unpack(answer.report) for answer in answers]
        payloads = [dict(report.answers).get(question) for report in reports]
        rows = [list(payload) for payload in payloads if payload is not None]
        array = np.array(rows, dtype=np.uint8).reshape(len(rows), mechanism.report_bytes)
        found.append((mechanism.accumulate(array), len(rows)))
    return found


def assert_counted(curator: RunningCurator, task_id: str, answers: Sequence[Answer]) -> None:
    """The curator has these reports and no others; the sums on its disk are theirs exactly."""
    status = curator.status(task_id)
    assert status["reports"] == len(answers)
    assert status["checksum"] == slow_checksum(
        [bytes.fromhex(answer.report_id) for answer in answers]
    )
    store = open_store(curator.database)
    try:
        kept = store.sums(task_id)
        expected = expected_sums(store.task(task_id).task, answers)
    finally:
        store.close()
    for sums, (vector, n) in zip(kept, expected, strict=True):
        assert sums.n == n
        np.testing.assert_array_equal(sums.vector, vector)


def resend(curator: RunningCurator, answers: Sequence[Answer]) -> list[httpx.Response]:
    """Send stored bytes once more, as a holder does that never saw its receipt."""
    with curator.http() as http:
        return [
            http.post(
                f"/v1/tasks/{answer.task}/reports",
                content=answer.report,
                headers={"Content-Type": REPORT_MEDIA_TYPE},
            )
            for answer in answers
        ]


@pytest.mark.parametrize(
    "how", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_three_classes_with_a_restart_in_the_middle(tmp_path: Path, how: signal.Signals) -> None:
    """600 holders at epsilon 8 teach three classes; a stop or a kill in the middle loses nothing.

    A wrong centre needs an error of more than 10 standard deviations.
    """
    with RunningCurator(tmp_path) as curator:
        collect_with_a_restart(curator, how)


def collect_with_a_restart(curator: RunningCurator, how: signal.Signals) -> None:
    """The whole round, with checks after every step."""
    task_id = curator.create(
        samples.classes(), label="level", epsilon=8, grower="cart", depth=2, holders=600
    )
    url, records = f"/v1/tasks/{task_id}", population.thirds(600, seed=1)
    answers = population.answer_all(curator.url + url, records[:300])
    assert_counted(curator, task_id, answers)

    token = curator.token
    curator.restart(how)
    assert "Admin token" not in curator.log()
    assert curator.token == token
    assert_counted(curator, task_id, answers)

    replays = resend(curator, answers[:50])
    assert {response.status_code for response in replays} == {200}
    assert not any(response.json()["counted"] for response in replays)
    answers += population.answer_all(curator.url + url, records[300:])
    assert_counted(curator, task_id, answers)

    curator.post(f"{url}/close")
    model = curator.post(f"{url}/models", {"estimator": "private"})
    assert (model["number"], model["reports"]) == (1, 600)
    asked = {"records": [{"x": 1 / 6}, {"x": 1 / 2}, {"x": 5 / 6}]}
    predicted = curator.post(f"{url}/predict", asked)["predictions"]
    assert [prediction["label"] for prediction in predicted] == ["low", "middle", "high"]

    curator.restart(how)
    assert curator.get(url)["state"] == "closed"
    assert curator.post(f"{url}/predict", asked)["predictions"] == predicted


def test_a_number_over_two_questions(curator: RunningCurator) -> None:
    """LPCT-prune's shape for a numeric label: every holder answers both questions, epsilon adds up.

    Both questions have all reports, and their sums are the holders' own.
    """
    task_id = curator.create(
        samples.line(), label="y", epsilon=8, questions=[{"depth": 4}, {"depth": 1}]
    )
    url = f"/v1/tasks/{task_id}"
    view = curator.get(url)
    assert view["epsilon"] == 8
    assert [question["epsilon"] for question in view["questions_in_numbers"]] == [4, 4]
    answers = population.answer_all(curator.url + url, population.line(150, seed=2))
    assert_counted(curator, task_id, answers)
    status = curator.status(task_id)
    assert status["answers"] == [150, 150]


def test_one_question_each(curator: RunningCurator) -> None:
    """Allocation ``one``: a holder answers one question by chance, and spends epsilon once.

    Of 200 holders each question gets between 60 and 140: a false alarm in 10^8 runs.
    """
    task_id = curator.create(
        samples.classes(),
        label="level",
        epsilon=2,
        allocation="one",
        grower="grid",
        depth=2,
        questions=[{"asks": "cell"}, {"asks": "label"}],
    )
    url = f"/v1/tasks/{task_id}"
    assert curator.get(url)["epsilon"] == 2
    answers = population.answer_all(curator.url + url, population.thirds(200, seed=3))
    assert_counted(curator, task_id, answers)
    counts = curator.status(task_id)["answers"]
    assert sum(counts) == 200
    assert all(60 <= count <= 140 for count in counts)


def test_a_regression_learns(curator: RunningCurator) -> None:
    """At epsilon 8, 600 holders teach y = 10 x: the depth-2 means are within 2.5 of the line.

    The cells' own means are within 1.3 of it, and the error's standard deviation is below 0.25.
    """
    task_id = curator.create(samples.line(), label="y", epsilon=8, grower="cart", depth=2)
    url = f"/v1/tasks/{task_id}"
    population.answer_all(curator.url + url, population.line(600, seed=4))
    curator.post(f"{url}/models", {"estimator": "private"})
    columns = {"x": [0.125, 0.375, 0.625, 0.875], "z": [0.5] * 4}
    predicted = curator.post(f"{url}/predict", {"columns": columns})
    np.testing.assert_allclose(predicted["label"], [1.25, 3.75, 6.25, 8.75], atol=2.5)
    for (value,), (low,), (high,) in zip(
        predicted["values"], predicted["low"], predicted["high"], strict=True
    ):
        assert 0.0 <= low <= value <= high <= 10.0


def test_numbers_told_around_centres_make_the_round(curator: RunningCurator) -> None:
    """The default for numbers: centres are published, kept on disk, answered, shown and fitted.

    At epsilon 8, some 100 holders of y = 10 x in each of four cells: a cell's mean as reported is
    within 0.75 radius of its holders' own, more than six standard errors of radius / sqrt(80).
    """
    task_id = curator.create(samples.line(), label="y", epsilon=8, depth=2, grower="distilled")
    url, records = f"/v1/tasks/{task_id}", population.line(400, seed=6)
    view = curator.get(url)
    (asked,), (shown,) = view["task"]["questions"], view["questions_in_numbers"]
    assert shown["radius"] == asked["centring"]["radius"] < 3.0
    answers = population.answer_all(curator.url + url, records)
    assert_counted(curator, task_id, answers)
    curator.restart(signal.SIGTERM)

    task = Task.checked(curator.get(url)["task"])
    assert task.id == task_id
    rows = [{"x": record["x"], "z": record["z"]} for record in records]
    cells = locate(task.trees[0], encode_table(task.features, _columns(rows)))
    truth = np.array([record["y"] for record in records])
    curator.post(f"{url}/models", {"estimator": "private"})
    predicted = np.array(curator.post(f"{url}/predict", {"columns": _columns(rows)})["label"])
    for cell in range(4):
        error = predicted[cells == cell][0] - truth[cells == cell].mean()
        assert abs(error) < 0.75 * shown["radius"]
    curator.post(f"{url}/models", {"estimator": "drift"})
    with curator.http() as http:
        assert "label ± " in http.get(f"{url}/models/2/card", headers=curator.admin).text


def _columns(rows: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_every_mechanism_makes_the_round(curator: RunningCurator) -> None:
    """Whatever mechanism a task names, holders can answer it and the sums are theirs."""
    for mechanism in curator.get("/v1/methods")["mechanisms"]:
        task_id = curator.create(
            samples.survey(), label="label", epsilon=1, depth=3, mechanism=mechanism
        )
        url = f"{curator.url}/v1/tasks/{task_id}"
        answers = population.answer_all(url, population.survey(20, seed=5))
        assert_counted(curator, task_id, answers)
