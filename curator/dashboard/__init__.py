"""The dashboard: a collection in a browser, at ``/``, over the same calls as the HTTP API."""

from fastapi import APIRouter

from . import access, models, provider, results, tasks, visits, wizard

ROUTERS: tuple[APIRouter, ...] = (
    visits.router,
    provider.router,
    tasks.browsers,
    tasks.router,
    results.router,
    models.router,
    wizard.router,
    access.router,
)
LAST: tuple[APIRouter, ...] = (visits.lost,)
"""Pages for addresses at which nothing is, to be added after all others."""

__all__ = ["LAST", "ROUTERS"]
