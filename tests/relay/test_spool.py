import contextlib
import hashlib
import sqlite3
import stat
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from privet.protocol.batch import Batch
from privet.relay.batches import StoredReport, random_order
from privet.relay.errors import SpoolFailed, SpoolFull
from privet.relay.outcomes import Account
from privet.relay.spool import Spool
from tests.client.fakes import assert_closed, record_connections
from tests.keeping import keeps

BOTH = (0, 1)
DAY = 20_000


def reports(count: int, first: int = 0) -> list[StoredReport]:
    """Reports whose payloads are the first bytes of their ids."""
    numbers = [i.to_bytes(2, "big") for i in range(first, first + count)]
    return [StoredReport("t", BOTH, number * 8, number) for number in numbers]


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}


def numbers_of(batch: Batch) -> list[int]:
    """What ``reports`` made these of, in their order."""
    return [int.from_bytes(row[:2].tobytes(), "big") for row in batch.ids]


@keeps(
    "threat-model: a batch is shuffled",
    in_="relay/spool.py",
    instead_of="batch.take(random_order(len(batch)))",
    plant="batch",
)
@keeps(
    "threat-model: the spool keeps no time",
    in_="relay/spool_forms.py",
    instead_of="payload    BLOB    NOT NULL,  -- the payloads of its answers, one after the other",
    plant="payload BLOB NOT NULL, came REAL DEFAULT (julianday('now')),",
)
def test_a_batch_is_shuffled_as_a_whole(spool: Spool) -> None:
    """Rows stay together, and their order is another one: by chance equal once in 10^306."""
    spool.add(reports(170))
    assert spool.seal("t", BOTH, 170, 170)
    ((number, task),) = spool.sealed().items()
    shuffled = spool.batch(number)
    assert (task, shuffled.questions) == ("t", BOTH)
    assert sorted(numbers_of(shuffled)) == list(range(170)) != numbers_of(shuffled)
    assert (shuffled.payloads == shuffled.ids[:, :2]).all()


def invited(count: int, first: int = 0) -> list[StoredReport]:
    """Reports with an invitation each, in another order than that of their ids."""
    rows = range(first, first + count)
    return [StoredReport("t", BOTH, bytes([i]) * 16, bytes([i]) * 2, digest(i)) for i in rows]


def digest(number: int) -> bytes:
    return hashlib.sha256(bytes([number])).digest()


@keeps(
    "threat-model: few that were admitted wait for more",
    in_="relay/spool.py",
    instead_of="or len(batch) < max(least, 1)",
    plant="or (len(batch) < max(least, 1) and not invited)",
)
@keeps(
    "threat-model: fewer than the least are never sealed",
    in_="relay/spool.py",
    instead_of="is None or len(batch) < max(least, 1):",
    plant="is None:",
)
@keeps(
    "threat-model: what left the spool is overwritten",
    in_="relay/spool_file.py",
    instead_of='"secure_delete = ON",',
    plant='"secure_delete = OFF",',
)
@keeps(
    "threat-model: and cut from its log",
    in_="relay/spool_file.py",
    instead_of='self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")',
    plant="pass",
)
def test_invitations_are_drawn_and_leave_their_reports(spool: Spool, tmp_path: Path) -> None:
    """The curator is asked about a sorted set; what it takes stays without a trace of the pairs."""
    spool.add(invited(40))
    assert not spool.draw("t", BOTH, 41, 100)
    assert spool.draw("t", BOTH, 40, 40)
    (number,) = spool.drawn()
    (asked,) = spool.admissions(number)
    assert asked.digests == sorted(map(digest, range(40)))
    assert not spool.seal("t", BOTH, 1, 40, invited=True)
    assert spool.admit(number, {digest(7), digest(8)}, DAY) == 2
    spool.purge()
    assert spool.drawn() == {}
    assert not spool.seal("t", BOTH, 39, 39, invited=True)
    assert spool.seal("t", BOTH, 38, 38, invited=True)
    (number,) = spool.sealed()
    sent = spool.batch(number)
    assert sent.admissions == (asked.id,)
    (again,) = spool.admissions(number)
    left = [i for i in range(40) if i not in {7, 8}]
    assert (again.id, again.digests) == (asked.id, sorted(map(digest, left)))
    order = [row[0] for row in sent.payloads.tolist()]
    assert sorted(order) == left
    by_digest = sorted(order, key=digest)
    assert order not in (by_digest, sorted(order))  # by chance once in 10^44
    assert spool.state("t", bytes([7]) * 16) == "not-authorized"
    assert spool.add(invited(1, first=7)) == ["held"]  # it has not gone out
    kept = b"".join(each.read_bytes() for each in tmp_path.glob("spool*"))
    assert digest(8) not in kept


