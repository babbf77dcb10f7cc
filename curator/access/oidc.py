"""Sign-in of people by OpenID Connect: the authorization code flow, with PKCE, state and nonce.

What the provider signs is checked for its algorithm, key, issuer, audience, times and nonce before
anything in it is used. Only then a claim gives its subject one of the scopes that tokens have.
"""

import hmac
import logging
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_urlsafe
from threading import BoundedSemaphore
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from privet.admin.results import Scope
from privet.http_client.address import DIRECT
from privet.protocol.errors import InsufficientScope, NotAuthorized, Overloaded

from ..datastore.tokens import StoredToken
from ..settings import SAFE_URL, Settings
from .tokens import PERSON

ALGORITHMS = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)]
ALGORITHMS += ["EdDSA", "Ed25519"]
"""Asymmetric algorithms only: no ``none``, no HMAC."""
LEEWAY_SECONDS = 60
"""Tolerated difference of the provider's clock from ours, in seconds."""
KEPT_SECONDS = 600.0
"""Cache lifetime of the discovery document and the JWKS, in seconds."""
PAUSE_SECONDS = 30.0
"""Minimum interval between JWKS refreshes for an unknown kid, in seconds."""
ANSWER_SECONDS = 5.0
MAX_CALLS = 4
"""Calls of the provider at a time, so that a slow one does not hold all threads."""
MAX_NAME = 64
DISCOVERY = "/.well-known/openid-configuration"
CALLED, USERINFO = ("authorization_endpoint", "token_endpoint", "jwks_uri"), "userinfo_endpoint"
AUTH_METHODS = "token_endpoint_auth_methods_supported"
NAMES_ITSELF = "authorization_response_iss_parameter_supported"
"""RFC 9207: the authorization response carries ``iss``."""
KEY_TYPES = frozenset({"RSA", "EC", "OKP"})
REQUIRED = {name: {"essential": True} for name in ("sub", "exp", "iat")}

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Person:
    """Somebody whom the provider named; ``name`` is for people to read, and need not be unique."""

    subject: str
    name: str
    scope: Scope

    @property
    def actor(self) -> str:
        """The name in the audit log: the subject, or its SHA-256 if that is too long."""
        actor = PERSON + self.subject
        if len(actor) > MAX_NAME or not self.subject.isprintable():
            actor = PERSON + sha256(self.subject.encode()).hexdigest()[: MAX_NAME - len(PERSON)]
        return actor


@dataclass(frozen=True)
class Published:
    """The provider's discovery document, and when it was fetched."""

    metadata: Mapping[str, Any]
    keys: KeySet
    at: float


