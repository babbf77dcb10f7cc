"""Who may see and do what on the pages, and what comes with them."""

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from privet.admin.results import Scope
from privet.curator.app import CuratorApp
from privet.curator.collection.task_cache import CachedTask
from privet.curator.dashboard.pages import QUOTED, TASK_WORD, in_words, of_studies, plural
from privet.curator.dashboard.visitor import COOKIE, SESSION_SECONDS, Visitor
from privet.curator.datastore.audit import AuditEntry
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.learning.core.amounts import when
from privet.learning.core.public_data import stated_prevalence
from privet.learning.task_building.build import build_task
from privet.learning.task_building.renaming import prepared
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import NotAuthorized, PrivetError
from privet.protocol.features import Classes
from tests.curator import samples
from tests.curator.datastore.made import many
from tests.curator.http.conftest import TOKEN, Http, serving
from tests.curator.studies import ASKER
from tests.keeping import keeps
from tests.manual_clock import ManualClock

from .test_overview import text_of
from .test_wizard import FILES


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


@keeps(
    "threat-model: a session ends after 12 hours",
    in_="curator/dashboard/visitor.py",
    instead_of="decrypt_at_time(cookie.encode(), seconds, now)",
    plant="decrypt(cookie.encode())",
)
@keeps(
    "threat-model: the cookie does not disclose the token",
    in_="curator/dashboard/pages.py",
    instead_of="httponly=True",
    plant="httponly=False",
)
async def test_a_session_is_a_cookie_that_no_script_reads(http: Http, clock: ManualClock) -> None:
    """HttpOnly, of this site only, Secure where the page came over https, without the token in it,
    and over after its time."""
    answer = await http.post("/sign-in", data={"token": TOKEN, "then": "/new"})
    cookie = answer.headers["set-cookie"]
    assert answer.headers["location"] == "/new"
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    assert (await http.get("/new")).status_code == 200
    clock.advance(SESSION_SECONDS + 1)
    assert (await http.get("/new")).status_code == 401
    by_tls = await http.post("https://curator/sign-in", data={"token": TOKEN})
    assert "Secure" in by_tls.headers["set-cookie"]


async def test_whoever_opens_an_address_without_a_page_reads_one(http: Http) -> None:
    """In a browser; programs have a problem document. Whoever has no session is asked to sign in,
    and nobody is told of a token that they never gave."""
    for address in ("/nowhere", "/new/plan", "/v1/nowhere", "/tasks"):
        answer = await http.get(address, headers={"Accept": "text/html,*/*"})
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "<h1>Nothing is at this address</h1>" in answer.text
        assert (at := re.search("Begin at “(.+?)”", answer.text))
        assert f'<a href="/">{at[1]}</a>' in answer.text  # where it leads is there
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        program = await http.get(address)
        assert program.headers["content-type"] == "application/problem+json"
    assert (await http.get("/docs", headers={"Accept": "text/html"})).status_code == 200
    answer = await http.get("/new")
    assert answer.status_code == 401
    assert "<h1>Please sign in</h1>" in answer.text
    assert "not accepted" not in answer.text
    await http.sign_in(await http.token("reader"))
    assert "<h1>Please sign in</h1>" not in (await http.get("/new")).text


async def test_the_front_page_has_questions_and_no_search_of_few_tasks(http: Http) -> None:
    """As people read them; of columns without one, their names."""
    await http.create(describe={"label": {"prompt": "Will you come back?"}}, name="asked", depth=1)
    await http.create(name="plain", depth=1)
    page = (await http.get("/")).text
    assert "<small>Will you come back?</small>" in page
    assert "<small>Label</small>" in page
    assert 'role="search"' not in page
    assert 'role="search"' in (await http.get("/?name=plain")).text
    assert "unless a study says first that it discloses an answer" in page
    assert "in all" not in page
    assert {found.group() for found in re.finditer("New [a-z]+|Start a [a-z]+", page)} == {
        "New study"
    }
    asked = (await http.get("/sign-in?then=/new")).text
    assert "ask whoever runs this server" in asked


