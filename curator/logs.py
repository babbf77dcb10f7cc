"""Structured logs: what happened, never payloads, tokens or addresses.

Everything goes through the standard library's logging, so that the server's and the database's
own messages come out in the same form.
"""

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict

SECRETS = frozenset(
    {
        "authorization",
        "token",
        "admin_token",
        "payload",
        "payloads",
        "body",
        "client",
        "address",
        "invitation",
        "password",
    }
)
HIDDEN = "hidden"

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def hide_secrets(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A structlog processor: replace the values of fields that must not be logged."""
    return {key: HIDDEN if key in SECRETS else value for key, value in event.items()}


def set_up_logs(level: str, form: str) -> None:
    """Send all logs of ``level`` and above to standard error, for people or as JSON lines."""
    last: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_SHARED, hide_secrets],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            last,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("alembic").setLevel(logging.WARNING)
    structlog.configure(
        processors=[*_SHARED, hide_secrets, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
