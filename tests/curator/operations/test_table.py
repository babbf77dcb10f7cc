"""A use case has an owner: whoever calls it, it asks who may, and leaves the same traces.

A use case that is in no table here fails a test, until somebody has said what it takes and leaves.
"""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from privet.admin.results import Scope
from privet.curator import operations
from privet.curator.app import CuratorApp, create_app
from privet.curator.operations import access, models, tasks
from privet.curator.operations.access import TokenRequest
from privet.curator.operations.curator import Curator
from privet.curator.operations.models import FitRequest, PromoteRequest
from privet.curator.operations.predictions import PredictRequest
from privet.curator.operations.relays import RelayRequest
from privet.curator.operations.table import OPERATIONS
from privet.curator.operations.tasks import InviteRequest, RevokeRequest
from privet.curator.settings import Settings
from privet.learning.public_model import candidates
from privet.learning.task_building.publication import Publication
from privet.protocol.errors import InsufficientScope, NotAuthorized, TaskNotFound
from privet.tables.text_format import NOTHING_STATED
from tests.curator import samples
from tests.curator.datastore.made import only_invited
from tests.curator.datastore.servers import new_store
from tests.curator.http.checks import values
from tests.curator.http.conftest import TOKEN, Http, client_of
from tests.curator.studies import form_of
from tests.curator.use_cases import InPlace, Someone, answer, done, new_curator

MODULES = [
    import_module(f"{operations.__name__}.{each.name}")
    for each in iter_modules(operations.__path__)
]
RECORD = {"age": 50, "hours": 40, "job": "smith", "member": True}
GIVEN = {"name": "survey", "label": "label", "epsilon": 1.0, "grower": "cart", "depth": 2}
ADMIN, FITTER, READER, STRANGER = (
    Someone("ada", Scope.ADMIN),
    Someone("fay", Scope.FITTER),
    Someone("ray", Scope.READER),
    Someone("", None),
)


@dataclass(frozen=True)
class Call:
    """A call of the API or a form of a page; ``{task}`` is the task's id."""

    method: str
    path: str
    given: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """What a use case that is not for everybody takes and leaves."""

    scope: Scope
    arguments: Callable[[str], tuple[Any, ...]]
    action: str = ""
    """What the audit log then says; empty if nothing changes."""
    route: Call | None = None
    page: Call | None = None
    page_scope: Scope = Scope.ADMIN
    metric: str = ""
    """The counter of its outcomes."""


@cache
def survey() -> bytes:
    return samples.survey(60)


def settings() -> Publication:
    return Publication.model_validate(GIVEN)


def form() -> dict[str, Any]:
    return form_of(survey())


