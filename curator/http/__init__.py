"""The HTTP API: routers in the order of the documentation, wired by ``privet.curator.app``."""

from fastapi import APIRouter

from privet.curator.http import key, methods, models, predictions, tasks, tokens

ROUTERS: tuple[APIRouter, ...] = (
    tasks.router,
    models.router,
    predictions.router,
    methods.router,
    key.router,
    tokens.router,
)

__all__ = ["ROUTERS"]
