"""Who may see and do what on the pages, and what comes with them."""

import re
from html.parser import HTMLParser

import httpx
import pytest

from privet.curator.app import CuratorApp
from privet.curator.collection.task_cache import CachedTask
from privet.curator.dashboard.visitor import COOKIE, SESSION_SECONDS
from privet.curator.workers import Workers
from tests.curator import samples
from tests.curator.datastore.made import many
from tests.curator.http.conftest import TOKEN, Http, serving
from tests.manual_clock import ManualClock


class Markup(HTMLParser):
    """The addresses in a page, and what stands inline in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name: value or "" for name, value in attrs}
        self.addresses += [names[key] for key in ("src", "href", "action") if key in names]
        if tag == "style" or (tag == "script" and "src" not in names):
            self.inline.append(tag)
        self.inline += [name for name in names if name == "style" or name.startswith("on")]


async def sign_in(http: Http, token: str = TOKEN) -> str:
    """Start a session; what its forms send back."""
    answer = await http.post("/sign-in", data={"token": token})
    assert answer.status_code == 303, answer.text
    found = re.search(r'name="form_token" value="(\w+)"', (await http.get("/")).text)
    assert found
    return found[1]


async def issue(http: Http, scope: str) -> str:
    """A new token."""
    answer = await http.put(f"/v1/tokens/{scope}", headers=http.admin, json={"scope": scope})
    return str(answer.json()["token"])


async def test_a_session_is_a_cookie_that_no_script_reads(http: Http, clock: ManualClock) -> None:
    """HttpOnly, of this site only, without the token in it, and over after its time."""
    answer = await http.post("/sign-in", data={"token": TOKEN, "then": "/new"})
    cookie = answer.headers["set-cookie"]
    assert answer.headers["location"] == "/new"
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert TOKEN not in cookie
    assert (await http.get("/new")).status_code == 200
    clock.advance(SESSION_SECONDS + 1)
    assert (await http.get("/new")).status_code == 401


async def test_behind_tls_the_cookie_stays_there(app: CuratorApp) -> None:
    """Secure, where the page came over https."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="https://curator") as client:
        answer = await client.post("/sign-in", data={"token": TOKEN})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("then", ["//evil.example", "https://evil.example", "/\\evil.example", ""])
async def test_signing_in_leads_nowhere_else(http: Http, then: str) -> None:
    """The page to go on with is one of this curator's."""
    answer = await http.post("/sign-in", data={"token": TOKEN, "then": then})
    assert answer.headers["location"] == "/"


async def test_signing_out_and_revoking_end_a_session(http: Http) -> None:
    """The cookie goes; and a revoked token's cookie is a stranger's."""
    form_token = await sign_in(http)
    out = await http.post("/sign-out", data={"form_token": form_token})
    assert out.status_code == 303
    assert (await http.get("/new")).status_code == 401
    await sign_in(http, await issue(http, "reader"))
    assert "reader (reader)" in (await http.get("/")).text
    await http.delete("/v1/tokens/reader", headers=http.admin)
    answer = await http.get("/")
    assert "Sign in" in answer.text
    assert f'{COOKIE}=""' in answer.headers["set-cookie"]


async def test_wrong_tokens_are_noted_and_limited(http: Http) -> None:
    """A failed sign-in is in the audit log, and counts against the tries of the API too."""
    answer = await http.post("/sign-in", data={"token": "wrong"})
    (entry, *_) = (await http.get("/v1/audit", headers=http.admin)).json()
    assert entry["action"] == "sign-in failed"
    for _ in range(9):
        answer = await http.post("/sign-in", data={"token": "wrong"})
        assert answer.status_code == 401
        assert "not known" in answer.text
    assert (await http.post("/sign-in", data={"token": TOKEN})).status_code == 429
    assert (await http.get("/v1/tokens", headers=http.admin)).status_code == 429


