"""A small holder that keeps every clause, and faults that can be planted in it."""

import csv
import json
import os
import time
from dataclasses import replace
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx

from privet.client.pinning import check_key
from privet.conformance.clauses import Given, example
from privet.http_client.report_client import Offer
from privet.protocol.calls import REPORT_MEDIA_TYPE, SIGNATURE_HEADER, TASK_MEDIA_TYPE
from privet.protocol.errors import InvalidTask, PrivetError
from privet.protocol.report import (
    Report,
    make_report,
)
from privet.protocol.signature import Signature
from privet.protocol.task import Task

TRIES = 4
AGAIN = {408, 429, 500, 502, 503, 504}
EXITS = {200: 0, 201: 0, 202: 5}


def holder(given: Given, *faults: str) -> int:
    """Answer a task; the exit status that docs/conformance.md asks for."""
    account = json.loads(given.state.read_text()) if given.state.exists() else {}
    task_id = given.url[-64:]
    if task_id in account and "wave" in account[task_id]:
        given = replace(given, url=given.url.replace(task_id, account[task_id]["wave"]))
        task_id = given.url[-64:]
    if task_id not in account or "redraws when run again" in faults:
        try:
            task = fetch(given, faults)
            if task.panel is not None:
                check_lifetime(task, faults)
                asked, task = task, turn(task)
                given = replace(given, url=given.url.replace(task_id, task.id))
                account, task_id = {**account, asked.id: {"wave": task.id}}, task.id
            check(task, given, faults)
            spent = [kept[0] for kept in account.values() if isinstance(kept, list)]
            check_year(task, spent, faults)
            body = draw(task, given, faults)
        except PrivetError:
            return 4 if "keeps what it has not drawn" in faults else 3
        if body is None:
            return 0
        given.state.write_text(json.dumps({**account, task_id: (task.epsilon, body.hex())}))
    else:
        body = bytes.fromhex(account[task_id][1])
    return send(given, body, faults)


def fetch(given: Given, faults: tuple[str, ...]) -> Task:
    with client(faults) as http:
        for _ in range(1 if "asks once for a task" in faults else 2):
            reply = http.get(given.url, headers={"Accept": TASK_MEDIA_TYPE})
            if reply.status_code not in AGAIN:
                break
    task_id = given.url[-64:]
    apart = abs(parsedate_to_datetime(reply.headers["date"]).timestamp() - time.time())
    if apart > 2 * 86_400 and "ignores the server's clock" not in faults:
        raise PrivetError("a wrong clock")
    if reply.status_code != 200:
        raise PrivetError("no task")
    try:
        task = Task.parse(reply.content, None if "ignores the hash" in faults else task_id)
    except InvalidTask:
        is_asked_for = sha256(reply.content).hexdigest() == task_id
        if "answers a bad task" not in faults or not is_asked_for:
            raise
        task = example("made up")
    key = given.environment.get("PRIVET_HOLDER_CURATOR_KEY")
    if key and "ignores the signature" not in faults:
        header = reply.headers.get(SIGNATURE_HEADER)
        check_key(Offer(task, header and Signature.parse(header)), key)
    return task


def client(faults: tuple[str, ...]) -> httpx.Client:
    http = httpx.Client(follow_redirects="follows redirects" in faults, verify=False)
    if "keeps cookies" not in faults:
        http.cookies.jar.set_cookie = lambda cookie: None  # type: ignore[method-assign]
    return http


def check(task: Task, given: Given, faults: tuple[str, ...]) -> None:
    if task.epsilon > 2 and "spends anything" not in faults:
        raise PrivetError("too dear")
    is_open = (task.opens or 0) <= time.time() < (task.closes or float("inf"))
    if not is_open and "ignores dates" not in faults:
        raise PrivetError("not open")
    if task.invited and "PRIVET_INVITATION" not in given.environment:
        raise PrivetError("uninvited")


