"""Pages about tasks: the list, and one collection as it goes on."""

from typing import Annotated, Any

import segno
from fastapi import APIRouter, Depends, Query, Request, Response

from privet.learning.estimators import ESTIMATORS
from privet.protocol.errors import InvalidRequest, ModelNotFound
from privet.protocol.features import Classes
from privet.protocol.lifecycle import Move
from privet.protocol.task import Task

from ..datastore.models import SERVING
from ..http import models as model_calls
from ..http import tasks as calls
from ..http.requests import TheCurator, note
from ..service import Curator
from .pages import BrowserRoute, PageRoute, page, see_other
from .visitor import Admins, TheForm, TheVisitor

PER_PAGE = 50
WANTED = 2.0
"""Precision wanted of the overall figures: points, or percent of a number's range."""
MOVES = {Move.OPEN: calls.open_task, Move.CLOSE: calls.close_task}

router = APIRouter(route_class=PageRoute, include_in_schema=False)
browsers = APIRouter(route_class=BrowserRoute, include_in_schema=False)
"""Pages at addresses of the API, for people who open these in a browser."""


@router.get("/")
def list_tasks(
    request: Request,
    curator: TheCurator,
    visitor: TheVisitor,
    name: str = "",
    first: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    matches = [
        listed
        for listed in reversed(curator.store.tasks())
        if name.casefold() in listed.task.name.casefold() and calls.is_shown(listed, visitor.reader)
    ]
    now = curator.clock()
    return page(
        request,
        "tasks.html",
        tasks=[calls.TaskSummary.of(task, now) for task in matches[first : first + PER_PAGE]],
        name=name,
        first=first,
        more=first + PER_PAGE if len(matches) > first + PER_PAGE else None,
        total=len(matches),
    )


def collection(
    task_id: str,
    curator: TheCurator,
    visitor: TheVisitor,
    wanted: Annotated[float, Query(gt=0.0, le=100.0)] = WANTED,
) -> dict[str, Any]:
    """What the part that changes shows; what is for readers only is None for strangers."""
    status = calls.read_status(task_id, curator, visitor.reader, sees_models=False)
    stored = curator.store.task(task_id)
    task = stored.task
    insight, needed = None, None
    if visitor.reader:
        needed = curator.reports_for(task_id, half_width(task, wanted))
        insight = _insight(task_id, curator)
    return {
        "task": task,
        "status": status,
        "classes": isinstance(task.label, Classes),
        "wanted": wanted,
        "needed": needed,
        "planned": stored.settings.get("holders"),
        "insight": insight,
    }


TheCollection = Annotated[dict[str, Any], Depends(collection)]


@browsers.get("/v1/tasks/{task_id}")
def show_way(request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor) -> Response:
    """Where a person goes who opened an address for programs."""
    stored = calls.shown(curator.store.task(task_id), visitor.reader)
    return page(request, "way.html", task=stored.task, link=holders_link(task_id, curator))


@router.post("/tasks/{task_id}/link", dependencies=[Admins])
def make_link(request: Request, task_id: str, curator: TheCurator, form: TheForm) -> Response:
    """Remember the relay on whose page people answer, for all tasks.

    Only an admin's own form names it: a link to this curator shall not make it recommend anybody's
    page.
    """
    relay = str(form.get("relay", "")).strip()
    curator.name_relay(relay)
    note(request, "relay named", address=relay)
    return see_other(f"/tasks/{task_id}#holders")


@router.get("/tasks/{task_id}")
def show_task(
    request: Request, curator: TheCurator, visitor: TheVisitor, values: TheCollection
) -> Response:
    """A collection: its reports, what they say, its models, and how holders get to it."""
    task_id = values["task"].id
    readable = visitor.reader or not request.app.state.guard_models
    models = model_calls.list_models(task_id, curator) if readable else None
    return page(
        request,
        "task.html",
        **values,
        stored=curator.store.task(task_id),
        models=models,
        serving=next((m.number for m in models or () if SERVING in m.aliases), None),
        estimators=[n for n, e in ESTIMATORS.items() if e.serves(values["task"].label)],
        invitations=calls.count_invitations(task_id, curator) if visitor.admin else None,
        link=holders_link(task_id, curator),
        relay=curator.relay,
        task_url=f"{request.base_url}v1/tasks/{task_id}",
    )


@router.get("/tasks/{task_id}/collection")
def show_collection(request: Request, values: TheCollection) -> Response:
    """The part of the page that changes while reports come in."""
    return page(request, "collection.html", **values)


@router.post("/tasks/{task_id}/move", dependencies=[Admins])
def move_task(request: Request, task_id: str, curator: TheCurator, form: TheForm) -> Response:
    asked = str(form.get("move"))
    if asked not in MOVES:
        raise InvalidRequest("A task is opened or closed here, and nothing else.")
    MOVES[Move(asked)](task_id, curator, request)
    return see_other(f"/tasks/{task_id}")


@router.post("/tasks/{task_id}/invitations", dependencies=[Admins])
def invite(request: Request, task_id: str, curator: TheCurator, form: TheForm) -> Response:
    """New invitations as a file: one a line, each the link of one person."""
    count = str(form.get("count", "")).strip()
    if not count.isdecimal() or not 1 <= int(count) <= calls.MOST_INVITATIONS:
        raise InvalidRequest(f"Say how many people to invite: 1 to {calls.MOST_INVITATIONS}.")
    link = holders_link(task_id, curator)
    made = calls.invite(task_id, calls.InviteRequest(count=int(count)), curator, request)
    before = "" if link is None else f"{link['address']}#"
    lines = "".join(f"{before}{invitation}\n" for invitation in made.invitations)
    disposition = f'attachment; filename="invitations-{task_id[:12]}.txt"'
    return Response(lines, media_type="text/plain", headers={"Content-Disposition": disposition})


@router.post("/tasks/{task_id}/delete", dependencies=[Admins])
def delete_task(request: Request, task_id: str, curator: TheCurator, form: TheForm) -> Response:
    """Delete a task whose name is given to confirm it."""
    if str(form.get("name", "")).strip() != curator.store.task(task_id).task.name.strip():
        raise InvalidRequest("The name is not that of the task: nothing was deleted.")
    calls.delete_task(task_id, curator, request)
    return see_other("/")


def half_width(task: Task, wanted: float) -> float:
    """``wanted`` points as a share, or percent of a number's range in the label's units."""
    label = task.label
    return wanted / 100.0 * (1.0 if isinstance(label, Classes) else label.high - label.low)


def _insight(task_id: str, curator: Curator) -> model_calls.InsightView | None:
    """Of the model that serves; None without a model or reports that it can be asked for."""
    try:
        number = curator.models.info(task_id).number
        return model_calls.read_insight(task_id, number, curator)
    except (ModelNotFound, InvalidRequest):
        return None


def holders_link(task_id: str, curator: Curator) -> dict[str, str] | None:
    """Where people answer, the page of a relay, as an address and a QR code; None without one."""
    if curator.relay is None:
        return None
    address = f"{curator.relay}/answer/{task_id}"
    code = segno.make(address, error="m", micro=False).svg_data_uri(
        scale=4, dark="#000", light="#fff"
    )
    return {"address": address, "code": code}