async def test_a_form_of_another_page_does_nothing(http: Http) -> None:
    """Without the session's form token, or from another site, a task stays as it is."""
    task = await http.task()
    form_token = await sign_in(http)
    path = f"/tasks/{task}/move"
    for data in ({}, {"form_token": ""}, {"form_token": "0" * 64}):
        assert (await http.post(path, data={"move": "close", **data})).status_code == 422
    whole = {"move": "close", "form_token": form_token}
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert (await http.post(path, data=whole, headers=elsewhere)).status_code == 401
    assert (await http.get(f"/v1/tasks/{task}")).json()["state"] == "open"
    assert (await http.post(path, data=whole)).status_code == 303
    assert (await http.get(f"/v1/tasks/{task}")).json()["state"] == "closed"
    (entry, *_) = (await http.get("/v1/audit", headers=http.admin)).json()
    assert (entry["action"], entry["subject"]) == ("task closed", task)


@pytest.mark.parametrize(("scope", "status"), [("", 401), ("reader", 403)])
async def test_only_admins_act(http: Http, scope: str, status: int) -> None:
    """Strangers and readers are refused before anything is read or computed."""
    task = await http.task()
    await http.fit(task, estimator="public")
    form_token = await sign_in(http, await issue(http, scope)) if scope else ""
    data = {"form_token": form_token, "move": "close"}
    for path in ("move", "fit", "link", "models/1/promote", "invitations", "delete"):
        assert (await http.post(f"/tasks/{task}/{path}", data=data)).status_code == status
    for path in ("/access/tokens", "/access/tokens/revoke"):
        assert (await http.post(path, data=data)).status_code == status
    assert (await http.get("/access")).status_code == status
    for path in ("/new", "/new/columns", "/new/plan"):
        answer = await http.post(path, data=data, files={"public": ("a.csv", samples.survey())})
        assert answer.status_code == status
    assert (await http.get(f"/tasks/{task}/trial")).status_code == status
    assert (await http.get(f"/v1/tasks/{task}")).json()["state"] == "open"


async def test_a_relays_token_opens_no_session(http: Http) -> None:
    """It sends batches, and reads nothing; no try with it counts as a guess."""
    token = await issue(http, "relay")
    for _ in range(12):
        answer = await http.post("/sign-in", data={"token": token})
        assert answer.status_code == 403
        assert "needs reader" in answer.text
        assert "set-cookie" not in answer.headers
    await sign_in(http)


async def test_drafts_are_for_readers(http: Http) -> None:
    """A stranger neither finds a draft in the list nor at its address, nor its models."""
    task = await http.task(open=False, name="hidden plans")
    await http.fit(task, estimator="public")
    paths = (f"/tasks/{task}", f"/tasks/{task}/collection", f"/tasks/{task}/models/1")
    more = (f"/tasks/{task}/models/1/nodes/0", f"/tasks/{task}/models/1/export")
    assert "hidden plans" not in (await http.get("/")).text
    for path in (*paths, *more):
        assert (await http.get(path)).status_code == 404
    await sign_in(http, await issue(http, "reader"))
    assert "hidden plans" in (await http.get("/")).text
    for path in (*paths, *more):
        assert (await http.get(path)).status_code == 200


async def test_what_reports_say_is_for_readers(http: Http) -> None:
    """Strangers get no figure that follows the reports one by one."""
    task = await http.task()
    await http.fit(task, estimator="public")
    page = (await http.get(f"/tasks/{task}")).text
    assert "more for ±" not in page
    assert (await http.get(f"/tasks/{task}/models/1/card")).status_code == 401
    assert "of the holders are here" not in (await http.get(f"/tasks/{task}/models/1/nodes/1")).text
    await sign_in(http, await issue(http, "reader"))
    assert "more for ±" in (await http.get(f"/tasks/{task}")).text
    assert (await http.get(f"/tasks/{task}/models/1/card")).status_code == 200


