"""One full round: public data in, private reports over real HTTP, predictions out.

The curator is a process of its own, which is killed in the middle of the collections.
"""

import signal
from collections.abc import Sequence

import numpy as np

from privet.client import StoredAnswer
from privet.curator.datastore import open_store
from privet.learning.core.trees import locate
from privet.protocol.features import encode_table
from privet.protocol.report import Report
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.datastore.made import slow_checksum
from tests.end_to_end import population
from tests.end_to_end.running_curator import RunningCurator


def expected_sums(task: Task, answers: Sequence[StoredAnswer]) -> list[tuple[np.ndarray, int]]:
    """What the payloads that holders keep add up to, per question."""
    sums = []
    reports = [dict(Report.unpack(answer.report).answers) for answer in answers]
    for question, mechanism in enumerate(task.mechanisms):
        rows = [list(report[question]) for report in reports if question in report]
        array = np.array(rows, dtype=np.uint8).reshape(len(rows), mechanism.report_bytes)
        sums.append((mechanism.accumulate(array), len(rows)))
    return sums


def assert_counted(curator: RunningCurator, task_id: str, answers: Sequence[StoredAnswer]) -> None:
    """The curator has these reports and no others; the sums on its disk are theirs exactly."""
    status = curator.status(task_id)
    assert status["reports"] == len(answers)
    ids = [bytes.fromhex(answer.report_id) for answer in answers]
    assert status["checksum"] == slow_checksum(ids)
    store = open_store(curator.database)
    try:
        kept = store.standing.collected(task_id).sums
        expected = expected_sums(store.tasks.read(task_id).task, answers)
    finally:
        store.close()
    for sums, (vector, n) in zip(kept, expected, strict=True):
        assert sums.n == n
        np.testing.assert_array_equal(sums.vector, vector)


CENTRES = {"records": [{"x": 1 / 6}, {"x": 1 / 2}, {"x": 5 / 6}]}


def test_three_classes_are_learned_over_a_kill(curator: RunningCurator) -> None:
    """300 holders at epsilon 8 teach three classes; a kill on the way loses nothing.

    A wrong centre needs an error of more than 7 standard deviations.
    """
    task_id = curator.create(
        samples.classes(), label="level", epsilon=8, grower="cart", depth=2, holders=300
    )
    url, token = f"/v1/tasks/{task_id}", curator.token
    answers = population.answer_all(curator.url + url, population.thirds(150, seed=1))
    assert_counted(curator, task_id, answers)
    curator.post(f"{url}/models", {"estimator": "weighted", "parameters": {"weight": 0}})
    predicted = curator.post(f"{url}/predict", CENTRES)
    curator.restart(signal.SIGKILL)

    assert "Admin token" not in curator.log()
    assert curator.token == token
    assert_counted(curator, task_id, answers)
    replays = [curator.report(task_id, answer.report) for answer in answers[:20]]
    assert {(again.status_code, again.json()["counted"]) for again in replays} == {(200, False)}
    answers += population.answer_all(curator.url + url, population.thirds(150, seed=2))
    assert_counted(curator, task_id, answers)

    assert curator.post(f"{url}/predict", CENTRES) == predicted
    model = curator.post(
        f"{url}/models", {"estimator": "weighted", "parameters": {"weight": 0}, "promote": True}
    )
    assert (model["number"], model["reports"]) == (2, 300)
    learned = curator.post(f"{url}/predict", CENTRES)["predictions"]
    assert [prediction["label"] for prediction in learned] == ["low", "middle", "high"]


def test_one_question_each(curator: RunningCurator) -> None:
    """Allocation ``one``: a holder answers one question by chance, and spends epsilon once.

    Of 100 holders each question gets between 22 and 78: a false alarm in 10^8 runs.
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
    answers = population.answer_all(curator.url + url, population.thirds(100, seed=3))
    assert_counted(curator, task_id, answers)
    counts = curator.status(task_id)["answers"]
    assert sum(counts) == 100
    assert all(22 <= count <= 78 for count in counts)


def test_numbers_told_around_centres_make_the_round(curator: RunningCurator) -> None:
    """Where they are wished: centres are published, kept on disk, answered, shown and fitted.

    At epsilon 8, some 50 holders of y = 10 x in each of four cells: a cell's mean as reported is
    within 0.95 radius of its holders' own, more than six standard errors of radius / sqrt(40).
    """
    task_id = curator.create(
        samples.line(100), label="y", epsilon=8, depth=2, centred=True, label_part=0.0
    )
    url, records = f"/v1/tasks/{task_id}", population.line(200, seed=6)
    view = curator.get(url)
    (asked,), (shown,) = view["task"]["questions"], view["questions_in_numbers"]
    assert shown["radius"] == asked["centring"]["radius"] < 3.0
    answers = population.answer_all(curator.url + url, records)
    assert_counted(curator, task_id, answers)

    task = curator.task(task_id)
    columns = {name: [record[name] for record in records] for name in ("x", "z")}
    cells = locate(task.trees[0], encode_table(task.features, columns))
    truth = np.array([record["y"] for record in records])
    curator.post(f"{url}/models", {"estimator": "weighted", "parameters": {"weight": 0}})
    table = curator.post(f"{url}/predict", {"columns": columns})
    predicted = np.array(table["label"])
    for cell in range(4):
        error = predicted[cells == cell][0] - truth[cells == cell].mean()
        assert abs(error) < 0.95 * shown["radius"]
    low, high = (np.array(table[name])[:, 0] for name in ("cell_low", "cell_high"))
    assert (low <= predicted).all()
    assert (predicted <= high).all()
    assert 0.0 <= low.min() <= high.max() <= 10.0
    curator.post(f"{url}/models", {"estimator": "drift"})
    card = curator.call("GET", f"{url}/models/2/card", headers=curator.admin)
    assert "label ± " in card.text


def test_every_mechanism_makes_the_round(curator: RunningCurator) -> None:
    """A question by each: holders answer all, epsilon adds up, and the sums are theirs."""
    mechanisms = curator.get("/v1/methods")["mechanisms"]
    task_id = curator.create(
        samples.survey(),
        label="label",
        epsilon=len(mechanisms),
        grower="cart",
        questions=[{"mechanism": name, "depth": 3} for name in mechanisms],
    )
    url = f"/v1/tasks/{task_id}"
    asked = curator.get(url)["questions_in_numbers"]
    assert [question["epsilon"] for question in asked] == [1.0] * len(mechanisms)
    answers = population.answer_all(curator.url + url, population.survey(20, seed=5))
    assert_counted(curator, task_id, answers)
    assert curator.status(task_id)["answers"] == [20] * len(mechanisms)
