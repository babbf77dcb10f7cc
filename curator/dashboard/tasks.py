"""Pages about tasks: the list, and one collection as it goes on."""

from typing import Annotated, Any

import segno
from fastapi import APIRouter, Depends, Query, Request, Response

from privet.learning.estimators import ESTIMATORS
from privet.protocol.errors import InvalidRequest, ModelNotFound
from privet.protocol.features import Classes
from privet.protocol.lifecycle import Move
from privet.protocol.task import Task

from ..datastore.base import SERVING
from ..http import models as model_calls
from ..http import tasks as calls
from ..http.requests import TheCurator
from ..service import Curator
from .pages import PageRoute, page, see_other
from .visitor import Admins, TheForm, TheVisitor, Visitor

PER_PAGE = 50
WANTED = 2.0
"""Points, or percent of a number's range, to which the overall figures are wanted."""
MOVES = {Move.OPEN: calls.open_task, Move.CLOSE: calls.close_task}

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
def list_tasks(
    request: Request,
    curator: TheCurator,
    visitor: TheVisitor,
    name: str = "",
    first: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """The tasks, latest first."""
    found = [
        listed
        for listed in reversed(curator.tasks())
        if name.casefold() in listed.published.name.casefold()
        and calls.is_shown(listed, visitor.reader)
    ]
    now = curator.clock()
    return page(
        request,
        "tasks.html",
        tasks=[calls.TaskSummary.of(each, now) for each in found[first : first + PER_PAGE]],
        name=name,
        first=first,
        more=first + PER_PAGE if len(found) > first + PER_PAGE else None,
        total=len(found),
    )


def collection(
    task_id: str,
    curator: TheCurator,
    visitor: TheVisitor,
    wanted: Annotated[float, Query(gt=0.0, le=100.0)] = WANTED,
) -> dict[str, Any]:
    """What the part that changes shows; what is for readers only is None for strangers."""
    status = calls.read_status(task_id, curator, visitor.reader)
    task = curator.task(task_id).task
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
        "insight": insight,
    }


TheCollection = Annotated[dict[str, Any], Depends(collection)]


@router.get("/tasks/{task_id}")
def show_task(
    request: Request, curator: TheCurator, visitor: TheVisitor, values: TheCollection
) -> Response:
    """A collection: its reports, what they say, its models, and how holders get to it."""
    return task_page(request, curator, visitor, values)


@router.post("/tasks/{task_id}/link", dependencies=[Admins])
def make_link(
    request: Request, curator: TheCurator, visitor: TheVisitor, values: TheCollection, form: TheForm
) -> Response:
    """The same with a link to the answer page of a relay.

    Only an admin's own form names the relay: a link to this curator shall not make it recommend
    anybody's page.
    """
    return task_page(request, curator, visitor, values, str(form.get("relay", "")))


def task_page(
    request: Request, curator: Curator, visitor: Visitor, values: dict[str, Any], relay: str = ""
) -> Response:
    """The page of a task."""
    task_id = values["task"].id
    readable = visitor.reader or not request.app.state.guard_models
    models = model_calls.list_models(task_id, curator) if readable else None
    return page(
        request,
        "task.html",
        **values,
        stored=curator.task(task_id),
        models=models,
        serving=next((m.number for m in models or () if SERVING in m.aliases), None),
        estimators=[n for n, e in ESTIMATORS.items() if e.serves(values["task"].label)],
        invitations=calls.count_invitations(task_id, curator) if visitor.admin else None,
        link=holders_link(request, task_id, relay),
        relay=relay,
    )


@router.get("/tasks/{task_id}/collection")
def show_collection(request: Request, values: TheCollection) -> Response:
    """The part of the page that changes while reports come in."""
    return page(request, "collection.html", **values)


@router.post("/tasks/{task_id}/move", dependencies=[Admins])
def move_task(request: Request, task_id: str, curator: TheCurator, form: TheForm) -> Response:
    """Open or close a task."""
    asked = str(form.get("move"))
    if asked not in MOVES:
        raise InvalidRequest("A task is opened or closed here, and nothing else.")
    MOVES[Move(asked)](task_id, curator, request)
    return see_other(f"/tasks/{task_id}")


def half_width(task: Task, wanted: float) -> float:
    """``wanted`` points as a share, or percent of a number's range in the label's units."""
    label = task.label
    return wanted / 100.0 * (1.0 if isinstance(label, Classes) else label.high - label.low)


def _insight(task_id: str, curator: Curator) -> model_calls.InsightView | None:
    """Of the model that serves; None without a model or reports that it can be asked for."""
    try:
        number = curator.model_info(task_id).number
        return model_calls.read_insight(task_id, number, curator)
    except (ModelNotFound, InvalidRequest):
        return None


def holders_link(request: Request, task_id: str, relay: str) -> dict[str, Any]:
    """Where holders answer: the page of a relay, or the task's own address; as a QR code too."""
    own = f"{request.base_url}v1/tasks/{task_id}"
    address = own
    if relay:
        if not relay.startswith(("https://", "http://")):
            raise InvalidRequest("Give the relay's whole address, such as https://relay.example.")
        address = f"{relay.rstrip('/')}/answer/{task_id}"
    code = segno.make(address, error="m", micro=False).svg_data_uri(
        scale=4, dark="#000", light="#fff"
    )
    return {"address": address, "own": own, "code": code}
