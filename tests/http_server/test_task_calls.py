"""Calls in front of the framework."""

import asyncio
from typing import Any

import pytest

from privet.http_server.metrics import ROUTE
from privet.http_server.task_calls import TaskCalls
from privet.protocol.calls import SEND_BATCH, SEND_REPORT, TASKS


@pytest.mark.parametrize(
    ("method", "path", "answered"),
    [
        ("POST", f"{TASKS}/abc{SEND_REPORT.below}", ("abc", SEND_REPORT.path)),
        ("POST", f"{TASKS}/abc{SEND_BATCH.below}", ("abc", SEND_BATCH.path)),
        ("POST", f"{TASKS}/abc{SEND_REPORT.below}/", None),
        ("POST", f"{TASKS}/a/b{SEND_REPORT.below}", None),
        ("POST", f"{TASKS}/abc", None),
        ("POST", f"{TASKS}{SEND_REPORT.below}", None),
        ("POST", f"/elsewhere/abc{SEND_REPORT.below}", None),
        ("GET", f"{TASKS}/abc{SEND_REPORT.below}", None),
    ],
)
def test_posts_at_their_exact_addresses_are_answered_and_all_others_passed_on(
    method: str, path: str, answered: tuple[str, str] | None
) -> None:
    seen: list[tuple[str, str] | None] = []

    async def answer(task_id: str, scope: Any, *_: object) -> None:
        seen.append((task_id, scope[ROUTE]))

    async def app(*_: object) -> None:
        seen.append(None)

    async def unused(*_: object) -> Any:
        raise AssertionError

    calls = TaskCalls(app, {SEND_REPORT: answer, SEND_BATCH: answer})
    scope = {"type": "http", "method": method, "path": path}
    asyncio.run(calls(scope, unused, unused))
    assert seen == [answered]
