"""People sign in by OpenID Connect, and only those whom the provider names, for us, now."""

import hmac
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from pydantic import ValidationError

from privet.curator.access.oidc import (
    KEPT_SECONDS,
    LEEWAY_SECONDS,
    MAX_CALLS,
    PAUSE_SECONDS,
    Provider,
)
from privet.curator.app import create_app
from privet.curator.dashboard.provider import (
    ATTEMPT_COOKIE,
    ATTEMPT_SECONDS,
    KNOWN_COOKIE,
    KNOWN_SECONDS,
)
from privet.curator.dashboard.visitor import COOKIE, PERSON, Sessions
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.protocol.errors import InsufficientScope, NotAuthorized, Overloaded
from tests.curator.access.openid_provider import CLIENT, SECRET, OpenIdProvider, new_key, running
from tests.curator.datastore.servers import new_store
from tests.curator.http.conftest import TOKEN, Http, client_of
from tests.keeping import keeps
from tests.manual_clock import ManualClock
from tests.problems import assert_problem

ADMIN: dict[str, Any] = {"roles": ["privet-admin"]}
NOW = int(ManualClock()())
SEALED = '{"name": "Ada", "scope": "admin", "actor": "oidc:ada"}'
"""What the cookie of an admin's session holds."""


@pytest.fixture(scope="module")
def served() -> Iterator[OpenIdProvider]:
    with running(ManualClock()) as made:
        yield made


@pytest.fixture
def provider(served: OpenIdProvider, clock: ManualClock) -> OpenIdProvider:
    """As good as new."""
    vars(served).update(vars(OpenIdProvider(clock, served.root)))
    return served


@pytest.fixture
def ours(provider: OpenIdProvider, clock: ManualClock) -> Provider:
    """What a curator knows of the provider; time passes by the same clock."""
    return Provider(settings_of(provider), clock, clock)


@pytest.fixture
async def http(
    provider: OpenIdProvider, clock: ManualClock, workers: Workers
) -> AsyncIterator[Http]:
    async with curator(provider, clock, workers) as client:
        yield client


def settings_of(provider: OpenIdProvider, **changed: Any) -> Settings:
    return Settings.model_validate({"admin_token": TOKEN, **provider.settings, **changed})


@asynccontextmanager
async def curator(
    provider: OpenIdProvider, clock: ManualClock, workers: Workers, **changed: Any
) -> AsyncIterator[Http]:
    """A client of a curator whose people this provider knows."""
    made = create_app(
        settings_of(provider, **changed), store=new_store(), clock=clock, workers=workers
    )
    async with made.api.router.lifespan_context(made.api), client_of(made) as client:
        client.base_url = httpx.URL("http://127.0.0.1:8000")
        yield client


async def begin(http: Http, then: str = "/") -> str:
    """The address of the provider that a browser is sent to."""
    answer = await http.get("/sign-in/provider", params={"then": then})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def sign_in(http: Http, provider: OpenIdProvider, **claims: Any) -> httpx.Response:
    """Go there and come back."""
    return await http.get(provider.sign_in(await begin(http), **claims))


def hold(http: Http, name: str, value: str) -> None:
    """Let a browser have this cookie and no other."""
    http.cookies.clear()
    http.cookies.set(name, value, "127.0.0.1", "/" if name == COOKIE else "/sign-in")


def state_of(http: Http) -> Any:
    """What the routes of this client's curator share."""
    return http._transport.app.state  # type: ignore[attr-defined]


def bearer(provider: OpenIdProvider, audience: str = "privet-api", **said: Any) -> dict[str, str]:
    """The headers of a call with an access token."""
    return {"Authorization": f"Bearer {provider.token(audience, **{'sub': 'ada', **said})}"}


def finish(ours: Provider, provider: OpenIdProvider, **claims: Any) -> tuple[str, str]:
    """Who comes back, and their scope."""
    address, attempt = ours.begin("/")
    returned = dict(parse_qsl(urlsplit(provider.sign_in(address, **claims)).query))
    person = ours.finish(returned, attempt)
    return person.actor, person.scope


