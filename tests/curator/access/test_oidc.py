"""People sign in by OpenID Connect, and only those whom the provider names, for us, now."""

import hmac
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
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
from privet.curator.dashboard.provider import ATTEMPT_COOKIE, ATTEMPT_SECONDS
from privet.curator.dashboard.visitor import ATTEMPT, COOKIE, Sessions
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.protocol.errors import InsufficientScope, NotAuthorized, Overloaded, PrivetError
from tests.curator.access.openid_provider import CLIENT, SECRET, OpenIdProvider, new_key, running
from tests.curator.datastore.servers import new_store
from tests.curator.http.checks import assert_problem
from tests.curator.http.conftest import TOKEN, Http, client_of
from tests.manual_clock import ManualClock

ADMIN: dict[str, Any] = {"roles": ["privet-admin"]}


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


async def form_token(http: Http) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', (await http.get("/")).text)
    assert found
    return found[1]


async def audit(http: Http) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = (await http.get("/v1/audit", headers=http.admin)).json()
    return entries


def finish(ours: Provider, provider: OpenIdProvider, **claims: Any) -> tuple[str, str]:
    """Who comes back, and their scope."""
    address, attempt = ours.begin("/")
    returned = dict(parse_qsl(urlsplit(provider.sign_in(address, **claims)).query))
    person = ours.finish(returned, attempt)
    return person.actor, person.scope


async def test_a_person_acts_under_their_own_name(http: Http, provider: OpenIdProvider) -> None:
    """Through the provider and back; what an admin then does is in the audit log as theirs."""
    assert f"Sign in with {urlsplit(provider.root).netloc}" in (await http.get("/sign-in")).text
    answer = await sign_in(http, provider, subject="248289", name="Ada <b>Lovelace</b>", **ADMIN)
    assert answer.status_code == 200
    assert "Ada &lt;b&gt;Lovelace&lt;/b&gt; (admin)" in (await http.get("/")).text
    data = {"form_token": await form_token(http), "name": "desk", "scope": "reader"}
    assert (await http.post("/access/tokens", data=data)).status_code == 200
    issued, signed_in = (await audit(http))[:2]
    assert (issued["actor"], issued["action"]) == ("oidc:248289", "token issued")
    assert (signed_in["actor"], signed_in["action"]) == ("oidc:248289", "signed in")
    assert signed_in["detail"] == {"name": "Ada <b>Lovelace</b>", "scope": "admin"}


async def test_a_reader_reads_and_does_nothing_else(http: Http, provider: OpenIdProvider) -> None:
    """The scope is that of a reader's token."""
    task = await http.task(open=False)
    await sign_in(http, provider, roles="privet-reader")
    assert (await http.get(f"/tasks/{task}")).status_code == 200
    data = {"form_token": await form_token(http), "move": "open"}
    assert (await http.post(f"/tasks/{task}/move", data=data)).status_code == 403
    assert (await http.get("/access")).status_code == 403


async def test_whoever_has_no_role_stays_a_stranger(http: Http, provider: OpenIdProvider) -> None:
    """403 that names the subject and the claim; no session; and the audit log has it."""
    for roles in (None, [], ["privet"], [["privet-admin"], {}, 1]):
        answer = await sign_in(http, provider, subject="eve", roles=roles)
        assert answer.status_code == 403
        assert "oidc:eve has no role here" in answer.text
        assert COOKIE not in http.cookies
    entry = (await audit(http))[0]
    assert entry["action"] == "sign-in failed"
    assert "oidc:eve has no role here" in entry["detail"]["reason"]


async def test_the_cookies_of_a_sign_in(http: Http, provider: OpenIdProvider) -> None:
    """The attempt's comes along from another site, to the sign-in alone; the session's never."""
    answer = await http.get("/sign-in/provider", params={"then": "/new"})
    (attempt,) = answer.headers.get_list("set-cookie")
    assert {"HttpOnly", "Path=/sign-in", "SameSite=lax"} <= set(attempt.split("; "))
    answer = await http.get(provider.sign_in(answer.headers["location"], **ADMIN))
    session, gone = answer.headers.get_list("set-cookie")
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=3600"} <= set(session.split("; "))
    assert gone.startswith(f'{ATTEMPT_COOKIE}=""')
    assert '<meta http-equiv="refresh" content="0;url=/new">' in answer.text
    assert not {"location"} & set(answer.headers)  # a redirect from there would come without it