UPLOAD = {
    "files": {"public": ("a.csv", survey())},
    "data": {"settings": '{"name": "another", "label": "label", "epsilon": 1, "depth": 2}'},
}
V1 = "/v1/tasks/{task}"
NOWHERE = "http://127.0.0.1:9"
"""An address at which nobody answers."""
PAGE = "/tasks/{task}"
ALONE = FitRequest(estimator="weighted", parameters={"weight": "inf"})
"""Public records alone make a model."""
CASES: dict[str, Case] = {
    "create_task": Case(
        Scope.ADMIN,
        lambda _: (settings().model_copy(update={"name": "another"}), survey()),
        "task created",
        Call("POST", "/v1/tasks", UPLOAD),
        Call("POST", "/new", form()),
    ),
    "preview_table": Case(
        Scope.ADMIN, lambda _: (survey(), NOTHING_STATED), page=Call("POST", "/new/columns", form())
    ),
    "preview_task": Case(
        Scope.ADMIN,
        lambda _: (settings(), survey()),
        page=Call("POST", "/new/preview", form()),
    ),
    "plan_task": Case(
        Scope.ADMIN,
        lambda _: (survey(), Publication.model_validate(GIVEN | {"holders": 300})),
        page=Call("POST", "/new/plan", form()),
    ),
    "close_task": Case(
        Scope.ADMIN,
        lambda task: (task,),
        "task closed",
        Call("POST", f"{V1}/close"),
        Call("POST", f"{PAGE}/move", {"data": {"move": "close"}}),
    ),
    "delete_task": Case(
        Scope.ADMIN,
        lambda task: (task,),
        "task deleted",
        Call("DELETE", V1),
        Call("POST", f"{PAGE}/delete", {"data": {"name": "survey"}}),
    ),
    "name_relay": Case(
        Scope.ADMIN,
        lambda _: (RelayRequest(address=NOWHERE),),
        "relay named",
        Call("PUT", "/v1/relay", {"json": {"address": NOWHERE}}),
        Call("POST", f"{PAGE}/link", {"data": {"relay": NOWHERE}}),
    ),
    "read_relay": Case(Scope.ADMIN, lambda _: (), route=Call("GET", "/v1/relay")),
    "delete_named_task": Case(Scope.ADMIN, lambda task: (task, "survey"), "task deleted"),
    "start_relay": Case(
        Scope.ADMIN,
        lambda _: ("https://curator.example",),
        "token issued",
        page=Call("POST", f"{PAGE}/start", {"data": {}}),
    ),
    "invite": Case(
        Scope.ADMIN,
        lambda task: (task, InviteRequest(count=2)),
        "invitations made",
        Call("POST", f"{V1}/invitations", {"json": {"count": 2}}),
        Call("POST", f"{PAGE}/invitations", {"data": {"count": "2"}}),
    ),
    "count_invitations": Case(
        Scope.ADMIN, lambda task: (task,), route=Call("GET", f"{V1}/invitations")
    ),
    "revoke_invitations": Case(
        Scope.ADMIN,
        lambda task: (task, RevokeRequest()),
        "invitations revoked",
        Call("POST", f"{V1}/invitations/revoke", {"json": {}}),
    ),
    "fit": Case(
        Scope.FITTER,
        lambda task: (task, ALONE),
        "model fitted",
        Call("POST", f"{V1}/models", {"json": samples.PUBLIC_ALONE}),
        Call("POST", f"{PAGE}/fit", {"data": {"estimator": "weighted", "weight": "inf"}}),
        metric="privet_fits_total",
    ),
    "try_settings": Case(
        Scope.ADMIN,
        lambda task: (task, "weighted", {"weight": "inf"}),
        page=Call("GET", f"{PAGE}/trial?estimator=weighted&weight=inf"),
    ),
    "promote_model": Case(
        Scope.ADMIN,
        lambda task: (task, "best", PromoteRequest(number=1)),
        "model promoted",
        Call("PUT", f"{V1}/aliases/best", {"json": {"number": 1}}),
        Call("POST", f"{PAGE}/models/1/promote", {"data": {"alias": "best"}}),
    ),
    "read_card": Case(
        Scope.READER,
        lambda task: (task, 1),
        route=Call("GET", f"{V1}/models/1/card"),
        page=Call("GET", f"{PAGE}/models/1/card"),
        page_scope=Scope.READER,
    ),
    "read_insight": Case(
        Scope.READER, lambda task: (task, 2), route=Call("GET", f"{V1}/models/2/insight")
    ),
    "list_tokens": Case(
        Scope.ADMIN, lambda _: (), route=Call("GET", "/v1/tokens"), page=Call("GET", "/access")
    ),
    "issue_token": Case(
        Scope.ADMIN,
        lambda _: ("desk", TokenRequest(scope=Scope.READER)),
        "token issued",
        Call("PUT", "/v1/tokens/desk", {"json": {"scope": "reader"}}),
        Call("POST", "/access/tokens", {"data": {"name": "desk", "scope": "reader"}}),
    ),
    "revoke_token": Case(
        Scope.ADMIN,
        lambda _: ("old",),
        "token revoked",
        Call("DELETE", "/v1/tokens/old"),
        Call("POST", "/access/tokens/revoke", {"data": {"name": "old"}}),
    ),
    "read_audit": Case(
        Scope.ADMIN, lambda _: (10,), route=Call("GET", "/v1/audit"), page=Call("GET", "/access")
    ),
}
"""Use cases for some alone."""
OF_TASKS: dict[str, tuple[Any, ...]] = {
    "list_tasks": (),
    "listed_tasks": (),
    "read_task": (),
    "read_status": (),
}
"""Use cases for everybody, but for what drafts are."""
OF_MODELS: dict[str, tuple[Any, ...]] = {
    "list_models": (),
    "read_model": (1,),
    "export": (1, "json"),
    "compare_models": (1, 2),
    "predict": (PredictRequest(records=[RECORD]),),
}
"""Use cases for everybody, unless models are for readers; what follows the task's id."""
NO_ERROR = {
    "predict_elsewhere",
    "count_people",
    "read_key",
    "read_methods",
    "open_task",
}
"""Those that tell a stranger less, and what others rest on; their tests are elsewhere."""


