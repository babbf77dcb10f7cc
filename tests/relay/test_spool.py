import contextlib
import stat
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.protocol.batch import Batch
from privet.relay.errors import SpoolFailed, SpoolFull
from privet.relay.spool import Account, Spool, StoredReport, random_order
from tests.client.fakes import assert_closed, record_connections

BOTH = (0, 1)
DAY = 20_000


def reports(count: int, **more: Any) -> list[StoredReport]:
    return [StoredReport("t", BOTH, bytes([i]) * 16, bytes([i]) * 2, **more) for i in range(count)]


def batch(first: int, count: int, *, invited: bool = False) -> Batch:
    """Reports whose payloads are the first bytes of their ids, and their invitations, too."""
    numbers = np.arange(first, first + count, dtype=">u2")
    ids = np.tile(numbers.view(np.uint8).reshape(-1, 2), 8)
    return Batch(BOTH, ids, ids[:, :2], np.tile(ids, 2) if invited else None)


def numbers_of(batch: Batch) -> list[int]:
    """What ``batch`` made the reports of, in their order."""
    return [int.from_bytes(row[:2].tobytes(), "big") for row in batch.ids]


def test_a_batch_is_shuffled_as_a_whole(tmp_path: Path) -> None:
    """Rows stay together, and their order is another one: by chance equal once in 10^306."""
    with Spool(tmp_path / "spool") as spool:
        spool.add_batch("t", batch(0, 170, invited=True))
        assert spool.seal("t", BOTH, 170, 170)
        task, shuffled = spool.batch(*spool.sealed())
    assert (task, shuffled.questions) == ("t", BOTH)
    assert sorted(numbers_of(shuffled)) == list(range(170)) != numbers_of(shuffled)
    assert (shuffled.payloads == shuffled.ids[:, :2]).all()
    assert shuffled.invitations is not None
    assert (shuffled.invitations == np.tile(shuffled.ids, 2)).all()


def test_reports_with_and_without_invitations_go_together(tmp_path: Path) -> None:
    """Where one has an invitation, the others have 32 zeros."""
    with Spool(tmp_path / "spool") as spool:
        spool.add(reports(1))
        spool.add([StoredReport("t", BOTH, b"i" * 16, b"ii", b"d" * 32)])
        spool.add_batch("t", batch(1000, 2))
        assert spool.seal("t", BOTH, 4, 4)
        _, sealed = spool.batch(*spool.sealed())
    assert sealed.invitations is not None
    rows = zip(sealed.ids, sealed.invitations, strict=True)
    found = {report_id.tobytes(): digest.tobytes() for report_id, digest in rows}
    assert found.pop(b"i" * 16) == b"d" * 32
    assert set(found.values()) == {bytes(32)}


def test_every_order_is_as_likely() -> None:
    """Of three, 6000 times: chi-square with 5 degrees of freedom, false alarm 10^-9."""
    orders = Counter(tuple(random_order(3).tolist()) for _ in range(6000))
    assert sum((n - 1000) ** 2 / 1000 for n in orders.values()) < 51.0
    assert len(orders) == 6


def test_a_report_sent_twice_hides_nobody(tmp_path: Path) -> None:
    """An upstream relay's repeated batch counts once towards the least that go together."""
    with Spool(tmp_path / "spool") as spool:
        for _ in range(3):
            spool.add_batch("t", batch(0, 10))
        assert not spool.seal("t", BOTH, 11, 30)
        assert spool.tallies("t") == {"waiting": 30}
        assert spool.seal("t", BOTH, 10, 30)
        assert [len(spool.batch(number)[1]) for number in spool.sealed()] == [10]


@pytest.mark.parametrize(
    ("sizes", "singles", "about", "expected"),
    [
        ([40, 40, 40], 0, 40, [40, 40, 40]),
        ([40, 40, 5], 0, 40, [40, 45]),
        ([], 100, 50, [50, 50]),
        ([], 55, 50, [55]),
        ([30], 7, 30, [37]),
        ([8], 9, 17, [17]),
    ],
)
def test_no_rest_is_left_alone(
    sizes: list[int], singles: int, about: int, expected: list[int], tmp_path: Path
) -> None:
    """What goes together is about as large as asked for, at least ten, and leaves no few behind."""
    first = 2000
    with Spool(tmp_path / "spool") as spool:
        for size in sizes:
            spool.add_batch("t", batch(first, size))
            first += size
        spool.add(reports(singles))
        while spool.seal("t", BOTH, 10, about):
            pass
        sealed = [spool.batch(number)[1] for number in spool.sealed()]
    assert len({row.tobytes() for each in sealed for row in each.ids}) == sum(expected)
    assert all(len(each) >= 10 for each in sealed)
    assert sorted(map(len, sealed)) == expected


