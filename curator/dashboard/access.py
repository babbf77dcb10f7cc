"""Pages for admins about who may do what, and who did: tokens and the audit log."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from privet.protocol.errors import InvalidRequest

from ..access.tokens import Scope
from ..http.requests import TheCurator
from ..http.tokens import AuditView, IssuedToken, TokenRequest, TokenView
from ..service import Curator
from ..service import access as cases
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
    before: Annotated[int | None, Query(ge=1, le=2**31)] = None,
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
    token = cases.issue_token(curator, visitor, name, body.scope, body.days)
    issued = IssuedToken(name=name, scope=body.scope, token=token)
    return _page(request, curator, visitor, issued=issued)


@router.post("/tokens/revoke")
def revoke(curator: TheCurator, visitor: TheVisitor, form: TheForm) -> Response:
    cases.revoke_token(curator, visitor, str(form.get("name", "")))
    return see_other("/access")


def _page(
    request: Request,
    curator: Curator,
    visitor: Visitor,
    before: int | None = None,
    issued: IssuedToken | None = None,
) -> Response:
    found = cases.read_audit(curator, visitor, PER_PAGE, before)
    entries = [AuditView.of(entry) for entry in found]
    return page(
        request,
        "access.html",
        tokens=[TokenView.of(token) for token in cases.list_tokens(curator, visitor)],
        scopes=list(Scope),
        issued=issued,
        entries=entries,
        older=entries[-1].no if len(entries) == PER_PAGE else None,
    )
