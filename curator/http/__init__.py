"""The HTTP API: routes in the order of the documentation, wired by ``privet.curator.app``."""

from collections.abc import Sequence

from starlette.routing import BaseRoute

from ..operations import access, methods, relays, tasks
from . import models, panels, reports, task_files  # noqa: F401 - which stand in for operations
from .routes import routes_of

ROUTES: Sequence[BaseRoute] = (
    *routes_of(tasks),
    *reports.router.routes,
    *models.router.routes,
    *panels.router.routes,
    *routes_of(methods, relays, access),
)

__all__ = ["ROUTES"]
