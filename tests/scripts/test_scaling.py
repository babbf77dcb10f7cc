import json
from pathlib import Path

import pytest

from scripts import scaling

KEPT = Path("docs/scaling.json")


def test_the_page_shows_the_costs_that_are_kept() -> None:
    """The tables of docs/scaling.md are those computed from docs/scaling.json."""
    text = scaling.tables(json.loads(KEPT.read_text(encoding="utf-8")))
    assert text in scaling.PAGE.read_text(encoding="utf-8")


def test_sizes_follow_from_costs() -> None:
    """A core takes a million over the cost; a billion reports a day are 34 722 a second at peak."""
    costs = dict.fromkeys(json.loads(KEPT.read_text(encoding="utf-8")), 1.0)
    costs |= {"relay_single": 288.0, "postgres_single": 127.0, "curator_single": 28.8}
    text = scaling.tables(costs)
    assert "peak of 34,722 reports/s" in text
    assert "relays: 10 cores | curators: 1 cores" in text
    assert "| 1 GB | 127 GB |" in text


@pytest.mark.parametrize(
    ("mode", "through", "expected"),
    [
        ("single", False, {"curator_single": 50.0}),
        ("single", True, {"relay_single": 70.0}),
        ("relay", False, {"curator_batch": 50.0}),
        ("relay", True, {"curator_batch": 50.0, "relay_batch": 70.0}),
    ],
)
def test_costs_come_from_load_tests(
    mode: str, through: bool, expected: dict[str, float], tmp_path: Path
) -> None:
    """The curator behind a relay gets batches, whatever the holders sent."""
    document = {
        "mode": mode,
        "through_relay": through,
        "cpu_seconds": {"curator": 5.0, "sender": 1.0} | ({"relay": 7.0} if through else {}),
        "acknowledged": 100_000,
    }
    path = tmp_path / "load.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    found = scaling.from_load_tests([path])
    assert found == pytest.approx(expected)
