"""Logs in both forms, without secrets."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from privet.curator.logs import HIDDEN, set_up_logs


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def test_json_lines_hide_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """Each event is one JSON object, and fields that may hold secrets are hidden."""
    set_up_logs("info", "json")
    structlog.get_logger("curator").info("issued", name="ops", token="abc", client="10.0.0.1")
    logging.getLogger("a.library").info("started")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["issued", "started"]
    assert (lines[0]["name"], lines[0]["token"], lines[0]["client"]) == ("ops", HIDDEN, HIDDEN)


def test_less_important_events_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """The level holds for everybody's logs."""
    set_up_logs("warning", "console")
    logging.getLogger("anything").info("small")
    logging.getLogger("anything").warning("large")
    text = capsys.readouterr().err
    assert "large" in text
    assert "small" not in text
