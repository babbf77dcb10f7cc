"""The functions of the project that the main calls pass through, from arrival to answer.

``python -m tests.paths`` prints the size of each path; ``python -m tests.paths fit`` one path as
well, each function indented below its first caller, with its room where that changes.

A *room* is a top-level package or a package directly in one: ``learning``, ``curator/http``. A
*move* is a pair of functions in different rooms of which one calls the other, directly or through a
library, however often. Comprehensions and what dataclasses and pydantic generate do not count.
Every call is made once before it is traced, which fills the caches. Reports, fits and predictions
are those of a task with the default grower and estimator.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

import httpx
import pytest
from pydantic import SecretStr

from privet.curator.app import create_app
from privet.curator.settings import Settings
from privet.http_server import bodies
from privet.learning.planning import plan
from privet.protocol.report import make_report
from tests.curator import samples
from tests.curator.datastore.servers import new_store
from tests.curator.http.conftest import PERSON, TOKEN, client_of
from tests.curator.small_models import smaller
from tests.curator.use_cases import Threads

PACKAGE = Path(__file__).parent.parent / "privet"
REPEATED = 3
"""Calls traced together as one path: what the writer's thread does depends on what has arrived."""


class Function(NamedTuple):
    file: str
    """Relative to the package."""
    line: int
    name: str

    @property
    def room(self) -> str:
        return "/".join(self.file.split("/")[:-1][:2])


Calls = dict[tuple[Function | None, Function], None]
"""Pairs of caller and called, in the order of their first calls."""


class Size(NamedTuple):
    files: int
    functions: int
    moves: int


@cache
def _file_of(filename: str) -> str | None:
    path = Path(filename)
    return path.relative_to(PACKAGE).as_posix() if PACKAGE in path.parents else None


def _function_of(frame: FrameType) -> Function | None:
    """The function that ``frame`` runs; None for what does not count."""
    code = frame.f_code
    file = _file_of(code.co_filename)
    if file is None or (code.co_name.startswith("<") and code.co_name != "<lambda>"):
        return None
    return Function(file, code.co_firstlineno, code.co_qualname)


def size_of(calls: Calls) -> Size:
    """The size of a path."""
    functions = {function for call in calls for function in call if function}
    moves = [caller for caller, called in calls if caller and caller.room != called.room]
    return Size(len({function.file for function in functions}), len(functions), len(moves))


def tree_of(calls: Calls) -> Iterator[str]:
    """The lines of a path."""
    first: dict[Function, Function | None] = {}
    for caller, called in calls:
        if caller:
            first.setdefault(caller, None)  # a thread's, called before
        first.setdefault(called, caller)

    def below(parent: Function | None, indent: str) -> Iterator[str]:
        for called, caller in first.items():
            if caller == parent:
                room = "" if parent and parent.room == called.room else f"[{called.room}] "
                yield f"{indent}{room}{called.file.split('/')[-1]}: {called.name}"
                yield from below(called, indent + "  ")

    return below(None, "")


class Tracer:
    """Traces calls in this thread and in those that start while it is installed."""

    def __init__(self) -> None:
        self._calls: Calls | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            threading.setprofile(None)
            sys.setprofile(None)

    @contextmanager
    def recording(self) -> Iterator[Calls]:
        """The calls that are made meanwhile."""
        calls: Calls = {}
        self._calls = calls
        try:
            yield calls
        finally:
            self._calls = None

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        calls = self._calls
        if calls is None or event != "call" or (called := _function_of(frame)) is None:
            return
        above, caller = frame.f_back, None
        while above is not None and (caller := _function_of(above)) is None:
            above = above.f_back
        calls[caller, called] = None


async def _trace_calls(tracer: Tracer) -> dict[str, Calls]:
    paths: dict[str, Calls] = {}

    async def trace(name: str, call: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        await call()
        with tracer.recording() as paths[name]:
            responses = [await call() for _ in range(REPEATED)]
        assert all(response.is_success for response in responses), responses[0].text
        return responses[0]

    numbers = count()
    app = create_app(
        Settings(admin_token=SecretStr(TOKEN)), store=new_store(), workers=Threads(1, 1)
    )
    async with client_of(app) as http:
        created = await trace(
            "create", lambda: http.create(name=f"survey {next(numbers)}", grower="cart")
        )
        await http.published(created.json()["id"])
        default = await http.create(name="by default", grower="distilled")
        task = await http.published(default.json()["id"])
        reports = [
            make_report(task, PERSON, Random(seed).randbytes) for seed in range(1 + REPEATED)
        ]
        await trace("POST", lambda: http.post_report(task, reports.pop()))
        await trace("fit", lambda: http.fit(task.id))
        record = {name: value for name, value in PERSON.items() if name != task.label.name}
        address = f"/v1/tasks/{task.id}/predict"
        await trace("predict", lambda: http.post(address, json={"records": [record]}))
    await asyncio.to_thread(app.state.writer.stop)
    return paths


def trace_paths() -> dict[str, Calls]:
    """The paths by name; that of a plan begins at the function."""
    tracer = Tracer()
    with smaller(), pytest.MonkeyPatch.context() as patch, tracer.installed():
        patch.setattr(bodies, "TICK", 60.0)  # a timer goes off or not
        paths = asyncio.run(_trace_calls(tracer))
        public = samples.survey(100)
        with tracer.recording() as paths["plan"]:
            plan(public, label="label", epsilon=1.0, holders=5_000, depth=3, grower="cart")
    return paths


if __name__ == "__main__":
    for name, calls in trace_paths().items():
        if name in sys.argv[1:]:
            print(*tree_of(calls), sep="\n")
        print(name, size_of(calls))
