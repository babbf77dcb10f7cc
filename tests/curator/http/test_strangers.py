"""All that strangers may read, searched for what only readers may know."""

import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest

from privet.curator.app import CuratorApp
from privet.curator.operations.strangers import HOUR, STEP
from privet.curator.operations.table import OPERATIONS, Open
from privet.protocol.calls import BATCH_MEDIA_TYPE, JSON_MEDIA_TYPE
from privet.protocol.limits import LATE_SECONDS
from privet.protocol.report import Report, make_report
from tests.curator.http.conftest import PERSON, Http
from tests.curator.use_cases import answer
from tests.keeping import keeps
from tests.manual_clock import ManualClock
from tests.protocol.examples import batch_of

RELAY = "canary-north"
BY_RELAY, DIRECTLY, COPIES, HELD = 1213, 1724, 1487, 1659
"""Numbers that no drawing has among its pixels."""
SEVERAL = {"number": "1", "other": "2", "node": "0", "alias": "serving"}
FORMATS = ("json", "csv", "onnx")


async def collected(http: Http, app: CuratorApp, clock: ManualClock) -> dict[str, str]:
    """Two closed tasks by name, the second with false reports, each with two models."""
    relay = {**await http.bearer("relay", RELAY), "Content-Type": BATCH_MEDIA_TYPE}
    made = {name: await http.task(name=name) for name in ("true", "false")}
    for name, count in (("true", BY_RELAY), ("false", COPIES)):
        task = await http.published(made[name])
        reports = [make_report(task, PERSON, os.urandom) for _ in range(count)]
        if name == "false":
            reports = [
                Report(task=each.task, id=each.id, answers=reports[0].answers) for each in reports
            ]
        path, body = f"/v1/tasks/{task.id}/reports/batch", batch_of(reports).pack()
        assert (await http.post(path, headers=relay, content=body)).json()["counted"] == count
    held = {"reports": HELD, "least": 2000, "lost": {"too-few": HELD}}
    relay |= {"Content-Type": JSON_MEDIA_TYPE}
    told = await http.post(f"/v1/tasks/{made['true']}/held", headers=relay, json=held)
    assert told.status_code == 200
    task = await http.published(made["true"])
    answer(app.state.curator, task, [PERSON] * DIRECTLY)
    clock.advance(HOUR + 417)
    for task_id in made.values():
        for _ in range(2):
            assert (await http.fit(task_id, estimator="weighted")).status_code == 201
        await http.post(f"/v1/tasks/{task_id}/close", headers=http.admin)
    return made


def calls_of(task_id: str) -> set[str]:
    """Every call that reads something and takes no token, with all its variants."""
    paths = set()
    for each in OPERATIONS.values():
        if each.call and each.call.method == "GET" and isinstance(each.scope, Open):
            path = re.sub(r"\{(\w+)\}", lambda name: SEVERAL.get(name[1], task_id), each.call.path)
            paths |= {path, *(f"{path}?format={name}" for name in FORMATS if "export" in path)}
    return paths


async def read_by_strangers(http: Http, begun: set[str]) -> dict[str, str]:
    """The texts at these paths and at all that their pages link to."""
    texts, left = dict[str, str](), list(begun)
    while left:
        path = left.pop()
        if path in texts:
            continue
        got = await http.get(path)
        texts[path] = got.content.decode(errors="replace") if got.status_code < 400 else ""
        for link in re.findall(r'(?:href|src|action)="([^"#]+)', texts[path]):
            there = urlsplit(urljoin(f"http://curator{path}", unescape(link)))
            if there.netloc == "curator" and not there.path.endswith((".js", ".css")):
                left.append(there.path + (there.query and f"?{there.query}"))
    return texts


def number(exact: int) -> str:
    """A pattern for a number of reports, with or without its thousands marked."""
    digits = f"{exact:,}".replace(",", "(?:[,.\u00a0\u202f ]|&nbsp;)?")
    return rf"(?<![\w.,-]){digits}(?![\w-]|\.\d)"


