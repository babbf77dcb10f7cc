"""Generated schedules of two curators, a relay, holders and a stranger, and old bugs put back."""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, note, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select

from privet.curator.datastore import schema
from privet.curator.datastore.expiry import ExpiryStore
from privet.curator.datastore.status import StatusStore
from privet.curator.datastore.tasks import TaskStore, find_task

from .schedule import Op, Step, run
from .world import Fault

places = st.integers(1, 40)
faults = st.lists(st.tuples(places, st.sampled_from(Fault)), max_size=2).map(tuple)
steps = st.builds(
    Step,
    op=st.sampled_from(Op),
    server=st.integers(0, 2),
    holder=st.integers(0, 2),
    faults=faults,
    together=st.booleans(),
)
schedules = st.lists(steps, max_size=10).map(lambda rest: [Step(Op.CREATE), *rest])


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """What servers log of faults is no news here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("examples", [200, pytest.param(3_000, marks=pytest.mark.slow)])
def test_no_schedule_breaks_a_promise(examples: int) -> None:
    """Whatever is lost, late, doubled or crashes: see ``schedule`` for what must not be."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(schedules)
    def holds(schedule: list[Step]) -> None:
        wrong, trace = run(schedule)
        note("\n".join(trace))
        assert wrong == []

    holds()
