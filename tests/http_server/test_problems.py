"""What is answered with 500 or more is in the log."""

import logging

import pytest

from privet.http_server.problems import Failures, problem_response
from privet.protocol.errors import InvalidRequest, PrivetError, StorageFailed


def test_an_address_cannot_forge_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Its line breaks and control characters stay as they were sent."""
    problem_response(PrivetError("no"), "/v1/x\nall is well\x1b[2J")
    said = caplog.records[0].getMessage()  # ends with a count where others failed just before
    assert said.startswith("/v1/x%0Aall%20is%20well%1B%5B2J answered 500: no")
    assert said.isprintable()


def test_a_failure_is_logged_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    """What broke, not what was told to the caller; a refusal is not logged."""
    error = StorageFailed("The database could not do this.")
    error.__cause__ = OSError("the disk is full")
    problem_response(error, "/v1/tasks")
    problem_response(InvalidRequest("no"), "/v1/other")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "/v1/tasks answered 503: the disk is full"


def test_many_failures_share_lines(caplog: pytest.LogCaptureFixture) -> None:
    """One a second for each kind, which says for how many it stands."""
    times = iter((0.0, 0.1, 0.2, 1.5, 1.5))
    failures = Failures(lambda: next(times))
    for _ in range(4):
        failures.log(503, "/a", "busy")
    failures.log(500, "/b", OSError("gone"))
    assert [record.getMessage() for record in caplog.records] == [
        "/a answered 503: busy",
        "/a answered 503: busy, and 2 times more since the last such line",
        "/b answered 500: gone",
    ]