def check_lifetime(task: Task, faults: tuple[str, ...]) -> None:
    if task.lifetime > 2 and "knows no lifetime" not in faults:
        raise PrivetError("too dear")


def turn(task: Task) -> Task:
    """The wave to answer; where holders rotate, the first of those to come."""
    assert task.panel is not None
    now = time.time()
    coming = [n for n, (_, closes) in enumerate(task.panel.waves) if now < closes]
    return task.wave_task(coming[0] if coming else 0)


def check_year(task: Task, spent: list[float], faults: tuple[str, ...]) -> None:
    if sum(spent) + task.epsilon > 4 and "knows no year" not in faults:
        raise PrivetError("too dear")


def draw(task: Task, given: Given, faults: tuple[str, ...]) -> bytes | None:
    record: dict[str, Any] = json.loads(given.record)
    fits = record.get("x") != "many"
    if set(record) - {"x", "y"} and "takes any name" not in faults:
        raise PrivetError("an unknown name")
    if not fits and "is silent on a misfit" in faults:
        return None
    if fits and "sends another category" in faults:
        record = {**record, "x": 0}
    if "refuses what it cannot read" in faults and not isinstance(record.get("x", ""), str | int):
        raise PrivetError("unreadable")
    report = make_report(task, record, os.urandom)
    if "answers truthfully" in faults and task.questions[0].mechanism == "grr":
        truth = make_report(task, record, bytes).answers[0][1]  # zeros keep the own category
        report = report.model_copy(update={"answers": tuple((q, truth) for q, _ in report.answers)})
    padded = "pads what subset draws" in faults and task.questions[0].mechanism == "subset"
    return report.pack() + bytes(padded)


def send(given: Given, body: bytes, faults: tuple[str, ...]) -> int:
    invitation = given.environment.get("PRIVET_INVITATION")
    headers = {"Content-Type": REPORT_MEDIA_TYPE}
    if invitation and "keeps the invitation" not in faults:
        headers["Privet-Invitation"] = invitation
    with client(faults) as http:
        if "keeps cookies" in faults:
            http.get(f"{given.url}/status")
        for _ in range(TRIES):
            if "redraws for a retry" in faults:
                body = redrawn(body)
            reply = http.post(f"{given.url}/reports", content=body, headers=headers)
            if reply.status_code == 409 and "redraws at a conflict" in faults:
                body = redrawn(body)
            elif reply.status_code not in AGAIN:
                break
            wait = 0 if "is impatient" in faults else float(reply.headers.get("retry-after", 0))
            time.sleep(wait)
    if reply.status_code not in EXITS:
        return 4 if reply.status_code in AGAIN or "takes a refusal for kept" in faults else 1
    if reply.json()["report"] != Report.unpack(body).id.hex() and "takes any receipt" not in faults:
        return 4
    return 0 if "takes held for counted" in faults else EXITS[reply.status_code]


def site(given: Given, records: Path, *faults: str) -> int:
    """Answer for each line of a file; the exit status of the worst."""
    with records.open(newline="") as file:
        lines = list(csv.DictReader(file))
    misfits = sum(line["x"] == "many" for line in lines)
    if misfits > 3 and "stops at many misfits" in faults:
        return 1
    statuses = {0}
    for line in lines:
        own = given.state.with_name(f"{given.state.name} {line.pop('subject')}")
        statuses.add(holder(replace(given, state=own, record=json.dumps(line))))
    if "says that all is well" in faults:
        return 0
    return 1 if misfits and "says so by its exit status" in faults else worst(statuses)


def worst(statuses: set[int]) -> int:
    """Refusals first, then what nobody took, then what relays hold."""
    return min(statuses, key=lambda status: {4: 1, 5: 2, 0: 3}.get(status, 0))


def redrawn(body: bytes) -> bytes:
    return Report.unpack(body).model_copy(update={"id": os.urandom(16)}).pack()