@keeps(
    "threat-model: a stolen code is worth nothing: PKCE",
    in_="curator/access/oidc.py",
    instead_of='"code_verifier": verifier,',
    plant='"code_verifier": "x" * 64,',
)
async def test_a_person_acts_under_their_own_name(http: Http, provider: OpenIdProvider) -> None:
    """Through the provider and back; what an admin then does is in the audit log as theirs."""
    assert f"Sign in with {urlsplit(provider.root).netloc}" in (await http.get("/sign-in")).text
    answer = await sign_in(http, provider, subject="248289", name="Ada <b>Lovelace</b>", **ADMIN)
    assert answer.status_code == 200
    assert "Ada &lt;b&gt;Lovelace&lt;/b&gt; (admin)" in (await http.get("/")).text
    form = await http.form()
    assert (await form("/access/tokens", name="desk", scope="reader")).status_code == 200
    issued, signed_in = (await http.audit())[:2]
    assert (issued["actor"], issued["action"]) == ("oidc:248289", "token issued")
    assert (signed_in["actor"], signed_in["action"]) == ("oidc:248289", "signed in")
    assert signed_in["detail"] == {"name": "Ada <b>Lovelace</b>", "scope": "admin"}


async def test_a_reader_reads_and_does_nothing_else(http: Http, provider: OpenIdProvider) -> None:
    """The scope is that of a reader's token."""
    task = await http.task(draft=True)
    await sign_in(http, provider, roles="privet-reader")
    assert (await http.get(f"/tasks/{task}")).status_code == 200
    form = await http.form()
    assert (await form(f"/tasks/{task}/move", move="open")).status_code == 403
    assert (await http.get("/access")).status_code == 403


@keeps(
    "threat-model: somebody without a role stays a stranger",
    in_="curator/access/oidc.py",
    instead_of='held & set(filter(None, map(str.strip, listed.split(","))))',
    plant="True",
)
async def test_whoever_has_no_role_stays_a_stranger(http: Http, provider: OpenIdProvider) -> None:
    """403 that names the subject and the claim; no session; and the audit log has it."""
    for roles in (None, [], ["privet"], [["privet-admin"], {}, 1]):
        answer = await sign_in(http, provider, subject="eve", roles=roles)
        assert answer.status_code == 403
        assert "oidc:eve has no role here" in answer.text
        assert COOKIE not in http.cookies
    entry = (await http.audit())[0]
    assert entry["action"] == "sign-in failed"
    assert "oidc:eve has no role here" in entry["detail"]["reason"]


async def test_the_cookies_of_a_sign_in(http: Http, provider: OpenIdProvider) -> None:
    """The attempt's comes along from another site, to the sign-in alone; the session's never."""
    answer = await http.get("/sign-in/provider", params={"then": "/new"})
    (attempt,) = answer.headers.get_list("set-cookie")
    assert {"HttpOnly", "Path=/sign-in", "SameSite=lax"} <= set(attempt.split("; "))
    answer = await http.get(provider.sign_in(answer.headers["location"], **ADMIN))
    session, known, gone = answer.headers.get_list("set-cookie")
    assert {"HttpOnly", "Path=/sign-in", "SameSite=lax"} <= set(known.split("; "))
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=3600"} <= set(session.split("; "))
    assert gone.startswith(f'{ATTEMPT_COOKIE}=""')
    assert '<meta http-equiv="refresh" content="0;url=/new">' in answer.text
    assert not {"location"} & set(answer.headers)  # a redirect from there would come without it


@keeps(
    "threat-model: signing in leads nowhere else",
    in_="curator/dashboard/provider.py",
    instead_of="begin(own_page(then))",
    plant="begin(then)",
)
@pytest.mark.parametrize("then", ["//evil.example", "https://evil.example", "/\\evil.example", "x"])
async def test_signing_in_leads_nowhere_else(
    http: Http, provider: OpenIdProvider, then: str
) -> None:
    """People come back to the address in the settings, and go on with a page of this curator's."""
    http.headers["Host"] = "evil.example"
    address = await begin(http, then)
    assert "evil" not in address
    answer = await http.get(provider.sign_in(address, **ADMIN))
    assert 'content="0;url=/"' in answer.text
    assert "evil" not in answer.text