@pytest.mark.parametrize("then", ["//evil.example", "https://evil.example", "/\\evil.example", "x"])
async def test_signing_in_leads_nowhere_else(
    http: Http, provider: OpenIdProvider, then: str
) -> None:
    """The page to go on with is one of this curator's; the provider is the one of the settings."""
    address = await begin(http, then)
    assert address.startswith(provider.root)
    assert "evil" not in address
    answer = await http.get(provider.sign_in(address, **ADMIN))
    assert 'content="0;url=/"' in answer.text
    assert "evil" not in answer.text


async def test_where_to_come_back_to_is_a_setting(http: Http, provider: OpenIdProvider) -> None:
    """Whatever a caller says that the curator is called."""
    answer = await http.get("/sign-in/provider", headers={"Host": "evil.example"})
    assert "evil" not in answer.headers["location"]


async def test_another_browser_cannot_finish(http: Http, provider: OpenIdProvider) -> None:
    """Neither without the attempt's cookie, nor with that of another attempt, nor twice."""
    mine = provider.sign_in(await begin(http), **ADMIN)
    attempt = http.cookies[ATTEMPT_COOKIE]
    http.cookies.clear()
    assert (await http.get(mine)).status_code == 401
    await begin(http)
    assert (await http.get(mine)).status_code == 401
    assert COOKIE not in http.cookies
    assert provider.calls.count("token") == 0  # no code was spent
    http.cookies.set(ATTEMPT_COOKIE, attempt, "127.0.0.1", "/sign-in")
    assert (await http.get(mine)).status_code == 200
    http.cookies.clear()
    http.cookies.set(ATTEMPT_COOKIE, attempt, "127.0.0.1", "/sign-in")
    again = await http.get(mine)
    assert again.status_code == 401
    assert "begin again" in again.text
    assert COOKIE not in http.cookies


async def test_an_attempt_ends(http: Http, provider: OpenIdProvider, clock: ManualClock) -> None:
    """After ten minutes."""
    mine = provider.sign_in(await begin(http), **ADMIN)
    clock.advance(ATTEMPT_SECONDS + 1)
    assert (await http.get(mine)).status_code == 401


async def test_an_attempt_is_no_session(http: Http, provider: OpenIdProvider) -> None:
    """Each cookie is sealed for its purpose, and a session is no attempt either."""
    await begin(http)
    attempt = http.cookies[ATTEMPT_COOKIE]
    http.cookies.clear()
    http.cookies.set(COOKIE, attempt, "127.0.0.1", "/")
    assert (await http.get("/new")).status_code == 401
    await sign_in(http, provider, **ADMIN)
    session = http.cookies[COOKIE]
    returned = provider.sign_in(await begin(http), **ADMIN)
    http.cookies.clear()
    http.cookies.set(ATTEMPT_COOKIE, session, "127.0.0.1", "/sign-in")
    assert (await http.get(returned)).status_code == 401


async def test_the_database_alone_makes_no_session(
    http: Http, provider: OpenIdProvider, clock: ManualClock, workers: Workers
) -> None:
    """Whoever has its session key, and knows how people are sealed, still lacks the secret; and
    sessions end with the settings that gave their scopes."""
    store, ours = new_store(), settings_of(provider)
    guessed = ours.model_copy(update={"oidc_client_secret": ours.admin_token})
    before = ours.model_copy(update={"oidc_admins": "privet-admin, owner, former-role"})
    for settings, status in ((guessed, 401), (before, 401), (ours, 200)):
        forger = create_app(settings, store=store, clock=clock, workers=workers)
        attempt = Sessions(forger.state)
        person = '{"name": "Eve", "scope": "admin", "actor": "oidc:eve"}'
        app = create_app(ours, store=store, clock=clock, workers=workers)
        async with client_of(app) as client:
            client.cookies.set(COOKIE, attempt.seal(person, "person"))
            assert (await client.get("/new")).status_code == status
        for made in (forger, app):
            made.state.writer.stop()
            made.state.rejects.close()
    assert ATTEMPT != "person"


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
        http._transport.app.state.provider = None  # type: ignore[attr-defined]
        assert (await http.get("/new")).status_code == 401


