"""Pages for admins about who may do what, and who did: tokens and the audit log."""

import re
from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from privet.admin.results import SERVING, AuditLogEntry, IssuedToken, Scope
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
from ..operations.tasks import listed_tasks
from .pages import PageRoute, detail, in_words, page, see_other
from .visitor import Admins, TheForm, TheVisitor, Visitor

PER_PAGE = 100
MAY = {
    Scope.READER: "Read all about studies: exact counts, drafts, refused answers, the comparison "
    "with the file. Change nothing.",
    Scope.FITTER: "Read the same, and fit models by the API. The first of a study is in use "
    "at once; later ones once an admin says so.",
    Scope.RELAY: "Send in batches of answers: for the program that runs a relay. It reads only "
    "what anybody can.",
    Scope.ADMIN: "Everything: create, close and delete studies, fit models, invite people, issue "
    "and revoke tokens.",
}
"""The rights of each scope in words, the least dangerous for people first."""
SHORT = {
    Scope.READER: "read (reader)",
    Scope.FITTER: "read, and fit models (fitter)",
    Scope.RELAY: "send in answers (relay)",
    Scope.ADMIN: "everything (admin)",
}
HASH = re.compile(r"[0-9a-f]{16,}")
NAMES = {"number": "model", "estimator": "way to fit:", "scope": "may do:"}
"""Facts of an entry in people's words."""
ACTIONS = {
    "signing key set": "key for signatures first used",
    "signing key rotated": "key for signatures replaced",
    "signing key given up": "key for signatures given up",
}
"""Actions of an entry in people's words; others need none."""

router = APIRouter(
    prefix="/access", route_class=PageRoute, include_in_schema=False, dependencies=[Admins]
)


@router.get("")
def show_access(
    request: Request, curator: TheCurator, visitor: TheVisitor, before: Before = None
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
        may=MAY,
        short=SHORT,
        issued=issued,
        entries=[
            (entry, ACTIONS.get(entry.action, entry.action), *_facts(entry)) for entry in entries
        ],
        studies={each.head.id: each.head.name for each in listed_tasks(curator, visitor)},
        older=entries[-1].no if len(entries) == PER_PAGE else None,
    )


def _facts(entry: AuditLogEntry) -> tuple[list[str], dict[str, str]]:
    """The facts of an entry in words, without its study's name and its time, and the hashes among
    them apart."""
    facts = {name: of for name, of in entry.detail.items() if of not in ("", [], None)}
    hashes = {name: of for name, of in facts.items() if HASH.fullmatch(str(of))}
    said = {name: of for name, of in facts.items() if name not in {*hashes, "moved"}}
    if "scope" in said:
        said["scope"] = SHORT.get(said["scope"], said["scope"])  # the log may be a later version's
    if entry.action == "task created":
        said.pop("name", None)
    aliases = [*said.pop("aliases", []), *filter(None, [said.pop("alias", None)])]
    if isinstance(waves := said.get("waves"), Mapping):
        said["waves"], hashes = len(waves), {**hashes, **waves}
    words = [
        f"{detail(of)} {name}"
        if name in {"days", "waves"}
        else f"{NAMES.get(name, name)} {in_words(of) if name == 'estimator' else detail(of)}"
        for name, of in said.items()
    ]
    words += ["put in use" if each == SERVING else f"alias {each}" for each in aliases]
    return words, {NAMES.get(name, name): of for name, of in hashes.items()}
