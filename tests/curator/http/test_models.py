"""Models and predictions over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from privet.curator.app import CuratorApp
from privet.curator.http.model_files import LARGE_BYTES
from privet.curator.operations.strangers import STEP
from privet.curator.workers import Run, Workers
from privet.protocol.errors import (
    PROBLEMS,
    InvalidRecord,
    InvalidRequest,
    ModelNotFound,
    NotAuthorized,
    NotEnoughReports,
    Overloaded,
    PrivetError,
    TooLarge,
    TooManyRequests,
)
from tests.curator import samples
from tests.curator.dashboard.test_overview import answer_all
from tests.curator.http.conftest import Http, serving
from tests.curator.use_cases import Threads
from tests.keeping import keeps
from tests.manual_clock import ManualClock
from tests.problems import assert_problem

JSON = {"Content-Type": "application/json"}
PERSON = {"age": 50, "hours": 40, "job": "smith", "member": True}


@pytest.fixture
async def fitted(http: Http) -> str:
    """The id of a task with a model of its public data."""
    task_id = await http.task()
    await http.fit(task_id, **samples.PUBLIC_ALONE)
    return task_id


async def test_a_fit_needs_a_report_and_gives_a_numbered_model(http: Http) -> None:
    """409 without reports; with one, 201, the model's address and its facts."""
    task_id = await http.task()
    no_body = await http.post(f"/v1/tasks/{task_id}/models", headers=http.admin)  # all defaults
    assert_problem(no_body, NotEnoughReports, "'weighted' with the weight inf")
    await http.report(task_id)
    response = await http.fit(task_id, estimator="weighted")
    model = response.json()
    assert response.status_code == 201
    assert response.headers["location"] == f"/v1/tasks/{task_id}/models/1"
    assert (model["number"], model["reports"], model.pop("same_as")) == (1, 1, None)
    assert (await http.get(response.headers["location"], headers=http.admin)).json() == model
    assert (await http.get(f"/v1/tasks/{task_id}/models", headers=http.admin)).json() == [model]
    assert (await http.get(f"/v1/tasks/{task_id}/status")).json()["models"] == 1


async def test_impossible_fits_are_refused(http: Http) -> None:
    """An unknown name says which are known; no model is kept."""
    address = f"/v1/tasks/{await http.task()}/models"
    impossible: list[tuple[Any, str]] = [
        ({"estimator": "guess"}, "use one of"),
        ({"estimator": "drift", "parameters": {"weight": 1}}, "no parameter weight"),
        ({"estimator": 3}, "estimator"),
        ({"estimators": "weighted"}, "estimators"),
        ({"parameters": []}, "parameters"),
        ([], "body"),
    ]
    for asked, said in impossible:
        refused = await http.post(address, headers=http.admin, json=asked)
        assert_problem(refused, InvalidRequest, said)
    assert (await http.get(address)).json() == []


async def test_columns_say_the_same_as_records(http: Http, fitted: str) -> None:
    """Both forms carry the same facts, row by row: the path is that of its own cell."""
    people = [PERSON, {**PERSON, "age": 20, "label": 1}]
    columns = {name: [person[name] for person in people] for name in PERSON}
    address = f"/v1/tasks/{fitted}/predict"
    rows = (await http.post(address, json={"records": people})).json()["predictions"]
    table = (await http.post(address, json={"columns": columns})).json()
    assert table["classes"] == ["0", "1"]
    assert (await http.post(address, json={"records": []})).json()["predictions"] == []
    for i, row in enumerate(rows):
        assert row["label"] == table["label"][i]
        assert list(row["probabilities"].values()) == table["values"][i]
        for name in ("cell_value", "cell_low", "cell_high"):
            assert list(row[name].values()) == table[name][i]
        assert row["path"] == table["paths"][str(table["cell"][i])]
    assert [row["path"][0] for row in rows] == ["age >= 43.5", "age < 43.5"]


async def test_an_older_model_is_still_served(http: Http, fitted: str) -> None:
    """By default the model that serves predicts; any other by its number."""
    await http.fit(fitted, **samples.PUBLIC_ALONE)
    address = f"/v1/tasks/{fitted}/predict"
    asked = {"records": [PERSON]}
    assert (await http.post(address, json=asked)).json()["model"] == 1
    serving = f"/v1/tasks/{fitted}/aliases/serving"
    promoted = await http.put(serving, headers=http.admin, json={"number": 2})
    assert promoted.json()["aliases"] == ["serving"]
    assert (await http.post(address, json=asked)).json()["model"] == 2
    change = await http.get(f"/v1/tasks/{fitted}/models/1/compare/2")
    assert change.json()["same_label"] == 1.0
    assert (await http.post(address, json={**asked, "model": 1})).json()["model"] == 1
    for number in (0, 3, -1, 2**70):
        assert_problem(
            await http.post(address, json={**asked, "model": number}), ModelNotFound, "1 to 2"
        )


