"""What surrounds all calls: limits per address, headers, sites of others."""

import json
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse

from privet.curator.access.rate_limit import MINUTE, Rate
from privet.curator.dashboard.visitor import COOKIE
from privet.curator.http.rate_limit import RateLimit
from privet.curator.logs import set_up_logs
from privet.curator.workers import Workers
from privet.http_server.headers import SECURITY, AddHeaders
from privet.protocol.calls import BATCH_MEDIA_TYPE, TASK_MEDIA_TYPE
from privet.protocol.errors import PROBLEMS, TooManyRequests
from tests.curator.http.checks import values
from tests.curator.http.conftest import Http, serving
from tests.keeping import keeps

TOO_MANY = PROBLEMS[TooManyRequests].uri


@keeps(
    "threat-model: the rate limit counts posts of an address",
    in_="curator/http/rate_limit.py",
    instead_of="self.rate.take(await run_in_threadpool(self.sender_of, HTTPConnection(scope)))",
    plant="pass",
)
@keeps(
    "deployment: 429 says when to come back",
    in_="curator/access/rate_limit.py",
    instead_of="max(1, ceil(self._minute_began + minutes * MINUTE - self._time()))",
    plant="1",
)
async def test_posts_per_address_are_limited() -> None:
    """Posts above the limit get 429 until the minute is over; reading is not limited."""
    now = 0.0
    limit = RateLimit(PlainTextResponse("ok"), Rate(2, time=lambda: now), lambda _: "")
    transport = httpx.ASGITransport(AddHeaders(limit))
    async with httpx.AsyncClient(transport=transport, base_url="http://curator") as http:
        assert [(await http.post("/x")).status_code for _ in range(4)] == [200, 200, 429, 429]
        assert (await http.get("/x")).status_code == 200
        now = MINUTE - 12.5
        refusal = await http.post("/x")
        assert refusal.headers["retry-after"] == "13"
        assert refusal.json()["type"] == TOO_MANY
        assert "13 seconds" in refusal.json()["detail"]
        assert set(SECURITY) <= set(refusal.headers.raw)
        now = MINUTE
        assert (await http.post("/x")).status_code == 200


@keeps(
    "threat-model: a neighbour's posts refuse no good token",
    in_="curator/dashboard/visitor.py",
    instead_of="return (OWNER, name) if name else client_address",
    plant="return client_address",
)
async def test_a_neighbour_limits_nobody_with_a_token(workers: Workers) -> None:
    """Behind one address strangers use up the posts of strangers; a token and a session have their
    own."""
    async with serving(workers, rate_limit=3, token_tries=3) as http:
        form = await http.sign_in()
        session = dict(http.cookies)
        reports = f"/v1/tasks/{'0' * 64}/reports"
        wrong = {"Authorization": "Bearer wrong"}
        http.cookies.clear()
        for headers in ({}, wrong, {"Cookie": f"{COOKIE}=wrong"}):
            while (await http.post(reports, headers=headers)).status_code != 429:
                pass
        batch = {**await http.bearer("relay"), "Content-Type": BATCH_MEDIA_TYPE}
        assert (await http.post(f"{reports}/batch", headers=batch)).status_code == 404
        http.cookies.update(session)
        assert (await form("/access/tokens", name="desk", scope="reader")).status_code == 200
        statuses = [(await http.post(f"{reports}/batch", headers=batch)).status_code for _ in "123"]
        assert statuses == [404, 404, 429]


@keeps(
    "threat-model: wrong tokens are limited",
    in_="curator/access/tokens.py",
    instead_of="self._tries.count(sender)",
    plant="pass",
)
@keeps(
    "threat-model: a neighbour's guesses refuse no good token",
    in_="curator/access/tokens.py",
    instead_of="stored = self.known",
    plant="stored = self.admit(address) or self.known",
)
async def test_wrong_tokens_are_limited(http: Http) -> None:
    """After ten wrong tokens another one must wait; the right one and calls without one go on."""
    task_id = await http.task()
    wrong = {"Authorization": "Bearer wrong"}
    statuses = [(await http.get("/v1/tokens", headers=wrong)).status_code for _ in range(200)]
    assert statuses == [401] * 10 + [429] * 190
    assert (await http.get("/v1/tokens", headers=http.admin)).status_code == 200
    answer = await http.get("/v1/tokens", headers=wrong)
    assert (answer.status_code, answer.json()["type"]) == (429, TOO_MANY)
    assert int(answer.headers["retry-after"]) <= MINUTE
    assert (await http.get(f"/v1/tasks/{task_id}")).status_code == 200
    text = (await http.get("/metrics", headers=http.admin)).text
    assert values(text, "privet_wrong_tokens_total") == {(): 201}  # those that had to wait as well


@keeps(
    "threat-model: no redirect to what a client calls the curator",
    in_="curator/app.py",
    instead_of="redirect_slashes=False",
    plant="redirect_slashes=True",
)
async def test_no_redirect_to_what_a_client_calls_the_curator(http: Http) -> None:
    """An address with a slash too many is not there; nothing names the header Host."""
    for method in ("GET", "POST"):
        answer = await http.request(method, "/v1/tasks/", headers={"host": "evil.example"})
        assert answer.status_code == 404
        assert "location" not in answer.headers
        assert "evil" not in answer.text


