"""What surrounds all calls: limits per address, headers, sites of others."""

import httpx
from starlette.responses import PlainTextResponse

from privet.curator.app import create_app
from privet.curator.datastore import open_store
from privet.curator.http.headers import HEADERS, POLICY, SecurityHeaders
from privet.curator.http.rate_limit import MINUTE, RateLimit
from privet.curator.settings import Settings
from privet.protocol.errors import PROBLEMS, TooManyRequests

TOO_MANY = PROBLEMS[TooManyRequests].uri


async def test_posts_per_address_are_limited() -> None:
    """Posts above the limit get 429 until the minute is over; reading is not limited."""
    now = 0.0
    limit = RateLimit(PlainTextResponse("ok"), per_minute=2, time=lambda: now)
    transport = httpx.ASGITransport(SecurityHeaders(limit))
    async with httpx.AsyncClient(transport=transport, base_url="http://curator") as http:
        assert [(await http.post("/x")).status_code for _ in range(4)] == [200, 200, 429, 429]
        assert (await http.get("/x")).status_code == 200
        now = MINUTE - 12.5
        refusal = await http.post("/x")
        assert refusal.headers["retry-after"] == "13"
        assert refusal.json()["type"] == TOO_MANY
        assert "13 seconds" in refusal.json()["detail"]
        assert {*HEADERS, POLICY} <= set(refusal.headers.raw)
        now = MINUTE
        assert (await http.post("/x")).status_code == 200


async def test_other_sites_are_let_in_by_name_only() -> None:
    """Without the setting no answer allows another origin; with it the named one is allowed."""
    for origins, allowed in [((), None), (("https://a.example",), "https://a.example")]:
        settings = Settings.model_validate({"cors_origins": origins})
        app = create_app(settings, store=open_store("memory:"))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://curator") as http:
            answer = await http.get("/healthz", headers={"origin": "https://a.example"})
        assert answer.headers.get("access-control-allow-origin") == allowed