@keeps(
    "threat-model: another browser cannot finish a sign-in",
    in_="curator/access/oidc.py",
    instead_of="bool(sent) and hmac.compare_digest(came.encode(), sent.encode())",
    plant="True",
)
@keeps(
    "threat-model: an attempt ends after ten minutes",
    in_="curator/dashboard/provider.py",
    instead_of="ATTEMPT, ATTEMPT_SECONDS",
    plant="ATTEMPT, 10**9",
)
async def test_another_browser_cannot_finish(
    http: Http, provider: OpenIdProvider, clock: ManualClock
) -> None:
    """Neither without the attempt's cookie, nor with another attempt's, nor twice, nor late."""
    mine = provider.sign_in(await begin(http), **ADMIN)
    attempt = http.cookies[ATTEMPT_COOKIE]
    http.cookies.clear()
    assert (await http.get(mine)).status_code == 401
    await begin(http)
    assert (await http.get(mine)).status_code == 401
    assert COOKIE not in http.cookies
    assert provider.calls.count("token") == 0  # no code was spent
    hold(http, ATTEMPT_COOKIE, attempt)
    assert (await http.get(mine)).status_code == 200
    hold(http, ATTEMPT_COOKIE, attempt)
    again = await http.get(mine)
    assert again.status_code == 401
    assert "start again" in again.text
    late = provider.sign_in(await begin(http), **ADMIN)
    clock.advance(ATTEMPT_SECONDS + 1)
    assert (await http.get(late)).status_code == 401
    assert COOKIE not in http.cookies


async def test_an_attempt_is_no_session(http: Http, provider: OpenIdProvider) -> None:
    """Each cookie is sealed for its purpose, and a session is no attempt either."""
    await begin(http)
    hold(http, COOKIE, http.cookies[ATTEMPT_COOKIE])
    assert (await http.get("/new")).status_code == 401
    await sign_in(http, provider, **ADMIN)
    session = http.cookies[COOKIE]
    returned = provider.sign_in(await begin(http), **ADMIN)
    hold(http, ATTEMPT_COOKIE, session)
    assert (await http.get(returned)).status_code == 401


@keeps(
    "threat-model: the database alone makes no person's session",
    in_="curator/access/oidc.py",
    instead_of="self._secret.encode(), about.encode(),",
    plant='b"", about.encode(),',
)
async def test_the_database_alone_makes_no_session(
    http: Http, provider: OpenIdProvider, clock: ManualClock
) -> None:
    """Whoever has its session key, and knows how people are sealed, still lacks the secret; and
    sessions end with the settings that gave their scopes."""
    ours = settings_of(provider)
    guessed = ours.model_copy(update={"oidc_client_secret": ours.admin_token})
    before = ours.model_copy(update={"oidc_admins": "privet-admin, owner, former-role"})
    for settings, status in ((guessed, 401), (before, 401), (ours, 200)):
        forger = replace(state_of(http), provider=Provider(settings, clock))
        hold(http, COOKIE, Sessions.of(forger).seal(SEALED, PERSON))
        assert (await http.get("/new")).status_code == status


async def test_a_session_ends(
    provider: OpenIdProvider, clock: ManualClock, workers: Workers
) -> None:
    """After its time; with the client secret; and when the provider is no longer a setting."""
    async with curator(provider, clock, workers, oidc_session_seconds=60) as http:
        await sign_in(http, provider, **ADMIN)
        clock.advance(59)
        assert (await http.get("/new")).status_code == 200
        clock.advance(2)
        assert (await http.get("/new")).status_code == 401
        await sign_in(http, provider, **ADMIN)
        assert (await http.get("/new")).status_code == 200
        state_of(http).provider = None
        assert (await http.get("/new")).status_code == 401


@keeps(
    "threat-model: signing out takes a form of ours",
    in_="curator/dashboard/visits.py",
    instead_of='post("/sign-out", dependencies=[OwnForm])',
    plant='post("/sign-out")',
)
async def test_signing_out_takes_a_form_of_ours(http: Http, provider: OpenIdProvider) -> None:
    """No address, no message of a provider's and no other site's form ends a session."""
    await sign_in(http, provider, **ADMIN)
    unsigned = f"{provider.token(CLIENT, sub='ada').rsplit('.', 1)[0]}."
    assert (await http.get("/sign-out")).status_code == 405
    for data in ({}, {"form_token": "0" * 64}, {"logout_token": unsigned}):
        assert (await http.post("/sign-out", data=data)).status_code == 422
    assert (await http.get("/new")).status_code == 200
    left = await (await http.form())("/sign-out")
    assert f'href="{provider.root}/logout?client_id={CLIENT}"' in left.text
    assert "(admin)" not in left.text
    assert (await http.get("/new")).status_code == 401


