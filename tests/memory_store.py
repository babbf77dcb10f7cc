"""The store in plain dictionaries: the reference that the others are tested against."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from privet.curator.datastore.audit import START, AuditEntry, chained, joins
from privet.curator.datastore.expiry import GRACE_SECONDS, Expired, Removal, due, seen_time
from privet.curator.datastore.invitations import (
    HOLD_SECONDS,
    InvitationCounts,
    hidden,
    other_invitations,
)
from privet.curator.datastore.models import ModelInfo, no_model
from privet.curator.datastore.reports import (
    Addition,
    Outcome,
    Outcomes,
    QuestionSums,
    ReportGroup,
    checksum_text,
)
from privet.curator.datastore.status import Bucket, Status
from privet.curator.datastore.store import Store
from privet.curator.datastore.tasks import ListedTask, StoredTask, TaskHead, no_task
from privet.curator.datastore.tokens import StoredToken
from privet.learning.public_data import PublicData
from privet.protocol.lifecycle import Move, TaskState, after, not_open
from privet.protocol.task import Task


@dataclass(frozen=True)
class _Admission:
    asked: tuple[bytes, ...]
    held: tuple[bytes, ...]
    """As in ``_Entry.invitations``."""
    made: float


@dataclass
class _Entry:
    """Everything about one task."""

    stored: StoredTask
    public: PublicData
    sums: list[QuestionSums]
    fingerprints: dict[bytes, int] = field(default_factory=dict)
    buckets: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By start: number of reports, and the sum of their checksums."""
    rejects: dict[str, int] = field(default_factory=dict)
    models: list[tuple[ModelInfo, bytes]] = field(default_factory=list)
    invitations: dict[bytes, bool] = field(default_factory=dict)
    """By what is kept of it: whether it is unused."""
    ends: dict[bytes, float] = field(default_factory=dict)
    revoked: set[bytes] = field(default_factory=set)
    aliases: dict[str, int] = field(default_factory=dict)
    admissions: dict[bytes, _Admission] = field(default_factory=dict)
    relayed: dict[str, int] = field(default_factory=dict)
    ids_gone: bool = False
    invited: bool = False

    def outcome(
        self, report_id: bytes, fingerprint: int, invitation: bytes | None, now: float, room: int
    ) -> Outcome:
        """Claim one report; ``room`` is that of the admissions it comes with."""
        if report_id in self.fingerprints:
            same = self.fingerprints[report_id] == fingerprint
            return Outcome.REPLAYED if same else Outcome.CONFLICT
        if not self.stored.takes_reports(now):
            return Outcome.NOT_OPEN
        if self.stored.quota is not None and len(self.fingerprints) >= self.stored.quota:
            return Outcome.OVER_QUOTA
        if self.invited and room < 0:
            return Outcome.NOT_ADMITTED
        if self.invited and not room:
            kept = None if invitation is None else hidden(invitation)
            if kept is None or not self.may_use(kept, now):
                return Outcome.NOT_INVITED
            self.invitations[kept] = False
        self.fingerprints[report_id] = fingerprint
        return Outcome.COUNTED

    def may_use(self, kept: bytes, now: float) -> bool:
        """Whether an invitation is there, unused, and has not expired."""
        return self.invitations.get(kept, False) and self.ends.get(kept, inf) > now

    def room(self, group: ReportGroup) -> int:
        """How many new reports of ``group`` its admissions let in: 0 without any, -1 if not all."""
        if not self.invited or not group.admissions:
            return 0
        new = len({own.tobytes() for own in group.ids} - set(self.fingerprints))
        if self.stored.quota is not None:
            new = min(new, self.stored.quota - len(self.fingerprints))
        own = [self.admissions[own] for own in group.admissions if own in self.admissions]
        held = sum(len(admission.held) for admission in own)
        return held if new <= held else -1

    def add(self, addition: Addition, starts: int) -> None:
        """Add to the sums and to the bucket that starts at ``starts``."""
        for question, added in addition.sums.items():
            old = self.sums[question]
            self.sums[question] = QuestionSums(old.vector + added.vector, old.n + added.n)
        reports, checksum = self.buckets.get(starts, (0, 0))
        self.buckets[starts] = reports + addition.reports, checksum + addition.checksum


