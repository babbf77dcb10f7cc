import stat
from collections import Counter
from pathlib import Path
from typing import Any

import msgpack
import pytest

from privet.relay import Spool
from privet.relay.bundle import ALL_QUESTIONS, Bundle, drawn_order, joined
from privet.relay.spool import Parcel


def parcels(count: int, **more: Any) -> list[Parcel]:
    return [
        Parcel("t", ALL_QUESTIONS, bytes([i]) * 16, bytes([i]) * 2, **more) for i in range(count)
    ]


def bundle(first: int, count: int) -> Bundle:
    """Reports whose payloads are the first bytes of their ids."""
    ids = [number.to_bytes(2, "big") * 8 for number in range(first, first + count)]
    payloads = b"".join(each[:2] for each in ids)
    return Bundle("t", ALL_QUESTIONS, b"".join(ids), payloads)


def ids_of(columns: Bundle) -> list[bytes]:
    return [columns.ids[at : at + 16] for at in range(0, len(columns.ids), 16)]


def test_bundles_are_shuffled_as_a_whole() -> None:
    """Rows stay together, and their order is another one: by chance equal once in 10^306."""
    sent = bundle(0, 170)
    digests = b"".join(bytes([i]) * 32 for i in range(170))
    invited = Bundle(sent.task, sent.question, sent.ids, sent.payloads, digests)
    shuffled = invited.shuffled()
    columns = msgpack.unpackb(shuffled.packed())
    order = [int.from_bytes(each[:2], "big") for each in ids_of(shuffled)]
    assert columns["payloads"] == b"".join(i.to_bytes(2, "big") for i in order)
    assert columns["invitations"] == b"".join(bytes([i]) * 32 for i in order)
    assert sorted(order) == list(range(170)) != order


def test_every_order_is_as_likely() -> None:
    """Of three, 6000 times: chi-square with 5 degrees of freedom, false alarm 10^-9."""
    orders = Counter(tuple(drawn_order(3).tolist()) for _ in range(6000))
    assert sum((n - 1000) ** 2 / 1000 for n in orders.values()) < 51.0
    assert len(orders) == 6


def test_a_report_sent_twice_hides_nobody(tmp_path: Path) -> None:
    """An upstream relay's repeated batch counts once towards the least that go together."""
    spool = Spool(tmp_path / "spool")
    for _ in range(3):
        spool.add_bundle(bundle(0, 10))
    assert not spool.seal("t", ALL_QUESTIONS, 11, 30)
    assert spool.tallies("t") == {"waiting": 30}
    assert spool.seal("t", ALL_QUESTIONS, 10, 30)
    assert [len(spool.bundle(number)) for number in spool.sealed()] == [10]
    spool.close()


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
    spool, first = Spool(tmp_path / "spool"), 2000
    for size in sizes:
        spool.add_bundle(bundle(first, size))
        first += size
    spool.add(parcels(singles))
    while spool.seal("t", ALL_QUESTIONS, 10, about):
        pass
    sealed = [spool.bundle(number) for number in spool.sealed()]
    assert sum(map(len, sealed)) == sum(expected)
    assert len(set(ids_of(joined(sealed)))) == sum(expected)
    assert all(len(each) >= 10 for each in sealed)
    assert sorted(map(len, sealed)) == expected
    spool.close()


def test_the_spool_keeps_no_order_time_or_address(tmp_path: Path) -> None:
    """Two orders of arrival leave the same rows, and delivered rows leave no trace on disk."""
    rows = []
    for name, sent in (("a", parcels(20)), ("b", parcels(20)[::-1])):
        spool = Spool(tmp_path / name)
        assert spool.add(sent) == [True] * 20
        spool.add_bundle(bundle(1000, 20))
        rows.append(spool._db.execute("SELECT * FROM waiting").fetchall())
        columns = {row[1] for row in spool._db.execute("PRAGMA table_info(waiting)")}
        assert columns == {"task", "question", "id", "payload", "invitation"}
        assert spool.seal("t", ALL_QUESTIONS, 1, 40)
        (number,) = spool.sealed()
        spool.settle(number, {"counted": 40})
        spool.forget()
        assert spool.tallies("t") == {"waiting": 0, "counted": 40, "smallest_batch": 40}
        left = b"".join(path.read_bytes() for path in tmp_path.glob(f"{name}*"))
        assert bytes([7]) * 16 not in left
        assert (1003).to_bytes(2, "big") * 8 not in left
        for path in tmp_path.glob(f"{name}*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        spool.close()
    assert rows[0] == rows[1]