@keeps(
    "threat-model: reports are drawn by chance",
    in_="relay/batches.py",
    instead_of="BY invitation ORDER BY random() LIMIT",
    plant="BY invitation LIMIT",
)
def test_whom_the_curator_is_asked_about_first_is_drawn_by_chance(spool: Spool) -> None:
    """Not by the invitations, which the curator knows (false alarm: one in 10^11)."""
    spool.add(invited(40))
    assert spool.draw("t", BOTH, 20, 20)
    (asked,) = spool.admissions(*spool.drawn())
    assert len(asked.digests) == 20
    assert asked.digests != sorted(map(digest, range(40)))[:20]


def test_an_invitation_is_asked_about_once_at_a_time(spool: Spool) -> None:
    """Of two reports with one invitation the second waits until the first has left."""
    same = [replace(report, invitation=digest(1)) for report in invited(2)]
    spool.add(same)
    assert not spool.draw("t", BOTH, 2, 2)
    assert spool.draw("t", BOTH, 1, 1)
    assert spool.tallies("t")["waiting"] == 2
    assert [(each.single, each.admitted) for each in spool.queues()] == [(1, 0)]


def test_reports_without_invitation_are_turned_away(spool: Spool) -> None:
    """Where only invited holders count; nothing else of the task, waiting or admitted."""
    spool.add(invited(4, first=1))
    assert spool.draw("t", BOTH, 4, 4)
    (number,) = spool.drawn()
    spool.admit(number, set(), DAY)
    spool.add([*reports(2, 1000), *invited(1, first=9)])
    assert spool.turn_away("t", DAY) == 2
    assert [(each.single, each.admitted) for each in spool.queues()] == [(1, 4)]
    assert spool.state("t", reports(1, 1000)[0].id) == "not-authorized"
    assert spool.seal("t", BOTH, 1, 4, invited=True)


@keeps(
    "threat-model: whoever is refused is in no second batch",
    in_="relay/outcomes.py",
    instead_of="or (row.state not in {HELD, COUNTED} and not row.sent)",
    plant="or row.state not in {HELD, COUNTED}",
)
@keeps(
    "threat-model: one that is refused in a batch that counts stays refused",
    in_="relay/spool.py",
    instead_of="outcomes.set_out(db, task, batch, sent)",
    plant="outcomes.set_out(db, task, batch)",
)
def test_one_that_is_refused_in_a_batch_that_counts_stays_refused(spool: Spool) -> None:
    """It is not sent with others, and the others hid among those that the curator took."""
    sent = reports(5)
    spool.add(sent)
    spool.seal("t", BOTH, 5, 5)
    (number,) = spool.sealed()
    refused, *_ = sent
    spool.settle(number, Account({"counted": 4}, {"report-conflict": [refused.id]}), DAY)
    assert spool.tallies("t")["smallest_batch"] == 4
    assert spool.add(sent) == ["report-conflict", *["counted"] * 4]
    assert spool.tallies("t")["waiting"] == 0


