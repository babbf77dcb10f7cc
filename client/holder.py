"""A holder: the owner of one private record, who answers a task once and only perturbed.

``answer`` reads top to bottom: what was drawn before is only resent; otherwise the task is
fetched and checked before the record is opened; the report is drawn, stored, and then sent. From
the fetch on nothing that others see depends on the record's values: one that does not fit is
answered too (``opening``), and the report leaves at a moment fixed before (``departure``).
"""

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import anyio
from anyio import to_thread

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import Offer, ReportClient
from privet.protocol.errors import (
    InvalidRequest,
    PrivetError,
    QuotaReached,
    ReportNotFound,
    TaskNotFound,
    TaskNotOpen,
)
from privet.protocol.lifecycle import Phase, ReportState, report_state_after
from privet.protocol.limits import SMALLEST_GROUP
from privet.protocol.mechanisms.base import RandomBytes
from privet.protocol.report import ReportStatus
from privet.protocol.signature import parse_key
from privet.protocol.status import CollectionStatus
from privet.protocol.task import Task
from privet.protocol.wire import printable

from .clocks import check_clocks, check_dates
from .codes import Part, read_code, write_code
from .departure import Departure
from .disclosures import splits_of
from .errors import TaskRefused
from .explanation import Explanation
from .ledger import SLACK, Ledger, StoredAnswer, SubjectAccount, afford, afford_all
from .opening import (
    CheckedTask,
    OpenedRecord,
    check_opened_for,
    check_record_names,
    say_in_development,
    validate,
)
from .panels import Membership, check_turn, lifetime_from
from .pinning import check_key, shows_counted

T = TypeVar("T")
INVITATION = re.compile(r"[!-~]{1,200}")
AT_A_TIME = 128
"""Subjects who answer at a time, where there are many."""


