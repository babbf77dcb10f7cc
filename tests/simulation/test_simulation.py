"""Generated schedules of two curators, a relay, holders and a stranger, and old bugs put back."""

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from .schedule import Op, Pace, Step, run
from .world import Fault

places = st.integers(1, 24)
faults = st.lists(st.tuples(places, st.sampled_from(Fault)), max_size=2).map(tuple)


def steps(ops: st.SearchStrategy[Op]) -> st.SearchStrategy[Step]:
    server = holder = st.integers(0, 2)
    return st.builds(Step, ops, server, holder, faults, st.sampled_from(Pace))


schedules = st.builds(
    lambda first, rest: [first, *rest],
    steps(st.just(Op.CREATE)),
    st.lists(steps(st.sampled_from(Op)), max_size=10),
)


@pytest.mark.parametrize("examples", [30, pytest.param(600, marks=pytest.mark.slow)])
def test_no_schedule_breaks_a_promise(examples: int) -> None:
    """Whatever is lost, late, doubled or crashes: see ``schedule`` for what must not be."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(schedules)
    def holds(schedule: list[Step]) -> None:
        wrong, trace = run(schedule)
        note("\n".join(trace))
        assert wrong == []

    holds()