@pytest.mark.parametrize("settings", [{}, {"rate_limit": 4}])
async def test_every_answer_has_each_security_header_once(
    workers: Workers, settings: dict[str, Any]
) -> None:
    """Answers of routes, of the calls for reports, and of middleware."""
    async with serving(workers, **settings) as http:
        task = f"/v1/tasks/{'0' * 64}/reports"
        answers = [await http.get("/healthz"), await http.get("/nothing"), await http.get(task)]
        answers += [await http.post(path) for path in (task, f"{task}/batch", "/v1/tasks", task)]
        answers += [await http.post(task)]
    expected = [200, 404, 405, 404, 401, 401, 404, 429 if settings else 404]
    assert [answer.status_code for answer in answers] == expected
    for answer in answers:
        for header in SECURITY:
            assert answer.headers.raw.count(header) == 1


@keeps(
    "threat-model: pages of any origin make holders' calls only",
    in_="http_server/headers.py",
    instead_of='HOLDER_CALL.fullmatch(scope["path"])',
    plant='HOLDER_CALL.match(scope["path"])',
)
async def test_pages_of_any_origin_may_do_what_holders_do_and_no_more(http: Http) -> None:
    """They fetch a task and its status and send reports, without credentials, and see no more."""
    names = {"task_id": await http.task(), "number": 1, "other": 1, "alias": "a", "name": "a"}
    task, origin = f"/v1/tasks/{names['task_id']}", {"Origin": "https://elsewhere.example"}
    shown = set()
    for path, calls in (await http.get("/openapi.json")).json()["paths"].items():
        for method in calls:
            answer = await http.request(method, path.format(**names), headers=origin)
            assert "access-control-allow-credentials" not in answer.headers
            allowed = answer.headers.get("access-control-allow-origin")
            assert allowed in {None, "*"}
            if allowed:
                shown.add((method.upper(), path))
    reports = "/v1/tasks/{task_id}/reports"
    task_calls = {("GET", "/v1/tasks/{task_id}"), ("GET", "/v1/tasks/{task_id}/status")}
    assert shown == {*task_calls, ("POST", reports)}
    for method in ("GET", "POST", "DELETE"):
        asked = {"Access-Control-Request-Method": method}
        asked["Access-Control-Request-Headers"] = "authorization"
        answer = await http.options(task, headers=origin | asked)
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
        assert "authorization" not in answer.headers["access-control-allow-headers"].lower()
        others = await http.options(f"{task}/models", headers=origin | asked)
        assert "access-control-allow-origin" not in others.headers


@keeps(
    "deployment: pages of other origins can be shut out",
    in_="curator/app.py",
    instead_of="holders = settings.cors_holders",
    plant="holders = True",
)
@pytest.mark.parametrize("settings", [{}, {"rate_limit": 100}])
async def test_a_setting_keeps_pages_of_other_origins_out(
    workers: Workers, settings: dict[str, Any]
) -> None:
    """Then no answer allows them the calls of holders, nor the browser's question beforehand."""
    origin, task = {"origin": "https://a.example"}, f"/v1/tasks/{'0' * 64}"
    ask = {**origin, "access-control-request-method": "POST"}
    async with serving(workers, cors_holders=False, **settings) as http:
        answers = [
            await http.get(task, headers=origin),
            await http.post(f"{task}/reports", headers=origin),
            await http.options(f"{task}/reports", headers=ask),
        ]
    for answer in answers:
        assert "access-control-allow-origin" not in answer.headers


async def test_head_is_answered_as_get_is(http: Http) -> None:
    """By every kind of call that reads, with the headers of the GET and no body; where a GET is
    refused, a HEAD is too."""
    task = f"/v1/tasks/{await http.task()}"
    headers = {"Accept": TASK_MEDIA_TYPE}
    kinds = (task, f"{task}/status", f"{task}/models", "/v1/tasks", "/v1/methods", "/healthz")
    for path in (*kinds, "/docs"):
        got, head = await http.get(path, headers=headers), await http.head(path, headers=headers)
        assert (head.status_code, head.content) == (got.status_code, b"") == (200, b"")
        assert head.headers == got.headers
        assert int(head.headers["content-length"]) == len(got.content) > 0
    assert (await http.head("/metrics", headers=http.admin)).status_code == 200
    for path, status in ((f"{task}/reports", 405), ("/v1/nothing", 404), ("/v1/tokens", 401)):
        refused = await http.head(path)
        assert (refused.status_code, refused.content) == (status, b"")


async def test_log_lines_have_the_id_that_a_proxy_gave(
    http: Http, capsys: pytest.CaptureFixture[str]
) -> None:
    """So an admin's call is found from the proxy's answer on."""
    set_up_logs("json")
    request_id = "123e4567-e89b-12d3-a456-426614174000"
    http.headers["X-Request-ID"] = request_id
    await http.bearer("reader")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (audited,) = [line for line in lines if line["logger"] == "privet.audit"]
    assert audited["request"] == request_id
