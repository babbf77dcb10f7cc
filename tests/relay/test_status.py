import pytest

from privet.http_client.errors import UnexpectedResponse
from privet.protocol.limits import DELTA
from privet.protocol.shuffling import epsilon_of_batch
from privet.protocol.task import Task
from privet.relay.status import BatchSizes, RelayStatus
from tests.keeping import keeps
from tests.protocol.examples import make_task, question


def asking(epsilon: float) -> Task:
    """A task of four cells and two classes at this epsilon."""
    return make_task(questions=[question(epsilon=epsilon)])


def test_the_central_guarantee_is_a_line_of_its_own() -> None:
    """It is that of the smallest batch, and epsilon stays what it is."""
    tallies = {"waiting": 3, "counted": 250_000, "task-not-open": 7_000, "smallest_batch": 100_000}
    task = asking(4.0)
    status = RelayStatus.of(task, BatchSizes(1), tallies)
    assert (status.task, status.local_epsilon) == (task.id, 4.0)
    assert status.central is not None
    assert status.central.epsilon == epsilon_of_batch(task, 100_000, DELTA)
    assert (status.central.reports, status.central.delta) == (100_000, DELTA)
    assert (status.lost, status.refused) == ({"task-not-open": 7_000}, {})
    lines = dict(status.lines())
    assert lines["local epsilon"].startswith("4 against everybody")
    assert lines["central (epsilon, delta)"].startswith("(0.111, 1e-06) against who sees")
    assert "batches of 100000 or more, if at least this many" in lines["central (epsilon, delta)"]
    assert "not the observer's own" in status.central.condition


@keeps(
    "threat-model: nothing is stated of small batches",
    in_="relay/status.py",
    instead_of="{name: n - n % step for name, n in tallies.items()}",
    plant="dict(tallies)",
)
@keeps(
    "threat-model: a central epsilon below the bound is stated nowhere",
    in_="relay/status.py",
    instead_of="central if shuffled < task.log_ratio else None",
    plant="central",
)
@keeps(
    "threat-model: counts of a relay are in steps of the least",
    in_="relay/status.py",
    instead_of="step = max(sizes.least if to_the_end else least, STEP)",
    plant="step = STEP",
)
@pytest.mark.parametrize(("least", "step"), [(1, 1_000), (1_000, 1_000), (5_000, 5_000)])
def test_a_single_report_changes_nothing_that_is_shown(least: int, step: int) -> None:
    """Every count is rounded down, however few go together; the central claim with it."""
    names = ("waiting", "counted", "replayed", "held", "wrong-payload", "smallest_batch")
    few = RelayStatus.of(asking(0.1), BatchSizes(least), dict.fromkeys(names, 2 * step - 2))
    assert RelayStatus.of(asking(0.1), BatchSizes(least), dict.fromkeys(names, 2 * step - 1)) == few
    assert few.waiting == few.counted == few.replayed == few.held == few.smallest_batch == step
    assert few.refused == {"wrong-payload": step}
    assert few.central is not None
    assert few.central.reports == step
    none = RelayStatus.of(asking(0.1), BatchSizes(least), dict.fromkeys(names, step - 1))
    assert (none.waiting, none.refused, none.central) == (0, {}, None)


@pytest.mark.parametrize(("epsilon", "smallest"), [(1.0, 0), (1.0, 1), (0.1, 999), (8.0, 1_000)])
def test_nothing_is_stated_of_small_batches(epsilon: float, smallest: int) -> None:
    """Too few for their epsilon, or below a thousand although shuffling adds something for them."""
    assert epsilon_of_batch(asking(0.1), 999, DELTA) < 0.05
    status = RelayStatus.of(
        asking(epsilon), BatchSizes(1), {"waiting": 0, "smallest_batch": smallest}
    )
    assert status.central is None
    assert dict(status.lines())["central (epsilon, delta)"].startswith("no more than the local")
    assert RelayStatus.parse(status.model_dump_json().encode()) == status


@pytest.mark.parametrize("document", [b"", b"{}", b"[]", b'{"task": "t"}'])
def test_what_is_no_status_is_refused(document: bytes) -> None:
    """A curator's own status, or rubbish."""
    with pytest.raises(UnexpectedResponse, match="not a relay"):
        RelayStatus.parse(document)
