"""Signing in and out, and the files that pages load."""

import re

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from privet.http_server.addresses import client_address
from privet.protocol.errors import InsufficientScope, NotAuthorized, TaskNotFound, problem_of

from ..access.tokens import Scope
from .pages import STATIC, PageRoute, page, see_other
from .visitor import (
    COOKIE,
    SESSION_SECONDS,
    OwnForm,
    Sessions,
    TheForm,
)

OWN_PAGE = re.compile(r"/(?!/)[\w/-]*")
"""Pages to which a visitor may return after signing in."""
MEDIA_TYPES = {"page.js": "text/javascript", "style.css": "text/css"}
A_YEAR = "public, max-age=31536000, immutable"

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/static/{name}")
def static(name: str) -> Response:
    """One of the two files that pages load."""
    if name not in STATIC:
        raise TaskNotFound("There is no such file.")
    return Response(STATIC[name], media_type=MEDIA_TYPES[name], headers={"Cache-Control": A_YEAR})


@router.get("/sign-in")
def ask_token(request: Request, then: str = "/") -> Response:
    """The form for a token."""
    return page(request, "sign_in.html", then=then, fault=None)


@router.post("/sign-in")
async def sign_in(request: Request, form: TheForm) -> Response:
    """Start a session, if the token is good; wrong ones are noted and limited as in the API."""
    token, then = str(form.get("token", "")).strip(), str(form.get("then", "/"))
    state, address = request.app.state, client_address(request.scope)
    try:
        await run_in_threadpool(state.tokens.check, token, Scope.READER, address)
    except (NotAuthorized, InsufficientScope) as error:
        status = problem_of(error).status
        return page(request, "sign_in.html", status, then=then, fault=error.detail)
    response = see_other(then if OWN_PAGE.fullmatch(then) else "/")
    response.set_cookie(
        COOKIE,
        await run_in_threadpool(Sessions(state).seal, token),
        max_age=SESSION_SECONDS,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/sign-out", dependencies=[OwnForm])
def sign_out() -> Response:
    """End the session in this browser."""
    response = see_other("/")
    response.delete_cookie(COOKIE)
    return response