async def test_whoever_can_answer_gets_there_from_the_front_page(http: Http) -> None:
    """Where there is a relay, of studies that are open and need no invitation; no readers."""
    open_one = await http.task(name="open")
    await http.task(name="invited", invited=True)
    closed = await http.task(name="closed")
    await http.post(f"/v1/tasks/{closed}/close", headers=http.admin)

    async def links() -> list[str]:
        return re.findall(r'href="([^"]+/answer/[^"]+)"', (await http.get("/")).text)

    assert await links() == []
    form = await http.sign_in()
    await form(f"/tasks/{open_one}/link", relay="https://relay.example")
    assert await links() == []
    http.cookies.clear()
    assert await links() == [f"https://relay.example/answer/{open_one}"]


async def test_the_front_page_leads_to_the_results_of_studies_that_have_ended(
    http: Http, app: CuratorApp
) -> None:
    """For everybody, unless models are guarded."""
    await http.task(name="open")
    closed = await http.task(name="closed")
    await http.post(f"/v1/tasks/{closed}/close", headers=http.admin)
    listed = (await http.get("/")).text
    assert re.findall(r'href="([^"]+/results)"', listed) == [f"/tasks/{closed}/results"]
    assert (await http.get(f"/tasks/{closed}/results")).status_code == 200
    app.state.curator.guard_models = True
    assert "/results" not in (await http.get("/")).text


async def test_the_front_page_counts_people(http: Http) -> None:
    """Exactly for readers, and for strangers in steps."""
    task = await http.task()
    for _ in range(3):
        await http.report(task)
    counted = '<td><span class="number">{}</span><span class="stacked"> people</span></td>'
    assert counted.format("fewer than 2\u202f000") in (await http.get("/")).text
    await http.sign_in()
    assert counted.format("3") in (await http.get("/")).text


NOT_WORDS = re.compile(
    r'(?s)<(head|footer|pre|code)>.*?</\1>|<p class="printed">.*?</p>|<[^>]*>'  # an address
)


def words_of(page: str) -> set[str]:
    """The words of a page but those of code and of the footer, which explains words."""
    return {*re.findall("[a-z]+", unescape(NOT_WORDS.sub(" ", page)).lower())}


async def test_pages_call_a_study_nothing_else(http: Http) -> None:
    """From the front page to the model's, for strangers and admins, where something is refused
    too; the footer says that commands call it a task."""
    task = await http.task(name="one")
    await http.fit(task, **samples.PUBLIC_ALONE)
    earlier = await http.task(name="other", draft=True)
    files = {"public": ("survey.csv", samples.survey())}
    paths = ["/", *(f"/tasks/{task}{part}" for part in ("", "/models/1", "/models/1/nodes/0"))]
    pages = [await http.get(path) for path in paths]
    form = await http.sign_in()
    pages += [await http.get(path) for path in [*paths, "/new", f"/tasks/{earlier}"]]
    pages += [await http.get("/tasks/none"), await http.get(f"/tasks/{task}/models/9")]
    pages.append(await form("/new/columns", files))
    pages.append(await form(f"/tasks/{task}/delete", name="another"))
    for page in pages:
        assert {"task", "tasks", "collection"} & words_of(page.text) == set(), page.url
    assert "Commands and the API call it a task" in pages[0].text


def test_what_is_quoted_stays_as_it_is() -> None:
    said = "The task's column 'task' has “Task”: no other collection's tasks are multitask."
    shown = "The study's column 'task' has “Task”: no other study's studies are multitask."
    assert of_studies(said) == shown


def test_what_people_call_their_columns_and_classes_is_quoted() -> None:
    """So that pages, which say study, do not rename them: whoever calls one a task."""
    given: dict[str, Any] = {"name": "n", "label": "collection", "epsilon": 1.0}
    settings = TaskSettings(**given, ignore=("tasks",))
    renaming = TaskSettings(**given, rename={"collection": {"tasks": "no"}})
    table = read_table(b"task,collection\n1,task\n2,no\n")
    label, y = Classes(name="collection", classes=("task", "no")), np.zeros(3)
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (build_task, (settings, table)),
        (prepared, (table, renaming)),
        (stated_prevalence, ({"tasks": 0.5}, label, y)),
        (stated_prevalence, ({"task": 0.5, "no": 0.6}, label, y)),
    ]
    for call, of in calls:
        with pytest.raises(PrivetError) as refused:
            call(*of)
        said = refused.value.detail
        assert "'task'" in of_studies(said), said
        assert not TASK_WORD.search("".join(QUOTED.split(said)[::2])), said


