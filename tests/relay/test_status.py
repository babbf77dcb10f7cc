import pytest

from privet.relay import central_epsilon
from privet.relay.status import RelayStatus
from privet.transport.errors import UnexpectedAnswer


def test_the_central_guarantee_is_a_line_of_its_own() -> None:
    """It is that of the smallest batch, and epsilon stays what it is."""
    tallies = {"waiting": 3, "counted": 250_000, "task-not-open": 7, "smallest_batch": 100_000}
    status = RelayStatus.of("t", 4.0, 1000, tallies)
    assert status.local_epsilon == 4.0
    assert status.central is not None
    assert (status.central.epsilon, status.central.delta) == central_epsilon(4.0, 100_000)
    assert status.refused == {"task-not-open": 7}
    lines = dict(status.lines())
    assert lines["local epsilon"].startswith("4 against everybody")
    assert lines["central (epsilon, delta)"].startswith("(0.538, 1e-06) against who sees")
    assert "batches of 100000 or more" in lines["central (epsilon, delta)"]


@pytest.mark.parametrize("smallest", [0, 1, 100, 10_000])
def test_nothing_is_stated_outside_the_theorem(smallest: int) -> None:
    """Too few for epsilon 4: the local guarantee stands alone."""
    status = RelayStatus.of("t", 4.0, 1, {"waiting": 0, "smallest_batch": smallest})
    assert status.central is None
    assert dict(status.lines())["central (epsilon, delta)"].startswith("no more than the local")
    assert RelayStatus.parse(status.model_dump_json().encode()) == status


@pytest.mark.parametrize("document", [b"", b"{}", b"[]", b'{"task": "t"}'])
def test_what_is_no_status_is_refused(document: bytes) -> None:
    """A curator's own status, or rubbish."""
    with pytest.raises(UnexpectedAnswer, match="not a relay"):
        RelayStatus.parse(document)
