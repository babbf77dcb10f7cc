"""A small OpenID provider over real HTTP, which can be told to misbehave.

It has no pages: ``sign_in`` says who has come with an address of the authorization endpoint, and
gives the address that the browser would be sent back to.
"""

import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.fake_curator import on_a_port
from tests.manual_clock import ManualClock

CLIENT, SECRET = "privet", "s3cret-of-the-client-Yh2kQpV9dLrXw8Tn"
REDIRECT = "http://127.0.0.1:8000/sign-in/callback"


@dataclass
class OpenIdProvider:
    """Signs with the last of ``keys``; what tokens say is overridden by ``lie``."""

    clock: ManualClock
    root: str = ""
    keys: list[ECKey] = field(default_factory=lambda: [new_key()])
    algorithm: str = "ES256"
    lie: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    userinfo: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        """Those of a curator that takes the people of this provider."""
        return {
            "oidc_issuer": self.root,
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SECRET,
            "oidc_redirect_uri": REDIRECT,
            "oidc_admins": "privet-admin, owner",
            "oidc_fitters": "privet-fitter",
            "oidc_readers": "privet-reader",
            "oidc_audience": "privet-api",
        }

    def sign_in(self, address: str, subject: str = "ada", **claims: Any) -> str:
        """Where the browser goes from the authorization endpoint, as path and query."""
        query = dict(parse_qsl(urlsplit(address).query))
        assert address.startswith(f"{self.root}/authorize?")
        assert (query["client_id"], query["redirect_uri"]) == (CLIENT, REDIRECT)
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        self.people[code] = {"sub": subject, "nonce": query["nonce"], **claims}
        returned = {"code": code, "state": query["state"], "iss": self.root}
        return f"{urlsplit(REDIRECT).path}?{urlencode(returned)}"

    def token(self, audience: str = CLIENT, key: ECKey | None = None, **claims: Any) -> str:
        """A signed token of this provider."""
        now = int(self.clock())
        said = {"iss": self.root, "aud": audience, "iat": now, "exp": now + 300, **claims}
        said = {name: value for name, value in (said | self.lie).items() if value is not None}
        used = key or self.keys[-1]
        header = {"alg": self.algorithm, "kid": used.kid}
        return jwt.encode(header, said, used, algorithms=[self.algorithm])

    async def discover(self, request: Request) -> Response:
        self.calls.append("discover")
        said = {
            "issuer": self.root,
            "authorization_endpoint": f"{self.root}/authorize",
            "token_endpoint": f"{self.root}/token",
            "userinfo_endpoint": f"{self.root}/userinfo",
            "end_session_endpoint": f"{self.root}/logout",
            "jwks_uri": f"{self.root}/keys",
        }
        return JSONResponse(said | self.metadata, self.status)

    async def publish_keys(self, request: Request) -> Response:
        public = KeySet([*self.keys]).as_dict(private=False)["keys"]
        return JSONResponse({"keys": [*public, {"kty": "new kind", "kid": "odd"}]}, self.status)

    async def redeem(self, request: Request) -> Response:
        """Once for each code, to the client that it was for, with the verifier of its challenge."""
        self.calls.append("token")
        form = {name: str(value) for name, value in (await request.form()).items()}
        basic = base64.b64decode(request.headers.get("authorization", "")[6:]).decode()
        client, _, secret = basic.partition(":")
        if not basic:
            client, secret = form["client_id"], form["client_secret"]
        if (unquote_plus(client), unquote_plus(secret)) != (CLIENT, SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or challenge != asked["code_challenge"]
            or form["redirect_uri"] != REDIRECT
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        said = {"id_token": self.token(**self.people[form["code"]]), "access_token": "at"}
        return JSONResponse({**said, "token_type": "Bearer"}, self.status)

    async def tell(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer at"
        return JSONResponse(self.userinfo, self.status)

    def app(self) -> Starlette:
        """Its endpoints but the one for people."""
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.discover),
                Route("/keys", self.publish_keys),
                Route("/token", self.redeem, methods=["POST"]),
                Route("/userinfo", self.tell),
            ]
        )


def new_key() -> ECKey:
    """A key with an id of its own."""
    return ECKey.generate_key("P-256", {"kid": secrets.token_hex(4)})


@contextmanager
def running(clock: ManualClock) -> Iterator[OpenIdProvider]:
    """A provider on a free port of this machine, until the block ends."""
    provider = OpenIdProvider(clock)
    with on_a_port(provider.app()) as provider.root:
        yield provider
