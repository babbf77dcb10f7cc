"""Pages for admins about who may do what, and who did: tokens and the audit log."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from privet.protocol.errors import InvalidRequest

from ..access.tokens import Scope
from ..http import tokens as calls
from ..http.requests import TheCurator
from .pages import PageRoute, page, see_other
from .visitor import Admins, TheForm

PER_PAGE = 100

router = APIRouter(
    prefix="/access", route_class=PageRoute, include_in_schema=False, dependencies=[Admins]
)


@router.get("")
def show_access(
    request: Request,
    curator: TheCurator,
    before: Annotated[int | None, Query(ge=1, le=2**31)] = None,
) -> Response:
    """All tokens without their values, and the audit log, the latest first."""
    return _page(request, curator, before)


@router.post("/tokens")
def issue(request: Request, curator: TheCurator, form: TheForm) -> Response:
    """Issue a token, in place of any earlier one of that name; its value is shown this once."""
    name, scope = str(form.get("name", "")).strip(), str(form.get("scope"))
    days = str(form.get("days", "")).strip()
    if scope not in list(Scope) or (days and not days.isdecimal()):
        raise InvalidRequest("A token has one of the scopes, and ends after whole days or never.")
    body = calls.TokenRequest(scope=Scope(scope), days=float(days) if days else None)
    return _page(request, curator, issued=calls.issue_token(name, request, body))


@router.post("/tokens/revoke")
def revoke(request: Request, form: TheForm) -> Response:
    calls.revoke_token(str(form.get("name", "")), request)
    return see_other("/access")


def _page(
    request: Request,
    curator: TheCurator,
    before: int | None = None,
    issued: calls.IssuedToken | None = None,
) -> Response:
    entries = calls.read_audit(curator, PER_PAGE, before)
    return page(
        request,
        "access.html",
        tokens=calls.list_tokens(request),
        scopes=list(Scope),
        issued=issued,
        entries=entries,
        older=entries[-1].no if len(entries) == PER_PAGE else None,
    )
