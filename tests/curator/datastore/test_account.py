"""Tables that were changed by hand, as the audit log shows them."""

import pytest
from sqlalchemy import Engine, text

from privet.curator.datastore.account import document_digest, public_digest
from privet.curator.datastore.audit import AuditEntry
from privet.curator.datastore.store import Store
from privet.curator.datastore.verification import verify_all
from privet.protocol.lifecycle import Move
from tests.curator.datastore.made import NOW, open_task, public, task

MADE = task()
OTHER = "SELECT document FROM models WHERE number = 2"


@pytest.fixture
def logged(store: Store) -> Engine:
    """An open task with two models, of which the second serves, with all their entries."""

    def log(action: str, **detail: object) -> None:
        store.audit.add(AuditEntry(NOW, "ops", action, MADE.id, detail))

    open_task(store, MADE)
    log("task created", name=MADE.name, public=public_digest(public()))
    log("task open")
    for document in (b"one", b"two"):
        kept = store.models.add(MADE.id, document, {}, NOW)
        digest = document_digest(document)
        log("model fitted", number=kept.number, document=digest, aliases=list(kept.aliases))
    store.models.name(MADE.id, "serving", 2)
    log("model promoted", number=2, alias="serving")
    return store.engine


def faults(engine: Engine) -> tuple[str, ...]:
    """What the tables have that the audit log does not explain."""
    return verify_all(engine)[1].faults


def execute(engine: Engine, statement: str) -> None:
    with engine.connect().execution_options(privet_writes=True) as connection, connection.begin():
        connection.execute(text(statement))


def test_what_the_log_says_fits(logged: Engine, store: Store) -> None:
    """Also once the task was closed and deleted, each with its entry."""
    assert faults(logged) == ()
    for move, action in ((Move.CLOSE, "task closed"), (Move.DELETE, "task deleted")):
        store.tasks.move(MADE.id, move, NOW)
        assert len(faults(logged)) == 1, "before its entry"
        store.audit.add(AuditEntry(NOW, "ops", action, MADE.id, {}))
        assert faults(logged) == ()


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM tasks", "is gone, and the audit log does not say so"),
        ("UPDATE tasks SET state = 'closed'", "is closed, and the audit log does not say so"),
        (f"UPDATE models SET document = ({OTHER}) WHERE number = 1", "model 1 is another than"),
        ("DELETE FROM models WHERE number = 1", "model 1 is gone"),
        ("UPDATE public_data SET y = x", "other public data"),
        ("UPDATE models SET number = 3 WHERE number = 2", "model 2 is gone"),
        ("UPDATE aliases SET number = 1", "'serving' is model 1, by the audit log 2"),
        ("DELETE FROM aliases", "'serving' is model none, by the audit log 2"),
        ("INSERT INTO aliases SELECT task_no, 'best', 1 FROM aliases", "'best' is model 1"),
    ],
)
def test_what_was_changed_by_hand_is_noticed(logged: Engine, statement: str, fault: str) -> None:
    """A task or a model that was deleted, exchanged or promoted, and a task that was closed."""
    execute(logged, statement)
    assert fault in "; ".join(faults(logged))


def test_what_has_no_entry_is_not_compared(store: Store) -> None:
    """Waves of a panel, and all of a database that has no log."""
    open_task(store, MADE)
    store.models.add(MADE.id, b"one", {}, NOW)
    assert faults(store.engine) == ()


def test_a_task_that_comes_back_is_noticed(store: Store, logged: Engine) -> None:
    """One that the log says was deleted."""
    store.audit.add(AuditEntry(NOW, "ops", "task deleted", MADE.id, {}))
    assert "says that it was deleted" in faults(logged)[0]
