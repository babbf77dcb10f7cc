"""Signing in by OpenID Connect: to the provider and back."""

import json
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from privet.http_server.addresses import client_address
from privet.protocol.errors import InsufficientScope, NotAuthorized, Overloaded, TaskNotFound

from ..http.state import state_of
from ..operations.access import sign_in
from .pages import PageRoute, own_page, page, see_other, set_cookie, sign_in_page
from .visitor import ATTEMPT, COOKIE, KNOWN, PERSON, Sessions

if TYPE_CHECKING:
    from ..access.oidc import Provider

ATTEMPT_COOKIE, ATTEMPT_SECONDS, PATH = "privet-sign-in", 600, "/sign-in"
KNOWN_COOKIE, KNOWN_SECONDS = "privet-known", 90 * 24 * 3600
"""The cookie of a browser in which somebody has signed in, whose failures count as theirs only."""

router = APIRouter(prefix=PATH, route_class=PageRoute, include_in_schema=False)


@router.get("/provider")
def leave(request: Request, then: str = "/") -> Response:
    try:
        address, attempt = _provider(request).begin(own_page(then))
    except Overloaded as error:
        return sign_in_page(request, then, error)
    response = see_other(address)
    sealed = Sessions.of(state_of(request)).seal(json.dumps(attempt), ATTEMPT)
    set_cookie(request, response, ATTEMPT_COOKIE, sealed, ATTEMPT_SECONDS, PATH)
    return response


@router.get("/callback")
def arrive(request: Request) -> Response:
    """Start the session of the person whom the provider names.

    A page leads on, since browsers withhold the session's cookie from redirects that another site
    began.
    """
    state = state_of(request)
    provider, sessions = _provider(request), Sessions.of(state)
    kept = sessions.open(request.cookies.get(ATTEMPT_COOKIE, ""), ATTEMPT, ATTEMPT_SECONDS)
    attempt = {} if kept is None else json.loads(kept)
    known = sessions.open(request.cookies.get(KNOWN_COOKIE, ""), KNOWN, KNOWN_SECONDS)
    sender = known or client_address(request.scope)
    try:
        person = sign_in(state.curator, provider, request.query_params, attempt, sender)
    except (NotAuthorized, InsufficientScope, Overloaded) as error:
        response = sign_in_page(request, attempt.get("then", "/"), error)
    else:
        response = page(request, "signed_in.html", then=attempt["then"], name=person.name)
        named = {"name": person.name, "scope": person.scope, "actor": person.actor}
        sealed = sessions.seal(json.dumps(named), PERSON)
        set_cookie(request, response, COOKIE, sealed, provider.session_seconds)
        sealed = sessions.seal(person.actor, KNOWN)
        set_cookie(request, response, KNOWN_COOKIE, sealed, KNOWN_SECONDS, PATH)
    if provider.is_answer(request.query_params, attempt):
        response.delete_cookie(ATTEMPT_COOKIE, PATH)
    return response


def _provider(request: Request) -> "Provider":
    provider = state_of(request).provider
    if provider is None:
        raise TaskNotFound("This curator has no OpenID provider: sign in with a token.")
    return provider