BAD_BODIES: list[tuple[bytes, type[PrivetError], str]] = [
    (b"", InvalidRequest, "body"),
    (b"{", InvalidRequest, "JSON"),
    (b"\xff", InvalidRequest, "JSON"),
    (b"[" * 5000, InvalidRequest, "JSON"),
    (b"{}", InvalidRequest, "either records or columns"),
    (b'{"records": [], "columns": {}}', InvalidRequest, "either"),
    (b'{"records": [{"age": NaN}]}', InvalidRequest, "NaN is not JSON"),
    (b'{"records": [{"age": -Infinity}]}', InvalidRequest, "Infinity is not JSON"),
    (b'{"records": [1]}', InvalidRequest, "records.0"),
    (b'{"records": {}}', InvalidRequest, "records"),
    (b'{"records": [{"age": 1}]}', InvalidRecord, "Row 1"),
    (b'{"records": [{"wage": 1}]}', InvalidRecord, "'wage'"),
    (b'{"columns": {}}', InvalidRecord, "Missing fields"),
    (b'{"columns": {"age": [1], "job": []}}', InvalidRecord, "Missing fields"),
    (b'{"columns": {"age": 1}}', InvalidRequest, "columns.age"),
    (b'{"model": 1.5, "records": []}', InvalidRequest, "model"),
    (b'{"records": [' + b" " * 20_000 + b"]}", TooLarge, "20000 bytes"),
    # large ones, which a worker process reads
    (b'{"records": [' + b" " * 9_000, InvalidRequest, "not JSON"),
    (b'{"records": 1, "columns": ' + b" " * 9_000 + b"2}", InvalidRequest, "records"),
    (b'{"model": 7, "records": [' + b" " * 9_000 + b"]}", ModelNotFound, "1 to 1"),
    (b'{"records": [{"age": 1}' + b" " * 9_000 + b"]}", InvalidRecord, "Row 1"),
]


@keeps(
    "deployment: a prediction has a limit of bytes",
    in_="curator/app.py",
    instead_of="limits.request_bytes, BODY_SECONDS",
    plant="10**12, BODY_SECONDS",
)
async def test_bad_predict_bodies_are_refused(http: Http, fitted: str) -> None:
    """What is not JSON, not of the published form, or not a record is named as that."""
    for body, error, said in BAD_BODIES:
        response = await http.post(f"/v1/tasks/{fitted}/predict", content=body, headers=JSON)
        assert_problem(response, error, said)


async def test_a_large_prediction_is_computed_in_a_worker_process(http: Http, fitted: str) -> None:
    """Its answer is that of small ones."""

    async def predicted(**asked: Any) -> dict[str, Any]:
        found: dict[str, Any] = (await http.post(f"/v1/tasks/{fitted}/predict", json=asked)).json()
        return found

    records, columns = [PERSON] * 250, {name: [value] * 600 for name, value in PERSON.items()}
    assert min(len(json.dumps(large)) for large in (records, columns)) > LARGE_BYTES
    one, large = await predicted(records=[PERSON]), await predicted(records=records, model=1)
    assert large == {"model": 1, "predictions": one["predictions"] * 250}
    row = {name: [value] for name, value in PERSON.items()}
    one, large = await predicted(columns=row), await predicted(columns=columns)
    assert (large["values"], large["paths"]) == (one["values"] * 600, one["paths"])


@keeps(
    "threat-model: rows of a prediction are bounded",
    in_="curator/operations/predictions.py",
    instead_of="if rows > most:",
    plant="if False:",
)
@pytest.mark.parametrize("rows", [101, 4_000])
async def test_rows_of_a_prediction_are_bounded(
    http: Http, fitted: str, app: CuratorApp, rows: int
) -> None:
    """Empty records too, in small bodies and in large ones, before anything is computed."""
    app.state.curator.max_rows = 100
    body = b'{"records": [' + b",".join([b"{}"] * rows) + b"]}"
    address = f"/v1/tasks/{fitted}/predict"
    answer = await http.post(address, content=body, headers=JSON)
    assert_problem(answer, TooLarge, f"{rows} rows are more than one call takes")


