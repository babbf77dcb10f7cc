"""Incidents that alerts are for: each alert has one, and some are made for real."""

from pathlib import Path

import pytest
import yaml

from scripts.incidents import INCIDENTS, PAGE, SCALE, TABLE, as_time, make
from scripts.pages import table_of
from scripts.watched_stack import scaled, scaled_rule, seconds_of, shipped_rules, watched_stack

ROOT = Path(__file__).parents[2]
MADE = ("CuratorDown", "RelayDown", "WrongTokens", "Watchdog")


def test_every_alert_has_an_incident_on_the_page() -> None:
    """In the order of the rules, with its words and what the shipped rule waits."""
    order = [rule["alert"] for rule in shipped_rules()]
    assert {each.alert for each in INCIDENTS} == set(order)
    listed = sorted(INCIDENTS, key=lambda each: order.index(each.alert))
    rows = [line.split(" | ") for line in table_of(ROOT / PAGE, TABLE) if line.startswith("| [")]
    found = [(row[0].strip("| "), row[1], row[3]) for row in rows]
    expected = [
        (f"[{each.alert}](#{each.alert.lower()})", each.text, as_time(each.waits))
        for each in listed
    ]
    assert found == expected
    waits = [each.waits / SCALE for each in listed]
    assert all(wait <= float(row[2]) < wait + 90 for row, wait in zip(rows, waits, strict=True))


def test_every_duration_of_a_rule_is_divided(tmp_path: Path) -> None:
    """Windows, steps, offsets, ages and ``for``; counts and shares stay."""
    rules = {rule["alert"]: rule for rule in shipped_rules()}
    scaled_rules = {name: scaled_rule(rule, 60) for name, rule in rules.items()}
    assert scaled("7d:5m", 60) == "10080000ms:5000ms"
    assert "[10080000ms:5000ms]" in scaled_rules["CuratorGone"]["expr"]
    assert "offset 120000ms" in scaled_rules["TaskSilent"]["expr"]
    assert "> 1440.0" in scaled_rules["RelayHoldsForADay"]["expr"]
    assert "> 10000" in scaled_rules["RelayHolds"]["expr"]
    for name, rule in rules.items():
        assert seconds_of(scaled_rules[name].get("for", "")) * 60 == seconds_of(rule.get("for", ""))
    file = tmp_path / "alerts.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": [*scaled_rules.values()]}]}))
    assert "d]" not in file.read_text()


@pytest.mark.needs("nginx", "prometheus", "prometheus-alertmanager")
@pytest.mark.timeout(900)
def test_some_incidents_sound(tmp_path: Path) -> None:
    """On a stack of one curator; whoever waits for the watchdog misses it, too."""
    first = {each.alert: each for each in reversed(INCIDENTS)}
    with watched_stack(tmp_path, curators=1) as stack:
        for each, seconds in make(stack, [first[name] for name in MADE]):
            assert 0 < seconds < 60, each
        pages = {
            heard.labels["alertname"] for heard in stack.receiver.heard if heard.receiver == "page"
        }
    assert {"CuratorDown", "RelayDown"} <= pages
    assert not pages & {"WrongTokens", "Watchdog"}
