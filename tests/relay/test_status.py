import itertools
import math

import pytest

from privet.http_client.errors import UnexpectedAnswer
from privet.http_client.report_client import CollectionStatus
from privet.relay.status import RelayStatus, central_epsilon


def test_the_central_guarantee_is_a_line_of_its_own() -> None:
    """It is that of the smallest batch, and epsilon stays what it is."""
    tallies = {"waiting": 3, "counted": 250_000, "task-not-open": 7_000, "smallest_batch": 100_000}
    status = RelayStatus.of("t", 4.0, 1, tallies)
    assert status.local_epsilon == 4.0
    assert status.central is not None
    assert (status.central.epsilon, status.central.delta) == central_epsilon(4.0, 100_000)
    assert status.refused == {"task-not-open": 7_000}
    lines = dict(status.lines())
    assert lines["local epsilon"].startswith("4 against everybody")
    assert lines["central (epsilon, delta)"].startswith("(0.538, 1e-06) against who sees")
    assert "batches of 100000 or more, if at least this many" in lines["central (epsilon, delta)"]
    assert "not the observer's own" in status.central.condition


@pytest.mark.parametrize("least", [1, 1_000])
def test_a_single_report_changes_nothing_that_is_shown(least: int) -> None:
    """Every count is rounded down, however few go together; the central claim with it."""
    names = ("waiting", "counted", "replayed", "held", "wrong-payload", "smallest_batch")
    few = RelayStatus.of("t", 0.1, least, dict.fromkeys(names, 1_998))
    assert RelayStatus.of("t", 0.1, least, dict.fromkeys(names, 1_999)) == few
    assert few.waiting == few.counted == few.replayed == few.held == few.smallest_batch == 1_000
    assert few.refused == {"wrong-payload": 1_000}
    assert few.central is not None
    assert few.central.reports == 1_000
    none = RelayStatus.of("t", 0.1, least, dict.fromkeys(names, 999))
    assert (none.waiting, none.refused, none.central) == (0, {}, None)


def test_nothing_is_stated_of_small_batches() -> None:
    """At a small epsilon the theorem would allow it for a few hundred."""
    assert central_epsilon(0.1, 999)[0] < 0.1
    for smallest, stated in ((999, False), (1_000, True)):
        tallies = {"waiting": 0, "smallest_batch": smallest}
        assert (RelayStatus.of("t", 0.1, 1, tallies).central is not None) is stated


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


def test_the_published_figure_is_met() -> None:
    """The authors' README: 100 000 reports at epsilon 4, delta 1e-6, closed form 0.5378040...

    https://github.com/apple/ml-shuffling-amplification
    """
    found, delta = central_epsilon(4.0, 100_000, 1e-6)
    assert found == pytest.approx(0.5378040242374512)
    assert delta == 1e-6
    assert found > 0.172790550755978  # their numerical upper bound: ours may not undercut it


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 8.0, 50.0, 700.0])
def test_shuffling_never_hurts_and_more_reports_hide_better(epsilon: float) -> None:
    """Never above the local guarantee, and falling with the number of reports."""
    found = [central_epsilon(epsilon, n)[0] for n in (0, 1, 10**3, 10**5, 10**7, 10**9)]
    assert found[0] == found[1] == epsilon
    assert all(0 < later <= earlier for earlier, later in itertools.pairwise(found))


def test_too_few_reports_leave_the_local_guarantee() -> None:
    """Outside the theorem's condition nothing is claimed, and no delta is spent."""
    n = math.floor(math.exp(2.0) * 16 * math.log(4e6))
    assert central_epsilon(2.0, n - 1) == (2.0, 0.0)
    assert central_epsilon(2.0, 100 * n)[1] == 1e-6


def test_results_are_passed_on() -> None:
    """As the curator states them; none before that."""
    figure = {"name": "a", "value": 0.5, "low": 0.4, "high": 0.6, "public": 0.1}
    told = {"collecting": False, "over": True, "invited": False, "results": {"figures": [figure]}}
    collection = CollectionStatus.model_validate(told)
    status = RelayStatus.of("t", 1.0, 1, {"waiting": 0}, collection)
    assert status.model_dump(mode="json")["results"] == told["results"]
    assert RelayStatus.of("t", 1.0, 1, {"waiting": 0}).results is None
