"""The HTTP API: routes in the order of the documentation, wired by ``privet.curator.app``."""

from collections.abc import Sequence

from starlette.routing import BaseRoute

from ..operations import access, methods, relays
from . import models, panels, reports, tasks
from .routes import routes_of

ROUTES: Sequence[BaseRoute] = (
    *tasks.router.routes,
    *tasks.admin.routes,
    *reports.router.routes,
    *models.router.routes,
    *panels.router.routes,
    *routes_of(methods, relays, access),
)

__all__ = ["ROUTES"]