@dataclass(slots=True)
class Holder:
    """One subject's side of every task; light, so that thousands fit into one process.

    Holders may share ``http`` and ``ledger``. With a ``curator_key``, 64 hexadecimal digits, only
    tasks signed with it are answered, and only where the signature is present. Tasks with disclosed
    columns are answered if they expect ``smallest_group`` people or more in every stratum.
    Randomness and time are the operating system's unless a test or a simulation says otherwise.
    Without ``wait``, which is for simulations and tests, a report leaves as soon as it is drawn,
    and its timing may leak information about the record.
    """

    http: ReportClient
    ledger: Ledger
    subject: str = "me"
    randomness: RandomBytes = os.urandom
    clock: Callable[[], float] = time.time
    curator_key: str | None = None
    wait: bool = True
    smallest_group: int = SMALLEST_GROUP

    async def fetch(self, task_url: str) -> Task:
        """The task at an address, whose bytes hash to the id in it; raises what ``offer`` does."""
        return (await self.offer(task_url)).task

    async def offer(self, task_url: str) -> Offer:
        """The task with its signature; raises ``TaskRefused`` if it is not the pinned key's."""
        return await self._offered(self.http.address(task_url))

    def explain(self, task: Task, signed_by: str = "") -> Explanation:
        """The explanation of ``task``; ``signed_by`` in words."""
        return Explanation.of(task, signed_by)

    def validate(self, task: Task, record: Mapping[str, Any]) -> OpenedRecord:
        """``record`` opened against ``task``: what does not fit, and what its report would
        disclose.

        A person or a developer reads it; ``answer`` takes it, whatever it says. Raises
        ``InvalidRecord`` for a name that the task does not ask for, and for no value.
        """
        return validate(task, record)

    async def check(self, task: Task, clock_ahead: float | None = None) -> CheckedTask:
        """Raise unless this subject can answer ``task`` now; no record is needed for that.

        ``clock_ahead`` says how far the server's clock is ahead of this device's, as of the task's
        ``Offer``: ``WrongClock`` if that is more than two days either way.

        ``TaskRefused`` if its true epsilon is above what it states, or if fewer than
        ``smallest_group`` people are expected in any stratum, so that a refusal says nothing of the
        record's own; ``TaskNotOpen`` outside its dates, ``BudgetSpent`` if it would take the
        subject past a cap: of a panel in which it has no part yet, all waves together. Known
        mechanisms and sizes were checked when the task was parsed. Nothing is drawn or kept.
        """
        account = await self._ask(self.ledger.account, self.subject)
        return self._checked(task, clock_ahead, account)

    def _checked(
        self, task: Task, clock_ahead: float | None, account: SubjectAccount
    ) -> CheckedTask:
        now = self._check_for_everybody(task, clock_ahead)
        splits, panel = splits_of(task), task.panel_id
        who, earlier, members = (account.caps, self.subject), account.answers, account.members
        if panel is not None and not account.takes_part(panel):
            afford_all(*who, lifetime_from(task, now), splits, earlier, now, members)
        else:
            cost = (task.epsilon, splits)
            afford(*who, *cost, earlier, now, members=members, panel=panel or "")
        return CheckedTask(task, Departure.of(task), splits)

    async def turn(self, offer: Offer) -> Offer:
        """The offer of the task that this subject answers now: of a panel the wave whose turn it
        is, else ``offer`` itself.

        Where holders rotate, the first call takes part in the panel, so whoever answers for a
        person makes it once that person has agreed: it draws the subject's wave, and keeps it in
        the ledger with the panel's lifetime. Where the wave that was drawn is answered, it stays
        that one. Where they repeat, ``answer`` keeps the lifetime with the first answer, and
        nothing is kept here; deleted waves are passed over. Raises ``BudgetSpent`` if the lifetime
        or what an answer discloses passes a cap, ``OutOfTurn`` outside the subject's turn, saying
        when it is, and ``TaskRefused``, ``TaskNotOpen`` and ``WrongClock`` as ``check`` does.
        """
        task, now = offer.task, self.clock()
        if task.panel is None:
            return offer
        account = await self._ask(self.ledger.account, self.subject)
        member = next((each for each in account.members if each.panel == task.panel_id), None)
        if member is not None and member.wave is not None:
            mine = task.wave_task(member.wave)
            if account.find(mine.id) is not None:
                return self._of_wave(offer, mine)
        self._check_for_everybody(task.whole_panel, offer.clock_ahead)
        if member is None:
            member = Membership.drawn(self.subject, task, now, self.randomness)
            if task.panel.mode == "rotate":
                member = await self._ask(self.ledger.join, member, now, splits_of(task))
        *turns, last = member.turns(task, now)
        for wave in turns:
            if await self._is_there(self._of_wave(offer, wave)):
                last = wave
                break
        check_turn(last, now)
        return self._of_wave(offer, last)

    def _of_wave(self, offer: Offer, wave: Task) -> Offer:
        """The offer with ``wave`` and its address in place of the panel's document."""
        return replace(offer, task=wave, url=offer.url.replace(offer.task.id, wave.id))

    async def _is_there(self, offer: Offer) -> bool:
        """False if the server has deleted the wave."""
        try:
            await self._offered(self.http.address(offer.url))
        except TaskNotFound:
            return False
        return True

    async def answer(
        self,
        task_url: str,
        record: Mapping[str, Any] | OpenedRecord,
        invitation: str | None = None,
    ) -> StoredAnswer:
        """Answer a task with ``record``, label included, and return once it is durable.

        The answer's state says whether the curator has counted it or a relay holds it. A record,
        or what ``validate`` made of it, is answered whatever its values: one that does not fit is
        reported as that, in a report like any other, and why it does not is the answer's
        ``misfit``. Only a name that the task does not ask for is ``InvalidRecord``. If this subject
        has answered before, ``record`` is not looked at: nothing is done if that answer was
        counted, the relay that holds it is asked, or the stored bytes are sent again. Else the
        collection's status is asked for first: ``QuotaReached`` or ``TaskNotOpen`` if it takes no
        answers, before anything is drawn. A stored
        invitation goes to the address that it was given for, and to no other. Raises what ``check``
        raises, ``LedgerFailed``, and what ``ReportClient`` raises: after those last ones the answer
        is kept, and ``answer`` or ``resend`` tries again.
        """
        address = self.http.address(task_url)
        if invitation is not None and not INVITATION.fullmatch(invitation):
            raise InvalidRequest("The invitation is damaged: give it exactly as you received it.")
        if type(record) is OpenedRecord:
            check_opened_for(record, address.id)
            await self._wait(record.departure)  # for reading it took time before the next call
        opened = None
        account = await self._ask(self.ledger.account, self.subject)
        answer = account.find(address.id)
        if answer is None:
            offer = await self._offered(address)
            if offer.task.panel is not None:
                offer, address, account = await self._take_turn(offer, record)
                answer = account.find(address.id)
            if type(record) is OpenedRecord:
                record = replace(record, task=offer.task)
        if answer is None:
            check_invited(offer.task, invitation)
            check_phase(await self.http.phase(address))
            checked = self._checked(offer.task, offer.clock_ahead, account)
            await self._join(offer.task)
            opened = checked.open(record)
            drawn = replace(self._draw(opened, address), splits=checked.splits)
            answer = await self._ask(self.ledger.keep, replace(drawn, invitation=invitation))
            await self._wait(checked.departure)
        elif address.url != answer.url and not answer.counted:
            check_invited((await self._offered(address)).task, invitation)
        try:
            delivered = await self._deliver(answer, address, invitation)
        finally:
            if opened is not None:
                say_in_development(opened)
        misfit = opened.findings[0] if opened is not None and opened.findings else None
        return replace(delivered, misfit=misfit)

    async def _take_turn(
        self, offer: Offer, record: Mapping[str, Any] | OpenedRecord
    ) -> tuple[Offer, TaskAddress, SubjectAccount]:
        """The wave of a panel whose turn it is, its address, and the account as it is since; the
        wave is known to be there unless it is answered already."""
        if isinstance(record, Mapping):
            check_record_names(offer.task, record)  # before anything is kept
        mine = await self.turn(offer)
        address = self.http.address(mine.url)
        account = await self._ask(self.ledger.account, self.subject)
        if address.id != offer.task.id and account.find(address.id) is None:
            await self._offered(address)  # before anything is drawn: it may be deleted
        return mine, address, account

    async def _join(self, task: Task) -> None:
        """Keep the lifetime of a panel whose holders repeat, with the first answer; where they
        rotate, it was kept with the turn."""
        if task.panel is not None and task.panel.mode == "repeat":
            now = self.clock()
            member = Membership.drawn(self.subject, task, now, self.randomness)
            await self._ask(self.ledger.join, member, now, splits_of(task))

    async def answer_all(
        self,
        task_url: str,
        records: Mapping[str, Mapping[str, Any]],
        invitations: Mapping[str, str] | None = None,
        *,
        at_a_time: int = AT_A_TIME,
        answered: Callable[[], object] = lambda: None,
        unfit: Callable[[dict[str, tuple[str, ...]]], object] | None = None,
    ) -> dict[str, StoredAnswer | PrivetError]:
        """Answer a task for every subject in ``records``; what came of each, in that order.

        Each subject has an account and an answer of its own in the ledger, so a second call after
        an interruption sends what is missing and draws nothing twice. ``answered`` is called after
        each. Whatever would refuse every report, and a name that the task does not ask for, is
        raised before anything is drawn; from then on every record is sent, whatever its values and
        whatever came of the others: an error in one is its outcome. ``unfit`` is called once before
        anything is drawn, with the findings of the records that do not fit, by subject; it
        decides nothing, so what it raises is raised when all is sent, and it returns at once,
        since the first report leaves later by the time it takes. An answer's ``misfit`` says it
        afterwards.
        """
        address = self.http.address(task_url)
        offer = await self._offered(address)
        self._check_for_everybody(offer.task, offer.clock_ahead)
        for record in records.values():
            check_record_names(offer.task, record)
        outcomes: dict[str, StoredAnswer | PrivetError] = {
            answer.subject: answer
            for answer in await self._ask(self.ledger.answers)
            if answer.task == address.id and answer.counted and answer.subject in records
        }
        unanswered = [subject for subject in records if subject not in outcomes]
        fault: BaseException | None = None
        if unfit is not None:
            departure = Departure.of(offer.task)  # fixed before the records are read
            found = {who: validate(offer.task, records[who]).findings for who in unanswered}
            try:
                unfit({who: findings for who, findings in found.items() if findings})
            except (Exception, SystemExit) as error:  # noqa: BLE001 - raised below: silence tells
                fault = error
            await self._wait(departure)
        left = iter(unanswered)

        async def answer_some() -> None:
            for subject in left:
                mine = replace(self, subject=subject)
                invitation = None if invitations is None else invitations.get(subject)
                try:
                    outcomes[subject] = await mine.answer(task_url, records[subject], invitation)
                except PrivetError as error:
                    outcomes[subject] = error
                answered()

        for _ in outcomes:
            answered()
        async with anyio.create_task_group() as group:
            for _ in range(min(at_a_time, len(records))):
                group.start_soon(answer_some)
        if fault is not None:
            raise fault
        return {subject: outcomes[subject] for subject in records}

    def _check_for_everybody(self, task: Task, clock_ahead: float | None) -> float:
        """Raise what ``check`` raises for any subject; the time by this device's clock."""
        now = self.clock()
        check_promise(task)
        check_group_sizes(task, self.smallest_group)
        check_clocks(now, clock_ahead)
        check_dates(task, now, clock_ahead)
        return now

    async def _wait(self, departure: Departure) -> None:
        if self.wait:
            await departure.wait()

    async def code(self, task_url: str) -> str:
        """A secret that restores this subject's part in a panel, here or elsewhere: the wave that
        was drawn, and which ones were answered. It has nothing of the answers.

        Raises ``InvalidRequest`` if the subject has no part in a panel at this address.
        """
        task = (await self.offer(task_url)).task
        account = await self._ask(self.ledger.account, self.subject)
        member = next((each for each in account.members if each.panel == task.panel_id), None)
        if task.panel is None or member is None:
            raise InvalidRequest(f"{self.subject!r} has no part in a panel at this address.")
        tasks = {answer.task for answer in account.answers}
        answered = tuple(n for n, wave in enumerate(task.waves) if wave.id in tasks)
        return write_code(member.panel, Part(member.wave, member.first_of(task), answered))

    async def restore(self, task_url: str, code: str) -> Membership:
        """Take up the part in a panel that a code is of, and return it; what is known already
        stays, and nothing is drawn or sent.

        ``code`` may stand in other text, as in the file that the answer page saves. Raises
        ``InvalidRequest`` if it is damaged or of another panel.
        """
        offer = await self.offer(task_url)
        task, now, panel = offer.task, self.clock(), offer.task.panel_id
        if task.panel is None or panel is None:
            raise InvalidRequest("The task is not asked in waves, so it has no code.")
        part = read_code(code, panel, task.panel)
        waves = task.panel.waves
        count = 1 if part.wave is not None else len(waves) - part.first
        closes = waves[-1 if part.wave is None else part.wave][1]
        member = Membership(self.subject, panel, part.wave, count * task.epsilon, closes)
        answers = [self._restored(self._of_wave(offer, task.waves[n]), now) for n in part.answered]
        await self._ask(self.ledger.restore, member, answers)
        return member

    def _restored(self, offer: Offer, now: float) -> StoredAnswer:
        """The answer to a wave of which nothing is known but that there was one."""
        wave = offer.task
        return StoredAnswer(
            subject=self.subject,
            task=wave.id,
            url=offer.url,
            epsilon=wave.epsilon,
            panel=wave.panel_id or "",
            splits=splits_of(wave),
            report_id="",
            report=b"",
            drawn=min(float(wave.closes or 0), now),
            state=ReportState.COUNTED,
        )

    async def resend(self) -> list[StoredAnswer]:
        """Ask what became of the answers that relays hold, and send again what nobody has.

        All answers of this subject that were not known to be counted, as they stand now, and those
        that a curator asks for again, since it was restored from a backup. A fault is noted in the
        answer and does not keep the others from being sent.
        """
        outcomes = []
        for answer in await self._ask(self.ledger.answers, self.subject):
            if answer.counted and (answer.restored or not await self._is_missed(answer)):
                continue
            try:
                address = self.http.address(answer.url)
                outcomes.append(await self._deliver(answer, address, again=True))
            except PrivetError as error:
                noted = await self._ask(self.ledger.find, self.subject, answer.task) or answer
                missed = replace(noted, state=report_state_after(error), reason=error.detail)
                outcomes.append(missed if noted.counted else noted)
        return outcomes

    async def collection(self, task_url: str) -> CollectionStatus | None:
        """The status of a task's collection; None if the server does not say."""
        try:
            return await self.http.collection(self.http.address(task_url))
        except PrivetError:
            return None

    async def _is_missed(self, counted: StoredAnswer) -> bool:
        """True if the curator that counted an answer asks for it again; not if it does not say."""
        try:
            return (await self.http.collection(await self._address(counted))).asks_again
        except PrivetError:
            return False

    async def ask_relays(self) -> list[str]:
        """Learn what became of the answers that relays hold, and send nothing again.

        Returns the faults of the relays that did not say.
        """
        faults = []
        for kept in await self._ask(self.ledger.answers, self.subject):
            if kept.state is ReportState.HELD:
                try:
                    status = await self.http.report_status(
                        await self._address(kept), kept.report_id
                    )
                    await self._settle(kept, status)
                except PrivetError as error:
                    faults.append(error.detail)
        return faults

    async def show_counted(self, curator_key: str) -> dict[str, bool]:
        """For each counted answer, by task, whether the key has signed that it counts.

        Whoever took the answer is asked for the receipt. Raises ``InvalidRequest`` for no key, and
        ``HolderError`` if the package that checks signatures is not installed.
        """
        parse_key(curator_key)
        verified = {}
        for kept in await self._ask(self.ledger.answers, self.subject):
            if kept.counted and not kept.restored:
                try:
                    address = await self._address(kept, curator_key)
                    receipt = await self.http.receipt(address, kept.report)
                except PrivetError:
                    verified[kept.task] = False
                else:
                    verified[kept.task] = shows_counted(receipt, kept.report, curator_key)
        return verified

    async def _address(self, kept: StoredAnswer, key: str | None = None) -> TaskAddress:
        """The address of an answer's task, once the pinned key or ``key`` is known to have signed
        it."""
        address = self.http.address(kept.url)
        key = key if self.curator_key is None else self.curator_key
        if key is not None:
            check_key(await self.http.offer(address), key)
        return address

    async def _offered(self, address: TaskAddress) -> Offer:
        offer = await self.http.offer(address)
        if self.curator_key is not None:
            check_key(offer, self.curator_key)
        return offer

    def _draw(self, opened: OpenedRecord, address: TaskAddress) -> StoredAnswer:
        task, report = opened.task, opened.draw(self.randomness)
        return StoredAnswer(
            subject=self.subject,
            task=task.id,
            url=address.url,
            epsilon=task.epsilon,
            panel=task.panel_id or "",
            disclosed=opened.disclosed,
            report_id=report.id.hex(),
            report=report.pack(),
            drawn=self.clock(),
        )

    async def _deliver(
        self,
        answer: StoredAnswer,
        address: TaskAddress,
        invitation: str | None = None,
        *,
        again: bool = False,
    ) -> StoredAnswer:
        if answer.counted and not again:
            return answer
        invitation = invitation or answer.invitation_for(address.url)
        try:
            if self.curator_key is not None:
                await self._offered(address)
            status = await self._report_status(answer, address) or await self.http.send(
                address, answer.report, answer.report_id, invitation
            )
        except PrivetError as error:
            reason = f"{type(error).__name__}: {error.detail}"
            tried = replace(answer, state=report_state_after(error), reason=reason)
            await self._ask(self.ledger.settle, tried)
            raise
        return await self._settle(replace(answer, url=address.url, invitation=invitation), status)

    async def _report_status(self, kept: StoredAnswer, address: TaskAddress) -> ReportStatus | None:
        """The status of the answer at the relay that holds it; None if the relay no longer has
        it."""
        if kept.state is not ReportState.HELD or kept.url != address.url:
            return None
        try:
            return await self.http.report_status(address, kept.report_id)
        except ReportNotFound:
            return None

    async def _settle(self, kept: StoredAnswer, status: ReportStatus) -> StoredAnswer:
        settled = replace(kept, state=ReportState(status.state), reason=status.reason)
        return await self._ask(self.ledger.settle, settled)

    async def _ask(self, verb: Callable[..., T], *arguments: Any) -> T:
        """Call the ledger, in a thread if it may have to wait."""
        if self.ledger.waits:
            return await to_thread.run_sync(verb, *arguments)
        return verb(*arguments)


