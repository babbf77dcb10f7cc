"""Pages for admins about who may do what, and who did: tokens and the audit log."""

from fastapi import APIRouter, Request, Response

from privet.admin.results import IssuedToken, Scope
from privet.protocol.errors import InvalidRequest

from ..http.requests import TheCurator
from ..operations.access import (
    Before,
    TokenRequest,
    issue_token,
    list_tokens,
    read_audit,
    revoke_token,
)
from ..operations.curator import Curator
from .pages import PageRoute, page, see_other
from .visitor import Admins, TheForm, TheVisitor, Visitor

PER_PAGE = 100

router = APIRouter(
    prefix="/access", route_class=PageRoute, include_in_schema=False, dependencies=[Admins]
)


@router.get("")
def show_access(
    request: Request,
    curator: TheCurator,
    visitor: TheVisitor,
    before: Before = None,
) -> Response:
    """All tokens without their values, and the audit log, the latest first."""
    return _page(request, curator, visitor, before)


@router.post("/tokens")
def issue(request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm) -> Response:
    """Issue a token, in place of any earlier one of that name; its value is shown only once."""
    name, scope = str(form.get("name", "")).strip(), str(form.get("scope"))
    days = str(form.get("days", "")).strip()
    if scope not in list(Scope) or (days and not days.isdecimal()):
        raise InvalidRequest(
            "Give one of the scopes, and the days as a whole number or not at all."
        )
    body = TokenRequest(scope=Scope(scope), days=float(days) if days else None)
    return _page(request, curator, visitor, issued=issue_token(curator, visitor, name, body))


@router.post("/tokens/revoke")
def revoke(curator: TheCurator, visitor: TheVisitor, form: TheForm) -> Response:
    revoke_token(curator, visitor, str(form.get("name", "")))
    return see_other("/access")


def _page(
    request: Request,
    curator: Curator,
    visitor: Visitor,
    before: int | None = None,
    issued: IssuedToken | None = None,
) -> Response:
    entries = read_audit(curator, visitor, PER_PAGE, before)
    return page(
        request,
        "access.html",
        tokens=list_tokens(curator, visitor),
        scopes=list(Scope),
        issued=issued,
        entries=entries,
        older=entries[-1].no if len(entries) == PER_PAGE else None,
    )
