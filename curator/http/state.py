"""State shared by routes and pages."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request
from starlette.requests import HTTPConnection

from privet.http_server.readiness import Readiness

from ..access.rate_limit import Rate
from ..collection.rejects import Rejects
from ..collection.writer import Writer
from ..operations.curator import Curator

if TYPE_CHECKING:
    from ..access.oidc import Provider


@dataclass(eq=False)
class State:
    """The state of one application, made by ``create_app``."""

    curator: Curator
    writer: Writer
    rejects: Rejects
    readiness: Readiness
    rate: Rate
    """Limits on posts, exports and comparisons, per sender."""
    sender_of: Callable[[HTTPConnection], Hashable]
    """The owner of a request's token or session, else its client address."""
    provider: "Provider | None" = None
    dashboard: bool = True
    root_path: str = ""
    """Path below which a proxy serves the pages."""


def state_of(request: Request) -> State:
    state: State = request.app.state.shared
    return state