@keeps(
    "threat-model: an ID token is for this client",
    in_="curator/access/oidc.py",
    instead_of='aud={"essential": True, "value": client},',
    plant="",
)
@keeps(
    "threat-model: an ID token has our nonce",
    in_="curator/access/oidc.py",
    instead_of='nonce={"essential": True, "value": attempt["nonce"]},',
    plant="",
)
@keeps(
    "threat-model: a token says when it ends",
    in_="curator/access/oidc.py",
    instead_of='for name in ("sub", "exp", "iat")',
    plant='for name in ("sub",)',
)
@keeps(
    "threat-model: a token of another issuer is refused",
    in_="curator/access/oidc.py",
    instead_of='{"essential": True, "value": self._issuer}',
    plant='{"essential": True}',
)
def test_what_an_id_token_must_say(ours: Provider, provider: OpenIdProvider) -> None:
    """For us, from this provider, of this attempt, and now; clocks may differ by a minute."""
    for provider.lie in ({}, {"exp": NOW - LEEWAY_SECONDS + 1}, {"iat": NOW + LEEWAY_SECONDS}):
        assert finish(ours, provider, **ADMIN) == ("oidc:ada", "admin")
    lies: list[dict[str, Any]] = [
        {"aud": "another"},
        {"aud": ["another"], "azp": CLIENT},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"aud": None},
        {"aud": []},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"nonce": "another"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"exp": None},
        {"exp": NOW - LEEWAY_SECONDS},
        {"exp": True},
        {"exp": 10**400},
        {"iat": NOW + LEEWAY_SECONDS + 1},
        {"nbf": NOW + LEEWAY_SECONDS + 1},
    ]
    for provider.lie in lies:
        with pytest.raises(NotAuthorized, match="not accepted"):
            finish(ours, provider, **ADMIN)


def by_secret(provider: OpenIdProvider, secret: bytes) -> str:
    """A token by HS256, made by hand, since libraries refuse to take a public key for a secret."""
    header = {"alg": "HS256", "kid": provider.keys[-1].kid}
    said = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims(provider)))
    return f"{said}.{encoded(hmac.digest(secret, said.encode(), 'sha256'))}"


def encoded(part: bytes) -> str:
    return urlsafe_b64encode(part).decode().rstrip("=")


def claims(provider: OpenIdProvider, subject: str = "eve") -> dict[str, Any]:
    """All the right things."""
    times = {"iat": NOW, "exp": NOW + 300}
    return {"iss": provider.root, "sub": subject, "aud": "privet-api", **ADMIN, **times}


def signed(provider: OpenIdProvider, subject: str = "eve") -> tuple[str, str]:
    """A good token without its signature, and this."""
    said, _, signature = provider.token(**claims(provider, subject)).rpartition(".")
    return said, signature


def own_key_in_header(provider: OpenIdProvider) -> str:
    own = new_key()
    header = {"alg": "ES256", "jwk": own.as_dict(private=False)}
    return jwt.encode(header, claims(provider), own)


FORGED: dict[str, Callable[[OpenIdProvider], str]] = {
    "none": lambda p: jwt.encode(
        {"alg": "none", "kid": p.keys[-1].kid}, claims(p), p.keys[-1], ["none"]
    ),
    "no signature": lambda p: f"{signed(p)[0]}.",
    "of another token": lambda p: f"{signed(p)[0]}.{signed(p, 'ada')[1]}",
    "own key": lambda p: p.token(key=new_key(), **claims(p)),
    "own key, known id": lambda p: jwt.encode(
        {"alg": "ES256", "kid": p.keys[-1].kid}, claims(p), new_key()
    ),
    "own key in the header": own_key_in_header,
    "public key as secret": lambda p: by_secret(p, p.keys[-1].as_pem(private=False)),
    "client secret": lambda p: by_secret(p, SECRET.encode()),
}
"""Tokens that say all the right things, and are not signed as they should be."""


@keeps(
    "threat-model: only the provider signs",
    in_="curator/access/oidc.py",
    instead_of='"EdDSA", "Ed25519"',
    plant='"EdDSA", "Ed25519", "HS256", "none"',
)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_only_the_provider_signs(
    ours: Provider, provider: OpenIdProvider, forged: Callable[[OpenIdProvider], str]
) -> None:
    """In the API, where strangers send what they like."""
    assert ours.bearer(".".join(signed(provider))).name == "oidc:eve"  # type: ignore[union-attr]
    with pytest.raises(NotAuthorized):
        ours.bearer(forged(provider))