async def test_signing_out_takes_a_form_of_ours(http: Http, provider: OpenIdProvider) -> None:
    """No address, no message of a provider's and no other site's form ends a session."""
    await sign_in(http, provider, **ADMIN)
    unsigned = f"{provider.token(CLIENT, sub='ada').rsplit('.', 1)[0]}."
    assert (await http.get("/sign-out")).status_code == 405
    for data in ({}, {"form_token": "0" * 64}, {"logout_token": unsigned}):
        assert (await http.post("/sign-out", data=data)).status_code == 422
    assert (await http.get("/new")).status_code == 200
    left = await http.post("/sign-out", data={"form_token": await form_token(http)})
    assert f'href="{provider.root}/logout?client_id={CLIENT}"' in left.text
    assert "(admin)" not in left.text
    assert (await http.get("/new")).status_code == 401


@pytest.mark.parametrize(
    "lie",
    [
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
        {"exp": 1_700_000_000 - LEEWAY_SECONDS},
        {"exp": True},
        {"iat": 1_700_000_000 + LEEWAY_SECONDS + 1},
        {"nbf": 1_700_000_000 + LEEWAY_SECONDS + 1},
    ],
    ids=str,
)
def test_what_an_id_token_must_say(
    ours: Provider, provider: OpenIdProvider, lie: dict[str, Any]
) -> None:
    """For us, from this provider, of this attempt, and now."""
    assert finish(ours, provider, **ADMIN) == ("oidc:ada", "admin")
    provider.lie = lie
    with pytest.raises(NotAuthorized, match="not accepted"):
        finish(ours, provider, **ADMIN)


def test_clocks_may_differ_by_a_minute(ours: Provider, provider: OpenIdProvider) -> None:
    """Either way."""
    provider.lie = {"exp": 1_700_000_000 - LEEWAY_SECONDS + 1}
    finish(ours, provider, **ADMIN)
    provider.lie = {"iat": 1_700_000_000 + LEEWAY_SECONDS}
    finish(ours, provider, **ADMIN)


def signed_with(secret: bytes, *parts: dict[str, Any]) -> str:
    """A token by HS256, made by hand, since libraries refuse to take a public key for a secret."""
    said = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{said}.{encoded(hmac.digest(secret, said.encode(), 'sha256'))}"


def encoded(part: bytes) -> str:
    return urlsafe_b64encode(part).decode().rstrip("=")


def forged(provider: OpenIdProvider, kind: str, audience: str) -> str:
    """A token that says all the right things, and is not signed as it should be."""
    said: dict[str, Any] = {
        "iss": provider.root,
        "sub": "eve",
        "aud": audience,
        "roles": ["privet-admin"],
    }
    said |= {"iat": 1_700_000_000, "exp": 1_700_000_300}
    key = provider.keys[-1]
    header = {"alg": "HS256", "kid": key.kid}
    if kind == "public key as secret":
        return signed_with(key.as_pem(private=False), header, said)
    if kind == "client secret":
        return signed_with(SECRET.encode(), header, said)
    good = provider.token(audience, sub="ada", roles=["privet-reader"])
    other = provider.token(audience, sub="eve", roles=["privet-admin"])
    return {
        "none": jwt.encode({"alg": "none", "kid": key.kid}, said, key, ["none"]),
        "no signature": other.rsplit(".", 1)[0] + ".",
        "of another token": f"{other.rsplit('.', 1)[0]}.{good.rsplit('.', 1)[1]}",
        "own key": provider.token(audience, new_key(), sub="eve", roles=["privet-admin"]),
        "own key, known id": jwt.encode({"alg": "ES256", "kid": key.kid}, said, new_key()),
        "own key in the header": jwt.encode(
            {"alg": "ES256", "jwk": (own := new_key()).as_dict(private=False)}, said, own
        ),
    }[kind]


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize(
    "kind",
    [
        "none",
        "no signature",
        "of another token",
        "own key",
        "own key, known id",
        "own key in the header",
        "public key as secret",
        "client secret",
    ],
)
def test_only_the_provider_signs(ours: Provider, provider: OpenIdProvider, kind: str) -> None:
    """In the API, where strangers send what they like."""
    good = provider.token("privet-api", sub="ada", **ADMIN)
    assert ours.bearer(good).name == "oidc:ada"  # type: ignore[union-attr]
    with pytest.raises(NotAuthorized):
        ours.bearer(forged(provider, kind, "privet-api"))


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


