"""The visitor of a page: a stranger, or whoever signed in with an API token or by OpenID Connect.

The cookie of a session is the token, sealed (Fernet) with a key that the database keeps, and good
for ``SESSION_SECONDS``. So every request checks the token as the API does, a revoked token ends its
sessions at once, all processes of a curator know them, a cookie does not disclose the token, and
the database by itself lets nobody in. The cookie of somebody whom a provider named holds their name
and scope, sealed with a key that takes the provider's client secret too.
"""

import hmac
import json
from collections.abc import AsyncIterator, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from cryptography.fernet import Fernet, InvalidToken
from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.requests import HTTPConnection

from privet.admin.results import Scope
from privet.http_server.addresses import client_address
from privet.learning.figures.sentences import PUBLIC_FILE, YOUR_FILE
from privet.protocol.errors import InsufficientScope, InvalidRequest, NotAuthorized, Overloaded

from ..access.tokens import ENVIRONMENT
from ..http.requests import bearer_of
from ..http.state import State, state_of
from ..operations.curator import Curator

if TYPE_CHECKING:
    from ..access.oidc import Provider

COOKIE = "privet-session"
SESSION_SECONDS = 12 * 3600
TOKEN, PERSON, ATTEMPT, KNOWN = "token", "person", "attempt", "known"
"""The kinds of cookies; each is sealed with a key of its own."""
FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field
OWNER = "owner"


def file_named(*, reads: bool) -> str:
    """The file with public records, as pages name it to those who may read all, and to others."""
    return YOUR_FILE if reads else PUBLIC_FILE


@dataclass(frozen=True)
class Visitor:
    """The visitor of a page; ``name`` is the token's or person's, empty for a stranger."""

    name: str = ""
    scope: str = ""
    form_token: str = ""
    """Secret in every form of this session, which no other site can know."""
    id: str = ""
    """The name in the audit log."""
    is_person: bool = False
    """True if an OpenID provider named them."""

    @property
    def admin(self) -> bool:
        return self.scope == Scope.ADMIN

    @property
    def title(self) -> str:
        """The visitor as a page's head names them."""
        return "Administrator" if self.name == ENVIRONMENT else f"{self.name} ({self.scope})"

    @property
    def reads(self) -> bool:
        """True if the token allows reading what strangers may not."""
        return self._may(Scope.READER)

    @property
    def file(self) -> str:
        """The file with public records, as a page names it to them."""
        return file_named(reads=self.reads)

    def need(self, scope: Scope, what: str = "") -> None:  # noqa: ARG002 (as Actor has it)
        """Raise ``NotAuthorized`` or ``InsufficientScope`` unless they may do this."""
        if self._may(scope):
            return
        error = InsufficientScope if self.reads else NotAuthorized
        if scope is Scope.ADMIN:
            raise error("This is for administrators: sign in with an administrator's token.")
        raise error(f"This needs a token of scope {scope.or_higher}: sign in with one.")

    def _may(self, scope: Scope) -> bool:
        return bool(self.scope) and Scope(self.scope).allows(scope)


class Sessions:
    """Seals what cookies hold, and opens them again."""

    def __init__(self, curator: Curator, provider: "Provider | None") -> None:
        self._curator, self._provider = curator, provider

    @classmethod
    def of(cls, state: State) -> Self:
        return cls(state.curator, state.provider)

    def seal(self, text: str, kind: str = TOKEN) -> str:
        now = int(self._curator.clock())
        return self._fernet(kind).encrypt_at_time(text.encode(), now).decode()

    def open(self, cookie: str, kind: str = TOKEN, seconds: int = SESSION_SECONDS) -> str | None:
        """The cookie's content; None if it is not ours, of another kind, or too old."""
        try:
            now = int(self._curator.clock())
            return self._fernet(kind).decrypt_at_time(cookie.encode(), seconds, now).decode()
        except InvalidToken:
            return None

    def visitor(self, cookie: str) -> Visitor:
        """The visitor whose session the cookie is; a stranger if it has ended."""
        token = self.open(cookie)
        if token is None:
            return self._person(cookie)
        try:
            stored = self._curator.tokens.known(token)
        except (NotAuthorized, InsufficientScope, Overloaded):
            return Visitor()
        return Visitor(stored.name, stored.scope, self.form_token(cookie), stored.name)

    def _person(self, cookie: str) -> Visitor:
        """The person of the session in a cookie, as their provider named them; else a stranger."""
        if self._provider is None:
            return Visitor()
        named = self.open(cookie, PERSON, self._provider.session_seconds)
        if named is None:
            return Visitor()
        person = json.loads(named)
        form_token = self.form_token(cookie)
        return Visitor(person["name"], person["scope"], form_token, person["actor"], is_person=True)

    def form_token(self, cookie: str) -> str:
        """The token that a session's forms send back."""
        return hmac.digest(self._curator.session_key.encode(), cookie.encode(), "sha256").hex()

    def _fernet(self, kind: str) -> Fernet:
        if kind == TOKEN:
            return Fernet(self._curator.session_key)
        if self._provider is None:
            raise NotAuthorized("This curator has no OpenID provider: sign in with a token.")
        return Fernet(self._provider.key(self._curator.session_key, kind))


def sender_of(curator: Curator, provider: "Provider | None", call: HTTPConnection) -> Hashable:
    """The owner of a good token or session, whom no neighbour limits; else the client address."""
    token, cookie = bearer_of(call), call.cookies.get(COOKIE)
    name = ""
    if token is not None:
        with suppress(NotAuthorized, InsufficientScope, Overloaded):
            name = curator.tokens.known(token).name
    elif cookie is not None:
        name = Sessions(curator, provider).visitor(cookie).id
    return (OWNER, name) if name else client_address(call.scope)


def visitor_of(request: Request) -> Visitor:
    """The visitor who sent the request; a stranger if the session has ended."""
    cookie = request.cookies.get(COOKIE)
    return Visitor() if cookie is None else Sessions.of(state_of(request)).visitor(cookie)


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = request.state.visitor
    return visitor


def _need_admin(request: Request) -> None:
    _visitor(request).need(Scope.ADMIN)


def _need_reader(request: Request) -> None:
    _visitor(request).need(Scope.READER)


def _need_model_reader(request: Request) -> None:
    if state_of(request).curator.guard_models:
        _need_reader(request)


async def _form(request: Request) -> AsyncIterator[FormData]:
    """The fields of a form that this session's own page has sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAuthorized("The form came from another site: open it here.")
    async with request.form(max_files=3) as form:
        expected = _visitor(request).form_token
        if not hmac.compare_digest(str(form.get(FORM_TOKEN, "")).encode(), expected.encode()):
            raise InvalidRequest("The form is from another session: load the page again.")
        yield form


TheVisitor = Annotated[Visitor, Depends(_visitor)]
TheForm = Annotated[FormData, Depends(_form)]
OwnForm: Any = Depends(_form)
"""Dependency of forms without fields."""
Admins: Any = Depends(_need_admin)
Readers: Any = Depends(_need_reader)
ModelReaders: Any = Depends(_need_model_reader)
