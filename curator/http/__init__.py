"""The HTTP API: routers in the order of the documentation, wired by ``privet.curator.app``."""

from fastapi import APIRouter

from . import methods, models, panels, relays, reports, tasks, tokens

ROUTERS: tuple[APIRouter, ...] = (
    tasks.router,
    tasks.admin,
    reports.router,
    models.router,
    panels.router,
    methods.router,
    relays.router,
    tokens.router,
)

__all__ = ["ROUTERS"]
