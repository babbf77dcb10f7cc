"""A curator on a socket of this machine, and the command line run within this process."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn

from privet.curator.app import create_app
from privet.curator.cli import main
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.http_server.connections import listen
from tests.curator import samples
from tests.memory_store import MemoryStore

TOKEN = "token-for-tests-2Dq8cPZr5mTgVf7bNxWj"


@dataclass(frozen=True)
class Result:
    """What one command left behind."""

    code: int
    out: str
    err: str


class Cli:
    """The command line, with the environment that the fixtures set."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Result:
        """Run one command to its end."""
        code = main(arguments)
        captured = self._capsys.readouterr()
        return Result(code, captured.out, captured.err)


@pytest.fixture
def curator_url(workers: Workers) -> Iterator[str]:
    app = create_app(Settings(admin_token=TOKEN), store=MemoryStore(), workers=workers)  # type: ignore[arg-type]
    config = uvicorn.Config(app, log_level="error", ws="none")
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture
def cli(
    curator_url: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Cli:
    monkeypatch.setenv("PRIVET_URL", curator_url)
    monkeypatch.setenv("PRIVET_TOKEN", TOKEN)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    return Cli(capsys)


@pytest.fixture
def survey(tmp_path: Path) -> str:
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    return str(file)
