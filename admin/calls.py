"""The calls of programs, each stated once: where it is, and in a few words what it does.

Use cases take them (``privet.curator.operations``), ``CuratorClient`` makes them, and docs/api.md
lists them. Those of holders and relays are in ``privet.protocol.calls``.
"""

from enum import Enum
from urllib.parse import quote

from privet.protocol.calls import AUDIT, KEY, METHODS, RELAY, TASK, TASKS, TOKENS

INVITATIONS, WAVES, MODELS = f"{TASK}/invitations", f"{TASK}/waves", f"{TASK}/models"
MODEL, TOKEN = f"{MODELS}/{{number}}", f"{TOKENS}/{{name}}"


class ApiCall(Enum):
    """A call by the name of its use case: its group in the documentation, method, path, summary."""

    LIST_TASKS = "tasks", "GET", TASKS, "List tasks"
    READ_TASK = "tasks", "GET", TASK, "Read a task"
    READ_STATUS = "tasks", "GET", f"{TASK}/status", "Status"
    CREATE_TASK = "tasks", "POST", TASKS, "Grow and publish a task"
    OPEN_TASK = "tasks", "POST", f"{TASK}/open", "Open a task"
    CLOSE_TASK = "tasks", "POST", f"{TASK}/close", "Close a task"
    DELETE_TASK = "tasks", "DELETE", TASK, "Delete a task"
    INVITE = "tasks", "POST", INVITATIONS, "Invite holders"
    COUNT_INVITATIONS = "tasks", "GET", INVITATIONS, "Count invitations"
    REVOKE_INVITATIONS = "tasks", "POST", f"{INVITATIONS}/revoke", "Revoke invitations"
    FIT = "models", "POST", MODELS, "Fit a model"
    LIST_MODELS = "models", "GET", MODELS, "List models"
    READ_MODEL = "models", "GET", MODEL, "Read a model"
    READ_CARD = "models", "GET", f"{MODEL}/card", "Read a model's card"
    PROMOTE_MODEL = "models", "PUT", f"{TASK}/aliases/{{alias}}", "Promote a model"
    COMPARE_MODELS = "models", "GET", f"{MODEL}/compare/{{other}}", "Compare two models"
    READ_INSIGHT = "models", "GET", f"{MODEL}/insight", "Compare the holders with the public data"
    READ_FIGURES = "tasks", "GET", f"{TASK}/insight", "Figures of the holders"
    EXPORT = "models", "GET", f"{MODEL}/export", "Export a model"
    PREDICT = "predictions", "POST", f"{TASK}/predict", "Predict"
    READ_WAVES = "tasks", "GET", WAVES, "A panel over time"
    EXPORT_WAVES = "tasks", "GET", f"{WAVES}/export", "Export a panel over time"
    READ_METHODS = "methods", "GET", METHODS, "List methods and limits"
    READ_KEY = "methods", "GET", KEY, "Read the curator's key"
    READ_RELAY = "tokens", "GET", RELAY, "Ask the relay what it is"
    NAME_RELAY = "tokens", "PUT", RELAY, "Name the relay"
    LIST_TOKENS = "tokens", "GET", TOKENS, "List tokens"
    ISSUE_TOKEN = "tokens", "PUT", TOKEN, "Issue a token"
    REVOKE_TOKEN = "tokens", "DELETE", TOKEN, "Revoke a token"
    READ_AUDIT = "tokens", "GET", AUDIT, "Read the audit log"

    def __init__(self, tag: str, method: str, path: str, summary: str) -> None:
        self.tag, self.method, self.path, self.summary = tag, method, path, summary

    def at(self, **named: object) -> str:
        """The path with what its braces name."""
        return self.path.format_map({name: quote(f"{it}", safe="") for name, it in named.items()})