def check_invited(task: Task, invitation: str | None) -> None:
    """Raise ``InvalidRequest`` if the task counts invited reports only and there is none."""
    if task.invited and invitation is None:
        raise InvalidRequest(
            "This task counts invited reports only: answer it with the invitation that you were "
            "given for this address (--invitation). Nothing was drawn and nothing was sent."
        )


def check_phase(phase: Phase | None) -> None:
    """Raise ``QuotaReached`` or ``TaskNotOpen`` if a report would not be counted now."""
    if phase is Phase.FULL:
        raise QuotaReached("All answers that this task takes are in. Nothing was drawn or sent.")
    if phase not in {None, Phase.OPEN}:
        raise TaskNotOpen(f"This task takes no answers ({phase}). Nothing was drawn or sent.")


def check_promise(task: Task) -> None:
    """Raise ``TaskRefused`` if the mechanisms spend more than the task's epsilon."""
    if not task.log_ratio <= task.epsilon * (1 + SLACK):
        raise TaskRefused(
            f"The task claims epsilon {task.epsilon:g} but spends {task.log_ratio:g}: "
            "do not answer it, and notify its curator."
        )


def check_group_sizes(task: Task, least: int) -> None:
    """Raise ``TaskRefused`` if any stratum is expected to hold fewer than ``least`` people.

    The record's own stratum does not matter: a refusal that depended on it would disclose it.
    """
    if task.group_sizes and min(task.group_sizes) < least:
        raise TaskRefused(
            f"The task discloses {', '.join(map(printable, task.disclosed))}, and expects "
            f"{min(task.group_sizes)} people in one of its groups, fewer than the {least} that "
            "this holder asks for (--smallest-group). Do not answer it, or accept smaller groups "
            "if you know what that means. Nothing was drawn and nothing was sent."
        )