async def test_an_ended_session_shows_no_false_count(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Whoever was signed in reads that this is over, and a range in place of 0 reports."""
    task = await http.task()
    store = app.state.curator.store
    cached = CachedTask(store.task(task).task)
    store.take([many(cached, 300, seed=0)], clock())
    assert (await http.fit(task, estimator="weighted")).json()["reports"] == 300
    await sign_in(http)
    paths = (f"/tasks/{task}", f"/tasks/{task}/collection")
    for path in paths:
        assert '<b id="reports">300</b> reports' in (await http.get(path)).text
    clock.advance(SESSION_SECONDS + 1)
    for path in paths:
        text = (await http.get(path)).text
        assert '<b id="reports">0 to 2\u202f000</b> reports' in text
        assert "You are not signed in" in text
        assert f'href="/sign-in?then=/tasks/{task}"' in text


async def test_guarded_models_are_for_readers(workers: Workers) -> None:
    """As in the API."""
    async with serving(workers, guard_models=True) as http:
        task = await http.task()
        await http.fit(task, estimator="public")
        assert "readers only" in (await http.get(f"/tasks/{task}")).text
        assert (await http.get(f"/tasks/{task}/models/1")).status_code == 401
        await sign_in(http)
        assert (await http.get(f"/tasks/{task}/models/1")).status_code == 200


async def test_the_setting_turns_it_off(workers: Workers) -> None:
    """Then there is nothing at ``/``, and the API is as it was."""
    async with serving(workers, dashboard=False) as http:
        for path in ("/", "/sign-in", "/new", "/static/page.js"):
            assert (await http.get(path)).status_code == 404
        assert (await http.get("/v1/tasks")).json() == []


async def test_nothing_is_inline_or_from_elsewhere(http: Http) -> None:
    """Scripts and styles are files of this curator's, whatever a task is called."""
    markup = "<script>alert(1)</script><b onclick=x>"
    task = await http.task(
        samples.survey().replace(b"nurse", markup.encode()), name=markup, description=markup
    )
    await http.fit(task, estimator="public")
    form_token = await sign_in(http)
    record = {"field.0": "3", "field.1": "3", "field.2": markup, "field.3": "0"}
    predicted = await http.post(
        f"/tasks/{task}/models/1/predict", data={"form_token": form_token, **record}
    )
    columns = await http.post(
        "/new/columns",
        data={"form_token": form_token},
        files={"public": ("a.csv", f"a,{markup}\n1,{markup}\n2,x\n".encode())},
    )
    of_task = ("", "/models/1", "/models/1/nodes/0", "/trial?estimator=public")
    paths = ["/", "/new", "/sign-in", "/tasks/none", *(f"/tasks/{task}{path}" for path in of_task)]
    answers = [predicted, columns, *[await http.get(path) for path in paths]]
    for answer in answers:
        page = Markup(answer.text)
        assert page.inline == [], answer.url
        assert markup not in answer.text
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert answer.headers["cache-control"] == "no-store"
        for address in page.addresses:
            assert re.match(r"/(?!/)|#|data:|http://curator/v1/tasks/", address), address
    for name, kind in (("page.js", "text/javascript"), ("style.css", "text/css")):
        answer = await http.get(f"/static/{name}")
        assert answer.headers["content-type"].split(";")[0] == kind
        assert "//" not in re.sub(r"//.*|/\*[\s\S]*?\*/", "", answer.text)


async def test_a_tree_too_large_to_read_is_not_drawn(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says so, and has the files and the form of predictions."""
    task = await http.task(depth=3, grower="cart")
    await http.fit(task, estimator="public")
    assert "<svg" in (await http.get(f"/tasks/{task}/models/1")).text
    monkeypatch.setattr("privet.curator.dashboard.models.MOST_DRAWN", 1)
    text = (await http.get(f"/tasks/{task}/models/1")).text
    assert "cells, too many to draw" in text
    assert "<svg" not in text
    assert "Try a prediction" in text


@pytest.mark.parametrize(
    "relay", ["javascript:alert(1)", "relay.example", "http://relay.example", "https://a/#b"]
)
async def test_the_link_leads_to_a_relay_that_is_remembered(http: Http, relay: str) -> None:
    """Over https, for all tasks; anything else is refused, and an address names no relay."""
    task, other = await http.task(), await http.task(name="other")
    data = {"form_token": await sign_in(http), "relay": relay}
    assert (await http.post(f"/tasks/{task}/link", data=data)).status_code == 422
    assert "<img" not in (await http.get(f"/tasks/{task}")).text
    data["relay"] = "https://relay.example/"
    assert (await http.post(f"/tasks/{task}/link", data=data)).status_code == 303
    for each in (task, other):
        text = (await http.get(f"/tasks/{each}?relay=https://evil.example")).text
        assert f'href="https://relay.example/answer/{each}"' in text
        assert "evil" not in text
    audit = (await http.get("/v1/audit", headers=http.admin)).json()
    assert "relay named" in [entry["action"] for entry in audit]
    data["relay"] = ""
    await http.post(f"/tasks/{task}/link", data=data)
    assert "relay.example/answer" not in (await http.get(f"/tasks/{task}")).text


async def test_a_browser_at_the_apis_address_is_told_where_to_go(http: Http) -> None:
    """Programs get what they ask for; people a page that leads to the answer page or the asker."""
    asker = {"name": "A clinic", "contact": "a@clinic.example", "purpose": "p"}
    created = await http.create(asker={**asker, "link": "https://clinic.example"})
    task = created.json()["id"]
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for accept in ("*/*", "application/json"):
        answer = await http.get(f"/v1/tasks/{task}", headers={"Accept": accept})
        assert answer.json()["id"] == task
        assert answer.headers["vary"] == "Accept"
    shown = await http.get(f"/v1/tasks/{task}", headers=browser)
    assert shown.headers["vary"] == "Accept"
    assert "ask A clinic (a@clinic.example)" in shown.text
    http_token = await sign_in(http)
    relay = {"form_token": http_token, "relay": "https://relay.example"}
    await http.post(f"/tasks/{task}/link", data=relay)
    shown = await http.get(f"/v1/tasks/{task}", headers=browser)
    assert f'href="https://relay.example/answer/{task}"' in shown.text
    assert f"http://curator/v1/tasks/{task}" not in shown.text
    draft = (await http.create(name="draft", open=False)).json()["id"]
    http.cookies.clear()
    assert (await http.get(f"/v1/tasks/{draft}", headers=browser)).status_code == 404


async def test_errors_are_pages(http: Http) -> None:
    """With the status of the API's problem document."""
    for path, status in (
        ("/tasks/none", 404),
        ("/tasks/none/models/1", 404),
        ("/static/none", 404),
        ("/new", 401),
        ("/?first=x", 422),
    ):
        answer = await http.get(path)
        assert answer.status_code == status
        assert answer.headers["content-type"].startswith("text/html")
        assert 'role="alert"' in answer.text


async def test_the_wizard_leaves_to_inference_what_agrees_with_it(http: Http) -> None:
    """A form that was not changed gives the task of the same file without any declaration."""
    form_token = await sign_in(http)
    files = {"public": ("a.csv", samples.survey())}
    page = await http.post("/new/columns", data={"form_token": form_token}, files=files)
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text))
    kinds = ("numeric", "numeric", "categorical", "categorical")
    for place, kind in enumerate(kinds):
        fields |= {f"use.{place}": "on", f"kind.{place}": kind}
        if kind == "categorical":
            fields[f"categories.{place}"] = fields[f"found.{place}"].replace("\n", "\r\n")
    fields |= {"label": "label", "name": "survey", "epsilon": "1.0", "holders": "10000"}
    asker = {"name": "A clinic", "contact": "a@clinic.example", "purpose": "p"}
    asker["link"] = "https://clinic.example"
    fields |= {f"asker_{name}": text for name, text in asker.items()}
    made = await http.post("/new", data={**fields, "form_token": form_token}, files=files)
    plain = await http.create(depth=None, grower="distilled", asker=asker)
    assert made.status_code == 303, made.text
    assert made.headers["location"] == f"/tasks/{plain.json()['id']}#holders"
    assert plain.status_code == 200  # the same task was there already
    for name, value in (("low.0", "x"), ("label", "nobody"), ("epsilon", "-1")):
        answer = await http.post(
            "/new", data={**fields, name: value, "form_token": form_token}, files=files
        )
        assert answer.status_code == 422, name


