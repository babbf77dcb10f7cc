"""Logs in both forms, without secrets."""

import json
import logging
import secrets
from base64 import urlsafe_b64encode
from random import Random
from typing import Any

import pytest

from privet.curator.logs import set_up_logs
from privet.http_server.logs import HIDDEN


def test_json_lines_hide_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """Each event is one JSON object, and fields that may hold secrets are hidden."""
    set_up_logs("json")
    fields = {"by": "ops", "token": "abc", "client": "10.0.0.1"}
    logging.getLogger("curator").info("issued", extra=fields)
    logging.getLogger("a.library").info("started")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["issued", "started"]
    assert (lines[0]["by"], lines[0]["token"], lines[0]["client"]) == ("ops", HIDDEN, HIDDEN)


@pytest.mark.parametrize("form", ["json", "console"])
def test_texts_do_not_act_on_the_terminal(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What a caller put into an address is shown, not obeyed."""
    set_up_logs(form)
    logging.getLogger("x").info("%s was cancelled", "/v1/tasks/\x1b]0;owned\x07/predict")
    assert not set("\x1b\x07") & set(capsys.readouterr().err)


def test_less_important_events_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """The level holds for everybody's logs."""
    set_up_logs("console")
    logging.getLogger("anything").debug("small")
    logging.getLogger("anything").info("large")
    text = capsys.readouterr().err
    assert "large" in text
    assert "small" not in text


TOKEN = "ZgasNPMsuxuRvdwXcHOlNESPjHXBAKFXMXgBSltkFWE"
"""One that was drawn; it has no digit."""


class Described:
    """An object whose text has a secret in it."""

    def __str__(self) -> str:
        return f"Request(token={TOKEN!r})"


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize(
    ("message", "arguments", "extra"),
    [
        ("The token is %s.", (TOKEN,), {}),
        ("Refused %(token)s.", ({"token": TOKEN},), {}),
        ("Refused %s.", ({"Authorization": "Bearer s3cret"},), {}),
        ("Authorization: Bearer s3cret", (), {}),
        ("No connection to postgresql://user:s3cret@host/name.", (), {}),
        ("The body is payload=%r.", (b"s3cret",), {}),
        ("Of %s.", (Described(),), {}),
        ("Started with %s.", ("operator's own words",), {}),
        ("Sent.", (), {"token": "s3cret", "Authorization": "s3cret", "invitation": "s3cret"}),
        ("Sent.", (), {"headers": {"authorization": "s3cret", "list": [{"body": "s3cret"}]}}),
        ("Sent.", (), {"content": b"s3cret"}),
    ],
)
def test_no_way_of_logging_tells_a_secret(
    form: str, message: str, arguments: Any, extra: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a message, its arguments or extra fields."""
    set_up_logs(form, ["operator's own words"])
    logging.getLogger("a.library").warning(message, *arguments, extra=extra)
    text = capsys.readouterr().err
    assert HIDDEN in text
    for secret in (TOKEN, "s3cret", "operator's own words"):
        assert secret not in text


def test_a_traceback_tells_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    """Not by the error's own message."""
    set_up_logs("json")
    try:
        float(TOKEN)
    except ValueError:
        logging.getLogger("a.library").exception("failed")
    line = json.loads(capsys.readouterr().err)
    assert "could not convert string to float: 'hidden'" in line["exception"]


@pytest.mark.parametrize("size", [16, 24, 32, 48])
def test_tokens_are_hidden_whatever_was_drawn(
    size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 2 000 each; some 48 of the invitations, the shortest, have no digit."""
    set_up_logs("json")
    chance = Random(0)
    drawn = [urlsafe_b64encode(chance.randbytes(size)).decode().rstrip("=") for _ in range(2_000)]
    logging.getLogger("a.library").warning(" ".join(drawn))
    text = capsys.readouterr().err
    assert [token for token in drawn if token in text] == []


@pytest.mark.parametrize(
    "name",
    [
        "ConnectionRefusedError",
        "_a_name_of_22_characte",
        "THE_MOST_BYTES_OF_BODY",
        "aNameOfTwentyTwoLetter",
    ],
)
def test_names_in_code_are_no_tokens(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Though they are as long as an invitation."""
    assert len(name) == 22
    set_up_logs("json")
    logging.getLogger("a.library").warning(name)
    assert name in capsys.readouterr().err


def test_what_is_no_secret_stays(capsys: pytest.CaptureFixture[str]) -> None:
    """Ids, addresses of databases without a password, and plain fields are logged."""
    set_up_logs("json")
    task = secrets.token_hex(32)
    message = "Opened %s at postgresql://user@host/name: took 3 of 4"
    logging.getLogger("a.library").info(message, task, extra={"reports": 3, "seconds": 0.5})
    line = json.loads(capsys.readouterr().err)
    assert line["event"] == message % task
    assert (line["reports"], line["seconds"]) == (3, 0.5)