@keeps(
    "threat-model: another provider's answer is refused",
    in_="curator/access/oidc.py",
    instead_of='answer.get("iss", not metadata.get(NAMES_ITSELF) and self._issuer) != self._issuer',
    plant="False",
)
def test_another_providers_answer_is_refused(ours: Provider, provider: OpenIdProvider) -> None:
    """Mix-up: one that names another issuer, or none though ours does, is not even redeemed."""
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    address, attempt = ours.begin("/")
    returned = dict(parse_qsl(urlsplit(provider.sign_in(address, **ADMIN)).query))
    with pytest.raises(NotAuthorized, match="another OpenID provider"):
        ours.finish(returned | {"iss": "https://evil.example"}, attempt)
    unnamed = {name: value for name, value in returned.items() if name != "iss"}
    with pytest.raises(NotAuthorized, match="another OpenID provider"):
        ours.finish(unnamed, attempt)
    assert "token" not in provider.calls
    ours.finish(returned, attempt)


def test_no_or_a_wrong_code(ours: Provider, provider: OpenIdProvider) -> None:
    """It is said what the provider said; a code of another attempt is not redeemed with ours, and
    two absent states are not equal ones."""
    stolen = dict(parse_qsl(urlsplit(provider.sign_in(ours.begin("/")[0], **ADMIN)).query))
    _, attempt = ours.begin("/")
    for answer, said in (
        ({"error": "access_denied"}, "access_denied"),
        ({}, "no code"),
        ({"code": "guessed"}, "start again"),
        ({"code": stolen["code"]}, "start again"),
    ):
        with pytest.raises(NotAuthorized, match=said):
            ours.finish({"state": attempt["state"], **answer}, attempt)
    for answer in ({}, {"state": ""}, {"state": "ä", "code": "x"}):
        with pytest.raises(NotAuthorized, match="was not started here"):
            ours.finish(answer, {})


def test_keys_are_rotated(ours: Provider, provider: OpenIdProvider, clock: ManualClock) -> None:
    """A new key is asked for when it is first seen, seldom; one that was withdrawn is forgotten in
    time, even if no token names another."""
    old = provider.token("privet-api", sub="ada", exp=NOW + 3_600, **ADMIN)
    assert ours.bearer(old)
    provider.keys = [new_key()]
    new = provider.token("privet-api", sub="ada", exp=NOW + 3_600, **ADMIN)
    with pytest.raises(NotAuthorized):  # just asked
        ours.bearer(new)
    clock.advance(PAUSE_SECONDS)
    assert ours.bearer(new)
    with pytest.raises(NotAuthorized):
        ours.bearer(old)
    asked = provider.calls.count("discover")
    for _ in range(5):
        with pytest.raises(NotAuthorized):
            ours.bearer(provider.token("privet-api", new_key(), sub="eve", **ADMIN))
    assert provider.calls.count("discover") == asked
    provider.keys = [new_key()]
    clock.advance(KEPT_SECONDS - 1)
    assert ours.bearer(new)
    clock.advance(1)
    with pytest.raises(NotAuthorized):
        ours.bearer(new)