class Provider:
    """The OpenID provider that the settings name. Any thread may call it."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float], time: Callable[[], float] = monotonic
    ) -> None:
        assert settings.oidc_client_secret is not None  # noqa: S101 - checked by the settings
        self._secret = settings.oidc_client_secret.get_secret_value()
        self._settings, self._issuer = settings, settings.oidc_issuer
        self.host = urlsplit(self._issuer).netloc
        self.session_seconds = settings.oidc_session_seconds
        self._clock, self._time = clock, time
        self._published: Published | None = None
        self._renewed_at = -PAUSE_SECONDS
        self._calls = BoundedSemaphore(MAX_CALLS)
        once = httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.Client(timeout=ANSWER_SECONDS, mounts=DIRECT, limits=once)

    def key(self, session_key: str, purpose: str) -> bytes:
        """A key for Fernet that takes both the database's session key and the client secret.

        It changes with whatever says who people are and what they may do.
        """
        given = self._settings
        rules = (given.oidc_client_id, given.oidc_claim, *given.oidc_values)
        about = "\n".join((purpose, session_key, self._issuer, *rules))
        return urlsafe_b64encode(hmac.digest(self._secret.encode(), about.encode(), "sha256"))

    def begin(self, then: str) -> tuple[str, dict[str, str]]:
        """The provider's address for a browser, and a sealed cookie for it; raises
        ``Overloaded``."""
        attempt = {name: token_urlsafe(48) for name in ("state", "nonce", "verifier")}
        challenge = urlsafe_b64encode(sha256(attempt["verifier"].encode()).digest()).decode()
        query = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": self._settings.oidc_redirect_uri,
            "scope": self._settings.oidc_scope,
            "state": attempt["state"],
            "nonce": attempt["nonce"],
            "code_challenge": challenge.rstrip("="),
            "code_challenge_method": "S256",
        }
        address = _with(self._known().metadata["authorization_endpoint"], query)
        return address, attempt | {"then": then}

    def is_answer(self, answer: Mapping[str, str], attempt: Mapping[str, str]) -> bool:
        """True if ``answer``, a redirect's query, has the secret state of ``attempt``."""
        came, sent = answer.get("state", ""), attempt.get("state", "")
        return bool(sent) and hmac.compare_digest(came.encode(), sent.encode())

    def finish(self, answer: Mapping[str, str], attempt: Mapping[str, str]) -> Person:
        """The person that ``answer``, the redirect's query, names for this ``attempt``.

        Raises ``NotAuthorized``, ``InsufficientScope`` for somebody without a role, ``Overloaded``.
        """
        if not self.is_answer(answer, attempt):
            raise NotAuthorized("This sign-in was not started here, or too long ago: start again.")
        metadata = self._known().metadata
        if answer.get("iss", not metadata.get(NAMES_ITSELF) and self._issuer) != self._issuer:
            raise NotAuthorized("The answer came from another OpenID provider: start again.")
        if "code" not in answer:
            reason = answer.get("error", "no code")[:MAX_NAME]
            raise NotAuthorized(f"The OpenID provider did not let you in: {reason}.")
        client = self._settings.oidc_client_id
        tokens = self._asked(
            lambda http: self._redeem(http, metadata, answer["code"], attempt["verifier"])
        )
        claims = self._claims(
            tokens["id_token"],
            aud={"essential": True, "value": client},
            nonce={"essential": True, "value": attempt["nonce"]},
            azp={"value": client},
        )
        if _at(claims, self._settings.oidc_claim) is None and USERINFO in metadata:
            more = self._asked(lambda http: _userinfo(http, metadata, tokens["access_token"]))
            claims = {**more, **claims} if more.get("sub") == claims["sub"] else claims
        return self._person(claims)

    def bearer(self, token: str) -> StoredToken | None:
        """The access token of somebody who calls the API; None if it is nothing that we take.

        Raises ``NotAuthorized``, ``InsufficientScope`` for somebody without a role, ``Overloaded``.
        """
        audience = self._settings.oidc_audience
        if not audience or token.count(".") != 2:
            return None
        claims = self._claims(token, aud={"essential": True, "value": audience})
        person = self._person(claims)
        return StoredToken(person.actor, person.scope, b"", self._clock())

    def end_address(self) -> str | None:
        """The provider's address for signing out; None if it publishes none."""
        try:
            address = self._known().metadata.get("end_session_endpoint")
        except Overloaded:
            return None
        return address and _with(address, {"client_id": self._settings.oidc_client_id})

    def _redeem(
        self, http: httpx.Client, metadata: Mapping[str, Any], code: str, verifier: str
    ) -> dict[str, str]:
        """The tokens for a code, which is good once."""
        client = self._settings.oidc_client_id
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._settings.oidc_redirect_uri,
            "code_verifier": verifier,
        }
        basic = httpx.BasicAuth(quote_plus(client), quote_plus(self._secret))
        if "client_secret_basic" in metadata.get(AUTH_METHODS, ["client_secret_basic"]):
            answer = http.post(metadata["token_endpoint"], data=form, auth=basic)
        else:
            secret = {"client_id": client, "client_secret": self._secret}
            answer = http.post(metadata["token_endpoint"], data=form | secret)
        if answer.status_code == httpx.codes.BAD_REQUEST:  # RFC 6749, section 5.2
            raise NotAuthorized("The OpenID provider does not recognise this sign-in: start again.")
        tokens = answer.raise_for_status().json()
        return {name: tokens[name] for name in ("id_token", "access_token")}

    def _claims(self, token: str, **expected: Any) -> dict[str, Any]:
        """The claims of ``token``, if the provider signed it and it is valid now and
        ``expected``."""
        iss = {"essential": True, "value": self._issuer}
        rules = jwt.JWTClaimsRegistry(
            int(self._clock()), LEEWAY_SECONDS, **{**REQUIRED, "iss": iss, **expected}
        )
        try:
            try:
                claims = jwt.decode(token, self._known().keys, ALGORITHMS).claims
            except InvalidKeyIdError:  # the provider may have a new one
                claims = jwt.decode(token, self._renewed().keys, ALGORITHMS).claims
            rules.validate(claims)
            datetime.fromtimestamp(claims["exp"], UTC)  # or no other arithmetic knows it either
        except (JoseError, ValueError, OverflowError, OSError) as error:
            reason = getattr(error, "error", "malformed")
            raise NotAuthorized(
                f"The token of the OpenID provider is not accepted ({reason}): sign in again."
            ) from None
        return claims

    def _person(self, claims: Mapping[str, Any]) -> Person:
        """Whoever the claims name, with their scope."""
        values = _at(claims, self._settings.oidc_claim)
        held = {
            value
            for value in (values if isinstance(values, list) else [values])
            if isinstance(value, str)
        }
        if self._settings.oidc_claim == "email" and claims.get("email_verified") is not True:
            held.clear()  # people write what they like there
        scopes = (Scope.ADMIN, Scope.FITTER, Scope.READER)
        for scope, listed in zip(scopes, self._settings.oidc_values, strict=True):
            if held & set(filter(None, map(str.strip, listed.split(",")))):
                return Person(claims["sub"], _name(claims), scope)
        raise InsufficientScope(
            f"{Person(claims['sub'], '', Scope.READER).actor} has no role here: ask whoever runs "
            f"the provider for one, in the claim {self._settings.oidc_claim}."
        )

    def _known(self) -> Published:
        """The provider's discovery document, fetched again if older than ``KEPT_SECONDS``."""
        known = self._published
        if known is None or self._time() - known.at >= KEPT_SECONDS:
            known = self._published = self._asked(self._fetch)
        return known

    def _renewed(self) -> Published:
        """The discovery document, fetched anew if no try was made for ``PAUSE_SECONDS``."""
        known, now = self._known(), self._time()
        if now - max(known.at, self._renewed_at) >= PAUSE_SECONDS:
            self._renewed_at = now
            known = self._published = self._asked(self._fetch)
        return known

    def _fetch(self, http: httpx.Client) -> Published:
        at = self._time()
        metadata = http.get(self._issuer.rstrip("/") + DISCOVERY).raise_for_status().json()
        if metadata["issuer"] != self._issuer:
            raise ValueError(f"its issuer is {metadata['issuer']}")
        addresses = {metadata[name] for name in CALLED} | {metadata.get(USERINFO, self._issuer)}
        if not all(map(SAFE_URL.match, addresses)):
            raise ValueError("one of its addresses is not https")
        keys = http.get(metadata["jwks_uri"]).raise_for_status().json()["keys"]
        supported = [key for key in keys if key["kty"] in KEY_TYPES]
        return Published(metadata, KeySet.import_key_set({"keys": supported}), at)

    def _asked(self, ask: Callable[[httpx.Client], T]) -> T:
        """The provider's reply to ``ask``; raises ``Overloaded`` for any other."""
        if not self._calls.acquire(blocking=False):
            raise Overloaded("Too many people sign in at this moment: try again in a minute.")
        try:
            return ask(self._http)
        except (httpx.HTTPError, JoseError, ValueError, LookupError, TypeError) as error:
            log.warning("the OpenID provider does not answer as it should: %s", error)
            raise Overloaded(
                "The OpenID provider does not answer as it should: try again in a minute, or use a "
                "token. The operator finds the cause in the curator's log."
            ) from error
        finally:
            self._calls.release()


def _userinfo(http: httpx.Client, metadata: Mapping[str, Any], token: str) -> dict[str, Any]:
    """Claims that the provider does not put into ID tokens."""
    bearer = {"Authorization": f"Bearer {token}"}
    answer = http.get(metadata[USERINFO], headers=bearer).raise_for_status()
    return dict(answer.json())


def _at(claims: Any, name: str) -> Any:
    """The claim by its name, whose dots lead into objects; None if there is none."""
    if not isinstance(claims, Mapping) or name in claims or "." not in name:
        return claims.get(name) if isinstance(claims, Mapping) else None
    first, _, rest = name.partition(".")
    return _at(claims.get(first), rest)


def _name(claims: Mapping[str, Any]) -> str:
    named = claims.get("name") or claims.get("preferred_username") or claims["sub"]
    return "".join(filter(str.isprintable, str(named)))[:MAX_NAME]


def _with(address: str, query: Mapping[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"
