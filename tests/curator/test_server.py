"""A curator as a process: it starts with helpful errors and stops without losing anything."""

import json
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from privet.curator.datastore import open_store
from privet.curator.server import serve
from privet.curator.settings import Settings
from privet.protocol.errors import PrivetError, StorageFailed
from privet.protocol.report import REPORT_MEDIA_TYPE
from scripts.crash_test import Count, Curators, run_trial
from scripts.servers import RunningCurator, running_curator
from tests.curator.datastore.made import kept, open_task, report, task, total
from tests.curator.datastore.servers import drop_database, new_database


def test_a_stop_signal_drains(tmp_path: Path) -> None:
    """Reports sent until SIGTERM are each either acknowledged and counted, or may be sent again."""
    database = f"sqlite:///{tmp_path}/privet.db"
    store = open_store(database)
    made = task()
    open_task(store, made, 0.0)
    reports = [report(made) for _ in range(400)]
    acknowledged = []
    with running_curator(tmp_path, admin_token=None) as curator:
        assert len(curator.token) > 30
        process, path = curator.process, f"{curator.url}/v1/tasks/{made.id}/reports"

        def send() -> None:
            headers = {"content-type": REPORT_MEDIA_TYPE}
            with httpx.Client(timeout=30) as http:
                for own in reports:
                    try:
                        answer = http.post(path, content=own.pack(), headers=headers)
                    except httpx.TransportError:
                        return
                    assert answer.status_code == 201
                    acknowledged.append(own)
                    if len(acknowledged) == 50:
                        process.send_signal(signal.SIGTERM)

        sender = threading.Thread(target=send)
        sender.start()
        sender.join()
        assert process.wait(30) == 0 or process.returncode == -signal.SIGTERM
    assert len(acknowledged) >= 50
    n = store.sums(made.id)[0].n
    assert len(acknowledged) <= n <= len(acknowledged) + 1
    assert kept(store, made) == total(made, reports[:n])
    store.close()


def test_workers_share_a_database(tmp_path: Path) -> None:
    """Two workers over one file count every report once, and stop together."""
    database = f"sqlite:///{tmp_path}/privet.db"
    store = open_store(database)
    made = task()
    open_task(store, made, 0.0)
    reports = [report(made) for _ in range(40)]
    headers = {"content-type": REPORT_MEDIA_TYPE}
    with running_curator(tmp_path, workers="2") as curator:
        path = f"{curator.url}/v1/tasks/{made.id}/reports"
        for own in reports * 2:
            answer = httpx.post(path, content=own.pack(), headers=headers, timeout=60)
            assert answer.status_code in (200, 201)
    assert kept(store, made) == total(made, reports)
    store.close()


def test_a_killed_curator_loses_nothing(tmp_path: Path) -> None:
    """One trial of scripts/crash_test.py: SIGKILL under load, start again, send the rest."""
    database = f"sqlite:///{tmp_path}/privet.db"
    store = open_store(database)
    curators = Curators(tmp_path, database, 1)
    count = Count()
    curators.start()
    try:
        run_trial(store, curators, count, 200, curators.kill)
    finally:
        curators.bury()
        store.close()
    assert (count.missing, count.lost, count.doubled) == (0, 0, 0)


def test_a_slow_head_is_cut_off_in_production(tmp_path: Path) -> None:
    """The settings reach the server: a head that does not come is answered 408."""
    with running_curator(tmp_path, header_seconds="0.3") as curator:
        address = httpx.URL(curator.url)
        with socket.create_connection((address.host, address.port or 0), timeout=60) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n")
            with connection.makefile("rb") as answer:
                assert answer.readline().startswith(b"HTTP/1.1 408 ")


def test_a_restored_database_is_not_served_with_another_key(tmp_path: Path) -> None:
    """Holders have pinned the key, so a start without it must not make another one."""
    database = f"sqlite:///{tmp_path}/privet.db"
    with running_curator(tmp_path) as curator:
        key = httpx.get(f"{curator.url}/v1/key").json()["key"]
    (tmp_path / "privet.db.key").unlink()
    settings = Settings.model_validate({"database": database, "port": 0})
    with pytest.raises(PrivetError, match=key):
        serve(settings, show=lambda _url, _token: None)
    with running_curator(tmp_path, new_signing_key="true") as curator:
        assert httpx.get(f"{curator.url}/v1/key").json()["key"] != key


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_of_curators_that_start_together_one_shows_a_token(backend: str, tmp_path: Path) -> None:
    """On an empty database: its token works, and the others say that another showed it."""
    database = f"sqlite:///{tmp_path}/privet.db" if backend == "sqlite" else new_database()

    def start(place: int) -> RunningCurator:
        started = running_curator(tmp_path / f"{place}", database=database, admin_token=None)
        return running.enter_context(started)

    try:
        with ExitStack() as running, ThreadPoolExecutor(3) as pool:
            curators = list(pool.map(start, range(3)))
            (token,) = (curator.token for curator in curators if curator.token)
            others = [curator for curator in curators if not curator.token]
            assert all("showed it at its start" in curator.log.read_text() for curator in others)
            admin = {"Authorization": f"Bearer {token}"}
            for curator in curators:
                assert httpx.get(f"{curator.url}/v1/tokens", headers=admin).is_success
    finally:
        if backend == "postgresql":
            drop_database(database)


def test_json_logs_have_no_plain_lines(tmp_path: Path) -> None:
    """Every line of a run is JSON: the first token, the start, each 5xx with its cause, the end."""
    with running_curator(tmp_path, admin_token=None, log_format="json") as curator:
        store = open_store(f"sqlite:///{tmp_path}/privet.db")
        execute = getattr(store, "engine").connect  # noqa: B009 - of SqlStore alone
        with execute().execution_options(privet_writes=True) as connection:
            connection.exec_driver_sql("ALTER TABLE tasks RENAME TO hidden")
            connection.commit()
        failed = httpx.get(f"{curator.url}/v1/tasks")
        store.close()
    lines = [json.loads(line) for line in curator.log.read_text().splitlines()]
    events = {line["event"]: line for line in lines}
    assert len(events["an admin token was made; it is shown this once"]["admin_token"]) == 43
    assert events["curator started"]["database"].endswith("privet.db")
    assert events["token issued at a start without one"]["logger"] == "privet.audit"
    assert failed.status_code == 503
    assert any("/v1/tasks answered 503" in event and "no such table" in event for event in events)


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    """A folder that is not there."""
    missing = Settings.model_validate({"database": f"sqlite:///{tmp_path}/no/x.db", "port": 0})
    with pytest.raises(StorageFailed, match="the folder exists"):
        serve(missing, show=lambda _url, _token: None)


def test_a_server_leaves_fitting_to_its_workers() -> None:
    """scikit-learn and scipy.stats are slow to import; only workers need them."""
    code = (
        "import privet.curator.server, sys; print(*{'sklearn', 'scipy.stats'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()