@keeps(
    "threat-model: another issuer's metadata are refused",
    in_="curator/access/oidc.py",
    instead_of='if metadata["issuer"] != self._issuer:',
    plant="if False:",
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", 500),
        ("metadata", {"issuer": "https://evil.example"}),
        ("metadata", {"authorization_endpoint": None}),
        ("metadata", {"token_endpoint": "http://evil.example/token"}),
        ("metadata", {"jwks_uri": "http://127.0.0.1.evil.example/"}),
        ("metadata", {"jwks_uri": "http://127.0.0.1:1/"}),
    ],
    ids=str,
)
def test_a_provider_that_is_not_as_it_should_be(
    ours: Provider,
    provider: OpenIdProvider,
    name: str,
    value: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Overloaded, with the cause in the log, and good again when it is."""
    with monkeypatch.context() as patch:
        patch.setattr(provider, name, value)
        with pytest.raises(Overloaded, match="does not answer as it should"):
            ours.begin("/")
    assert "does not answer as it should" in caplog.text
    assert finish(ours, provider, **ADMIN) == ("oidc:ada", "admin")


async def test_tokens_work_while_the_provider_is_down(clock: ManualClock, workers: Workers) -> None:
    """The page says so and keeps its form; a session lasts; and signing out still works."""
    with running(clock) as provider:
        pass
    async with curator(provider, clock, workers) as http:
        answer = await http.get("/sign-in/provider")
        assert answer.status_code == 503
        assert "The OpenID provider does not answer as it should" in answer.text
        assert 'name="token"' in answer.text
        assert (await http.post("/sign-in", data={"token": TOKEN})).status_code == 303
        assert (await http.get("/new")).status_code == 200
        http.cookies.set(COOKIE, Sessions.of(state_of(http)).seal(SEALED, PERSON))
        left = await (await http.form())("/sign-out")
        assert "You are signed out here" in left.text
        assert "Sign out there too" not in left.text
        assert_problem(await http.get("/v1/tokens", headers=bearer(provider)), Overloaded)


@keeps(
    "threat-model: few wait for a slow provider",
    in_="curator/access/oidc.py",
    instead_of="if not self._calls.acquire(blocking=False)",
    plant="if False",
)
def test_few_wait_for_a_slow_provider(ours: Provider) -> None:
    """The others are told at once, so that threads are left for everybody else."""
    for _ in range(MAX_CALLS):
        assert ours._calls.acquire(blocking=False)
    with pytest.raises(Overloaded, match="Too many people"):
        ours.begin("/")
    ours._calls.release()
    ours.begin("/")


def test_claims_that_only_userinfo_has(ours: Provider, provider: OpenIdProvider) -> None:
    """They are asked for there; those of another subject are not taken."""
    provider.userinfo = {"sub": "ada", **ADMIN}
    assert finish(ours, provider) == ("oidc:ada", "admin")
    provider.userinfo = {"sub": "eve", **ADMIN}
    with pytest.raises(InsufficientScope):
        finish(ours, provider)


@keeps(
    "threat-model: an unverified e-mail is no role",
    in_="curator/access/oidc.py",
    instead_of="held.clear()",
    plant="pass",
)
@pytest.mark.parametrize(
    ("claim", "claims", "scope"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["owner", "x"]}}, "admin"),
        ("https://privet.example/roles", {"https://privet.example/roles": ["owner"]}, "admin"),
        ("realm_access.roles", {"realm_access": "roles"}, None),
        ("roles", {"roles": "privet-reader"}, "reader"),
        ("roles", {"roles": ["privet-reader", "privet-admin"]}, "admin"),
        ("roles", {"roles": ["privet-reader", "privet-fitter"]}, "fitter"),
        ("roles", {"roles": "privet-admin, owner"}, None),
        ("roles", {"roles": ""}, None),
        ("roles", {"roles": {"owner": 1}}, None),
        ("email", {"email": "owner", "email_verified": True}, "admin"),
        ("email", {"email": "owner"}, None),
        ("email", {"email": "owner", "email_verified": "true"}, None),
    ],
)
def test_scopes_come_from_a_claim(
    provider: OpenIdProvider,
    clock: ManualClock,
    claim: str,
    claims: dict[str, Any],
    scope: str | None,
) -> None:
    """By exact values, of the claim that the settings name; an address that is not verified is
    nobody's."""
    provider.userinfo = {"sub": "ada"}
    ours = Provider(settings_of(provider, oidc_claim=claim), clock, clock)
    if scope is None:
        with pytest.raises(InsufficientScope):
            finish(ours, provider, **claims)
    else:
        assert finish(ours, provider, **claims) == ("oidc:ada", scope)


@pytest.mark.parametrize("subject", ["x" * 255, "a\nb", "\x1b[2J"])
def test_a_subject_fits_into_the_audit_log(
    ours: Provider, provider: OpenIdProvider, subject: str
) -> None:
    """Where it does not, its digest does, which is as much their own."""
    actor, _ = finish(ours, provider, subject=subject, **ADMIN)
    assert re.fullmatch(r"oidc:[0-9a-f]{59}", actor)
    assert finish(ours, provider, subject=subject + "!", **ADMIN)[0] != actor


def test_a_client_secret_in_the_body(ours: Provider, provider: OpenIdProvider) -> None:
    """For providers that take it only there."""
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert finish(ours, provider, **ADMIN) == ("oidc:ada", "admin")


@keeps(
    "threat-model: an access token is for this API",
    in_="curator/access/oidc.py",
    instead_of='token, aud={"essential": True, "value": audience}',
    plant="token",
)
async def test_access_tokens_of_the_provider_call_the_api(
    http: Http, provider: OpenIdProvider
) -> None:
    """With the scope of their subject, who is in the audit log; not with ID tokens."""
    admin = bearer(provider, **ADMIN)
    assert (await http.put("/v1/tokens/x", headers=admin, json={})).status_code == 201
    assert (await http.audit())[0]["actor"] == "oidc:ada"
    reader, nobody = bearer(provider, roles=["privet-reader"]), bearer(provider)
    assert (await http.get("/metrics", headers=reader)).status_code == 200
    assert_problem(await http.get("/v1/tokens", headers=reader), InsufficientScope, "reader")
    assert_problem(await http.get("/v1/tokens", headers=nobody), InsufficientScope, "no role")
    models = f"/v1/tasks/{await http.task()}/models"
    assert_problem(await http.post(models, headers=reader, json={}), InsufficientScope, "fitter")
    fitter = bearer(provider, roles=["privet-fitter"])
    assert (await http.post(models, headers=fitter, json={})).status_code == 409  # no reports yet
    for refused in (bearer(provider, CLIENT, **ADMIN), bearer(provider, exp=NOW - 61, **ADMIN)):
        assert_problem(await http.get("/v1/tokens", headers=refused), NotAuthorized)


async def test_settings_turn_it_off(
    provider: OpenIdProvider, clock: ManualClock, workers: Workers
) -> None:
    """Without an audience what the provider signs is an unknown token; without a provider there is
    no link, and nothing at its addresses."""
    async with curator(provider, clock, workers, oidc_audience="") as http:
        headers = bearer(provider, CLIENT, **ADMIN)
        assert_problem(await http.get("/v1/tokens", headers=headers), NotAuthorized, "not known")
    async with curator(provider, clock, workers, oidc_issuer="") as http:
        assert "Sign in with" not in (await http.get("/sign-in")).text
        for path in ("provider", "callback"):
            assert (await http.get(f"/sign-in/{path}")).status_code == 404


async def guess(http: Http) -> int:
    """The status of an answer to our own attempt with a code that the provider does not know."""
    query = dict(parse_qsl(urlsplit(await begin(http)).query))
    return (await http.get(f"/sign-in/callback?code=a&state={query['state']}")).status_code


@keeps(
    "threat-model: failed sign-ins of people count as guesses",
    in_="curator/operations/access.py",
    instead_of="curator.tokens.refuse((SIGN_IN, sender), error)",
    plant="pass",
)
async def test_failures_count_as_guesses(http: Http, provider: OpenIdProvider) -> None:
    """Sign-ins and forged tokens, each by themselves: no stranger makes the curator write or ask
    without end."""
    forged = {"Authorization": f"Bearer {provider.token('privet-api', new_key(), sub='eve')}"}
    for status in (*[401] * 10, 429, 429):
        assert await guess(http) == status
        assert (await http.get("/v1/tokens", headers=forged)).status_code == status
    assert (await sign_in(http, provider, **ADMIN)).status_code == 429
    assert provider.calls.count("token") == 10
    assert (await http.get("/v1/tokens", headers=bearer(provider, **ADMIN))).status_code == 200
    assert (await http.audit())[0]["times"] == 20


@keeps(
    "threat-model: an answer to no attempt of ours is no guess",
    in_="curator/operations/access.py",
    instead_of="""
        if provider.is_answer(answer, attempt):
            curator.tokens.refuse""",
    plant="""
        if True:
            curator.tokens.refuse""",
)
@keeps(
    "threat-model: an answer to no attempt of ours ends none",
    in_="curator/dashboard/provider.py",
    instead_of="provider.is_answer(request.query_params, attempt)",
    plant="True",
)
async def test_what_other_pages_send_is_no_guess(http: Http, provider: OpenIdProvider) -> None:
    """An image of any page calls the callback, with or without an attempt under way: it asks and
    writes nothing, ends no attempt, and stops nobody."""
    away = await begin(http)
    cookies = dict(http.cookies)
    for query in ("?x", "?code=a&state=b", "?error=access_denied"):
        for held in (cookies, {}, {ATTEMPT_COOKIE: "ours?"}):
            http.cookies.clear()
            http.cookies.update(held)
            for _ in range(5):
                answer = await http.get(f"/sign-in/callback{query}")
                assert answer.status_code == 401
                assert "set-cookie" not in answer.headers
    assert "token" not in provider.calls
    assert not await http.audit()
    http.cookies.clear()
    http.cookies.update(cookies)
    assert (await http.get(provider.sign_in(away, **ADMIN))).status_code == 200


@keeps(
    "threat-model: a browser in which somebody signed in has tries of its own",
    in_="curator/dashboard/provider.py",
    instead_of="sender = known or client_address",
    plant="sender = client_address",
)
async def test_a_neighbour_does_not_stop_whoever_was_here(
    http: Http, provider: OpenIdProvider, clock: ManualClock
) -> None:
    """Behind one address: a browser in which somebody has signed in has tries of its own."""
    await sign_in(http, provider, **ADMIN)
    known = http.cookies[KNOWN_COOKIE]
    clock.advance(KNOWN_SECONDS - 1)
    http.cookies.clear()
    while await guess(http) != 429:
        pass
    hold(http, KNOWN_COOKIE, known)
    assert (await sign_in(http, provider, **ADMIN)).status_code == 200
    for status in (*[401] * 10, 429):
        assert await guess(http) == status
    hold(http, KNOWN_COOKIE, http.cookies[COOKIE])
    assert await guess(http) == 429


@keeps(
    "threat-model: unknown keys are asked for seldom, whatever comes back",
    in_="curator/access/oidc.py",
    instead_of="self._renewed_at = now",
    plant="pass",
)
def test_unknown_keys_are_asked_for_seldom(
    ours: Provider, provider: OpenIdProvider, clock: ManualClock
) -> None:
    """Also while the provider does not answer: no forged token takes a call of those who sign
    in."""
    ours.begin("/")
    clock.advance(PAUSE_SECONDS)
    provider.status = 500
    forged = provider.token("privet-api", new_key(), sub="eve")
    with pytest.raises(Overloaded):
        ours.bearer(forged)
    asked = len(provider.calls)
    for _ in range(3):
        with pytest.raises(NotAuthorized):
            ours.bearer(forged)
    assert len(provider.calls) == asked


@cache
def settled() -> Provider:
    """What a curator knows of a provider that has answered before."""
    clock = ManualClock()
    with running(clock) as provider:
        ours = Provider(settings_of(provider), clock, clock)
        ours.begin("/")
    return ours


@given(parts=st.lists(st.text("eyJhbGciOiJSUzI1NiJ9-_=. ä\0", max_size=30), min_size=3, max_size=3))
def test_nothing_that_strangers_send_is_an_error_of_ours(parts: list[str]) -> None:
    """Any three parts are refused as a token."""
    with pytest.raises(NotAuthorized):
        settled().bearer(".".join(part.replace(".", "") for part in parts))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"oidc_client_id": ""}, "PRIVET_OIDC_CLIENT_ID"),
        ({"oidc_client_secret": None}, "PRIVET_OIDC_CLIENT_SECRET"),
        ({"oidc_client_secret": "short"}, "bits"),
        ({"oidc_redirect_uri": ""}, "PRIVET_OIDC_REDIRECT_URI"),
        ({"oidc_redirect_uri": "https://curator.example/"}, "must end in /sign-in/callback"),
        ({"oidc_redirect_uri": "http://curator.example/sign-in/callback"}, "https"),
        ({"oidc_issuer": "http://provider.example"}, "https"),
        ({"oidc_issuer": "http://localhost.example"}, "https"),
        ({"oidc_issuer": "https://"}, "https"),
        ({"oidc_admins": "", "oidc_fitters": "", "oidc_readers": ""}, "nobody"),
        ({"oidc_scope": "profile"}, "openid"),
        ({"oidc_audience": CLIENT}, "ID tokens"),
    ],
)
def test_settings_that_cannot_be(
    provider: OpenIdProvider, changed: dict[str, Any], said: str
) -> None:
    """They are refused at the start, and the secret is not repeated."""
    with pytest.raises(ValidationError, match=said):
        settings_of(provider, **changed)
