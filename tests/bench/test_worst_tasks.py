"""The most expensive tasks that there are cost their holders no more than the limits say."""

import pytest

from bench.worst_tasks import peak_mib, worst_tasks
from privet.protocol.limits import MAX_RANDOM_BYTES, MAX_TABLE_ENTRIES, MAX_TASK_BYTES
from privet.protocol.report import make_report
from privet.protocol.task import Task
from tests.protocol.examples import counted

WORST = worst_tasks()
MOST_MIB = 64

LIGHT = ("most_cells", "most_random_numbers")
"""The worst tasks that take little time to trace; the others are for `make test-all`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in LIGHT else pytest.mark.slow) for name in WORST]
)
def test_the_worst_tasks_are_bounded(name: str) -> None:
    """From reading a task at the limits to its report, a holder needs less than 64 MiB."""
    assert peak_mib(Task.checked(WORST[name]).canonical) < MOST_MIB


@pytest.mark.quick("largest_*", "many_*", "most_cells", "most_random_*", "one_table_shared")
@pytest.mark.parametrize("name", WORST)
def test_the_published_figures_are_what_happens(name: str) -> None:
    """Bytes, tables and randomness are within the limits; mechanisms draw ``random_bytes``."""
    task = Task.checked(WORST[name])
    assert len(task.canonical) <= MAX_TASK_BYTES
    assert task.table_entries <= MAX_TABLE_ENTRIES
    assert task.random_bytes <= MAX_RANDOM_BYTES
    assert task.log_ratio <= task.epsilon
    report_id_and_labels = 16 + 8 * len(task.questions)
    asked, zeros = counted()
    make_report(task, {"label": 0}, zeros)
    assert sum(asked) == task.random_bytes + report_id_and_labels
    lattices = {mechanism.lattice for mechanism in task.mechanisms} - {None}
    assert task.table_entries == sum(len(lattice.weights) for lattice in lattices if lattice)
