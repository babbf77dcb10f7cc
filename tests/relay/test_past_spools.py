"""Spools that the programs of older commits wrote; ``tests/past/README.md`` says how."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from privet.protocol.batch import split
from privet.protocol.report import REPORT_ID_BYTES
from privet.relay.outcomes import Account
from privet.relay.spool import Spool
from privet.relay.spool_forms import SPOOLS
from tests.keeping import keeps

FOLDER = Path(__file__).parents[1] / "past" / "spools"
ALL = {file.name.partition(".")[0] for file in FOLDER.glob("*.sqlite3.gz")}
INVITED = sorted(name for name in ALL if name.endswith("-invited"))
PLAIN = sorted(ALL - set(INVITED))
DAY = 21_001


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Spool]:
    """A copy of a spool, opened for the second time."""
    path = folder / "spool"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.sqlite3.gz").read_bytes()))
    Spool(path).close()
    with Spool(path) as spool:
        yield spool


def test_every_version_has_a_spool() -> None:
    """Each form that a program made is read below."""
    for names in (PLAIN, INVITED):
        versions = [int(name[0]) for name in names]
        assert all(versions.count(v) >= len(ways) for v, ways in SPOOLS.items() if v)


def told(name: str) -> dict[str, Any]:
    """The tallies and states that the program which wrote a spool said."""
    values: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return values


@keeps(
    "relay: a spool of an older version is read",
    in_="relay/spool_forms.py",
    instead_of="outcomes.go_on(db, task, split(ids, REPORT_ID_BYTES), number)",
    plant="pass",
)
@pytest.mark.parametrize("name", PLAIN)
def test_a_spool_of_an_older_version_is_read(tmp_path: Path, name: str) -> None:
    """What waits, what is sealed and what became of the others are as they were, and all leaves."""
    with opened(name, tmp_path) as spool:
        ((number, task),) = spool.sealed().items()
        assert [(queue.task, queue.single) for queue in spool.queues()] == [(task, 20)]
        tallies = spool.tallies(task)
        assert (tallies["counted"], tallies["wrong-payload"], tallies["waiting"]) == (28, 2, 50)
        assert spool.seal(task, (0,), 20, 20)
        left = dict[bytes, int]()
        for sealed in spool.sealed():
            left |= dict.fromkeys(split(spool.batch(sealed).ids.tobytes(), REPORT_ID_BYTES), sealed)
        refused = next(iter(left))
        assert {spool.state(task, own) for own in left} == {"held"}
        for sealed in spool.sealed():
            own = [refused] if left[refused] == sealed else []
            account = Account({"counted": 30 - 10 * (sealed != number) - len(own)}, {"x": own})
            spool.settle(sealed, account, DAY)
        states = {own: spool.state(task, own) for own in left}
        assert states == {**dict.fromkeys(left, "counted"), refused: "x"}
        spool.forget(DAY + 1)
        assert {spool.state(task, own) for own in left} == {None}
        assert spool.tallies(task)["waiting"] == 0


@pytest.mark.parametrize("name", INVITED)
def test_what_invited_holders_sent_is_read(tmp_path: Path, name: str) -> None:
    """Nobody's report changes its state, and each goes on as the older program would have it."""
    values = told(name)
    of_task = defaultdict[str, dict[bytes, str | None]](dict)
    for task, report, state in values["states"]:
        of_task[task][bytes.fromhex(report)] = state
    with opened(name, tmp_path) as spool:
        for task, states in of_task.items():
            assert spool.tallies(task) == values["tallies"][task]
            assert all(spool.state(task, own) == state for own, state in states.items() if state)
        ((drawn, invited),) = spool.drawn().items()
        (asked,) = spool.admissions(drawn)
        assert len(asked) == 10
        assert spool.admit(drawn, set(), DAY) == 0
        assert spool.seal(invited, (0,), 18, 18, invited=True)
        ((number, _),) = spool.sealed().items()
        assert len(spool.batch(number).admissions) == 2
        spool.settle(number, Account({"counted": 18}), DAY)
        after = [spool.state(invited, own) for own in of_task[invited]]
        assert [after.count(state) for state in ("counted", "held", "not-authorized")] == [18, 5, 2]


@pytest.mark.parametrize("name", INVITED)
def test_what_came_from_another_relay_waits_for_itself(tmp_path: Path, name: str) -> None:
    """It goes out with what came singly, once, and every report can be asked for from then on."""
    others = [states for states in told(name)["states"] if states[2] is None]
    came = name.startswith("5")
    with opened(name, tmp_path) as spool:
        task = others[0][0]
        (queue,) = (queue for queue in spool.queues() if queue.task == task)
        assert (queue.single, queue.admitted) == (20 if came else 10, 0)
        assert spool.seal(task, (0,), queue.single, queue.single)
        ((number, _),) = spool.sealed().items()
        ids = spool.batch(number).ids.tobytes()
        spool.settle(number, Account({"counted": queue.single}), DAY)
        for _, report, _ in others:
            assert (bytes.fromhex(report) in ids) == came
            state = spool.state(task, bytes.fromhex(report))
            assert state == ("counted" if came else None)


@pytest.mark.parametrize("name", [name for name in INVITED if int(name[0]) >= 7])
def test_outcomes_of_files_are_still_read(tmp_path: Path, name: str) -> None:
    """A file that an older relay wrote is settled when its outcome comes."""
    with opened(name, tmp_path) as spool:
        ((number, file, reports),) = spool.files()
        assert (file, reports) == ("a.parquet", 10)
        (task,) = (own for own, tallies in told(name)["tallies"].items() if "held" in tallies)
        ids = [bytes.fromhex(own) for of, own, _ in told(name)["states"] if of == task]
        spool.settle_file(number, Account({"counted": 9}, {"task-not-open": ids[:1]}), DAY)
        states = [spool.state(task, own) for own in ids]
        assert states == ["task-not-open", *["counted"] * 9]
        spool.settle_file(number, Account({"counted": 10}), DAY)
        assert [spool.state(task, own) for own in ids] == ["counted"] * 10
        assert spool.files() == []
