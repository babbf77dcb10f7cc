"""HTML that embeds the form of a task in pages of others: the component from a relay, by its hash.

The curator names the code that reads records, and never serves it.
"""

from base64 import b64encode, urlsafe_b64encode
from hashlib import sha384
from html import escape
from importlib.resources import files

from privet.protocol.calls import TASKS
from privet.protocol.task import Task

LONGEST_HASH = 1_000_000
"""Characters behind the hash of an address that browsers open."""
EMBEDDED = "privet-answer.js"
_DIGEST = sha384((files("privet") / "page" / EMBEDDED).read_bytes()).digest()
EMBEDDED_HASH = f"sha384-{b64encode(_DIGEST).decode()}"
"""The component's hash in this release."""


def snippet(relay: str, task_id: str) -> str:
    """The HTML that shows a task's form from ``relay`` in any page, or a link to the answer page
    where the form does not run: at another release of the relay, or in an old browser."""
    relay = escape(relay)
    return (
        f'<script type="module" src="{relay}/answer/{EMBEDDED}" integrity="{EMBEDDED_HASH}" '
        "crossorigin></script>\n"
        f'<privet-answer task="{relay}{TASKS}/{task_id}">'
        f'<a href="{relay}/answer/{task_id}">Answer this study</a></privet-answer>'
    )


def preview_address(relay: str, task: Task) -> str | None:
    """The page at ``relay`` that shows ``task`` as people will see it, in the task's own language;
    None if the task, which stands behind the hash, is too large for an address."""
    behind = urlsafe_b64encode(task.canonical).decode().rstrip("=")
    spoken = f"?language={task.language}" if task.language else ""
    return f"{relay}/answer/preview{spoken}#{behind}" if len(behind) <= LONGEST_HASH else None
