"""The call for one report, over HTTP without a network."""

import asyncio

import httpx

from privet.curator.app import CuratorApp
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.store import Store
from privet.protocol.calls import REPORT_MEDIA_TYPE
from privet.protocol.errors import (
    MalformedReport,
    PrivetError,
    TaskMismatch,
    TooLarge,
    WrongPayload,
    WrongQuestions,
)
from privet.protocol.report import Report
from tests.curator.collection.conftest import ADMIN
from tests.curator.datastore.made import impossible, kept, report, total
from tests.keeping import keeps
from tests.problems import assert_problem

BINARY = {"content-type": REPORT_MEDIA_TYPE}


def path(cached: CachedTask) -> str:
    return f"/v1/tasks/{cached.id}/reports"


async def send(http: httpx.AsyncClient, cached: CachedTask, body: bytes) -> httpx.Response:
    return await http.post(path(cached), content=body, headers=BINARY)


def bad_bodies(cached: CachedTask) -> list[tuple[bytes, type[PrivetError]]]:
    """(body, error) of reports that must not count."""
    good = report(cached.task)
    packed = good.pack()
    foreign = good.model_copy(update={"task": bytes(32)})
    long = good.model_copy(update={"answers": ((0, good.answers[0][1] + b"x"),)})
    wrong = good.model_copy(update={"answers": ((1, good.answers[0][1]),)})
    twice = good.model_copy(update={"answers": ((0, good.answers[0][1]), (1, b"x"))})
    return [
        (b"", MalformedReport),
        (b"\xc1", MalformedReport),
        (packed[:-1], MalformedReport),
        (packed + b"\x00", MalformedReport),
        (packed.replace(b"version\x04", b"version\x03"), MalformedReport),
        (b"\x93" * 1000, MalformedReport),
        (foreign.pack(), TaskMismatch),
        (long.pack(), WrongPayload),
        (impossible(good).pack(), WrongPayload),
        (wrong.pack(), WrongQuestions),
        (twice.pack(), WrongQuestions),
        (bytes(cached.max_body_bytes), MalformedReport),
        (bytes(cached.max_body_bytes + 1), TooLarge),
    ]


@keeps(
    "deployment: a report's body has a limit",
    in_="intake/tasks.py",
    instead_of="task.longest_report + SPARE_BYTES",
    plant="10**9",
)
async def test_bad_reports_change_nothing(
    http: httpx.AsyncClient, app: CuratorApp, store: Store, cached: CachedTask
) -> None:
    """Each bad body has its problem, adds nothing, and is counted under its reason."""
    cases = bad_bodies(cached)
    for body, error in cases:
        assert_problem(await send(http, cached, body), error)
    assert kept(store, cached.task) == total(cached.task, [])
    await send(http, cached, report(cached.task).pack())
    app.state.rejects.close()
    rejects = store.standing.read(cached.id).rejects
    assert sum(rejects.values()) == len(cases)
    assert rejects["malformed-report"] == 7
    text = (await http.get("/metrics", headers=ADMIN)).text
    own = f'task="{cached.id[:12]}"'
    assert f'privet_task_reports_total{{outcome="counted",{own}}} 1.0' in text
    assert f'privet_task_reports_total{{outcome="refused",{own}}} {len(cases)}.0' in text
    assert 'privet_reports_total{outcome="malformed-report"} 7.0' in text
    assert "privet_report_seconds_count 2.0" in text  # the impossible one waited too


async def test_a_bad_report_does_not_spoil_its_group(
    http: httpx.AsyncClient, store: Store, cached: CachedTask
) -> None:
    """Good reports that wait together with an impossible one are counted."""
    good = [report(cached.task) for _ in range(5)]
    bad = impossible(report(cached.task))
    answers = await asyncio.gather(*[send(http, cached, own.pack()) for own in [*good, bad]])
    assert [answer.status_code for answer in answers] == [201] * 5 + [422]
    assert kept(store, cached.task) == total(cached.task, good)


async def test_canonical_reports_take_the_short_way(cached: CachedTask) -> None:
    """The layout finds every canonical report and cuts out its id; nothing else has it."""
    own = report(cached.task)
    layout = cached.layout_of(own.pack())
    assert layout is not None
    assert layout.report_id(own.pack()) == own.id
    for place in range(layout.length):
        changed = bytearray(own.pack())
        changed[place] ^= 1
        found = cached.layout_of(bytes(changed)) is not None
        variable = all(not start <= place < stop for start, stop, _ in layout.fixed)
        assert found == variable
    assert Report.unpack(own.pack()) == own