@keeps(
    "deployment: with more classes fewer rows",
    in_="curator/operations/predictions.py",
    instead_of="max(1, max_rows * FEW_CLASSES // max(FEW_CLASSES, classes))",
    plant="max_rows",
)
async def test_with_many_classes_fewer_rows_are_predicted(http: Http, app: CuratorApp) -> None:
    """In proportion, above twenty classes: an answer has a value per row and class."""
    rows = "\n".join(f"{i / 100},c{i % 40}" for i in range(400))
    task_id = await http.task(f"x,label\n{rows}".encode(), name="many classes", depth=1)
    await http.fit(task_id, **samples.PUBLIC_ALONE)
    app.state.curator.max_rows = 100
    address = f"/v1/tasks/{task_id}/predict"
    assert (await http.post(address, json={"records": [{"x": 1.0}] * 50})).status_code == 200
    refused = await http.post(address, json={"records": [{"x": 1.0}] * 51})
    assert_problem(refused, TooLarge, "at most 50")


async def test_results_are_public_once_no_more_reports_count(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Of the model that serves, by its closing or its date; for readers only where models are."""
    closes = int(clock()) + 1_000
    more: dict[str, Any] = {"closes": closes, "epsilon": 8.0}
    tasks = [await http.task(grower="cart"), await http.task(name="dated", **more)]
    for task, people in zip(tasks, (1, 300), strict=True):
        answer_all(app, task, clock, people)
        await http.fit(task, **samples.PUBLIC_ALONE)
        assert "results" not in (await http.get(f"/v1/tasks/{task}/status")).json()
    await http.post(f"/v1/tasks/{tasks[0]}/close", headers=http.admin)
    clock.advance(2_000)
    for task, tells in zip(tasks, (False, True), strict=True):
        address = f"/v1/tasks/{task}/status"
        figures = (await http.get(address)).json()["results"]["figures"]
        insight = await http.get(f"/v1/tasks/{task}/models/1/insight", headers=http.admin)
        names = {"value": "reported"}
        for figure, row in zip(figures, insight.json()["overall"], strict=True):
            assert (row["p_value"] <= 0.05) == tells  # one of two classes is tested
            assert figure.pop("differs") == tells
            assert figure == {key: row[names.get(key, key)] for key in figure}
        app.state.curator.guard_models = True
        assert "results" not in (await http.get(address)).json()
        assert (await http.get(address, headers=http.admin)).json()["results"]
        app.state.curator.guard_models = False
    without = await http.task(name="no model")
    await http.post(f"/v1/tasks/{without}/close", headers=http.admin)
    assert "results" not in (await http.get(f"/v1/tasks/{without}/status")).json()


@keeps(
    "threat-model: nothing is read of a stranger",
    in_="curator/http/routes.py",
    instead_of='if self.methods != {"GET"} or operation.pool:',
    plant="if operation.pool:",
)
@keeps(
    "threat-model: guarded models are not exported to strangers",
    in_="curator/operations/table.py",
    instead_of='actor.need(Scope.READER, "models")',
    plant="pass",
)
async def test_nothing_is_read_of_a_stranger(workers: Workers) -> None:
    """A body is not waited for, nor parsed, before the token is looked at; and of a known caller
    only 64 KiB of JSON are parsed, but for predictions."""
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(80):
            read += 1
            yield b"[" * 1_000

    form = {"Content-Type": "multipart/form-data; boundary=b"}
    async with serving(workers, guard_models=True) as http:
        models = f"/v1/tasks/{await http.task()}/models"
        for path, headers in ((models, JSON), (f"{models[:-6]}predict", JSON), ("/v1/tasks", form)):
            assert_problem(await http.post(path, headers=headers, content=endless()), NotAuthorized)
        assert read == 0
        body = b'{"parameters": {' + b" " * 70_000 + b"}}"
        large = await http.post(models, headers=JSON | http.admin, content=body)
        assert_problem(large, TooLarge, "65536 bytes")


RECORD = b'{"records": [{"age": N, "hours": 1, "job": "smith", "member": true}]}'
COLUMNS = b'{"columns": {"age": [N, 1], "hours": [1, 1], "job": ["smith", N], "member": [1, 0]}}'
THRESHOLD = b'{"estimator": "histogram", "parameters": {"threshold": N}}'


async def test_numbers_beyond_all_floats_are_refused(http: Http, fitted: str) -> None:
    """They are JSON; those of thousands of digits are not even read."""
    await http.report(fitted)
    for number in (b"1e999", b"9" * 400, b"9" * 5_000):
        for call, content, error in (
            ("predict", RECORD, InvalidRecord),
            ("predict", COLUMNS, InvalidRecord),
            ("models", THRESHOLD, InvalidRequest),
            ("invitations", b'{"count": N}', InvalidRequest),
        ):
            body, headers = content.replace(b"N", number), http.admin | JSON
            answer = await http.post(f"/v1/tasks/{fitted}/{call}", content=body, headers=headers)
            assert_problem(answer, error if len(number) < 4_300 else InvalidRequest)


async def test_unknown_models_and_formats_are_refused(http: Http) -> None:
    """A model or format that is not there is named with those that are."""
    task_id = await http.task()
    address = f"/v1/tasks/{task_id}/models"
    assert_problem(await http.get(f"{address}/1"), ModelNotFound, "fit one first")
    await http.fit(task_id, **samples.PUBLIC_ALONE)
    assert_problem(await http.get(f"{address}/2"), ModelNotFound, "1 to 1")
    assert_problem(await http.get(f"{address}/x"), InvalidRequest, "number")
    assert_problem(await http.get(f"{address}/1/export?format=pickle"), InvalidRequest, "json")


async def test_a_deleted_task_predicts_no_more(http: Http, fitted: str) -> None:
    """Deleting a task takes its models with it, those in memory included."""
    asked = {"records": [PERSON]}
    address = f"/v1/tasks/{fitted}"
    assert (await http.post(f"{address}/predict", json=asked)).status_code == 200
    await http.delete(address, headers=http.admin)
    assert (await http.post(f"{address}/predict", json=asked)).status_code == 404
    again = await http.task()
    assert again != fitted
    assert_problem(await http.post(f"/v1/tasks/{again}/predict", json=asked), ModelNotFound)


@keeps(
    "threat-model: exports have places of their own",
    in_="curator/operations/models.py",
    instead_of='ApiCall.EXPORT, Open.MODELS, pool="exporters"',
    plant='ApiCall.EXPORT, Open.MODELS, pool="workers"',
)
async def test_exports_and_comparisons_are_bounded(http: Http, app: CuratorApp) -> None:
    """Anybody may ask for them, so they have few places, which are not those of predictions."""
    task_id = await http.task()
    for _ in range(2):
        await http.fit(task_id, **samples.PUBLIC_ALONE)
    paths = [f"/v1/tasks/{task_id}/models/1/{end}" for end in ("export", "compare/2")]
    assert [(await http.get(path)).status_code for path in paths] == [200, 200]
    free, app.state.curator.exporters = (
        app.state.curator.exporters,
        Workers(at_a_time=1, waiting=-1),
    )
    for path in paths:
        assert_problem(await http.get(path), Overloaded)
    people = {"columns": {name: [value] * 500 for name, value in PERSON.items()}}
    assert (await http.post(f"/v1/tasks/{task_id}/predict", json=people)).status_code == 200
    app.state.curator.exporters.close()
    app.state.curator.exporters = free


async def test_comparisons_and_short_files_wait_for_no_process(
    http: Http, app: CuratorApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One takes seconds to start, and a busy machine's many; these take milliseconds."""
    task_id, curator = await http.task(), app.state.curator
    for _ in range(2):
        await http.fit(task_id, **samples.PUBLIC_ALONE)
    monkeypatch.setattr(curator, "exporters", pool := NoProcesses(1, 1))
    model = f"/v1/tasks/{task_id}/models/1"
    paths = [f"{model}/compare/2", *(f"{model}/export?format={name}" for name in ("json", "csv"))]
    assert [(await http.get(path)).status_code for path in paths] == [200] * 3
    assert pool.asked == 0
    await http.get(f"{model}/export?format=onnx")
    assert pool.asked == 1


class NoProcesses(Threads):
    """Counts what it is asked to compute in processes."""

    asked = 0

    async def call(self, function: Callable[[Run], Any]) -> Any:
        def counted(compute: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            self.asked += 1
            return compute(*arguments, **named)

        return await asyncio.to_thread(function, cast("Run", counted))


@keeps(
    "threat-model: exports and comparisons are bounded",
    in_="curator/http/requests.py",
    instead_of="state.rate.take(state.sender_of(request))",
    plant="pass",
)
async def test_comparisons_and_exports_count_as_posts_do(workers: Workers) -> None:
    """In the rate limit of their sender, in the API and on pages; other reading does not."""
    async with serving(workers, rate_limit=5) as http:
        task_id = await http.task()
        for _ in range(2):
            await http.fit(task_id, **samples.PUBLIC_ALONE)
        model = f"/v1/tasks/{task_id}/models/1"
        page = f"/tasks/{task_id}"
        paths = [f"{model}/export", f"{model}/compare/2"]
        paths += [f"{page}/models/1/export", f"{page}/compare?one=1&other=2", model, *paths]
        answers = [await http.get(path) for path in (*paths, model)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429, 200]
    assert answers[6].json()["type"] == PROBLEMS[TooManyRequests].uri
    assert 0 < int(answers[6].headers["retry-after"]) <= 60


@keeps(
    "threat-model: strangers see counts in steps of 1 000",
    in_="curator/operations/strangers.py",
    instead_of="step, rest = divmod(reports, STEP)",
    plant="return reports",
)
async def test_one_report_changes_nothing_that_strangers_see(http: Http, fitted: str) -> None:
    """Neither a count nor a figure made of the reports so far; with a token all of it is there."""
    address = f"/v1/tasks/{fitted}"
    await http.report(fitted)
    live = {f"{address}{view}" for view in ("/status", "/models/1/card", "/models/1/insight")}
    others = {"/readyz", "/v1/tasks", address, f"{address}/models", f"{address}/models/1"}

    async def seen(headers: dict[str, str] | None = None) -> dict[str, str]:
        return {path: (await http.get(path, headers=headers)).text for path in live | others}

    before, exactly = await seen(), await seen(http.admin)
    await http.report(fitted)
    assert await seen() == before
    now = await seen(http.admin)
    assert {path for path in now if now[path] != exactly[path]} == live
    status = json.loads(before[f"{address}/status"])
    assert (status["reports"], status["step"]) == (0, STEP)
    assert not {"answers", "rejects", "checksum", "buckets"} & set(status)
    for path in live - {f"{address}/status"}:
        assert_problem(await http.get(path), NotAuthorized, "counts of the reports")


async def test_scores_are_those_of_the_fit_and_their_differences_for_readers(http: Http) -> None:
    """With intervals; a stranger sees those of the model, and none of the reports so far."""
    task = await http.task(epsilon=8.0, depth=1)
    for _ in range(40):
        await http.report(task)
    for _ in range(2):
        scores = (await http.fit(task, estimator="weighted")).json()["scores"]
    assert list(scores) == ["accuracy", "Brier score", "log loss"]
    assert scores["accuracy"]["low"] <= scores["accuracy"]["value"] <= scores["accuracy"]["high"]
    models = f"/v1/tasks/{task}/models"
    assert (await http.get(f"{models}/1")).json()["scores"] == scores
    assert (await http.get(f"{models}/1/compare/2")).json().get("scores") is None
    compared = (await http.get(f"{models}/1/compare/2", headers=http.admin)).json()["scores"]
    assert {name: of["value"] for name, of in compared.items()} == dict.fromkeys(scores, 0.0)
    await http.sign_in()
    assert "how often right: " in (await http.get(f"/tasks/{task}")).text
    assert "for people like those who answered" in (await http.get(f"/tasks/{task}/models/1")).text
    page = (await http.get(f"/tasks/{task}/compare?one=1&other=2")).text
    assert "are equally good" in page, "since both are of the same answers and settings"


async def test_an_insight_compares_holders_with_public_data(http: Http, fitted: str) -> None:
    """Shares compared with public ones, a sentence, and 422 without reports about the label."""
    address = f"/v1/tasks/{fitted}/models/1/insight"
    refused = await http.get(address, headers=http.admin)
    assert_problem(refused, InvalidRequest, "wait for holders")
    await http.report(fitted)
    insight = (await http.get(address, headers=http.admin)).json()
    assert (insight["task"], insight["model"], insight["reports"]) == (fitted, 1, 1)
    assert sum(row["public"] for row in insight["overall"]) == pytest.approx(1.0)
    assert insight["sentence"].startswith(insight["headline"])
    assert insight["headline"].startswith("This answer tells nothing yet")
    missing = await http.get(f"/v1/tasks/{fitted}/models/2/insight", headers=http.admin)
    assert_problem(missing, ModelNotFound, "no model 2")
