"""Tokens and invitations over HTTP."""

from typing import Any

import pytest

from privet.curator.app import CuratorApp
from privet.protocol.errors import (
    IllegalMove,
    InsufficientScope,
    InvalidRequest,
    NotAuthorized,
    PrivetError,
    StorageFailed,
    TaskNotFound,
)
from tests.curator import samples
from tests.curator.http.conftest import Http
from tests.keeping import keeps
from tests.manual_clock import ManualClock
from tests.problems import assert_problem


@keeps(
    "threat-model: a token of too small a scope is refused",
    in_="curator/access/tokens.py",
    instead_of="if not Scope(stored.scope).allows(scope):",
    plant="if False:",
)
@keeps(
    "threat-model: a token of too small a scope is no guess",
    in_="curator/access/tokens.py",
    instead_of="if not Scope(stored.scope).allows(scope):",
    plant="if not Scope(stored.scope).allows(scope) and not self._tries.count(address):",
)
@keeps(
    "threat-model: a wrong token is nobody's",
    in_="curator/http/requests.py",
    instead_of="self.tokens.check(self.token, scope, address, kept=kept)",
    plant="'x'",
)
@pytest.mark.parametrize(
    ("scope", "method", "path", "needed"),
    [
        ("reader", "DELETE", "", "admin"),
        ("reader", "POST", "/reports/batch", "relay"),
        ("reader", "POST", "/admissions", "relay"),
        ("relay", "GET", "/models/1/insight", "reader"),
        ("relay", "GET", "", "reader"),
    ],
)
async def test_a_token_of_too_small_a_scope_is_no_guess(
    http: Http, scope: str, method: str, path: str, needed: str
) -> None:
    """403 with the scope that is needed, however often; a wrong token there is the first one."""
    small = await http.bearer(scope)
    task = f"/v1/tasks/{await http.task()}"
    for _ in range(12):
        refused = await http.request(method, task + path, headers=small)
        assert_problem(refused, InsufficientScope, f"needs {needed}")
    assert "sign-in failed" not in {entry["action"] for entry in await http.audit()}
    assert (await http.get(task)).json()["state"] == "open"
    wrong = {"Authorization": "Bearer wrong"}
    assert (await http.get("/v1/tokens", headers=wrong)).status_code == 401


@keeps(
    "threat-model: a fitter may not promote",
    in_="curator/operations/models.py",
    instead_of="Scope.ADMIN if asked.promote else Scope.FITTER",
    plant="Scope.FITTER",
)
@keeps(
    "threat-model: a fitter may not do what takes an admin",
    in_="admin/results.py",
    instead_of="(self, needed) == (Scope.FITTER, Scope.READER)",
    plant="self is Scope.FITTER",
)
@pytest.mark.parametrize(
    ("method", "path", "asked", "needed"),
    [
        ("POST", "/models", {**samples.PUBLIC_ALONE, "promote": True}, "admin"),
        ("PUT", "/aliases/serving", {"number": 1}, "admin"),
        ("POST", "/close", {}, "admin"),
        ("POST", "/invitations", {"count": 1}, "admin"),
        ("DELETE", "", {}, "admin"),
        ("POST", "/reports/batch", {}, "relay"),
    ],
)
async def test_a_fitters_token_reads_and_fits_and_does_no_more(
    http: Http, method: str, path: str, asked: dict[str, Any], needed: str
) -> None:
    """It neither promotes nor changes anything else, nor sends batches."""
    fitter = await http.bearer("fitter")
    task = f"/v1/tasks/{await http.task()}"
    fitted = await http.post(f"{task}/models", headers=fitter, json=samples.PUBLIC_ALONE)
    assert fitted.status_code == 201
    assert (await http.get(f"{task}/status", headers=fitter)).json()["step"] == 1
    assert (await http.get(f"{task}/models/1/card", headers=fitter)).status_code == 200
    refused = await http.request(method, task + path, headers=fitter, json=asked)
    assert_problem(refused, InsufficientScope, f"needs {needed}")
    assert len((await http.get(f"{task}/models", headers=fitter)).json()) == 1


async def test_models_may_be_kept_for_readers(http: Http, app: CuratorApp) -> None:
    """Where models are guarded, predicting and reading them needs a reader's or admin's token."""
    task_id = await http.task()
    assert (await http.fit(task_id, **samples.PUBLIC_ALONE)).status_code == 201
    app.state.curator.guard_models = True
    reader = await http.bearer("reader")
    asked = {"columns": {"age": [50], "hours": [40], "job": ["smith"], "member": [True]}}
    address = f"/v1/tasks/{task_id}"
    for headers, allowed in ((None, False), (reader, True), (http.admin, True)):
        answers = [
            await http.post(f"{address}/predict", headers=headers, json=asked),
            *[await http.get(f"{address}/models{end}", headers=headers) for end in ("", "/1")],
        ]
        for answer in answers:
            if allowed:
                assert answer.status_code == 200
            else:
                assert_problem(answer, NotAuthorized, "reader")


@keeps(
    "threat-model: no token is named as people are",
    in_="curator/access/tokens.py",
    instead_of=" or name.startswith(PERSON)",
    plant="",
)
@pytest.mark.parametrize(
    ("name", "asked"),
    [("x" * 65, {}), ("x", {"scope": "god"}), ("x", {"scopes": "admin"}), ("oidc:ada", {})],
)
async def test_impossible_tokens_are_refused(http: Http, name: str, asked: dict[str, str]) -> None:
    """Nothing is issued for a name that is too long or a person's, or a scope that is none."""
    refused = await http.put(f"/v1/tokens/{name}", headers=http.admin, json=asked)
    assert_problem(refused, InvalidRequest)
    listed = (await http.get("/v1/tokens", headers=http.admin)).json()
    assert [token["name"] for token in listed] == ["PRIVET_ADMIN_TOKEN"]


