import itertools
import math

import pytest

from privet.relay import central_epsilon


def test_the_published_figure_is_met() -> None:
    """The authors' README: 100 000 reports at epsilon 4, delta 1e-6, closed form 0.5378040...

    https://github.com/apple/ml-shuffling-amplification
    """
    found, delta = central_epsilon(4.0, 100_000, 1e-6)
    assert (found, delta) == (pytest.approx(0.5378040242374512), 1e-6)
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