def test_a_code_needs_its_verifier(ours: Provider, provider: OpenIdProvider) -> None:
    """A code that was stolen from another attempt of this client is not redeemed with ours."""
    stolen = dict(parse_qsl(urlsplit(provider.sign_in(ours.begin("/")[0], **ADMIN)).query))
    _, attempt = ours.begin("/")
    with pytest.raises(NotAuthorized):
        ours.finish(stolen | {"state": attempt["state"]}, attempt)


@pytest.mark.parametrize("answer", [{"error": "access_denied"}, {}, {"code": "guessed"}])
def test_no_or_a_wrong_code(ours: Provider, answer: dict[str, str]) -> None:
    """It is said what the provider said."""
    _, attempt = ours.begin("/")
    with pytest.raises(NotAuthorized, match=answer.get("error", "no code|begin again")):
        ours.finish({"state": attempt["state"], **answer}, attempt)


def test_an_empty_attempt_matches_nothing(ours: Provider) -> None:
    """Two absent states are not equal ones."""
    for answer in ({}, {"state": ""}, {"state": "ä", "code": "x"}):
        with pytest.raises(NotAuthorized):
            ours.finish(answer, {})


def test_keys_are_rotated(ours: Provider, provider: OpenIdProvider, clock: ManualClock) -> None:
    """A new key is asked for when it is first seen, seldom; an old one is forgotten in time."""
    old = provider.token("privet-api", sub="ada", **ADMIN)
    assert ours.bearer(old)
    provider.keys = [new_key()]
    new = provider.token("privet-api", sub="ada", **ADMIN)
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


def test_a_key_that_is_withdrawn_is_not_good_for_long(
    ours: Provider, provider: OpenIdProvider, clock: ManualClock
) -> None:
    """Even if no token names another."""
    token = provider.token("privet-api", sub="ada", exp=1_700_003_600, **ADMIN)
    assert ours.bearer(token)
    provider.keys = [new_key()]
    clock.advance(KEPT_SECONDS - 1)
    assert ours.bearer(token)
    clock.advance(1)
    with pytest.raises(NotAuthorized):
        ours.bearer(token)


@pytest.mark.parametrize(
    "broken",
    [
        {"status": 500},
        {"metadata": {"issuer": "https://evil.example"}},
        {"metadata": {"authorization_endpoint": None}},
        {"metadata": {"token_endpoint": "http://evil.example/token"}},
        {"metadata": {"jwks_uri": "http://127.0.0.1.evil.example/"}},
        {"metadata": {"jwks_uri": "http://127.0.0.1:1/"}},
    ],
    ids=str,
)
def test_a_provider_that_is_not_as_it_should_be(
    ours: Provider, provider: OpenIdProvider, broken: dict[str, Any], caplog: Any
) -> None:
    """Overloaded, with the cause in the log, and good again when it is."""
    usual = {name: getattr(provider, name) for name in broken}
    for name, value in broken.items():
        setattr(provider, name, value)
    with pytest.raises(Overloaded, match="does not answer as it should"):
        ours.begin("/")
    assert "does not answer as it should" in caplog.text
    for name, value in usual.items():
        setattr(provider, name, value)
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
        person = '{"name": "Ada", "scope": "admin", "actor": "oidc:ada"}'
        app = http._transport.app  # type: ignore[attr-defined]
        http.cookies.set(COOKIE, Sessions(app.state).seal(person, "person"))
        left = await http.post("/sign-out", data={"form_token": await form_token(http)})
        assert "You are signed out here" in left.text
        assert "Sign out there too" not in left.text
        bearer = {"Authorization": f"Bearer {provider.token('privet-api', sub='a')}"}
        assert_problem(await http.get("/v1/tokens", headers=bearer), Overloaded)


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
    provider.metadata = {"userinfo_endpoint": provider.root + "/none"}
    del provider.metadata["userinfo_endpoint"]
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


