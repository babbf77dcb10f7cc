"""A curator on a socket of this machine, and the command line run within this process."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
import typer
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.curator.app import create_app
from privet.curator.cli import main
from privet.curator.datastore import open_store
from privet.curator.settings import Settings
from privet.http_server.connections import listen
from tests.curator import samples
from tests.curator.datastore.made import open_task, task
from tests.curator.datastore.servers import new_file, new_store
from tests.curator.http.conftest import TOKEN
from tests.curator.small_models import small_public_models
from tests.curator.use_cases import Threads
from tests.learning.onnx_files import trial_in_this_process

__all__ = ["TOKEN", "small_public_models", "trial_in_this_process"]

T = TypeVar("T")
SURVEY = samples.survey()


@dataclass(frozen=True)
class Result:
    """What one command left behind."""

    code: int
    out: str
    err: str


class Cli:
    """The command line, with the environment that the fixtures set."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], main: Callable[[Sequence[str]], int] = main
    ) -> None:
        self._capsys, self._main = capsys, main

    def __call__(self, *arguments: str) -> Result:
        """Run one command to its end."""
        code = self._main(arguments)
        captured = self._capsys.readouterr()
        return Result(code, captured.out, captured.err)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What a command prints with ``--json``, if it ends as it should."""
        result = self(*arguments, "--json")
        assert result.code == code, result.err
        return json.loads(result.out)


class Front:
    """What the server calls: the application of the test that runs."""

    application: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.application(scope, receive, send)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Front]]:
    """A server on loopback for a module: its address, and where an application goes in."""
    front = Front()
    config = uvicorn.Config(front, log_config=None, ws="none", lifespan="off")
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", front
        server.should_exit = True
        thread.join()


@pytest.fixture
def curator_url(served: tuple[str, Front]) -> Iterator[str]:
    """A curator with an empty store."""
    url, front = served
    app = create_app(Settings(admin_token=TOKEN), store=new_store(), workers=Threads(1, 16))  # type: ignore[arg-type]
    curator = app.state.curator
    curator.predictors = curator.exporters = curator.workers
    front.application = app
    yield url
    app.state.writer.stop()
    app.state.rejects.close()


@pytest.fixture(scope="session", autouse=True)
def one_parser() -> Iterator[None]:
    """The command line's parser is made once, not by every command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line, without a curator."""
    return Cli(capsys)


@pytest.fixture
def cli(curator_url: str, run: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """The command line, at the curator."""
    monkeypatch.setenv("PRIVET_URL", curator_url)
    monkeypatch.setenv("PRIVET_TOKEN", TOKEN)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A database with one open task."""
    address = new_file(tmp_path)
    with closing(open_store(address)) as store:
        open_task(store, task())
    return address


@pytest.fixture
def survey(tmp_path: Path) -> str:
    file = tmp_path / "survey.csv"
    file.write_bytes(SURVEY)
    return str(file)
