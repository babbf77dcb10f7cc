"""A curator's logs: what happened, never payloads, tokens or passwords.

Everything goes through the standard library's logging, so that the server's and the database's
own messages come out in the same form.
"""

import logging
import sys
from collections.abc import Collection
from typing import Any

import structlog
from structlog.typing import EventDict

from privet.http_server.logs import JsonLines, SecretsHider, log_to_stderr


def set_up_logs(level: str, form: str, secrets: Collection[str] = ()) -> None:
    """Send all logs of ``level`` and above to standard error, for people or as JSON lines.

    ``secrets`` are values that are hidden wherever they occur.
    """
    log_to_stderr(JsonLines(secrets) if form == "json" else _for_people(secrets), level)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _for_people(secrets: Collection[str]) -> logging.Formatter:
    hide = SecretsHider(secrets)

    def hidden(_logger: Any, _method: str, event: EventDict) -> EventDict:
        return hide(event)

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            hidden,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
    )