def test_one_is_no_plural() -> None:
    said = [plural(count, "cell") for count in (0, 1, 2, 1_200)]
    assert said == ["0 cells", "1 cell", "2 cells", "1\u202f200 cells"]


async def test_one_answer_is_one_persons(http: Http, app: CuratorApp, clock: ManualClock) -> None:
    """And a model of it says so."""
    task = await http.task()
    store = app.state.curator.store
    store.reports.take([many(CachedTask(store.tasks.read(task).task), 1, seed=0)], clock())
    assert (await http.fit(task)).json()["reports"] == 1
    await http.sign_in()
    page = (await http.get(f"/tasks/{task}")).text
    assert '<b id="reports">1</b> person so far' in page
    assert "<small>1 answer, " in page


@keeps(
    "threat-model: signing in by token leads nowhere else",
    in_="curator/dashboard/visits.py",
    instead_of="see_other(own_page(then))",
    plant="see_other(then)",
)
async def test_signing_in_leads_nowhere_else(http: Http) -> None:
    """The page to go on with is one of this curator's."""
    for then in ("//evil.example", "https://evil.example", "/\\evil.example", ""):
        answer = await http.post("/sign-in", data={"token": TOKEN, "then": then})
        assert answer.headers["location"] == "/"
        http.cookies.clear()


@keeps(
    "threat-model: a revoked token ends its sessions",
    in_="curator/dashboard/visitor.py",
    instead_of="""
        except (NotAuthorized, InsufficientScope, Overloaded):
            return Visitor()""",
    plant="""
        except (NotAuthorized, InsufficientScope, Overloaded):
            return Visitor("x", "admin", self.form_token(cookie), "x")""",
)
async def test_signing_out_and_revoking_end_a_session(http: Http) -> None:
    """The cookie goes; and a revoked token's cookie is a stranger's."""
    form = await http.sign_in()
    assert (await form("/sign-out")).status_code == 303
    assert (await http.get("/new")).status_code == 401
    await http.sign_in(await http.token("reader"))
    assert "eye (reader)" in (await http.get("/")).text
    await http.delete("/v1/tokens/eye", headers=http.admin)
    answer = await http.get("/")
    assert "Sign in" in answer.text
    assert f'{COOKIE}=""' in answer.headers["set-cookie"]


async def test_wrong_tokens_are_noted_and_limited(http: Http) -> None:
    """A failed sign-in is in the audit log, and counts against the tries of the API too; the good
    token is good."""
    answer = await http.post("/sign-in", data={"token": "wrong"})
    assert (await http.audit())[0]["action"] == "sign-in failed"
    for _ in range(9):
        answer = await http.post("/sign-in", data={"token": "wrong"})
        assert answer.status_code == 401
        assert "not known" in answer.text
    wrong = {"Authorization": "Bearer wrong"}
    assert (await http.post("/sign-in", data={"token": "wrong"})).status_code == 429
    assert (await http.get("/v1/tokens", headers=wrong)).status_code == 429
    assert (await http.post("/sign-in", data={"token": TOKEN})).status_code == 303


@keeps(
    "threat-model: a form of another page does nothing",
    in_="curator/dashboard/visitor.py",
    instead_of='not hmac.compare_digest(str(form.get(FORM_TOKEN, "")).encode(), expected.encode())',
    plant="False",
)
@keeps(
    "threat-model: a form from another site is refused",
    in_="curator/dashboard/visitor.py",
    instead_of='if request.headers.get("sec-fetch-site"',
    plant='if False and request.headers.get("sec-fetch-site"',
)
async def test_a_form_of_another_page_does_nothing(http: Http) -> None:
    """Without the session's form token, or from another site, a task stays as it is."""
    task, form = await http.task(), await http.sign_in()
    path = f"/tasks/{task}/move"
    assert (await http.post(path, data={"move": "close"})).status_code == 422
    for wrong in ("", "0" * 64):
        assert (await form(path, move="close", form_token=wrong)).status_code == 422
    http.headers["Sec-Fetch-Site"] = "cross-site"
    assert (await form(path, move="close")).status_code == 401
    assert (await http.get(f"/v1/tasks/{task}")).json()["state"] == "open"
    del http.headers["Sec-Fetch-Site"]
    assert (await form(path, move="close")).status_code == 303
    assert (await http.get(f"/v1/tasks/{task}")).json()["state"] == "closed"
    entry = (await http.audit())[0]
    assert (entry["action"], entry["subject"]) == ("task closed", task)
    page = (await http.get("/access")).text
    assert when(entry["detail"]["moved"]) in page