def use_cases() -> dict[str, Callable[..., Any]]:
    """The public functions that take an actor."""
    return {
        name: function
        for module in MODULES
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and not name.startswith("_")
        and "actor" in inspect.signature(function).parameters
    }


def ask(name: str, curator: Curator, actor: Someone, *arguments: Any) -> Any:
    """What a use case returns."""
    answer = use_cases()[name](curator, actor, *arguments)
    return done(answer) if isinstance(answer, Coroutine) else answer


@cache
def filled() -> tuple[bytes, str]:
    """A database with a task, two models, of which the second has a report, and a token."""
    store = new_store()
    curator = new_curator(store)
    task = done(tasks.create_task(curator, ADMIN, settings(), survey()))[0].task
    done(models.fit(curator, ADMIN, task.id, ALONE))
    answer(curator, task, [RECORD | {"label": 1}])
    done(models.fit(curator, ADMIN, task.id, FitRequest(estimator="weighted")))
    access.issue_token(curator, ADMIN, "old", TokenRequest(scope=Scope.READER))
    only_invited(store, task.id)
    store.close()
    return Path(str(store.engine.url.database)).read_bytes(), str(task.id)


def actions(curator: Curator) -> list[tuple[str, str]]:
    """Who did what, by the audit log."""
    return [(entry.actor, entry.action) for entry in curator.store.audit.entries(1_000)][::-1]


def test_every_use_case_is_in_the_table() -> None:
    """Whichever module of the room it is in; and a case says what it leaves, or whom it is open to.

    Signing in has no actor yet, but makes one.
    """
    declared = {operation.name: operation for operation in OPERATIONS.values()}
    assert use_cases().keys() == declared.keys()
    stated = CASES.keys() | OF_TASKS.keys() | OF_MODELS.keys() | NO_ERROR
    for name, operation in declared.items():
        assert name in stated or (isinstance(operation.scope, Scope) and not operation.audit), name


@pytest.mark.parametrize("function", OPERATIONS, ids=lambda function: function.__name__)
def test_the_table_asks_who_may(function: Callable[..., Any]) -> None:
    """Before anything else, so that no argument matters."""
    operation, curator = OPERATIONS[function], new_curator()
    given = [None] * (len(operation.signature.parameters) - 2)
    for actor in (STRANGER, READER, FITTER):
        allowed = actor.scope is not None and actor.scope.allows(operation.scope)
        if isinstance(operation.scope, Scope) and not allowed:
            ask = partial(function, curator, actor, *given)
            with pytest.raises(InsufficientScope if actor.scope else NotAuthorized):
                done(ask()) if operation.pool else ask()


def test_routes_and_pages_reach_no_store() -> None:
    """What they do goes through a use case; and none makes up a request or a response."""
    home = Path(tasks.__file__).parents[1]
    files = [*(home / "http").glob("*.py"), *(home / "dashboard").glob("*.py")]
    assert len(files) > 15
    for file in files:
        found = re.findall(r"\.store\b|\bResponse\(\)|\bRequest\(", file.read_text())
        assert found == [], file.name


@pytest.mark.parametrize("name", CASES)
def test_a_use_case_asks_who_may_and_says_what_was_done(name: str) -> None:
    """By itself: too small a scope changes nothing and leaves nothing; enough leaves one entry."""
    content, task = filled()
    curator, case = new_curator(new_store(content)), CASES[name]
    before = actions(curator)
    for actor in (STRANGER, READER, FITTER):
        if actor.scope is None or not actor.scope.allows(case.scope):
            with pytest.raises(InsufficientScope if actor.scope else NotAuthorized):
                ask(name, curator, actor, *case.arguments(task))
    assert actions(curator) == before
    enough = {Scope.ADMIN: ADMIN, Scope.FITTER: FITTER, Scope.READER: READER}[case.scope]
    ask(name, curator, enough, *case.arguments(task))
    assert actions(curator)[len(before) :] == [(enough.id, case.action)] * bool(case.action)


