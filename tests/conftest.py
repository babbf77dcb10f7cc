"""What all tests share: the same generated examples in every run, and what holders answer to."""

import ctypes
import fcntl
import functools
import gc
import logging
import os
import signal
import ssl
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from privet.client import SqliteLedger
from tests.fake_curator import FakeCurator, serving
from tests.protocol.examples import make_task

pytest_plugins = (
    "tests.needs",
    "tests.order",
    "tests.browsing",
    "tests.one_curator",
)
collect_ignore = [] if find_spec("schemathesis") else ["end_to_end/test_openapi.py"]

# make test-order asks for more by --hypothesis-profile
for profile, examples in (("quick", 50), ("thorough", 200)):
    settings.register_profile(
        profile,
        deadline=None,
        derandomize=True,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("quick")

# what is imported and collected stays: looking through it for garbage takes a tenth of a run's time
gc.disable()

# a worker for each core leaves none to threads of linear algebra, which spin while they wait
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
threadpool_limits(1)

# the kernel clears each page that is given back and asked for again: a tenth of the time with NumPy
MALLOPT = getattr(ctypes.CDLL(None), "mallopt", lambda _parameter, _bytes: 1)
KEPT = {-1: 2**28, -2: 2**24, -3: 2**25}  # M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD
assert all(MALLOPT(parameter, size) for parameter, size in KEPT.items())

# a shell lets what it starts in the background ignore it, and so would the processes of tests
signal.signal(signal.SIGINT, signal.default_int_handler)


COMPILED = Path(__file__).parent / "__pycache__"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let the first worker compile what all import; the others collect when that is done.

    Together they would all compile everything, since no checkout comes with compiled files. Where
    some tests are compiled, few files have changed since, and all collect at once.
    """
    with Path(__file__).open() as this:
        if not any(COMPILED.glob("test_*.pyc")):
            try:
                fcntl.flock(this, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(this, fcntl.LOCK_SH)
        return (yield)


def pytest_collection_finish() -> None:
    """Look for garbage from here on, only among what tests make, and seldom."""
    gc.freeze()
    gc.set_threshold(10_000, 200, 20)
    gc.enable()


LOGGERS = (
    *(None, "privet", "alembic"),
    *("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"),
)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """What a start in this process does to all logs ends with its test."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [([*each.handlers], each.level) for each in loggers]
    yield
    for each, (handlers, level) in zip(loggers, before, strict=True):
        each.handlers[:] = handlers
        if each.level != level:
            each.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """A test's new client need not read all authorities again, which takes 20 ms."""
    make = httpx.create_ssl_context

    @functools.cache
    def usual(*_: str | None) -> ssl.SSLContext:
        return make()

    def made(
        verify: ssl.SSLContext | str | bool = True, cert: Any = None, *, trust_env: bool = True
    ) -> ssl.SSLContext:
        if verify is True and cert is None and trust_env:
            return usual(*(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")))
        return make(verify, cert, trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", made)
        yield


@pytest.fixture
def curator() -> Iterator[FakeCurator]:
    """A curator on loopback that publishes the example task."""
    with serving(FakeCurator(make_task())) as stub:
        yield stub


@pytest.fixture
def ledger(tmp_path: Path) -> SqliteLedger:
    """A ledger in a folder that does not exist yet."""
    return SqliteLedger(tmp_path / "data" / "answers.sqlite3")
