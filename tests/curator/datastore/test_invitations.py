"""Invitations that another curator makes while reports are on their way."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from sqlalchemy import select

from privet.curator.datastore import open_store
from privet.curator.datastore.counting import NeedsExclusiveLock, ReportStore
from privet.curator.datastore.reports import Outcome, Outcomes, ReportGroup
from privet.curator.datastore.schema import invitations
from tests.curator.datastore.made import NOW, group, open_task, report, take, task


def test_what_is_kept_of_an_invitation_cannot_be_presented(url: str) -> None:
    """Whoever reads the database has no invitation: neither a holder's nor a relay's form of it."""
    store = open_store(url)
    made = task()
    cached, digest = open_task(store, made), hashlib.sha256(b"golden").digest()
    store.invitations.issue(made.id, [digest])
    with store.engine.connect() as connection:
        kept = bytes(connection.scalars(select(invitations.c.digest)).one())
    for presented in (kept, hashlib.sha256(kept).digest()):
        assert take(store, cached, [report(made)], [presented]) == [Outcome.NOT_INVITED]
    assert take(store, cached, [report(made)], [digest]) == [Outcome.COUNTED]
    store.close()


def test_tasks_that_are_first_invited_to_between_tries(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try finds another task's first invitations; the group is settled all the same."""
    ours, theirs = open_store(url), open_store(url)
    tasks = [task("one"), task("two")]
    cached_tasks = [open_task(ours, made) for made in tasks]
    codes = [hashlib.sha256(made.name.encode()).digest() for made in tasks]
    theirs.invitations.issue(tasks[0].id, codes[:1])
    tries, plain = [], ReportStore._take

    def racing(self: ReportStore, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        tries.append(len(groups))
        try:
            return plain(self, groups, now)
        except NeedsExclusiveLock:
            if len(tries) == 1:
                theirs.invitations.issue(tasks[1].id, codes[1:])
            raise

    monkeypatch.setattr(ReportStore, "_take", racing)
    groups = [
        group(cached, [report(made)], [code])
        for cached, made, code in zip(cached_tasks, tasks, codes, strict=True)
    ]
    assert np.concatenate(ours.reports.take(groups, NOW)).tolist() == [Outcome.COUNTED] * 2
    assert tries == [2, 2, 2]
    ours.close()
    theirs.close()
