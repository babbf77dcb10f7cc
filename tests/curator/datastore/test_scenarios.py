"""Generated sequences of operations on two curators over one database.

Failure conditions: a report that was acknowledged is not in the sums, or is in them twice; counts,
sums and checksum differ from what adding the counted reports one by one gives; a replay or a
conflict is not recognized; two curators both count one report.

Explicitly not failure conditions: a report that was never acknowledged is in the sums (its
acknowledgement was lost after the commit); which of two racing curators counts a report.

The thresholds of runs are made small, so that rows, runs and merges all take part.
"""

import random
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Never

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.reports import Outcome, Outcomes, PerturbedAnswers
from privet.curator.datastore.store import Store
from privet.protocol.lifecycle import Move, TaskState
from privet.protocol.report import Report
from tests.curator.datastore.made import (
    group,
    kept,
    open_task,
    report,
    slow_checksum,
    task,
    total,
)
from tests.curator.datastore.servers import empty_tables, new_file

OPENS, CLOSES = 1_000, 2_000
pytestmark = pytest.mark.usefixtures("small_runs")
counts = st.integers(1, 12)
which = st.integers(0, 1)


class Crash(Exception):
    """The process dies here."""


class Dying(Sequence[PerturbedAnswers]):
    """Answers of reports whose process dies when it adds them up, after it claimed their ids."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: object) -> Never:
        raise Crash


class Scenario(RuleBasedStateMachine):
    """Two curators, one task of two questions, and the list of what must have been counted."""

    url: str

    def __init__(self) -> None:
        super().__init__()
        self.fresh()
        self.stores = [open_store(self.url) for _ in range(2)]
        self.made = task(questions=2, opens=OPENS, closes=CLOSES)
        self.cached: CachedTask = open_task(self.stores[0], self.made, 0.0)
        self.now = float(OPENS)
        self.counted: list[Report] = []
        self.unsent: list[Report] = []
        self.pool = ThreadPoolExecutor(2)

    def fresh(self) -> None:
        """Make the database empty."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.pool.shutdown()
        for store in self.stores:
            store.close()

    @property
    def takes(self) -> bool:
        """Whether a new report counts now."""
        state = self.stores[0].task(self.made.id).state
        return state is TaskState.OPEN and OPENS <= self.now < CLOSES

    def take(self, store: Store, reports: list[Report]) -> Outcomes:
        return store.take([group(self.cached, reports)], self.now)[0]

    @rule(curator=which, count=counts)
    def send_new(self, curator: int, count: int) -> None:
        reports = [report(self.made) for _ in range(count)] + self.unsent
        outcomes = self.take(self.stores[curator], reports)
        if self.takes:
            assert (outcomes == Outcome.COUNTED).all()
            self.counted += reports
            self.unsent = []
        else:
            assert (outcomes == Outcome.NOT_OPEN).all()

    @precondition(lambda self: self.counted)
    @rule(curator=which, count=counts, seed=st.randoms(use_true_random=False))
    def replay(self, curator: int, count: int, seed: random.Random) -> None:
        reports = [seed.choice(self.counted) for _ in range(count)]
        assert (self.take(self.stores[curator], reports) == Outcome.REPLAYED).all()

    @precondition(lambda self: self.counted)
    @rule(curator=which, index=st.integers(0))
    def misuse_an_id(self, curator: int, index: int) -> None:
        own = self.counted[index % len(self.counted)]
        other = report(self.made, own.id)
        if other.answers != own.answers:
            assert self.take(self.stores[curator], [other]).tolist() == [Outcome.CONFLICT]

    @rule(count=counts)
    def race(self, count: int) -> None:
        """Both curators get the same new reports at the same moment."""
        reports = [report(self.made) for _ in range(count)]
        both = list(self.pool.map(lambda store: self.take(store, reports), self.stores))
        if self.takes:
            pairs = np.sort(np.array(both), axis=0).T.tolist()
            assert pairs == [[Outcome.COUNTED, Outcome.REPLAYED]] * count
            self.counted += reports

    @rule(curator=which, count=counts)
    def crash_before_commit(self, curator: int, count: int) -> None:
        """Nothing of the transaction remains; the same reports are sent again later."""
        reports = [report(self.made) for _ in range(count)]
        if self.takes:
            dying = replace(group(self.cached, reports), answers=Dying())
            with pytest.raises(Crash):
                self.stores[curator].take([dying], self.now)
            self.unsent += reports
            self.restart()

    @rule(curator=which, count=counts)
    def crash_after_commit(self, curator: int, count: int) -> None:
        """The acknowledgement is lost; the same reports, sent again, are replays."""
        if self.takes:
            reports = [report(self.made) for _ in range(count)]
            self.take(self.stores[curator], reports)
            self.counted += reports
            self.restart()
            assert (self.take(self.stores[1 - curator], reports) == Outcome.REPLAYED).all()

    @rule()
    def restart(self) -> None:
        for store in self.stores:
            store.close()
        self.stores = [open_store(self.url) for _ in range(2)]

    @rule(now=st.integers(OPENS - 50, CLOSES + 50))
    def move_clock(self, now: int) -> None:
        self.now = float(now)

    @rule()
    def open_or_close(self) -> None:
        state = self.stores[0].task(self.made.id).state
        move = Move.CLOSE if state is TaskState.OPEN else Move.OPEN
        self.stores[1].move(self.made.id, move, self.now)

    @invariant()
    def everything_counted_once(self) -> None:
        for store in self.stores:
            assert kept(store, self.made) == total(self.made, self.counted)
            status = store.status(self.made.id)
            assert status.reports == len(self.counted)
            assert status.checksum == slow_checksum([own.id for own in self.counted])


examples = pytest.mark.parametrize("examples", [3, pytest.param(40, marks=pytest.mark.slow)])


@examples
def test_two_curators_over_sqlite(tmp_path: Path, examples: int) -> None:
    """No sequence of operations on two curators over one file loses or doubles a report."""

    class OverSqlite(Scenario):
        def fresh(self) -> None:
            self.url = new_file(Path(tempfile.mkdtemp(dir=tmp_path)))

    run(OverSqlite, examples)


@examples
def test_two_curators_over_postgresql(postgres_url: str, examples: int) -> None:
    """The same with PostgreSQL, where the two really run side by side."""

    class OverPostgres(Scenario):
        def fresh(self) -> None:
            self.url = postgres_url
            empty_tables(postgres_url)

    run(OverPostgres, examples)


def run(machine: type[Scenario], examples: int) -> None:
    """Generate and run sequences."""
    machine.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=15,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    machine.TestCase().runTest()
