"""Invitations that another curator makes while reports are on their way."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest

from privet.curator.datastore import open_store
from privet.curator.datastore.base import Outcome, Outcomes, ReportGroup
from privet.curator.datastore.counting import MustLockAlone
from privet.curator.datastore.sql import SqlStore
from tests.curator.datastore.made import NOW, group, open_task, report, task


def test_tasks_that_are_first_invited_to_between_tries(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try finds another task's first invitations; the group is settled all the same."""
    ours, theirs = open_store(url), open_store(url)
    tasks = [task("one"), task("two")]
    cached_tasks = [open_task(ours, made) for made in tasks]
    codes = [hashlib.sha256(made.name.encode()).digest() for made in tasks]
    theirs.invite(tasks[0].id, codes[:1])
    tries, plain = [], SqlStore._take

    def racing(self: SqlStore, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        tries.append(len(groups))
        try:
            return plain(self, groups, now)
        except MustLockAlone:
            if len(tries) == 1:
                theirs.invite(tasks[1].id, codes[1:])
            raise

    monkeypatch.setattr(SqlStore, "_take", racing)
    groups = [
        group(cached, [report(made)], [code])
        for cached, made, code in zip(cached_tasks, tasks, codes, strict=True)
    ]
    assert np.concatenate(ours.take(groups, NOW)).tolist() == [Outcome.COUNTED] * 2
    assert tries == [2, 2, 2]
    ours.close()
    theirs.close()
