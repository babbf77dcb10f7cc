"""The audit log is one chain, whoever writes to it, and its check notices what was changed."""

from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from json import dumps
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from privet.curator.datastore import open_store
from privet.curator.datastore.audit import BACKED_UP, AuditChain, AuditEntry
from privet.curator.datastore.backup import backup, restore
from privet.curator.datastore.database import writing
from privet.curator.datastore.store import Store
from privet.curator.datastore.verification import verify_audit
from tests.curator.datastore.made import HOUR, NOW
from tests.curator.datastore.servers import new_file
from tests.keeping import keeps

Open = Callable[[str], Engine]


def entry(action: str, actor: str = "ops", at: float = NOW) -> AuditEntry:
    """An entry with a subject and a detail that JSON has to escape."""
    return AuditEntry(at, actor, action, "ä" * 64, {"name": 'Ω "\n', "count": 3, "share": 0.1})


def write(connection_of: Engine, *statements: str) -> None:
    with writing(connection_of) as connection:
        for statement in statements:
            connection.execute(text(statement))


def rehashed(engine: Engine) -> str:
    """The head that the entries have by the published rule, computed without Privet."""
    digest, times, no = "0" * 64, 0, 0
    with engine.connect() as connection:
        for row in connection.execute(text("SELECT * FROM audit ORDER BY no")):
            fields = [row.no, row.at, row.actor, row.action, row.subject, row.detail]
            digest = sha256(dumps([digest, times, *fields]).encode()).hexdigest()
            times, no = row.times, row.no
    return f"{no}:{digest}"


@pytest.fixture
def engine(tmp_path: Path, open_database: Open) -> Engine:
    """A SQLite database with five entries."""
    url = new_file(tmp_path)
    with closing(open_store(url)) as store:
        for number in range(5):
            store.audit.add(entry(f"act {number}"))
    return open_database(url)


def test_entries_follow_each_other(store: Store) -> None:
    """Each has the next number and a hash over the one before it, and is listed as it was kept."""
    assert store.audit.entries(10) == []
    kept = [store.audit.add(entry(f"act {number}")) for number in range(3)]
    assert [each.no for each in kept] == [1, 2, 3]
    assert store.audit.entries(10) == kept[::-1]
    assert rehashed(store.engine) == f"3:{kept[-1].hash}"


def test_only_the_last_entry_is_counted_up(store: Store) -> None:
    """What it counted is in the hash of the next, and never changes after that."""
    first = store.audit.add(entry("failed"), join_since=NOW - HOUR)
    joined = store.audit.add(entry("failed", at=NOW + 1), join_since=NOW - HOUR)
    assert (joined.no, joined.hash, joined.times) == (1, first.hash, 2)
    others = [
        store.audit.add(entry("failed", at=NOW + 2), join_since=NOW + 1),
        store.audit.add(entry("failed", actor="eve", at=NOW + 2), join_since=NOW),
        store.audit.add(entry("made")),
        store.audit.add(entry("failed", at=NOW + 3), join_since=NOW),
    ]
    assert [(each.no, each.times) for each in others] == [(2, 1), (3, 1), (4, 1), (5, 1)]
    assert [each.no for each in store.audit.entries(2, before=3)] == [2, 1]
    assert rehashed(store.engine) == f"5:{others[-1].hash}"


@keeps(
    "threat-model: an audit entry that was changed is noticed",
    in_="curator/datastore/audit.py",
    instead_of="entry.hash != _hash(last, entry, row.detail)",
    plant="False",
)
@keeps(
    "threat-model: the end of the audit log cannot go unnoticed",
    in_="curator/datastore/audit.py",
    instead_of="if stated != _head(last):",
    plant="if False:",
)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET actor = 'eve' WHERE no = 2",
        "UPDATE audit SET at = at + 1 WHERE no = 5",
        "UPDATE audit SET detail = 'no JSON' WHERE no = 1",
        "UPDATE audit SET times = 2 WHERE no = 4",
        "UPDATE audit SET no = 6 WHERE no = 5",
        "DELETE FROM audit WHERE no = 1",
        "DELETE FROM audit WHERE no = 3",
        "DELETE FROM audit WHERE no > 3",
        "DELETE FROM audit",
        "DELETE FROM facts WHERE name = 'audit_head'",
        "INSERT INTO audit SELECT 6, at, actor, action, subject, detail, times, hash FROM audit "
        "WHERE no = 5",
    ],
)
def test_what_was_changed_is_noticed(engine: Engine, change: str) -> None:
    """An entry that is altered, gone, added, or cut off at the end, also once others follow it."""
    assert verify_audit(engine) == AuditChain(5, rehashed(engine), ())
    write(engine, change)
    assert verify_audit(engine).faults


def test_a_cut_is_noticed_after_more_entries(engine: Engine) -> None:
    """What is added after it does not take the place of what is gone."""
    write(engine, "DELETE FROM audit WHERE no > 3")
    with closing(open_store(str(engine.url))) as store:
        assert store.audit.add(entry("later")).no == 6
    (fault,) = verify_audit(engine).faults
    assert "entry 6 " in fault


@keeps(
    "threat-model: a noted head shows another whole chain",
    in_="curator/datastore/audit.py",
    instead_of="if not found:",
    plant="if False:",
)
def test_only_a_noted_head_shows_another_whole_chain(engine: Engine) -> None:
    """Whoever may write can make the chain anew; a head that was noted elsewhere is not in it."""
    noted = verify_audit(engine).head
    with closing(open_store(str(engine.url))) as store:
        store.audit.add(entry("later"))
        assert verify_audit(engine, noted).faults == ()
        write(engine, "DELETE FROM audit", "DELETE FROM facts")
        for number in range(7):
            store.audit.add(entry(f"another act {number}"))
    assert verify_audit(engine).faults == ()
    (fault,) = verify_audit(engine, noted).faults
    assert noted in fault


@pytest.mark.quick("postgresql-sqlite", "sqlite-postgresql")
def test_backups_and_restorations_go_on_with_the_chain(
    url: str, new_url: str, tmp_path: Path, open_database: Open
) -> None:
    """In the source, in the copy, in a curator that serves from it, and in what is restored."""
    with closing(open_store(url)) as store:
        store.audit.add(entry("act"))
    source, file = open_database(url), tmp_path / "copy.db"
    noted = verify_audit(source).head
    backup(source, file, NOW)
    copy, target = open_database(f"sqlite:///{file}"), open_database(new_url)
    assert verify_audit(source, noted).faults == ()
    assert verify_audit(copy, noted) == AuditChain(1, noted, ())
    restore(copy, target)
    with closing(open_store(url)) as store, closing(open_store(f"sqlite:///{file}")) as served:
        assert store.facts.read(BACKED_UP) == repr(NOW)  # for an alert
        (made, _), (restored_from, _) = store.audit.entries(10), served.audit.entries(10)
    assert (made.at, made.action, made.detail["file"]) == (NOW, "backup made", file.name)
    assert (restored_from.action, restored_from.detail) == ("backup restored", {"made": NOW})
    for restored in (copy, target):
        chain = verify_audit(restored, noted)
        assert (chain.entries, chain.faults, chain.head) == (2, (), rehashed(restored))