@keeps(
    "threat-model: strangers see counts in steps of 1 000",
    in_="curator/operations/strangers.py",
    instead_of="if not reads",
    plant="if False",
)
async def test_strangers_read_no_exact_count_no_relay_and_no_moment(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """In every call and page that they may read, exports among them."""
    clock.advance(2 * HOUR - clock() % HOUR + 2231)
    made = await collected(http, app, clock)
    fitted = datetime.fromtimestamp(clock(), UTC)
    begun = {"/", *(call for task in made.values() for call in calls_of(task))}
    begun |= {f"/tasks/{task}/models/1/nodes/{node}" for task in made.values() for node in (0, 3)}
    begun |= {f"/tasks/{task}/compare?one=1&other=2" for task in made.values()}
    texts = await read_by_strangers(http, begun)
    for task in made.values():
        models = f"/v1/tasks/{task}/models"
        page = f"/tasks/{task}/models/1"
        for path in (models, f"{models}/1/export?format=onnx", f"{models}/1/compare/2", page):
            assert texts[path], path
    total = BY_RELAY + DIRECTLY
    counts = {BY_RELAY, DIRECTLY, COPIES, HELD, total, total + COPIES}
    moments = {f"{fitted:%H:%M}", str(int(clock())), f"{fitted:%M:%S}"}
    canaries = [RELAY, *map(number, counts), *moments]
    found = {
        (path, canary)
        for path, text in texts.items()
        for canary in canaries
        if re.search(canary, text)
    }
    assert found == set()
    assert not [path for path, text in texts.items() if re.search(r"before \d{4}-", text)]
    listed = (await http.get(f"/v1/tasks/{made['true']}/models")).json()[0]
    assert (listed["reports"] in {STEP, 2 * STEP}, listed["step"]) == (True, STEP)
    exactly = await http.get(f"/v1/tasks/{made['true']}/models", headers=http.admin)
    ways = {way["relay"]: way["reports"] for way in exactly.json()[0]["ways"]}
    assert ways == {None: DIRECTLY, RELAY: BY_RELAY}


@keeps(
    "threat-model: strangers see counts in steps of 1 000",
    in_="curator/operations/strangers.py",
    instead_of="max(moment // HOUR * HOUR, since)",
    plant="moment",
)
@pytest.mark.parametrize("wait", [300.0, HOUR])
async def test_no_time_that_strangers_see_of_a_model_is_yet_to_come(
    http: Http, clock: ManualClock, wait: float
) -> None:
    """The start of its hour, or the creation of its task if that is later; a grace period is shown
    to its hour's end, so that nothing counts after it."""
    clock.advance(2 * HOUR - clock() % HOUR + 600)
    task, created = await http.task(quota=1), clock()
    clock.advance(wait)
    await http.report(task)
    await http.fit(task, estimator="weighted")
    models = f"/v1/tasks/{task}/models"
    stored = (await http.get(f"/v1/tasks/{task}")).json()["created"]
    assert datetime.fromisoformat(stored).timestamp() == created

    async def seen(headers: dict[str, str] | None = None) -> set[float]:
        listed, one = [
            (await http.get(path, headers=headers)).json() for path in (models, f"{models}/1")
        ]
        file = (await http.get(f"{models}/1/export?format=json", headers=headers)).json()
        summaries = {datetime.fromisoformat(each["created"]).timestamp() for each in (*listed, one)}
        return {*summaries, file["created"]}

    assert await seen(http.admin) == {clock()}
    assert await seen() == {max(created, clock() // HOUR * HOUR)}
    ends = [
        datetime.fromisoformat(
            (await http.get(f"/v1/tasks/{task}/status", headers=each)).json()["settles"]
        )
        for each in (http.admin, None)
    ]
    exactly, shown = [end.timestamp() for end in ends]
    assert exactly == clock() + LATE_SECONDS
    assert exactly < shown < exactly + HOUR
    assert shown % HOUR == 0


@keeps(
    "threat-model: late reports change nothing that strangers see one by one",
    in_="curator/operations/snapshot.py",
    instead_of="exact = self.reads or each.stored.is_settled(self.now)",
    plant="exact = True",
)
async def test_strangers_see_no_late_report_arrive(http: Http, clock: ManualClock) -> None:
    """Results are there once a task has ended, and settle with it; readers see each batch."""
    relay = {**await http.bearer("relay", RELAY), "Content-Type": BATCH_MEDIA_TYPE}
    task = await http.published(await http.task(epsilon=8.0))
    path = f"/v1/tasks/{task.id}"

    async def bring(count: int) -> None:
        people = [{**PERSON, "label": i % 2} for i in range(count)]
        reports = [make_report(task, person, os.urandom) for person in people]
        body = replace(batch_of(reports), in_time=True).pack()
        got = await http.post(f"{path}/reports/batch", headers=relay, content=body)
        assert got.json()["counted"] == count

    async def seen(headers: dict[str, str] | None = None) -> tuple[str, ...]:
        page = f"/tasks/{task.id}/results"
        results = (await http.get(f"{path}/status", headers=headers)).json()["results"]
        return (str(results), *[(await http.get(page + end)).text for end in ("", ".csv", ".svg")])

    await bring(400)
    await http.fit(task.id, estimator="weighted")
    await http.post(f"{path}/close", headers=http.admin)
    before, exactly = await seen(), await seen(http.admin)
    assert before == exactly
    await bring(1)
    assert await seen() == before
    assert (await seen(http.admin))[0] != exactly[0]
    clock.advance(4 * 86_400.0)
    assert (await seen())[0] == (await seen(http.admin))[0] != before[0]