async def test_an_invitation_is_good_for_one_report(http: Http) -> None:
    """Without one, with a wrong one, or with a used one a new report is refused and not counted."""
    task_id = await http.task(invited=True)
    address = f"/v1/tasks/{task_id}"
    made = await http.post(f"{address}/invitations", headers=http.admin, json={"count": 2})
    first, second = made.json()["invitations"]
    task = await http.published(task_id)

    async def report(invitation: str | None) -> int:
        given = {} if invitation is None else {"Privet-Invitation": invitation}
        return (await http.report(task, headers=given)).status_code

    sent = [await report(invitation) for invitation in (None, "wrong", first, first, second)]
    assert sent == [401, 401, 201, 401, 201]
    status = (await http.get(f"{address}/status", headers=http.admin)).json()
    assert status["reports"] == 2


@pytest.mark.parametrize(
    ("task_id", "asked", "error"),
    [
        ("0" * 64, {"count": 1}, TaskNotFound),
        (None, {"count": 1}, IllegalMove),
        (None, {"count": 0}, InvalidRequest),
        (None, {"count": 10**9}, InvalidRequest),
        (None, {}, InvalidRequest),
    ],
)
async def test_impossible_invitations_are_refused(
    http: Http, task_id: str | None, asked: dict[str, int], error: type[PrivetError]
) -> None:
    """The task must be there, and the number between one and the limit."""
    address = f"/v1/tasks/{task_id or await http.task()}/invitations"
    assert_problem(await http.post(address, headers=http.admin, json=asked), error)


async def test_metrics_are_for_readers(http: Http) -> None:
    """To nobody else, by whatever setting: their counts are exact."""
    for headers, status in (
        (None, 401),
        (await http.bearer("relay"), 403),
        (await http.bearer("reader", "ops"), 200),
        (http.admin, 200),
    ):
        assert (await http.get("/metrics", headers=headers)).status_code == status


@keeps(
    "threat-model: metrics are for readers",
    in_="curator/http/requests.py",
    instead_of='caller.need(TokenScope.READER, "metrics", kept=True)',
    plant="pass",
)
@keeps(
    "threat-model: while the database fails metrics are for tokens that were read in the last day",
    in_="curator/access/tokens.py",
    instead_of="if fresh or token.name == ENVIRONMENT",
    plant="",
)
@keeps(
    "threat-model: a revoked token is not kept for metrics",
    in_="curator/access/tokens.py",
    instead_of="moment, [token for token in tokens if token.name != name]",
    plant="moment, tokens",
)
async def test_metrics_answer_while_the_database_fails(
    http: Http, app: CuratorApp, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the tokens that were good when they were read last, for a day; to nobody else."""
    reader, relay = await http.bearer("reader"), await http.bearer("relay", "post")
    revoked = await http.bearer("reader", "gone")
    await http.get("/metrics", headers=revoked)
    await http.delete("/v1/tokens/gone", headers=http.admin)
    asked = 0

    def failing() -> None:
        nonlocal asked
        asked += 1
        raise StorageFailed("gone")

    monkeypatch.setattr(app.state.curator.store.tokens, "listed", failing)
    assert (await http.get("/metrics", headers=reader)).status_code == 200
    assert (await http.get("/v1/tokens", headers=http.admin)).status_code == 503
    monkeypatch.setattr(app.state.readiness, "fails", True)
    asked = 0
    for headers, status in ((reader, 200), (revoked, 401), (relay, 403), ({}, 401)):
        assert (await http.get("/metrics", headers=headers)).status_code == status
    assert asked == 0  # a server that hangs would keep Prometheus waiting
    clock.advance(86_400.0)
    assert (await http.get("/metrics", headers=reader)).status_code == 401
    assert (await http.get("/metrics", headers=http.admin)).status_code == 200


async def test_the_audit_log_says_who_did_what(http: Http) -> None:
    """The latest first, by the names of tokens, without what is secret; for admins only."""
    ops = await http.bearer("admin", "ops")
    task_id = await http.task(invited=True)
    address = f"/v1/tasks/{task_id}"
    await http.post(f"{address}/invitations", headers=ops, json={"count": 2})
    await http.post(f"{address}/close", headers=ops)
    await http.fit(task_id, **samples.PUBLIC_ALONE)
    await http.delete(address, headers=ops)
    await http.delete("/v1/tokens/ops", headers=http.admin)
    assert_problem(await http.get("/v1/audit", headers=ops), NotAuthorized)
    entries = await http.audit()
    env = "PRIVET_ADMIN_TOKEN"
    assert [(each["actor"], each["action"], each["subject"]) for each in entries] == [
        ("", "sign-in failed", ""),
        (env, "token revoked", "ops"),
        ("ops", "task deleted", task_id),
        (env, "model fitted", task_id),
        ("ops", "task closed", task_id),
        ("ops", "invitations made", task_id),
        (env, "task created", task_id),
        (env, "token issued", "ops"),
    ]
    assert entries[2]["detail"] == {"name": "survey", "reports": 0}
    rest = await http.get("/v1/audit", headers=http.admin, params={"before": 3, "limit": 1})
    assert [each["no"] for each in rest.json()] == [2]
    assert ops["Authorization"].split()[1] not in str(entries)