@keeps(
    "threat-model: only admins act on the dashboard",
    in_="curator/dashboard/visitor.py",
    instead_of="if self._may(scope):",
    plant="if self.reads or self._may(scope):",
)
@pytest.mark.parametrize(("scope", "status"), [("", 401), ("reader", 403)])
async def test_only_admins_act(http: Http, scope: str, status: int) -> None:
    """Strangers and readers are refused before anything is read or computed."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    form = await http.sign_in(await http.token(scope)) if scope else http.post
    of_task = ("move", "fit", "link", "models/1/promote", "invitations", "delete")
    for path in (*(f"/tasks/{task}/{end}" for end in of_task), "/access/tokens/revoke"):
        assert (await form(path)).status_code == status
    assert (await http.get("/access")).status_code == status
    for path in ("/access/tokens", "/new", "/new/columns", "/new/plan"):
        assert (await form(path, files=FILES)).status_code == status
    assert (await http.get(f"/tasks/{task}/trial")).status_code == status
    assert (await http.get(f"/v1/tasks/{task}")).json()["state"] == "open"


async def test_a_relays_token_opens_no_session(http: Http) -> None:
    """It sends batches, and reads nothing; no try with it counts as a guess."""
    token = await http.token("relay")
    for _ in range(12):
        answer = await http.post("/sign-in", data={"token": token})
        assert answer.status_code == 403
        assert "needs reader" in answer.text
        assert "set-cookie" not in answer.headers
    await http.sign_in()


async def test_drafts_are_for_readers(http: Http) -> None:
    """A stranger neither finds a draft in the list nor at its address, nor its models."""
    task = await http.task(draft=True, name="hidden plans")
    await http.fit(task, **samples.PUBLIC_ALONE)
    ends = ("", "/collection", "/models/1", "/models/1/nodes/0", "/models/1/export")
    assert "hidden plans" not in (await http.get("/")).text
    for end in ends:
        assert (await http.get(f"/tasks/{task}{end}")).status_code == 404
    await http.sign_in(await http.token("reader"))
    assert "hidden plans" in (await http.get("/")).text
    for end in ends:
        assert (await http.get(f"/tasks/{task}{end}")).status_code == 200


async def test_what_reports_say_is_for_readers(http: Http) -> None:
    """Strangers get no figure that follows the reports one by one."""
    task = await http.task()
    await http.fit(task, **samples.PUBLIC_ALONE)
    page = (await http.get(f"/tasks/{task}")).text
    assert "answers would give" not in page
    assert (await http.get(f"/tasks/{task}/models/1/card")).status_code == 401
    here = "of the people who answered are here"
    assert here not in (await http.get(f"/tasks/{task}/models/1/nodes/1")).text
    of_records = "share of the earlier file, not of the people who answered"
    shown = (await http.get(f"/tasks/{task}/models/1")).text
    assert shown.count(of_records) == shown.count(">share of the earlier file<") == 1
    await http.report(task)
    await http.sign_in(await http.token("reader"))
    shown = (await http.get(f"/tasks/{task}/models/1")).text
    assert "who is not signed in sees that of your file" in shown
    assert shown.count(">share of people<") == 1 - shown.count(of_records) == 1
    assert "answers would give" in (await http.get(f"/tasks/{task}")).text
    assert "to ± 2.5 points" in (await http.get(f"/tasks/{task}?wanted=2,5")).text
    for wrong in ("0", "-3", "many", "101", "nan", "1e999", "%22%3E"):
        answer = await http.get(f"/tasks/{task}?wanted={wrong}")
        assert answer.status_code == 200, wrong
        assert "Give a number above 0 and up to 100" in answer.text
        assert "answers would give" not in answer.text
        assert (await http.get(f"/tasks/{task}/collection?wanted={wrong}")).status_code == 200
    assert (await http.get(f"/tasks/{task}/models/1/card")).status_code == 200


async def test_an_ended_session_shows_no_false_count(
    http: Http, app: CuratorApp, clock: ManualClock
) -> None:
    """Whoever was signed in reads that this is over, and a range in place of 0 reports."""
    task = await http.task()
    store = app.state.curator.store
    cached = CachedTask(store.tasks.read(task).task)
    store.reports.take([many(cached, 300, seed=0)], clock())
    assert (await http.fit(task, estimator="weighted")).json()["reports"] == 300
    await http.sign_in()
    paths = (f"/tasks/{task}", f"/tasks/{task}/collection")
    for path in paths:
        assert '<b id="reports">300</b> people so far' in (await http.get(path)).text
    is_open = "Whoever has the link sees what a model says of groups"
    assert is_open in (await http.get(paths[0])).text
    app.state.curator.guard_models = True
    assert is_open not in (await http.get(paths[0])).text
    app.state.curator.guard_models = False
    clock.advance(SESSION_SECONDS + 1)
    for path in paths:
        text = (await http.get(path)).text
        assert '<b id="reports">fewer than 2\u202f000</b> people so far' in text  # as the list says
        assert "You are not signed in" in text
        assert f'href="/sign-in?then=/tasks/{task}"' in text
        assert "What its models say of groups is there already" in text
        assert 'id="node' in (await http.get(f"/tasks/{task}/models/1")).text
    front = (await http.get("/")).text
    assert "people are ranges.<" in front


async def test_guarded_models_are_for_readers(workers: Workers) -> None:
    """As in the API."""
    async with serving(workers, guard_models=True) as http:
        task = await http.task()
        await http.fit(task, **samples.PUBLIC_ALONE)
        assert "readers only" in (await http.get(f"/tasks/{task}")).text
        assert (await http.get(f"/tasks/{task}/models/1")).status_code == 401
        await http.sign_in()
        assert (await http.get(f"/tasks/{task}/models/1")).status_code == 200


@keeps(
    "deployment: the dashboard can be left out",
    in_="curator/app.py",
    instead_of="ROUTERS if settings.dashboard else ()",
    plant="ROUTERS",
)
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
    await http.fit(task, **samples.PUBLIC_ALONE)
    form = await http.sign_in()
    record = {"field.0": "3", "field.1": "3", "field.2": markup, "field.3": "0"}
    predicted = await form(f"/tasks/{task}/models/1/predict", **record)
    named = {"public": ("a.csv", f"a,{markup}\n1,{markup}\n2,x\n".encode())}
    columns = await form("/new/columns", named)
    of_task = ("", "/models/1", "/models/1/nodes/0", "/trial?estimator=weighted&weight=inf")
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
    await http.fit(task, **samples.PUBLIC_ALONE)
    assert "<svg" in (await http.get(f"/tasks/{task}/models/1")).text
    monkeypatch.setattr("privet.curator.dashboard.models.MOST_DRAWN", 1)
    text = (await http.get(f"/tasks/{task}/models/1")).text
    assert "groups, too many to draw" in text
    assert "<svg" not in text
    assert "Try a prediction" in text


async def test_the_link_leads_to_a_relay_that_is_remembered(http: Http) -> None:
    """Over https, for all tasks; anything else is refused, and an address names no relay."""
    task, other = await http.task(), await http.task(name="other")
    form, path = await http.sign_in(), f"/tasks/{task}/link"
    for wrong in ("javascript:alert(1)", "relay.example", "http://relay.example", "https://a/#b"):
        assert (await form(path, relay=wrong)).status_code == 422
    assert "<img" not in (await http.get(f"/tasks/{task}")).text
    assert (await form(path, relay="https://relay.example/")).status_code == 303
    for each in (task, other):
        text = (await http.get(f"/tasks/{each}?relay=https://evil.example")).text
        assert f'href="https://relay.example/answer/{each}"' in text
        assert f"task=&#34;https://relay.example/v1/tasks/{each}&#34;" in text
        assert "evil" not in text
    assert "relay named" in [entry["action"] for entry in await http.audit()]
    await form(path, relay="")
    assert "relay.example/answer" not in (await http.get(f"/tasks/{task}")).text


async def test_a_browser_at_the_apis_address_is_told_where_to_go(http: Http) -> None:
    """Programs get what they ask for; people a page that leads to the answer page or the asker."""
    task = await http.task(asker=ASKER)
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for accept in ("*/*", "application/json"):
        answer = await http.get(f"/v1/tasks/{task}", headers={"Accept": accept})
        assert answer.json()["id"] == task
        assert answer.headers["vary"] == "Accept"
    shown = await http.get(f"/v1/tasks/{task}", headers=browser)
    assert shown.headers["vary"] == "Accept"
    assert "ask A clinic (survey@clinic.example)" in shown.text
    form = await http.sign_in()
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    shown = await http.get(f"/v1/tasks/{task}", headers=browser)
    assert f'href="https://relay.example/answer/{task}"' in shown.text
    assert f"http://curator/v1/tasks/{task}" not in shown.text
    draft = await http.task(name="draft", draft=True)
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
        assert '<a href="/">All studies</a>' in answer.text
        assert "GET " not in answer.text, "that is for programs"


async def test_tokens_are_issued_and_revoked_and_both_noted(http: Http) -> None:
    """The value is shown once; the page lists names, ends and what was done."""
    form = await http.sign_in()
    asked = {"name": "visitor", "scope": "reader", "days": "30"}
    shown = (await form("/access/tokens", **asked)).text
    found = re.search(r'<code id="token">([^<]+)</code>', shown)
    assert found
    headers = {"Authorization": f"Bearer {found[1]}"}
    assert "signs in here with it; programs read it from <code>PRIVET_TOKEN<" in shown
    of_relay = (await form("/access/tokens", name="north", scope="relay", days="")).text
    assert "reads it from <code>PRIVET_RELAY_TOKEN<" in of_relay
    assert "signs in" not in text_of(of_relay).partition("shown only once")[2][:200]
    listed = (await http.get("/access")).text
    assert found[1] not in listed
    assert "token issued" in listed
    assert "30 days; may do: read (reader)" in listed
    assert 'name="days" inputmode="numeric" size="6" value="90"' in listed
    for wrong in ({"scope": "owner"}, {"days": "-1"}, {"days": "soon"}):
        assert (await form("/access/tokens", **asked | wrong)).status_code == 422
    assert (await http.get("/v1/tokens", headers=headers)).status_code == 403
    assert (await form("/access/tokens/revoke", name="visitor")).status_code == 303
    assert (await http.get("/v1/tokens", headers=headers)).status_code == 401
    assert "token revoked" in (await http.get("/access")).text


async def test_the_access_page_says_what_each_scope_may_do(http: Http) -> None:
    """In words, which its tokens then hold to."""
    await http.sign_in()
    task, headers = await http.task(), {}
    said = text_of((await http.get("/access")).text)
    for scope, words in {
        "reader": "Read all about studies",
        "fitter": "Read the same, and fit models",
        "relay": "Send in batches of answers",
        "admin": "Everything",
    }.items():
        assert f"({scope}) {words}" in said
        headers[scope] = {"Authorization": f"Bearer {await http.token(scope, scope)}"}
    of_task = f"/v1/tasks/{task}"
    calls = {  # and the scopes that are refused
        ("GET", f"{of_task}/insight"): {"relay"},
        ("POST", f"{of_task}/models"): {"relay", "reader"},
        ("POST", f"{of_task}/reports/batch"): {"reader", "fitter"},
        ("POST", f"{of_task}/close"): {"relay", "reader", "fitter"},
        ("GET", "/v1/tokens"): {"relay", "reader", "fitter"},
    }
    for (method, path), refused in calls.items():
        codes = {
            scope: (await http.request(method, path, headers=of)).status_code
            for scope, of in headers.items()
        }
        assert {scope for scope, code in codes.items() if code == 403} == refused, path


async def test_the_audit_log_names_studies(http: Http, app: CuratorApp) -> None:
    """With a link while they are there; hashes are folded up."""
    task, form = await http.task(name="Hours of sleep"), await http.sign_in()
    page = (await http.get("/access")).text
    row = next(row for row in page.split("</tr>") if "study created" in row)
    assert f'<a href="/tasks/{task}">Hours of sleep</a>' in row
    shown, folded = row.split("<details>")
    assert not re.search("[0-9a-f]{16}", shown.replace(task, ""))
    await http.fit(task, **samples.PUBLIC_ALONE)
    page = text_of((await http.get("/access")).text)
    assert f"model 1; way to fit: {in_words('weighted')}; put in use" in page
    assert "moved" not in page, "the time of an entry is not said twice"
    for word in ("aliases", "serving", "estimator"):
        assert word not in page, word
    app.state.curator.store.audit.add(AuditEntry(0.0, "", "signing key set", "", {}))
    page = text_of((await http.get("/access")).text)
    assert "key for signatures first used" in page
    assert "signing key" not in page
    later = {"scope": "a later version's"}
    app.state.curator.store.audit.add(AuditEntry(0.0, "", "token issued", "one", later))
    assert "may do: a later version's" in text_of((await http.get("/access")).text)
    detail = next(each for each in await http.audit() if each["action"] == "task created")["detail"]
    assert detail["public"] in folded
    await form(f"/tasks/{task}/delete", name="Hours of sleep")
    page = (await http.get("/access")).text
    row = next(row for row in page.split("</tr>") if "study deleted" in row)
    assert "Hours of sleep" in row
    assert task not in row


async def test_invitations_are_a_file_of_links(http: Http) -> None:
    """One a line; then only invited reports count, which the page says."""
    task, form = await http.task(invited=True), await http.sign_in()
    path = f"/tasks/{task}/invitations"
    bare = await form(path, count="3")
    assert "attachment" in bare.headers["content-disposition"]
    assert len(set(bare.text.splitlines())) == 3
    await form(f"/tasks/{task}/link", relay="https://relay.example")
    assert (await form(path, count="3")).text.startswith(f"https://relay.example/answer/{task}#")
    assert "6 issued, 0 used" in (await http.get(f"/tasks/{task}")).text
    for wrong in ("0", "many", "100001"):
        assert (await form(path, count=wrong)).status_code == 422


async def test_models_have_names(http: Http) -> None:
    """Besides the one that serves; a fit needs a report, and an error leads back."""
    task, form = await http.task(), await http.sign_in()
    assert "Fit a model" not in (await http.get(f"/tasks/{task}")).text
    refused = await form(f"/tasks/{task}/fit")
    assert refused.status_code == 409
    assert f'<a href="/tasks/{task}">Back to the study</a>' in refused.text
    await http.fit(task, **samples.PUBLIC_ALONE)
    path = f"/tasks/{task}/models/1/promote"
    assert (await form(path, alias="reviewed")).status_code == 303
    assert "reviewed, in use" in (await http.get(f"/tasks/{task}")).text
    assert (await form(path, alias="No name")).status_code == 422


async def test_a_proxy_may_serve_the_pages_below_a_path(workers: Workers) -> None:
    """Links, forms, files, redirects, cookies and the task's address begin with it; the text that
    people gave does not change."""
    async with serving(workers, root_path="/team/privet") as http:
        signed = await http.post("/sign-in", data={"token": TOKEN, "then": "/access"})
        assert signed.headers["location"] == "/team/privet/access"
        assert "Path=/team/privet/;" in signed.headers["set-cookie"]
        session = {"Cookie": signed.headers["set-cookie"].split(";")[0]}
        task = await http.task(description='See href="/here" and <a href="/there">')
        for path in ("/", "/new", f"/tasks/{task}", f"/tasks/{'0' * 64}"):
            answer = await http.get(path, headers=session | {"Accept": "text/html"})
            links = re.findall(
                r' (?:href|src|action|formaction|data-refresh)="(/[^"]*)"', answer.text
            )
            assert links, path
            assert [link for link in links if not link.startswith("/team/privet/")] == []
            assert int(answer.headers["content-length"]) == len(answer.content)
        page = (await http.get(f"/tasks/{task}", headers=session)).text
        assert f"http://curator/team/privet/v1/tasks/{task}" in page
        assert "See href=&#34;/here&#34; and &lt;a href=&#34;/there&#34;&gt;" in page
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token is not None
        for path in ("/new/relay", f"/tasks/{task}/start"):
            fields = {"form_token": token[1], "start": "1"}
            started = await http.post(path, data=fields, headers=session)
            assert "--curator http://curator/team/privet " in started.text, path
        out = await http.get("/tasks", headers={"Accept": "application/json"})
        assert "/team" not in out.text


@pytest.mark.parametrize("path", ["privet", "/privet/", "//privet", "/a b", '/"'])
def test_other_root_paths_are_refused(path: str) -> None:
    with pytest.raises(ValidationError, match="is no path: begin it with /"):
        Settings(root_path=path)


@pytest.mark.parametrize(
    ("scope", "said"),
    [(Scope.READER, "reader, fitter or admin"), (Scope.FITTER, "fitter or admin")],
)
def test_a_stranger_hears_of_each_token_that_would_do(scope: Scope, said: str) -> None:
    """The scope that is needed, and those above it."""
    with pytest.raises(NotAuthorized, match=f"a token of scope {said}: sign in"):
        Visitor().need(scope)