async def test_access_tokens_of_the_provider_call_the_api(
    http: Http, provider: OpenIdProvider
) -> None:
    """With the scope of their subject, who is in the audit log; not with ID tokens."""

    def bearer(**said: Any) -> dict[str, str]:
        audience = said.pop("audience", "privet-api")
        return {"Authorization": f"Bearer {provider.token(audience, sub='ada', **said)}"}

    assert (await http.put("/v1/tokens/x", headers=bearer(**ADMIN), json={})).status_code == 201
    assert (await audit(http))[0]["actor"] == "oidc:ada"
    reader = bearer(roles=["privet-reader"])
    assert (await http.get("/metrics", headers=reader)).status_code == 200
    assert_problem(await http.get("/v1/tokens", headers=reader), InsufficientScope, "reader")
    assert_problem(await http.get("/v1/tokens", headers=bearer()), InsufficientScope, "no role")
    models = f"/v1/tasks/{await http.task()}/models"
    assert_problem(await http.post(models, headers=reader, json={}), InsufficientScope, "fitter")
    fitter = bearer(roles=["privet-fitter"])
    assert (await http.post(models, headers=fitter, json={})).status_code == 409  # no reports yet
    refused = [bearer(audience=CLIENT, **ADMIN), bearer(exp=1_700_000_000 - 61, **ADMIN)]
    for headers in refused:
        assert_problem(await http.get("/v1/tokens", headers=headers), NotAuthorized)


async def test_without_an_audience_the_api_takes_tokens_alone(
    provider: OpenIdProvider, clock: ManualClock, workers: Workers
) -> None:
    """What the provider signs is then an unknown token."""
    async with curator(provider, clock, workers, oidc_audience="") as http:
        bearer = {"Authorization": f"Bearer {provider.token(CLIENT, sub='ada', **ADMIN)}"}
        assert_problem(await http.get("/v1/tokens", headers=bearer), NotAuthorized, "not known")


async def test_failed_sign_ins_count_as_guesses(http: Http, provider: OpenIdProvider) -> None:
    """So no stranger makes the curator write or ask without end."""
    for _ in range(10):
        assert (await http.get("/sign-in/callback?code=a&state=b")).status_code == 401
    assert (await http.get("/sign-in/callback?code=a&state=b")).status_code == 429
    assert (await sign_in(http, provider, **ADMIN)).status_code == 429
    assert "token" not in provider.calls


async def test_forged_tokens_count_as_guesses(http: Http, provider: OpenIdProvider) -> None:
    """And are in the audit log."""
    bearer = {"Authorization": f"Bearer {provider.token('privet-api', new_key(), sub='eve')}"}
    for _ in range(10):
        assert (await http.get("/v1/tokens", headers=bearer)).status_code == 401
    assert (await http.get("/v1/tokens", headers=bearer)).status_code == 429


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


async def test_no_token_is_called_as_people_are(http: Http) -> None:
    """Or its acts would look like theirs."""
    answer = await http.put("/v1/tokens/oidc:ada", headers=http.admin, json={})
    assert answer.status_code == 422


async def test_without_a_provider_there_are_tokens_alone(
    provider: OpenIdProvider, clock: ManualClock, workers: Workers
) -> None:
    """No link, and nothing at its addresses."""
    async with curator(provider, clock, workers, oidc_issuer="") as http:
        assert "Sign in with" not in (await http.get("/sign-in")).text
        for path in ("provider", "callback"):
            assert (await http.get(f"/sign-in/{path}")).status_code == 404


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


def test_without_its_package_it_says_what_to_install(
    provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start."""
    import sys

    monkeypatch.delitem(sys.modules, "privet.curator.access.oidc")
    monkeypatch.setitem(sys.modules, "joserfc", None)
    store = new_store()
    with pytest.raises(PrivetError, match=r"privet\[curator,oidc\]"):
        create_app(settings_of(provider), store=store)
    store.close()
