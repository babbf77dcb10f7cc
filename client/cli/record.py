"""One record: read it, show its owner the disclosure, and answer with it."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn
from unicodedata import normalize

import typer
from rich.console import Console

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import Offer
from privet.protocol.errors import InvalidRecord
from privet.protocol.task import Task

from ..blocking import BlockingHolder
from ..explanation import Explanation
from ..ledger import StoredAnswer
from ..opening import OpenedRecord, check_record_names
from .asking import agreed, explained, say_account
from .exits import decline, faults
from .options import Device
from .output import answer_json, print_json, say
from .states import ANSWER_STATES, answered_before, state_in_words

MAX_RECORD_BYTES = 16 * 2**20


def answer_record(
    device: Device,
    url: str,
    subject: str,
    path: Path,
    invitation: str | None,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Answer a task with the record at ``path``, unless its subject has answered before."""
    with faults():
        # before the curator hears from this device
        task_id = TaskAddress.parse(url, insecure_http=device.insecure_http).id

        def find() -> StoredAnswer | None:
            return device.ledger.find(subject, task_id)

        earlier = find()
        fields = _read(path) if earlier is None else {}
    if earlier is not None and earlier.counted and not dry_run:
        _done(earlier, earlier, as_json)
    with faults(), device.holder(subject) as holder, faults(find):
        offer, explanation = explained(holder, url, device.curator_key, printed=not as_json)
        undrawn = earlier is None and _is_undrawn(device, subject, offer.task)
        if earlier is None and offer.task.panel is not None and not (undrawn or dry_run):
            offer = holder.turn(offer)
            task_id = offer.task.id
            earlier = find()
            if earlier is not None and earlier.counted:
                _done(earlier, earlier, as_json)
        if earlier is None and not as_json:
            say_account(device.ledger, subject, offer.task)
        if dry_run:
            opened = _opened(holder, offer, fields) if earlier is None else None
            _dry_run(explanation, earlier, opened, as_json)
        elif yes or earlier is not None or _agreed_to(_opened(holder, offer, fields), undrawn):
            with Console(stderr=True).status("Answering ..."):
                if undrawn:  # before anything is kept
                    check_record_names(offer.task, fields)
                    task_id = holder.turn(offer).task.id
                answered = holder.answer(url, fields, invitation)
            if (yes or earlier is not None) and answered.disclosed and not as_json:
                say(answered.disclosed)
            _done(answered, earlier, as_json)
        else:
            decline()


def _is_undrawn(device: Device, subject: str, task: Task) -> bool:
    """True for a panel whose holders rotate, and of which the subject has no wave yet."""
    rotates = task.panel is not None and task.panel.mode == "rotate"
    return rotates and not device.ledger.account(subject).takes_part(task.panel_id)


def _opened(holder: BlockingHolder, offer: Offer, fields: dict[str, Any]) -> OpenedRecord:
    """The record, opened for its owner once the task is checked, of a panel as a whole."""
    return holder.check(offer.task.whole_panel, offer.clock_ahead).open(fields)


def _read(path: Path) -> dict[str, Any]:
    """The record's fields; raises ``InvalidRecord`` without repeating what was read."""
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
            text = file.read(MAX_RECORD_BYTES + 1)
    except OSError as error:
        raise InvalidRecord(f"{path} cannot be read: {error.strerror}.") from None
    try:
        fields = json.loads(text) if len(text) <= MAX_RECORD_BYTES else None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidRecord(f"{path} must hold one JSON object: a value for every feature's name.")
    return {_composed(name): _composed(value) for name, value in fields.items()}


def _composed(value: Any) -> Any:
    """A text with its letters in one form (NFC), as published names have; other values as given."""
    return normalize("NFC", value) if isinstance(value, str) else value


def _agreed_to(opened: OpenedRecord, undrawn: bool) -> bool:
    if opened.disclosed:
        say(opened.disclosed)
    if undrawn:
        keeps = f"keep epsilon {opened.task.epsilon:g} for it"
        return agreed(opened.findings, f"your turn, {keeps}, and answer if it is now")
    return agreed(opened.findings)


def _dry_run(
    explanation: Explanation,
    earlier: StoredAnswer | None,
    opened: OpenedRecord | None,
    as_json: bool,
) -> None:
    """Say what a person reads before answering; the exit status says nothing of the record, so
    that no script answers, or does not, by it."""
    findings = () if opened is None else opened.findings
    disclosed = "" if opened is None else opened.disclosed
    if disclosed and not as_json:
        say(disclosed)
    if as_json:
        more = {"answered": earlier is not None, "dry_run": True, "findings": findings}
        print_json({**asdict(explanation), **more, "disclosed": disclosed})
    elif earlier is not None:
        say(f"Answered before ({state_in_words(earlier)}). Dry run: nothing was sent.")
    else:
        verdict = f"does not fit. {' '.join(findings)}" if findings else "fits."
        say(f"The record {verdict} Dry run: nothing was drawn and nothing was sent.")


def _done(answered: StoredAnswer, earlier: StoredAnswer | None, as_json: bool) -> NoReturn:
    if answered.misfit is not None:
        say("The record does not fit, and the report says so, perturbed: --dry-run shows why.")
    if as_json:
        print_json({**answer_json(answered), "misfit": answered.misfit})
    elif earlier is not None and earlier.counted:
        before = answered_before(earlier).capitalize()
        before += ": nothing was sent, and no epsilon was spent."
        say(f"{before} {earlier.disclosed}".rstrip())
    else:
        left = f"{len(answered.report)} bytes left this device; epsilon {answered.epsilon:g}."
        state = state_in_words(answered)
        say(f"{state[0].upper()}{state[1:]}. {left}")
    raise typer.Exit(ANSWER_STATES[answered.state].status)
