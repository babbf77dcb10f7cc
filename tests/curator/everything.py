"""A database with rows in every table, each as the use cases leave it."""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import insert

from privet.admin.results import Scope
from privet.curator.access.signing import make_key, read_key, record_signing_key
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.audit import ASKED_AGAIN, NAMED, AuditEntry
from privet.curator.datastore.backup import backup
from privet.curator.datastore.database import writing
from privet.curator.datastore.removal import remove_task
from privet.curator.datastore.schema import report_ids
from privet.curator.datastore.store import Store
from privet.curator.datastore.tasks import need_task
from privet.curator.operations import access, models, tasks
from privet.curator.operations.curator import Curator
from privet.curator.operations.models import FitRequest
from privet.curator.operations.tasks import InviteRequest, RevokeRequest, digests_of
from privet.learning.task_building.publication import Publication
from privet.protocol.status import Holdings
from privet.protocol.task import Task
from tests.curator.datastore.made import many, report, take
from tests.curator.samples import PUBLIC_ALONE, survey
from tests.curator.use_cases import ADMIN, done, new_curator
from tests.manual_clock import ManualClock

PLAIN = {"label": "label", "epsilon": 1.0, "grower": "cart", "depth": 1}
WAVES = [f"2023-11-{day}T00:00:00+00:00/2023-11-{day + 1}T00:00:00+00:00" for day in (20, 24)]
QUOTA = 1_103


def make_everything(url: str, folder: Path) -> None:
    """Fill the database, with files in ``folder``."""
    clock, store = ManualClock(), open_store(url)
    curator = new_curator(store, clock)
    store.audit.ask_again(AuditEntry(clock(), "", ASKED_AGAIN, "", {}), clock(), None)
    clock.advance(1.0)
    task = _created(curator, name="open", quota=QUOTA, draft=True)
    tasks.open_task(curator, ADMIN, task.id)
    _created(curator, name="panel", waves=WAVES)
    _count(store, task, clock())
    _fit(curator, task.id)
    _invite(curator, clock())
    _issue_tokens(curator)
    store.facts.set(NAMED, "https://relay.example")
    curator.audit.add_entry("admin", "relay named", "", address="https://relay.example")
    make_key(folder / "signing.key")
    record_signing_key(store, curator.audit, "", read_key(folder / "signing.key"))
    store.expiry.expire(clock(), 3_600.0, None)
    backup(store.engine, folder / "earlier.db", clock())
    _delete(curator)
    curator.audit.add_refusal("a wrong token")
    store.close()


def _created(curator: Curator, **settings: object) -> Task:
    given = Publication.model_validate({**PLAIN, **settings})
    return done(tasks.create_task(curator, ADMIN, given, survey()))[0].task


def _count(store: Store, task: Task, now: float) -> None:
    """A run of a relay's reports, and rows of others, to the quota."""
    cached = CachedTask(task)
    batch = replace(many(cached, 1_100, seed=1), relay="north")
    store.reports.take([batch], now)
    take(store, cached, [report(task) for _ in range(QUOTA - len(batch))], now=now)
    said = Holdings(reports=5, least=3, lost={"too-few": 2}, spool="0" * 8, delivered=1_100)
    store.standing.tell(task.id, "north", said, now)
    store.standing.count_rejects(task.id, {"over-quota": 3})


def _fit(curator: Curator, task_id: str) -> None:
    for _ in range(2):
        done(models.fit(curator, ADMIN, task_id, FitRequest.model_validate(PUBLIC_ALONE)))
    body = models.PromoteRequest(number=2)
    models.promote_model(curator, ADMIN, task_id, "serving", body)


def _invite(curator: Curator, now: float) -> None:
    """Five invitations: one used, two held, one revoked, one unused."""
    task = _created(curator, name="invited", invited=True)
    made = tasks.invite(curator, ADMIN, task.id, InviteRequest(count=5, days=3)).invitations
    digests = digests_of(made)
    take(curator.store, CachedTask(task), [report(task)], [digests[0]], now=now)
    curator.store.invitations.admit(task.id, b"a" * 16, digests[1:3], now)
    tasks.revoke_invitations(curator, ADMIN, task.id, RevokeRequest(invitations=made[3:4]))


def _issue_tokens(curator: Curator) -> None:
    curator.tokens.first_start()
    for hours in (None, 1.0):
        body = access.TokenRequest(scope=Scope.RELAY, days=9, overlap_hours=hours)
        access.issue_token(curator, ADMIN, "north", body)
    curator.store.tokens.mark_used("north", curator.clock())


def _delete(curator: Curator) -> None:
    """A task that is deleted, one of whose report ids is yet to go."""
    task = _created(curator, name="deleted")
    with writing(curator.store.engine) as connection:
        no = need_task(connection, task.id).no
        kept = {"task_no": no, "id": b"i" * 16, "fingerprint": 1}
        connection.execute(insert(report_ids).values(**kept))
        remove_task(connection, no)
    curator.audit.add_entry("admin", "task deleted", task.id)
