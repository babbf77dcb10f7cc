"""Invitations that another curator makes while reports are on their way."""

import hashlib
from contextlib import closing

import pytest
from sqlalchemy import select

from privet.curator.datastore import open_store
from privet.curator.datastore.reports import Outcome
from privet.curator.datastore.schema import invitations
from privet.protocol.errors import IllegalMove
from tests.curator.datastore.made import open_task, report, take, task
from tests.keeping import keeps


@keeps(
    "threat-model: a stored invitation cannot be presented",
    in_="curator/datastore/invitations.py",
    instead_of="return sha256(digest).digest()",
    plant="return digest",
)
def test_what_is_kept_of_an_invitation_cannot_be_presented(url: str) -> None:
    """Whoever reads the database has no invitation: neither a holder's nor a relay's form of it."""
    store = open_store(url)
    made = task(invited=True)
    cached, digest = open_task(store, made), hashlib.sha256(b"golden").digest()
    store.invitations.issue(made.id, [digest])
    with store.engine.connect() as connection:
        kept = bytes(connection.scalars(select(invitations.c.digest)).one())
    for presented in (kept, hashlib.sha256(kept).digest()):
        assert take(store, cached, [report(made)], [presented]) == [Outcome.NOT_INVITED]
    assert take(store, cached, [report(made)], [digest]) == [Outcome.COUNTED]
    store.close()


@keeps(
    "api: nobody is invited to a task for everybody",
    in_="curator/datastore/invitations.py",
    instead_of="if not task.invited:",
    plant="if False:",
)
def test_nobody_is_invited_to_a_task_for_everybody(url: str) -> None:
    """What came without an invitation goes on counting, also what waits at relays."""
    with closing(open_store(url)) as store:
        cached = open_task(store, task())
        with pytest.raises(IllegalMove, match="Create another task"):
            store.invitations.issue(cached.id, [bytes(32)])
        assert take(store, cached, [report(cached.task)]) == [Outcome.COUNTED]
        assert not store.standing.read(cached.id).invited
