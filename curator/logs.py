"""A curator's logs: what happened, never payloads, tokens or passwords.

Everything goes through the standard library's logging, so that the server's and the database's
own messages come out in the same form.
"""

import logging
from collections.abc import Collection

from privet.http_server.logs import JsonLines, PlainLines, log_to_stderr


def set_up_logs(form: str, secrets: Collection[str] = ()) -> None:
    """Send all logs from ``info`` on to standard error, for people or as JSON lines.

    ``secrets`` are values that are hidden wherever they occur.
    """
    log_to_stderr((JsonLines if form == "json" else PlainLines)(secrets), "info")
    for chatty in ("alembic", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
