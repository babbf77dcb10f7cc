"""Logs of every server, for people or as one JSON object per line, without payloads or secrets.

Secrets are hidden at the one place that all lines pass: fields by their names, and in messages and
tracebacks whatever looks like a token, says ``name=value`` of such a field, or is a secret that the
settings hold.
"""

import json
import logging
import re
import sys
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from privet.protocol.calls import INVITATION_HEADER

from .request_ids import add_request_id

SECRETS = frozenset(
    {
        "address",
        "admin_token",
        "authorization",
        "body",
        "client",
        "invitation",
        "password",
        "payload",
        "payloads",
        INVITATION_HEADER.lower(),
        "privet_admin_token",
        "token",
    }
)
"""Names of fields whose values are never logged."""
HIDDEN = "hidden"

_NAMES = "|".join(sorted(SECRETS, key=len, reverse=True))
_IN_TEXT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<=://)(?P<kept>[^\s:/@]*:)\S+(?=@)",  # the password in a database's address
        r"\b(?P<kept>(?:bearer|basic)\s+)[\w.~+/=-]+",
        rf"(?P<kept>\b(?:{_NAMES})\s*=\s*|['\"](?:{_NAMES})['\"]\s*:\s*)(?!bearer\b|basic\b)"
        r"(?:b?'[^']*'|b?\"[^\"]*\"|[^\s,;)}\]]+)",
    )
)
_WORDS = r"_*[A-Za-z][a-z]*(?:[A-Z][a-z]+|_[a-z]*)*(?![\w-])"
"""A name in code, of which every capital letter begins a word."""
_TOKEN = re.compile(
    rf"(?<![\w-])(?=[\w-]*[A-Z])(?!{_WORDS})(?=[\w-]*[\da-z])"
    r"(?:[\w-]{64}|[\w-]{43}|[\w-]{32}|[\w-]{22})(?![\w-])"
)
"""48, 32, 24 or 16 random bytes, as ``secrets.token_urlsafe`` writes what a sign-in takes, tokens
and invitations, but for two in 10,000 that could be names; one in 42 invitations has no digit."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that would act on the terminal that a log is read in."""

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "color_message"}
"""Attributes of every log record, besides its own fields."""


class JsonLines(logging.Formatter):
    """One JSON object per record: ``event``, fields of its own, level, logger and time.

    Secret fields are hidden, and ``secrets`` wherever they occur.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__()
        self._known = sorted(filter(None, secrets), key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record; ``exception`` is a traceback, if there is one."""
        fields = {name: value for name, value in vars(record).items() if name not in _USUAL}
        event = {
            "event": record.getMessage(),
            **fields,
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return self.line({name: self._hidden(name, value) for name, value in event.items()})

    def line(self, event: dict[str, Any]) -> str:
        """The text of an event without secrets."""
        return json.dumps(event)

    def _hidden(self, name: str, value: Any) -> Any:
        if name.lower() in SECRETS or isinstance(value, bytes | bytearray | memoryview):
            return HIDDEN
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {key: self._hidden(str(key), part) for key, part in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._hidden("", part) for part in value]
        return self._hidden_in_text(str(value))

    def _hidden_in_text(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, HIDDEN)
        for pattern in _IN_TEXT:
            text = pattern.sub(rf"\g<kept>{HIDDEN}", text)
        return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _TOKEN.sub(HIDDEN, text))


class PlainLines(JsonLines):
    """The same for people: time, level, event, the fields, and a traceback below."""

    def line(self, event: dict[str, Any]) -> str:
        names = ("timestamp", "level", "event", "logger", "exception")
        at, level, text, logger, trace = (event.pop(name, "") for name in names)
        fields = "".join(f" {name}={value}" for name, value in event.items())
        return f"{at[:19]}Z {level:<8} {text}{fields} [{logger}]" + f"\n{trace}" * bool(trace)


def log_to_stderr(formatter: logging.Formatter, level: str) -> None:
    """Send all logs of ``level`` and above to standard error; also the end by an error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(add_request_id)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_exception
    logging.getLogger("uvicorn.access").disabled = True


def _log_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logging.getLogger("privet").critical("stopped by an error", exc_info=(kind, error, trace))