def test_a_report_is_written_three_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes, it goes into a batch, and what is known of it is kept: no row is written again."""
    opened = record_connections(monkeypatch)
    with Spool(tmp_path / "spool") as spool:
        (db,) = opened
        before = db.total_changes
        spool.add(reports(300))
        assert spool.seal("t", BOTH, 300, 300)
        (number,) = spool.sealed()
        spool.settle(number, Account({"counted": 300}), DAY)
        assert db.total_changes - before < 3 * 300 + 20
        assert spool.state("t", reports(1)[0].id) == "counted"


def test_every_order_is_as_likely() -> None:
    """Of three, 6000 times: chi-square with 5 degrees of freedom, false alarm 10^-9."""
    orders = Counter(tuple(random_order(3).tolist()) for _ in range(6000))
    assert sum((n - 1000) ** 2 / 1000 for n in orders.values()) < 51.0
    assert len(orders) == 6


@pytest.mark.parametrize(
    ("sizes", "singles", "about", "expected"),
    [
        ([40, 40, 40], 0, 40, [40, 40, 40]),
        ([40, 40, 5], 0, 40, [40, 45]),
        ([], 100, 50, [50, 50]),
        ([], 55, 50, [55]),
    ],
)
def test_no_rest_is_left_alone(
    sizes: list[int], singles: int, about: int, expected: list[int], spool: Spool
) -> None:
    """What goes together is about as large as asked for, at least ten, and leaves no few behind."""
    first = 0
    for size in sizes:
        spool.add(invited(size, first))
        assert spool.draw("t", BOTH, 1, size)
        (number,) = spool.drawn()
        spool.admit(number, set(), DAY)
        first += size
    spool.add(reports(singles))
    while spool.seal("t", BOTH, 10, about, invited=bool(sizes)):
        pass
    sealed = [spool.batch(number) for number in spool.sealed()]
    assert len({row.tobytes() for each in sealed for row in each.ids}) == sum(expected)
    assert all(len(each) >= 10 for each in sealed)
    assert sorted(map(len, sealed)) == expected


@keeps(
    "threat-model: the spool keeps no order",
    in_="relay/spool_forms.py",
    instead_of="""PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID""",
    plant="""PRIMARY KEY (queue, id)
) STRICT""",
)
@keeps(
    "threat-model: the spool is for its owner",
    in_="relay/spool_file.py",
    instead_of="            keep_private(path)",
    plant="            pass",
)
def test_the_spool_keeps_no_order_time_or_address(tmp_path: Path) -> None:
    """Two orders of arrival leave the same rows, and delivered rows leave no trace on disk."""
    rows = []
    for name, sent in (("a", reports(20, 1000)), ("b", reports(20, 1000)[::-1])):
        with Spool(tmp_path / name) as spool:
            assert [spool.add([each]) for each in sent] == [["held"]] * 20
            with contextlib.closing(sqlite3.connect(tmp_path / name)) as db:
                rows.append(db.execute("SELECT id, payload, invitation FROM waiting").fetchall())
                columns = {row[1] for row in db.execute("PRAGMA table_info(waiting)")}
            assert columns == {"queue", "id", "payload", "invitation"}
            assert spool.seal("t", BOTH, 1, 20)
            (number,) = spool.sealed()
            spool.settle(number, Account({"counted": 20}), DAY)
            spool.purge()
            assert spool.tallies("t") == {"waiting": 0, "counted": 20, "smallest_batch": 20}
            left = b"".join(path.read_bytes() for path in tmp_path.glob(f"{name}*"))
            assert (1003).to_bytes(2, "big") * 8 not in left
            for path in tmp_path.glob(f"{name}*"):
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert rows[0] == rows[1]


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("what", ["held", "counted", "report-conflict"])
def test_a_report_that_left_still_has_its_id(spool: Spool, what: str, *, asked: bool) -> None:
    """Other answers under it are refused when they are not kept: drawn, sealed and delivered."""
    (report,) = invited(1)
    others = [replace(report, payload=b"xx"), replace(report, questions=(0,), payload=b"y")]
    clash = ["conflict", "conflict"]
    spool.add([report])
    if asked:
        assert spool.draw("t", BOTH, 1, 1)
        assert spool.add(others) == clash
        (number,) = spool.drawn()
        spool.admit(number, set(), DAY)
        assert spool.add(others) == clash
    assert spool.seal("t", BOTH, 1, 1, invited=asked)
    assert spool.add(others) == clash
    (number,) = spool.sealed()
    refused = what == "report-conflict"
    account = Account({}, {what: [report.id]}) if refused else Account({what: 1})
    spool.settle(number, account, DAY)
    spool.forget(DAY)
    assert spool.add([report, *others]) == [what, *clash]
    assert spool.tallies("t")["waiting"] == 0


def test_a_spool_that_cannot_be_used_says_so_and_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, a damaged file, another version, also without tables: with what to do."""
    damaged, newer, bare = (tmp_path / name for name in ("damaged", "newer", "bare"))
    damaged.write_bytes(b"this is not a database" * 100)
    Spool(newer).close()
    for path in (newer, bare):
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 9")
    opened = record_connections(monkeypatch)
    for path in (tmp_path, damaged, newer, bare, damaged / "below"):
        with pytest.raises(SpoolFailed, match=f"{path}.*--spool"):
            Spool(path)
    assert_closed(opened)
    assert tables(bare) == {}