def test_the_spool_keeps_no_order_time_or_address(tmp_path: Path) -> None:
    """Two orders of arrival leave the same rows, and delivered rows leave no trace on disk."""
    rows = []
    for name, sent in (("a", reports(20)), ("b", reports(20)[::-1])):
        with Spool(tmp_path / name) as spool:
            assert spool.add(sent) == ["held"] * 20
            spool.add_batch("t", batch(1000, 20))
            rows.append(spool._db.execute("SELECT * FROM waiting").fetchall())
            columns = {row[1] for row in spool._db.execute("PRAGMA table_info(waiting)")}
            assert columns == {"task", "questions", "id", "payload", "invitation"}
            assert spool.seal("t", BOTH, 1, 40)
            (number,) = spool.sealed()
            spool.settle(number, Account({"counted": 40}), DAY)
            spool.purge()
            assert spool.tallies("t") == {"waiting": 0, "counted": 40, "smallest_batch": 40}
            left = b"".join(path.read_bytes() for path in tmp_path.glob(f"{name}*"))
            assert bytes([7]) * 16 not in left
            assert (1003).to_bytes(2, "big") * 8 not in left
            for path in tmp_path.glob(f"{name}*"):
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert rows[0] == rows[1]


def test_a_report_waits_under_its_id_once(tmp_path: Path) -> None:
    """The same again changes nothing; another payload under its id is refused."""
    with Spool(tmp_path / "spool") as spool:
        (report,) = reports(1)
        other = replace(report, payload=b"xx")
        assert spool.add([report, report, other]) == ["held", "held", "conflict"]
        assert spool.tallies("t") == {"waiting": 1}


def test_a_spool_that_cannot_be_used_says_so_and_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, a damaged file, another version: SpoolFailed with the path and what to do."""
    opened = record_connections(monkeypatch)
    damaged, newer = tmp_path / "damaged", tmp_path / "newer"
    damaged.write_bytes(b"this is not a database" * 100)
    with Spool(newer) as spool:
        spool._db.execute("PRAGMA user_version = 9")
    for path in (tmp_path, damaged, newer, damaged / "below"):
        with pytest.raises(SpoolFailed, match=f"{path}.*--spool"):
            Spool(path)
    assert_closed(opened)


def test_what_became_of_a_report_is_known_for_a_while(tmp_path: Path) -> None:
    """Held while it is here, then counted or refused with the reason, and in the end forgotten."""
    first, second, third = reports(3)
    with Spool(tmp_path / "spool") as spool:
        spool.add([first, second, third])
        assert {spool.fate("t", own.id) for own in (first, second, third)} == {"held"}
        assert spool.fate("another task", first.id) is None
        assert spool.seal("t", BOTH, 3, 3)
        assert spool.fate("t", first.id) == "held"
        assert spool.add([first]) == ["held"]
        assert spool.tallies("t")["waiting"] == 3
        (number,) = spool.sealed()
        account = Account({"counted": 2}, {"not-authorized": [second.id]})
        spool.settle(number, account, DAY)
    with Spool(tmp_path / "spool") as spool:
        fates = [spool.fate("t", own.id) for own in (first, second, third)]
        assert fates == ["counted", "not-authorized", "counted"]
        assert spool.tallies("t")["not-authorized"] == 1
        assert spool.add([first, second]) == ["counted", "held"]
        assert spool.tallies("t")["waiting"] == 1
        assert spool.abandon("t", "task-not-open", DAY + 1, sealed=False) == 1
        spool.forget(DAY + 1)
        fates = [spool.fate("t", own.id) for own in (first, second, third)]
        assert fates == [None, "task-not-open", None]
        spool.forget(DAY + 2)
        assert spool.fate("t", second.id) is None


def test_a_spool_has_a_most_and_can_still_be_emptied(tmp_path: Path) -> None:
    """More is not taken; what is there is sealed and leaves, and then there is room again."""
    with Spool(tmp_path / "spool", max_bytes=400_000) as spool:
        kept = 0
        with contextlib.suppress(SpoolFull):
            for kept in range(60):
                spool.add_batch("t", batch(1_000 * kept, 1_000))
        assert 5 < kept < 30
        with pytest.raises(SpoolFull, match="--max-spool-bytes"):
            spool.add(reports(1))
        while spool.seal("t", BOTH, 1, 10_000):
            pass
        for number in spool.sealed():
            spool.settle(number, Account({"counted": len(spool.batch(number)[1])}), DAY)
        assert spool.add(reports(1)) == ["held"]


def test_a_spool_of_version_1_goes_on(tmp_path: Path) -> None:
    """What waited in it is forwarded, and its fate is known from then on."""
    with Spool(tmp_path / "spool") as spool:
        spool.add(reports(2))
        spool._db.executescript(
            "DROP TABLE fates; DROP TABLE batches; CREATE TABLE batches ("
            "number INTEGER PRIMARY KEY, sealed INTEGER NOT NULL, task TEXT NOT NULL, "
            "questions TEXT NOT NULL, reports INTEGER NOT NULL, ids BLOB NOT NULL, "
            "payloads BLOB NOT NULL, invitations BLOB) STRICT; "
            "PRAGMA user_version = 1;"
        )
    with Spool(tmp_path / "spool") as spool:
        assert spool.fate("t", reports(1)[0].id) == "held"
        assert spool.seal("t", BOTH, 2, 2)
        (number,) = spool.sealed()
        spool.settle(number, Account({"counted": 2}), DAY)
        assert spool.fate("t", reports(1)[0].id) == "counted"