async def test_tokens_are_issued_and_revoked_and_both_noted(http: Http) -> None:
    """The value is shown once; the page lists names, ends and what was done."""
    form_token = await sign_in(http)
    asked = {"form_token": form_token, "name": "visitor", "scope": "reader", "days": "30"}
    shown = (await http.post("/access/tokens", data=asked)).text
    found = re.search(r"shown this once: <code>([^<]+)</code>", shown)
    assert found
    headers = {"Authorization": f"Bearer {found[1]}"}
    listed = (await http.get("/access")).text
    assert found[1] not in listed
    assert "token issued" in listed
    for wrong in ({"scope": "owner"}, {"days": "-1"}, {"days": "soon"}):
        assert (await http.post("/access/tokens", data=asked | wrong)).status_code == 422
    assert (await http.get("/v1/tokens", headers=headers)).status_code == 403
    assert (await http.post("/access/tokens/revoke", data=asked)).status_code == 303
    assert (await http.get("/v1/tokens", headers=headers)).status_code == 401
    assert "token revoked" in (await http.get("/access")).text


async def test_invitations_are_a_file_of_links(http: Http) -> None:
    """One a line; then only invited reports count, which the page says."""
    task = await http.task()
    form_token = await sign_in(http)
    asked = {"form_token": form_token, "count": "3"}
    bare = await http.post(f"/tasks/{task}/invitations", data=asked)
    assert "attachment" in bare.headers["content-disposition"]
    assert len(set(bare.text.splitlines())) == 3
    await http.post(f"/tasks/{task}/link", data=asked | {"relay": "https://relay.example"})
    (line, *_) = (await http.post(f"/tasks/{task}/invitations", data=asked)).text.splitlines()
    assert line.startswith(f"https://relay.example/answer/{task}#")
    assert "6 issued, 0 used" in (await http.get(f"/tasks/{task}")).text
    for count in ("0", "many", "100001"):
        wrong = asked | {"count": count}
        assert (await http.post(f"/tasks/{task}/invitations", data=wrong)).status_code == 422