class MemoryStore(Store):
    """A store in this process's memory."""

    def __init__(self, bucket_seconds: int = 86_400) -> None:
        self._bucket_seconds = bucket_seconds
        self._entries: dict[str, _Entry] = {}
        self._tokens: dict[str, StoredToken] = {}
        self._deleted: set[str] = set()
        self._audit: list[AuditEntry] = []
        self._facts: dict[str, str] = {}
        self._seen: float | None = None
        self._lock = threading.RLock()

    def create_task(
        self,
        task: Task,
        settings: Mapping[str, Any],
        public: PublicData,
        now: float,
        state: TaskState = TaskState.DRAFT,
    ) -> bool:
        with self._lock:
            if task.id in self._entries:
                return False
            stored = StoredTask(task, state, dict(settings), now, now)
            sums = [QuestionSums(np.zeros(m.sum_size, np.int64), 0) for m in task.mechanisms]
            self._entries[task.id] = _Entry(stored, public, sums, invited=task.invited)
            return True

    def task(self, task_id: str) -> StoredTask:
        return self._entry(task_id).stored

    def tasks(self) -> list[ListedTask]:
        with self._lock:
            every = [entry.stored for entry in self._entries.values()]
        return [
            ListedTask(
                TaskHead.read(stored.task.id, stored.task.canonical),
                stored.state,
                stored.created,
                stored.marked,
            )
            for stored in every
        ]

    def public_data(self, task_id: str) -> PublicData:
        return self._entry(task_id).public

    def move(self, task_id: str, move: Move, now: float) -> TaskState:
        with self._lock:
            entry = self._entry(task_id)
            state = after(entry.stored.state, move)
            entry.stored = replace(entry.stored, state=state, moved=now)
            if state is TaskState.DELETED:
                del self._entries[task_id]
                self._deleted.add(task_id)
            return state

    def was_deleted(self, task_id: str) -> bool:
        return task_id in self._deleted

    def take(self, groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        with self._lock:
            return [self._take(group, now) for group in groups]

    def _take(self, group: ReportGroup, now: float) -> Outcomes:
        if group.task.id not in self._entries:
            return np.full(len(group), Outcome.NO_TASK, dtype=np.int8)
        entry = self._entries[group.task.id]
        outcomes, room = np.empty(len(group), dtype=np.int8), entry.room(group)
        for row, report_id in enumerate(group.ids):
            invitation = None if group.invitations is None else group.invitations[row].tobytes()
            fingerprint = int(group.fingerprints[row])
            outcomes[row] = entry.outcome(report_id.tobytes(), fingerprint, invitation, now, room)
        counted = outcomes == Outcome.COUNTED
        if counted.any():
            for own in group.admissions:
                entry.admissions.pop(own, None)
            starts = int(now // self._bucket_seconds) * self._bucket_seconds
            entry.add(group.add_up(counted), starts)
            if group.relay:
                before = entry.relayed.get(group.relay, 0)
                entry.relayed[group.relay] = before + int(counted.sum())
        return outcomes

    def sums(self, task_id: str) -> list[QuestionSums]:
        with self._lock:
            return list(self._entry(task_id).sums)

    def count_rejects(self, task_id: str, rejects: Mapping[str, int]) -> None:
        with self._lock:
            if task_id in self._entries:
                counts = self._entries[task_id].rejects
                for reason, count in rejects.items():
                    counts[reason] = counts.get(reason, 0) + count

    def status(self, task_id: str) -> Status:
        with self._lock:
            entry = self._entry(task_id)
            buckets = tuple(
                Bucket(starts, reports, checksum_text(total))
                for starts, (reports, total) in sorted(entry.buckets.items())
            )
            total = sum(total for _, total in entry.buckets.values())
            return Status(
                reports=sum(bucket.reports for bucket in buckets),
                answers=tuple(question.n for question in entry.sums),
                checksum=checksum_text(total),
                buckets=buckets,
                rejects=dict(entry.rejects),
                relayed=dict(entry.relayed),
                invited=entry.invited,
            )

    def add_model(
        self, task_id: str, document: bytes, summary: Mapping[str, Any], now: float
    ) -> ModelInfo:
        with self._lock:
            models = self._entry(task_id).models
            info = ModelInfo(len(models) + 1, now, dict(summary))
            models.append((info, document))
            return info

    def models(self, task_id: str) -> list[ModelInfo]:
        entry = self._entry(task_id)
        named: dict[int, list[str]] = {}
        for alias, number in sorted(entry.aliases.items()):
            named.setdefault(number, []).append(alias)
        return [
            replace(info, aliases=tuple(named.get(info.number, ()))) for info, _ in entry.models
        ]

    def name_model(self, task_id: str, alias: str, number: int) -> None:
        self.model(task_id, number)
        self._entry(task_id).aliases[alias] = number

    def model(self, task_id: str, number: int) -> bytes:
        models = self._entry(task_id).models
        if not 1 <= number <= len(models):
            raise no_model(number)
        return models[number - 1][1]

    def invite(self, task_id: str, digests: Sequence[bytes], expires: float | None = None) -> None:
        with self._lock:
            entry = self._entry(task_id)
            entry.invited = True
            new = set(map(hidden, digests)) - set(entry.invitations)
            entry.invitations.update(dict.fromkeys(new, True))
            if expires is not None:
                entry.ends.update(dict.fromkeys(new, expires))

    def revoke_invitations(self, task_id: str, digests: Sequence[bytes] | None = None) -> int:
        with self._lock:
            entry = self._entry(task_id)
            chosen = entry.invitations if digests is None else map(hidden, digests)
            gone = {kept for kept in chosen if entry.invitations.get(kept, False)}
            entry.invitations.update(dict.fromkeys(gone, False))
            entry.revoked |= gone
            return len(gone)

    def invitations(self, task_id: str, now: float) -> InvitationCounts:
        with self._lock:
            entry = self._entry(task_id)
            unused = [kept for kept, is_unused in entry.invitations.items() if is_unused]
            return InvitationCounts(
                issued=len(entry.invitations),
                used=len(entry.invitations) - len(unused) - len(entry.revoked),
                revoked=len(entry.revoked),
                expired=sum(not entry.may_use(kept, now) for kept in unused),
            )

    def admit(
        self, task_id: str, admission: bytes, digests: Sequence[bytes], now: float
    ) -> list[bytes]:
        with self._lock:
            entry = self._entry(task_id)
            if admission not in entry.admissions:
                if not entry.stored.takes_reports(now):
                    raise not_open(entry.stored.task)
                held = [own for own in map(hidden, digests) if entry.may_use(own, now)]
                entry.invitations.update(dict.fromkeys(held, False))
                entry.admissions[admission] = _Admission(tuple(digests), tuple(held), now)
            own = entry.admissions[admission]
            if own.asked != tuple(digests):
                raise other_invitations()
            return [digest for digest in digests if hidden(digest) not in own.held]

    def put_token(self, token: StoredToken) -> bool:
        with self._lock:
            ended = token.name in self._tokens
            self._tokens[token.name] = token
            return ended

    def replace_token(self, old: StoredToken | None, new: StoredToken) -> bool:
        with self._lock:
            known = self._tokens.get(new.name)
            if known is None or (old is not None and known.digest == old.digest):
                self._tokens[new.name] = known = new
            return known is new

    def tokens(self) -> list[StoredToken]:
        with self._lock:
            return [self._tokens[name] for name in sorted(self._tokens)]

    def drop_token(self, name: str) -> bool:
        with self._lock:
            return self._tokens.pop(name, None) is not None

    def note_use(self, name: str, now: float) -> None:
        with self._lock:
            if name in self._tokens:
                self._tokens[name] = replace(self._tokens[name], used=now)

    def add_audit(self, entry: AuditEntry, join_since: float | None = None) -> AuditEntry:
        with self._lock:
            last = self._audit[-1] if self._audit else START
            if joins(entry, last, join_since):
                self._audit[-1] = replace(last, times=last.times + 1)
            else:
                self._audit.append(chained(last, entry))
            return self._audit[-1]

    def audit(self, limit: int, before: int | None = None) -> list[AuditEntry]:
        with self._lock:
            chosen = [each for each in self._audit if before is None or each.no < before]
            return chosen[::-1][:limit]

    def fact(self, name: str) -> str | None:
        return self._facts.get(name)

    def note(self, name: str, value: str) -> None:
        self._facts[name] = value

    def note_first(self, name: str, value: str) -> str:
        return self._facts.setdefault(name, value)

    def expire(self, now: float, keep_ids: float, keep_tasks: float | None) -> Expired:
        with self._lock:
            seen = self._seen = seen_time(self._seen, now)
            tasks = ids = admissions = 0
            removals = []
            for task_id, entry in list(self._entries.items()):
                for name, admission in list(entry.admissions.items()):
                    if admission.made + HOLD_SECONDS <= seen:
                        entry.invitations.update(dict.fromkeys(admission.held, True))
                        del entry.admissions[name]
                        admissions += 1
                closes, marked = entry.stored.task.closes, entry.stored.marked
                removal = due(closes, seen, keep_ids, keep_tasks, ids_gone=entry.ids_gone)
                if removal is None or marked is None or marked + GRACE_SECONDS > seen:
                    mark = None if removal is None else min(marked or seen, seen)
                    entry.stored = replace(entry.stored, marked=mark)
                    continue
                ids += len(entry.fingerprints)
                removals.append((removal, task_id))
                if removal is Removal.TASK:
                    tasks += 1
                    del self._entries[task_id]
                    self._deleted.add(task_id)
                else:
                    entry.fingerprints.clear()
                    entry.ids_gone = True
                    entry.stored = replace(entry.stored, marked=None)
            marks = sum(entry.stored.marked is not None for entry in self._entries.values())
            return Expired(tasks, ids, marks, admissions, tuple(removals))

    def check(self) -> None:
        """Memory can always be written."""

    def close(self) -> None:
        """Nothing to release."""

    def _entry(self, task_id: str) -> _Entry:
        with self._lock:
            if task_id not in self._entries:
                raise no_task(task_id)
            return self._entries[task_id]