@keeps(
    "threat-model: no spool is used that acts by itself",
    in_="relay/spool_file.py",
    instead_of="if not has_been_made(db, SPOOLS[version]):",
    plant="if False:",
)
@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER t AFTER INSERT ON waiting BEGIN INSERT INTO copies VALUES (new.id); END;"
        "CREATE TABLE copies (id)",
        "CREATE TRIGGER t AFTER INSERT ON states BEGIN DELETE FROM waiting; END",
        "CREATE TRIGGER sqliteXstat1 AFTER INSERT ON states BEGIN DELETE FROM waiting; END",
        "DROP TABLE files; CREATE VIEW files AS SELECT 1",
        "ALTER TABLE waiting ADD COLUMN arrived REAL DEFAULT (julianday())",
        "ALTER TABLE receipts ADD COLUMN b BLOB AS (zeroblob(1000000000))",
        "DROP TABLE receipts",
    ],
)
def test_no_spool_is_used_that_acts_by_itself(tmp_path: Path, change: str) -> None:
    """One that would copy ids in their order, note times, lose reports or take memory."""
    Spool(tmp_path / "spool").close()
    Spool(tmp_path / "spool").close()  # as Privet made it
    with contextlib.closing(sqlite3.connect(tmp_path / "spool")) as db:
        db.executescript(change)
    with pytest.raises(SpoolFailed, match="find out who changed it"):
        Spool(tmp_path / "spool")


@keeps(
    "relay: what waits has room for what will be known of it",
    in_="relay/spool_file.py",
    instead_of="* (pages - free) + STATE_BYTES * waiting >= self",
    plant="* (pages - free) >= self",
)
def test_a_spool_has_a_most_and_can_still_be_emptied(tmp_path: Path) -> None:
    """More is not taken; what is there is sealed and leaves, and then there is room again."""
    with Spool(tmp_path / "spool", max_bytes=800_000) as spool:
        kept = 0
        with contextlib.suppress(SpoolFull):
            for kept in range(60):
                spool.add(reports(1_000, 1_000 * kept))
        assert 5 < kept < 30
        with pytest.raises(SpoolFull, match="why the curator takes no"):
            spool.add(reports(1, 65_000))
        while spool.seal("t", BOTH, 1, 10_000):
            pass
        for number in spool.sealed():
            spool.settle(number, Account({"counted": len(spool.batch(number))}), DAY)
        assert spool.add(reports(1, 65_000)) == ["held"]