async def test_a_task_is_deleted_by_its_name(http: Http) -> None:
    """A click alone deletes nothing."""
    task = await http.task(name="Readmission")
    asked = {"form_token": await sign_in(http), "name": "Admission"}
    assert (await http.post(f"/tasks/{task}/delete", data=asked)).status_code == 422
    assert (await http.get(f"/tasks/{task}")).status_code == 200
    asked["name"] = "Readmission"
    assert (await http.post(f"/tasks/{task}/delete", data=asked)).headers["location"] == "/"
    assert (await http.get(f"/tasks/{task}")).status_code == 404


async def test_models_have_names(http: Http) -> None:
    """Besides the one that serves; a fit needs a report, and an error leads back."""
    task = await http.task()
    form_token = await sign_in(http)
    assert "Fit a model" not in (await http.get(f"/tasks/{task}")).text
    refused = await http.post(f"/tasks/{task}/fit", data={"form_token": form_token})
    assert refused.status_code == 409
    assert f'<a href="/tasks/{task}">Back to the task</a>' in refused.text
    await http.fit(task, estimator="public")
    path = f"/tasks/{task}/models/1/promote"
    asked = {"form_token": form_token, "alias": "reviewed"}
    assert (await http.post(path, data=asked)).status_code == 303
    assert "reviewed, serves" in (await http.get(f"/tasks/{task}")).text
    assert (await http.post(path, data=asked | {"alias": "No name"})).status_code == 422
