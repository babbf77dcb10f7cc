"""Creating, moving and watching tasks; invitations."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256

from privet.learning.public_data import PublicData
from privet.learning.public_model.onnx_trial import tried_model
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import unix_seconds
from privet.learning.task_building.table import read_table
from privet.protocol.errors import IllegalMove, InvalidRequest, InvalidTask
from privet.protocol.lifecycle import Move, TaskState
from privet.protocol.task import Task

from ..datastore.tasks import PUBLIC_MODEL, StoredTask
from ..workers import Run, run_here
from .base import UseCases
from .publication import Publication

RELAY = "relay"
"""Name of the fact that says where people answer."""
RELAY_ADDRESS = re.compile(
    r"(https://[^/?#@\s]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)(/[^?#\s]*)?"
)
INVITATION_BYTES = 16
DAY = 86_400.0
STEP = 1_000
"""Strangers see the number of reports in steps of this size."""


class TaskCases(UseCases):
    """What is done with tasks."""

    def create_task(
        self,
        settings: Publication,
        public: bytes,
        onnx: bytes | None = None,
        run: Run = run_here,
    ) -> tuple[StoredTask, bool]:
        """Grow, publish and (by default) open a task; whether it is new.

        ``onnx`` is an uploaded public model: cells are distilled from it, and every ``drift`` fit
        starts from it. The same settings and data lead to the same task, which is then left as it
        is; raises ``InvalidTask`` if it has another public model. If that task was deleted, they
        lead to its next edition, since holders who answered it would not answer it again.
        """
        now = self.clock()
        closes = unix_seconds(settings.closes)
        if closes is not None and closes <= now:
            raise InvalidTask("The task would close in the past: give a later closing time.")
        canonical, data = run(make_task, settings, public, onnx)
        task = Task.parse(canonical)
        while self.store.was_deleted(task.id):
            task = task.model_copy(update={"edition": task.edition + 1})
        stored_settings = {**settings.model_dump(mode="json"), PUBLIC_MODEL: _fingerprint(onnx)}
        state = TaskState.OPEN if settings.open else TaskState.DRAFT
        created = self.store.create_task(
            task, stored_settings, replace(data, onnx=onnx), now, state
        )
        if not created and self.store.task(task.id).public_model != _fingerprint(onnx):
            raise InvalidTask(
                "The same task is there already, with another public model or none: change the "
                "task's name or description, or delete the other one."
            )
        return self.store.task(task.id), created

    def move(self, task_id: str, move: Move) -> TaskState:
        """Open, close or delete a task; raises ``TaskNotFound`` or ``IllegalMove``."""
        now, stored = self.clock(), self.store.task(task_id)
        closes = stored.task.closes if move is Move.OPEN else None
        if closes is not None and closes <= now:
            raise IllegalMove(
                "The task's closing time has passed, and it was published with it, so no report "
                "can count any more: create another task."
            )
        if move is Move.DELETE:
            self.models.forget(task_id)
        return self.store.move(task_id, move, now)

    def in_steps(self, task_id: str, reports: int) -> int:
        """What strangers see of a number of reports: multiples of ``STEP``, each late at random.

        Whoever sends reports would otherwise find out by how many are missing to the next multiple
        whether another came (docs/adr/0303).
        """
        step, rest = divmod(reports, STEP)
        drawn = sha256(f"{self._steps_key} {task_id} {step}".encode()).digest()
        return max(step - (rest < int.from_bytes(drawn) % STEP), 0) * STEP

    @property
    def relay(self) -> str | None:
        """The relay whose page people answer on, as an admin last named it."""
        return self.store.fact(RELAY) or None

    def name_relay(self, address: str) -> None:
        """Remember the relay, or forget it for an empty ``address``.

        Raises ``InvalidRequest`` where a browser would not run the relay's page.
        """
        if address and not RELAY_ADDRESS.fullmatch(address):
            raise InvalidRequest(
                "Give the relay's whole address, such as https://relay.example: https, since "
                "browsers must be sure of the page that reads the answers."
            )
        self.store.note(RELAY, address.rstrip("/"))

    def invite(self, task_id: str, count: int, days: float | None = None) -> list[str]:
        """New invitations, each good for one report within ``days``; only a hash is kept.

        From then on the task counts invited reports only. Raises ``TaskNotFound``.
        """
        invitations = [secrets.token_urlsafe(INVITATION_BYTES) for _ in range(count)]
        expires = None if days is None else self.clock() + days * DAY
        self.store.invite(task_id, digests_of(invitations), expires)
        return invitations

    def revoke_invitations(self, task_id: str, invitations: Sequence[str] | None) -> int:
        """Revoke the unused ones of these invitations, or of all; return how many they were.

        Raises ``TaskNotFound``.
        """
        digests = None if invitations is None else digests_of(invitations)
        return self.store.revoke_invitations(task_id, digests)


def digests_of(invitations: Sequence[str]) -> list[bytes]:
    """The SHA-256 of each invitation, as relays present it."""
    return [sha256(text.encode()).digest() for text in invitations]


def _fingerprint(onnx: bytes | None) -> str | None:
    return None if onnx is None else sha256(onnx).hexdigest()


def make_task(settings: Publication, public: bytes, onnx: bytes | None) -> tuple[bytes, PublicData]:
    """A task's canonical bytes and its encoded public data, from an uploaded table."""
    make_base = None if onnx is None else partial(tried_model, onnx)
    task, data = build_task(settings, read_table(public), make_base)
    return settings.introduced(task).canonical, data
