"""The HTTP API: routes in the order of the documentation, wired by ``privet.curator.app``."""

from collections.abc import Sequence

from starlette.routing import BaseRoute

from ..operations import access, methods, models, panels, predictions, relays, tasks
from . import model_files, panel_files, reports, task_files  # noqa: F401 - which stand in for operations
from .routes import routes_of

ROUTES: Sequence[BaseRoute] = (
    *routes_of(tasks),
    *reports.router.routes,
    *routes_of(models, predictions),
    *routes_of(panels, methods, relays, access),
)

__all__ = ["ROUTES"]
