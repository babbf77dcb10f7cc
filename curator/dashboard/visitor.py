"""The visitor of a page: a stranger, or whoever signed in with an API token.

The cookie of a session is the token, sealed (Fernet) with a key that the database keeps, and good
for ``SESSION_SECONDS``. So every request checks the token as the API does, a revoked token ends its
sessions at once, all processes of a curator know them, a cookie does not disclose the token, and
the database alone lets nobody in.
"""

import hmac
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from cryptography.fernet import Fernet, InvalidToken
from fastapi import Depends, Request
from starlette.datastructures import FormData

from privet.protocol.errors import InsufficientScope, InvalidRequest, NotAuthorized

from ..access.tokens import Scope

COOKIE = "privet-session"
SESSION_SECONDS = 12 * 3600
KEY = "session_key"
"""Name of the fact that holds the key of sessions."""
FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field
MOST_FIELDS = 4_000


@dataclass(frozen=True)
class Visitor:
    """Who looks at a page; ``name`` is that of the token, empty for a stranger."""

    name: str = ""
    scope: str = ""
    form_token: str = ""
    """Secret in every form of this session, which no other site can know."""

    @property
    def admin(self) -> bool:
        return self.scope == Scope.ADMIN

    @property
    def reader(self) -> bool:
        """Whether the token allows reading what strangers may not."""
        return self.scope in (Scope.ADMIN, Scope.READER)


class Sessions:
    """Seals tokens into cookies and opens them again."""

    def __init__(self, state: Any) -> None:
        self._store, self._clock = state.curator.store, state.curator.clock

    def seal(self, token: str) -> str:
        """The cookie of a new session."""
        return self._fernet().encrypt_at_time(token.encode(), int(self._clock())).decode()

    def open(self, cookie: str) -> str | None:
        """The token in a cookie; None if it is not one of ours, or too old."""
        try:
            now = int(self._clock())
            return self._fernet().decrypt_at_time(cookie.encode(), SESSION_SECONDS, now).decode()
        except InvalidToken:
            return None

    def form_token(self, cookie: str) -> str:
        """What forms of a session send back."""
        return hmac.digest(self._key().encode(), cookie.encode(), "sha256").hex()

    def _fernet(self) -> Fernet:
        return Fernet(self._key())

    def _key(self) -> str:
        key: str | None = self._store.fact(KEY)
        return key or str(self._store.note_first(KEY, Fernet.generate_key().decode()))


def visitor_of(request: Request) -> Visitor:
    """Who sent the request; a session that has ended is a stranger's."""
    cookie = request.cookies.get(COOKIE)
    if cookie is None:
        return Visitor()
    sessions = Sessions(request.app.state)
    token = sessions.open(cookie)
    if token is None:
        return Visitor()
    try:
        stored = request.app.state.tokens.find(token)
    except NotAuthorized:
        return Visitor()
    return Visitor(stored.name, stored.scope, sessions.form_token(cookie))


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = request.state.visitor
    return visitor


def _need_admin(request: Request) -> None:
    visitor = _visitor(request)
    if not visitor.admin:
        error = InsufficientScope if visitor.reader else NotAuthorized
        raise error("This takes an admin token: sign in with one.")
    request.state.actor = visitor.name


def _need_reader(request: Request) -> None:
    if not _visitor(request).reader:
        raise NotAuthorized("This takes a token of scope reader or admin: sign in with one.")


def _need_model_reader(request: Request) -> None:
    if request.app.state.guard_models:
        _need_reader(request)


async def _form(request: Request) -> AsyncIterator[FormData]:
    """The fields of a form that this session's own page has sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAuthorized("The form came from another site: open it here.")
    async with request.form(max_files=1, max_fields=MOST_FIELDS) as form:
        expected = _visitor(request).form_token
        if not hmac.compare_digest(str(form.get(FORM_TOKEN, "")).encode(), expected.encode()):
            raise InvalidRequest("The form is from another session: load the page again.")
        yield form


TheVisitor = Annotated[Visitor, Depends(_visitor)]
TheForm = Annotated[FormData, Depends(_form)]
OwnForm: Any = Depends(_form)
"""For forms without fields."""
Admins: Any = Depends(_need_admin)
Readers: Any = Depends(_need_reader)
ModelReaders: Any = Depends(_need_model_reader)
