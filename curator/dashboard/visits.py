"""Signing in with a token, signing out, and the files that pages load."""

from functools import cache

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from privet.admin.results import Scope
from privet.http_server.addresses import client_address
from privet.http_server.fixed import Fixed
from privet.protocol.errors import InsufficientScope, NotAuthorized, TaskNotFound

from ..http.state import state_of
from .pages import (
    STATIC,
    BrowserRoute,
    PageRoute,
    own_page,
    page,
    see_other,
    set_cookie,
    sign_in_page,
)
from .visitor import COOKIE, SESSION_SECONDS, OwnForm, Sessions, TheForm, Visitor

MEDIA_TYPES = {
    "js": "text/javascript",
    "css": "text/css",
    "csv": "text/csv",
    "svg": "image/svg+xml",
}
A_YEAR = "public, max-age=31536000, immutable"

router = APIRouter(route_class=PageRoute, include_in_schema=False)
lost = APIRouter(route_class=BrowserRoute, include_in_schema=False)
"""The last of all: whatever nothing else is at."""


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    if name not in STATIC:
        raise TaskNotFound("There is no such file.")
    return _static(name).response(request)


@cache
def _static(name: str) -> Fixed:
    media_type = MEDIA_TYPES[name.rpartition(".")[2]]
    return Fixed(STATIC[name], media_type, (("Cache-Control", A_YEAR),))


@lost.get("/{address:path}")
def show_lost(request: Request) -> Response:
    title = "Nothing is at this address"
    detail = "A part of it may be missing, or what stood here was deleted. Begin at “Studies”."
    return page(request, "problem.html", 404, title=title, detail=detail)


@router.get("/sign-in")
def ask_token(request: Request, then: str = "/") -> Response:
    """The form for a token, and the way to the OpenID provider."""
    return sign_in_page(request, then)


@router.post("/sign-in")
async def sign_in(request: Request, form: TheForm) -> Response:
    """Start a session, if the token is good; wrong ones are noted and limited as in the API."""
    token, then = str(form.get("token", "")).strip(), str(form.get("then", "/"))
    state, address = state_of(request), client_address(request.scope)
    try:
        await run_in_threadpool(state.curator.tokens.check, token, Scope.READER, address)
    except (NotAuthorized, InsufficientScope) as error:
        return sign_in_page(request, then, error)
    response = see_other(own_page(then))
    sealed = await run_in_threadpool(Sessions.of(state).seal, token)
    set_cookie(request, response, COOKIE, sealed, SESSION_SECONDS)
    return response


@router.post("/sign-out", dependencies=[OwnForm])
def sign_out(request: Request) -> Response:
    """End the session in this browser; the way out of the provider's own is a link."""
    response: Response = see_other("/")
    provider = state_of(request).provider
    if request.state.visitor.is_person and provider is not None:
        request.state.visitor = Visitor()
        response = page(request, "signed_out.html", end=provider.end_address())
    response.delete_cookie(COOKIE)
    return response