@pytest.mark.parametrize("name", [*OF_TASKS, *OF_MODELS])
def test_a_draft_is_there_for_readers_only(name: str) -> None:
    """As are its models."""
    curator = new_curator()
    draft = Publication.model_validate(GIVEN | {"draft": True})
    task = done(tasks.create_task(curator, ADMIN, draft, survey()))[0].task.id
    for _ in range(2):
        done(models.fit(curator, ADMIN, task, ALONE))
    if name in {"list_tasks", "listed_tasks"}:
        assert [ask(name, curator, actor) != [] for actor in (STRANGER, READER)] == [False, True]
        return
    arguments = (task, *{**OF_TASKS, **OF_MODELS}[name])
    with pytest.raises(TaskNotFound):
        ask(name, curator, STRANGER, *arguments)
    ask(name, curator, READER, *arguments)


@pytest.mark.parametrize("name", OF_MODELS)
def test_models_may_be_for_readers_only(name: str) -> None:
    """Where the curator guards them."""
    content, task = filled()
    curator = new_curator(new_store(content))
    ask(name, curator, STRANGER, task, *OF_MODELS[name])
    curator.guard_models = True
    with pytest.raises(NotAuthorized):
        ask(name, curator, STRANGER, task, *OF_MODELS[name])
    ask(name, curator, READER, task, *OF_MODELS[name])


@pytest.fixture(autouse=True)
def plans_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without boosting."""
    monkeypatch.setattr(candidates, "BOOSTING_COLUMNS", 0)


@pytest.fixture
async def app() -> AsyncIterator[CuratorApp]:
    place, store = InPlace(1, 1), new_store(filled()[0])
    made = create_app(Settings.model_validate({"admin_token": TOKEN}), store=store, workers=place)
    made.state.curator.predictors = made.state.curator.exporters = place
    yield made
    made.state.writer.stop()
    made.state.rejects.close()


BELOW = {Scope.ADMIN: Scope.READER, Scope.FITTER: Scope.READER, Scope.READER: Scope.RELAY}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.route])
async def test_a_route_leaves_it_to_the_use_case(name: str, app: CuratorApp) -> None:
    """The same scope, entry and count."""
    case, curator = CASES[name], app.state.curator
    route = case.route
    assert route is not None
    task, path = filled()[1], route.path
    enough, small = (
        {"Authorization": f"Bearer {curator.tokens.issue(scope.value, scope)}"}
        for scope in (case.scope, BELOW[case.scope])
    )
    async with client_of(app) as http:
        before, counted = actions(curator), await fits(http)

        async def call(headers: dict[str, str]) -> int:
            answer = await http.request(
                route.method, path.format(task=task), headers=headers, **route.given
            )
            return answer.status_code

        assert [await call({}), await call(small)] == [401, 403]
        assert actions(curator) == before
        assert await call(enough) in {200, 201, 204}
        entries = [(case.scope.value, case.action)] * bool(case.action)
        assert actions(curator)[len(before) :] == entries
        assert await fits(http) == counted + bool(case.metric)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.page])
async def test_a_page_leaves_it_to_the_use_case(name: str, app: CuratorApp) -> None:
    """The same entry and count; of the scope it may ask for more."""
    case, curator = CASES[name], app.state.curator
    assert case.page is not None
    task, path = filled()[1], case.page.path
    small = Scope.READER if case.page_scope is Scope.ADMIN else None
    tokens = {s: curator.tokens.issue(s.value, s) for s in (case.page_scope, small) if s}
    before = actions(curator)
    for scope in (small, case.page_scope):
        async with client_of(app) as http:
            counted, token = await fits(http), ""
            if scope is not None:
                await http.sign_in(tokens[scope])
                token = await http.form_token()
            given = {**case.page.given}
            if case.page.method == "POST":
                given["data"] = {**given["data"], "form_token": token}
            answer = await http.request(case.page.method, path.format(task=task), **given)
            if scope is small:
                assert answer.status_code in {401, 403}
                assert actions(curator) == before
            else:
                assert answer.status_code in {200, 303}, answer.text
                entries = [(case.page_scope.value, case.action)] * bool(case.action)
                assert actions(curator)[len(before) :] == entries
                assert await fits(http) == counted + bool(case.metric)


async def fits(http: Http) -> float:
    text = (await http.get("/metrics", headers=http.admin)).text
    return sum(values(text, "privet_fits_total").values())
