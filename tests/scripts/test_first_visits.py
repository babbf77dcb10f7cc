"""The scripted first visits."""

import pytest

from scripts import first_visits


@pytest.mark.needs("chromium")
def test_each_role_gets_where_it_wants(capsys: pytest.CaptureFixture[str]) -> None:
    """A link, a receipt and a prediction, in a handful of clicks."""
    first_visits.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│ who")]
    assert [int(row.split("│")[3]) for row in rows] == [5, 2, 2]
