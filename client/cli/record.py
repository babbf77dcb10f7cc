"""One record: read it, show its owner the disclosure, and answer with it."""

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console

from privet.http_client.address import TaskAddress
from privet.protocol.errors import InvalidRecord
from privet.protocol.features import EncodedRecord, encode_record
from privet.protocol.task import Task

from ..blocking import BlockingHolder
from ..explanation import Explanation, disclosure
from ..ledger import StoredAnswer
from .asking import agreed, explained
from .exits import ANSWERED_BEFORE, EXIT_FAULT, STATUSES, decline, faults
from .options import Device
from .output import answer_json, print_json, say, state_in_words

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
        find = partial(device.ledger.find, subject, task_id)
        earlier = find()
        fields = _read(path) if earlier is None else {}
    if earlier is not None and earlier.counted and not dry_run:
        _done(earlier, earlier, as_json)
    with faults(), device.holder(subject) as holder, faults(find):
        task, explanation = explained(holder, url, device.curator_key, printed=not as_json)
        if dry_run:
            encoded = _encoded(holder, task, fields) if earlier is None else None
            _dry_run(explanation, earlier, task, encoded, as_json)
        elif yes or earlier is not None or _agreed_to(task, _encoded(holder, task, fields)):
            with Console(stderr=True).status("Answering ..."):
                answered = holder.answer(url, fields, invitation)
            if (yes or earlier is not None) and answered.disclosed and not as_json:
                say(answered.disclosed)
            _done(answered, earlier, as_json)
        else:
            decline()


def _encoded(holder: BlockingHolder, task: Task, fields: dict[str, Any]) -> EncodedRecord:
    """Encode the record, after checking the task."""
    holder.check(task)
    return encode_record(task.features, task.label, fields)


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
    return fields


def _agreed_to(task: Task, encoded: EncodedRecord) -> bool:
    if disclosed := disclosure(task, encoded):
        say(disclosed)
    return agreed(encoded.misfit)


def _dry_run(
    explanation: Explanation,
    earlier: StoredAnswer | None,
    task: Task,
    encoded: EncodedRecord | None,
    as_json: bool,
) -> None:
    misfit = None if encoded is None else encoded.misfit
    disclosed = "" if encoded is None else disclosure(task, encoded)
    if disclosed and not as_json:
        say(disclosed)
    if as_json:
        told = {"answered": earlier is not None, "dry_run": True, "misfit": misfit}
        print_json({**asdict(explanation), **told, "disclosed": disclosed})
    elif earlier is not None:
        say(f"Answered before ({state_in_words(earlier)}). Dry run: nothing was sent.")
    else:
        verdict = "fits." if misfit is None else f"does not fit. {misfit}"
        say(f"The record {verdict} Dry run: nothing was drawn and nothing was sent.")
    if misfit is not None:
        raise typer.Exit(EXIT_FAULT)


def _done(answered: StoredAnswer, earlier: StoredAnswer | None, as_json: bool) -> NoReturn:
    if answered.misfit is not None:
        say(f"The record does not fit, and the report says so, perturbed. {answered.misfit}")
    if as_json:
        print_json({**answer_json(answered), "misfit": answered.misfit})
    elif earlier is not None and earlier.counted:
        before = f"{ANSWERED_BEFORE.capitalize()}: nothing was sent, and no epsilon was spent."
        say(f"{before} {earlier.disclosed}".rstrip())
    else:
        left = f"{len(answered.report)} bytes left this device; epsilon {answered.epsilon:g}."
        state = state_in_words(answered)
        say(f"{state[0].upper()}{state[1:]}. {left}")
    raise typer.Exit(STATUSES[answered.state])
