"""Calls about a task that are answered in front of the web framework, which gets all others."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from privet.protocol.calls import TASKS, Call

from .metrics import ROUTE

Answer = Callable[[str, Scope, Receive, Send], Awaitable[None]]
"""Answers one call, given the task's id and what ASGI gives an application."""
ABOVE = f"{TASKS}/"
"""The path before a task's id."""


class TaskCalls:
    """Answers the POSTs in ``answers``, in front of ``app``.

    It stands outermost, where no other layer adds headers to the answers.
    """

    def __init__(self, app: ASGIApp, answers: Mapping[Call, Answer]) -> None:
        self._app = app
        self._answers = {call.below: (call.path, answer) for call, answer in answers.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            if path.startswith(ABOVE):
                task_id, slash, below = path[len(ABOVE) :].partition("/")
                found = self._answers.get(slash + below)
                if found is not None:
                    scope[ROUTE], answer = found
                    await answer(task_id, scope, receive, send)
                    return
        await self._app(scope, receive, send)
