"""Pages about tasks: the list, and one collection as it goes on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import segno
from fastapi import APIRouter, Query, Request, Response

from privet.admin.results import ModelSummary, NamedRelay
from privet.learning.core.amounts import TELLING, in_figures, of_hundred, tells_nothing
from privet.learning.display.figure_picture import figures_to_csv
from privet.learning.figures.compare import Insight
from privet.learning.figures.sentences import (
    PUBLIC_FILE,
    YOUR_FILE,
    asked,
    close_or_go_on,
    figures_to_state,
    in_a_new_study,
    is_reached,
    planned_in_words,
    precision_in_words,
    still_missing,
    tells_little,
    too_few,
    verdict,
)
from privet.protocol.calls import TASK, TASKS
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.results import Comparison
from privet.protocol.task import Task
from privet.tables.cells import typed_number

from ..datastore.tasks import ListedTask
from ..http.requests import TheCurator, attached
from ..operations import relays
from ..operations import tasks as cases
from ..operations.relays import RelayRequest
from ..operations.snapshot import Snapshot
from ..operations.strangers import STEP
from .embedding import preview_address, snippet
from .models import estimators_for
from .overview import (
    Elsewhere,
    Sample,
    cells_of_model,
    chart_of,
    findings_in_cells,
    findings_of,
    insight_of,
    next_step,
    spread_of,
)
from .pages import BrowserRoute, PageRoute, as_question, data_url, own_address, page, see_other
from .panels import next_step_of_panel, panel_part
from .poster import texts_for
from .results import groups_of_people, picture_of
from .visitor import Admins, OwnForm, TheForm, TheVisitor, Visitor

PER_PAGE = 50
WANTED = (25.0, 20.0, 15.0, 10.0, 5.0, 2.0, 1.0, 0.5)
"""Precisions that a page asks for by itself: points, or percent of a number's range."""
MOST_WANTED = 100.0
MOVES = {"open": cases.open_task, "close": cases.close_task}

router = APIRouter(route_class=PageRoute, include_in_schema=False)
browsers = APIRouter(route_class=BrowserRoute, include_in_schema=False)
"""Pages at addresses of the API, for people who open these in a browser."""


@dataclass(frozen=True)
class StudyRow:
    """A study in the list, a panel with all its waves."""

    id: str
    name: str
    question: str
    phase: Phase
    wave: int | None
    """The number of the first wave of a panel in its phase."""
    is_answerable: bool
    """True if whoever has no invitation can answer now."""
    has_results: bool
    """True if everybody may read what its answers say, if they say anything."""
    is_marked: bool
    waves: int
    people: int
    created: float
    """In Unix time."""

    @classmethod
    def of(
        cls,
        stored: ListedTask,
        waves: Sequence[ListedTask],
        people: int,
        now: float,
        *,
        guarded: bool,
    ) -> "StudyRow":
        """The row of a task, with those waves of a panel that were not deleted.

        No figure stands there: it takes a model, and counts, of each study.
        """
        head, phase = stored.head, stored.phase(now, waves)
        return cls(
            head.id,
            head.name,
            head.prompt or as_question(head.label),
            phase,
            next(((each.head.wave or 0) + 1 for each in waves if each.phase(now) is phase), None),
            phase is Phase.OPEN and not head.invited,
            phase.has_ended and not (stored.is_earlier or guarded),
            stored.marked is not None,
            len(waves),
            people,
            stored.created,
        )


@router.get("/")
def list_tasks(
    request: Request,
    curator: TheCurator,
    visitor: TheVisitor,
    name: str = "",
    first: Annotated[int, Query(ge=0)] = 0,
    deleted: str = "",
) -> Response:
    """The tasks, the latest first; ``deleted`` names one that was just deleted."""
    listed = cases.listed_tasks(curator, visitor)
    people = cases.count_people(curator, visitor, listed)
    waves: dict[str, list[ListedTask]] = {each.head.id: [] for each in listed if each.head.waves}
    for each in listed:
        if not each.head.waves and each.head.panel in waves:
            waves[each.head.panel].append(each)
    studies = [each for each in reversed(listed) if each.head.waves or each.head.panel not in waves]
    matches = [each for each in studies if name.casefold() in each.head.name.casefold()]
    now = curator.clock()
    return page(
        request,
        "tasks.html",
        studies=[
            StudyRow.of(
                each,
                waves.get(each.head.id, ()),
                people[each.head.id],
                now,
                guarded=curator.guard_models,
            )
            for each in matches[first : first + PER_PAGE]
        ],
        step=1 if visitor.reads else STEP,
        relay=relays.relay_of(curator),
        name=name,
        first=first,
        more=first + PER_PAGE if len(matches) > first + PER_PAGE else None,
        total=len(matches),
        of_hundred=of_hundred,
        deleted=visitor.reads and cases.was_deleted(curator, deleted),
    )


def collection(
    snapshot: Snapshot, visitor: Visitor, wanted: str, relay: str | None
) -> dict[str, Any]:
    """The values of the part that is refreshed; None where they are for readers only.

    ``wanted`` is the precision as typed, perhaps with a decimal comma.
    """
    number, unusable = wanted_of(wanted)
    stored, task = snapshot.stored, snapshot.task
    status, planned = cases.status_of(snapshot), stored.settings.get("holders")
    insight, needed, impossible, known, models = None, "", None, "", snapshot.models
    overall: Sequence[Comparison] = ()
    newest = newest_of(models or ())
    more = 0
    precise = WANTED[0] if number is None else number
    if snapshot.reads:
        insight = insight_of(snapshot, newest)
        if number is None:
            precise = target_near(snapshot, planned or 0, status.reports, newest, insight)
        if not snapshot.phase.has_ended:
            goal = needed_for(snapshot, newest, insight)
            if goal is not None:
                enough = goal(half_width(task, precise))
                needed = precision_in_words(task.label, enough, status.reports, precise)
                if not status.reports and planned:
                    half = snapshot.planned_half_width
                    as_planned = planned_in_words(task.label, planned, half)
                    anew = snapshot.planned_anew(half_width(task, precise))
                    instead = in_a_new_study(enough, anew) if wanted else ""
                    needed = f"{as_planned} {needed}{instead}" if wanted else as_planned
        overall = snapshot.shares if insight is None else insight.overall
        impossible = snapshot.impossible
        if status.reports and not impossible:
            reports = status.reports if insight is None else insight.reports
            in_detail = insight is not None and snapshot.has_features
            known, more = known_so_far(snapshot, overall, reports, in_detail=in_detail)
        doubt = snapshot.doubt if insight is None else insight.if_false
    else:
        overall = snapshot.overall or ()
        doubt = snapshot.outcome.if_false if snapshot.outcome else ""
    close = ""
    if needed and not (wanted or more or impossible or snapshot.has_features) and overall:
        close = close_or_go_on(task.label, overall, enough, status.reports, precise)
    looks = stored.settings.get("looks", "many")
    panel = panel_part(snapshot) if task.panel else None
    shared = findings_of(task.label, overall, PUBLIC_FILE)
    found = findings_of(task.label, overall) if visitor.reads else shared
    has_ended = snapshot.phase.has_ended or task.is_panel
    shares_results = has_ended and not snapshot.curator.guard_models
    step = (
        next_step_of_panel(
            panel,
            stored.state,
            visitor,
            has_link=relay is not None,
            has_features=snapshot.has_features,
            shares_results=not snapshot.curator.guard_models,
        )
        if panel is not None and task.is_panel
        else next_step(
            status,
            visitor,
            models,
            has_link=relay is not None,
            is_false=impossible is not None,
            planned=planned,
            looks=looks,
            is_unread=bool(more),
            has_features=snapshot.has_features,
            has_results=shares_results and bool(found) and impossible is None,
            close=close,
        )
    )
    of = (insight, YOUR_FILE, newest) if snapshot.reads else (snapshot.outcome, PUBLIC_FILE)
    groups = None if task.is_panel else groups_of_people(snapshot, *of)
    said = close and step is not None and step.sentence == close  # by the next step
    is_wide = more != 0 and not wanted and precise == 100.0 * TELLING
    return {
        "task": task,
        "panel": panel,
        "stored": stored,
        "status": status,
        "reports": snapshot.kept.reports if visitor.admin else None,
        "classes": isinstance(task.label, Classes),
        "question": asked(task.label),
        "typed": wanted,
        "wanted": wanted or f"{precise:g}",
        "unusable": unusable,
        "needed": "" if said or is_wide else needed,
        "has_target": bool(needed),
        "planned": planned,
        "known": impossible.sentence if impossible else known,
        "next_step": step,
        "newest": newest,
        "insight": insight,
        "in_detail": insight.sentence.removeprefix(known).strip() if insight else "",
        "impossible": impossible,
        "findings": found,
        "picture": data_url("image/svg+xml", picture_of(task, shared)),
        "table": data_url("text/csv", figures_to_csv(shared)),
        "of_cells": cells_of_model(snapshot, newest, insight)
        if insight is not None and snapshot.has_features
        else None,
        "spread": spread_of(task.label, insight or snapshot.outcome),
        "doubt": doubt,
        "groups": groups,
        "differences": findings_in_cells(snapshot, newest, insight),
        "elsewhere": Elsewhere.of(status),
        "models": models,
        "by_day": chart_of(status.buckets or []),
        "shares_results": shares_results,
        "has_link": relay is not None,
        "sample": Sample.made_up(has_file=snapshot.has_features)
        if visitor.reads and not (snapshot.phase.has_ended or status.reports)
        else None,
    }


@browsers.get(TASK)
def show_way(request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor) -> Response:
    """A redirect for a person who opened an API address."""
    task = cases.read_task(curator, visitor, task_id).task
    return page(request, "way.html", task=task, link=holders_link(task_id, relays.probe(curator)))


@router.post("/tasks/{task_id}/link", dependencies=[Admins])
def make_link(task_id: str, curator: TheCurator, visitor: TheVisitor, form: TheForm) -> Response:
    """Remember the relay on whose page people answer, for all tasks, whether it answers or not.

    Only an admin's own form names it: a link to this curator shall not make it recommend anybody's
    page.
    """
    relays.name_relay(curator, visitor, RelayRequest(address=str(form.get("relay", ""))))
    return see_other(f"/tasks/{task_id}#holders")


@router.post("/tasks/{task_id}/start", dependencies=[Admins, OwnForm])
def show_start(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor
) -> Response:
    """The command that starts a relay, with a new token that is not shown again."""
    start = relays.start_relay(curator, visitor, own_address(request) + "/")
    task = cases.read_task(curator, visitor, task_id).task
    return page(request, "start.html", start=start, then=f"/tasks/{task.id}#holders")


@router.get("/tasks/{task_id}")
def show_task(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor, wanted: str = ""
) -> Response:
    """A collection: its reports, what they say, its models, and how holders get to it."""
    return _task_page(request, Snapshot.of(curator, visitor, task_id), visitor, wanted)


def _task_page(
    request: Request, snapshot: Snapshot, visitor: Visitor, wanted: str = "", fault: str = ""
) -> Response:
    """The page of a task, with what was wrong with the form that deletes it."""
    code, curator = 422 if fault else 200, snapshot.curator
    if snapshot.listed.is_earlier:
        status, head = cases.status_of(snapshot), snapshot.listed.head
        reports = snapshot.kept.reports
        return page(
            request, "earlier.html", code, task=head, status=status, reports=reports, fault=fault
        )
    task, relay = snapshot.task, relays.probe(curator)
    values = collection(snapshot, visitor, wanted, relay.address if relay else None)
    link, is_draft = (
        holders_link(task.panel_id or task.id, relay),
        snapshot.stored.state is TaskState.DRAFT,
    )
    return page(
        request,
        "task.html",
        code,
        **values,
        serving=next((m.number for m in values["models"] or () if m.serves), None),
        other_model=other_than_serving(values["models"] or ()),
        estimators=list(estimators_for(task)),
        invitations=cases.count_invitations(curator, visitor, task.id)
        if visitor.admin and task.invited
        else None,
        link=link,
        preview=preview_address(link["relay"].address, task)
        if is_draft and link is not None and link["relay"].works
        else None,
        relay=relay.address if relay else None,
        task_url=f"{own_address(request)}{TASKS}/{task.id}",
        fault=fault,
        guarded=curator.guard_models,
    )


@router.get("/tasks/{task_id}/poster")
def show_poster(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor
) -> Response:
    """A sheet to print, with the link to the answer page as a QR code."""
    task = cases.read_task(curator, visitor, task_id).task
    link = holders_link(task_id, relays.probe(curator))
    if link is None or not link["code"]:
        raise InvalidRequest("There is no link that works yet: name a relay that answers.")
    if task.invited:
        raise InvalidRequest("Everybody invited has a link of their own: a poster shows only one.")
    texts, until = texts_for(task.language), in_figures(task.closes) if task.closes else ""
    return page(request, "poster.html", task=task, link=link, texts=texts, until=until)


@router.get("/tasks/{task_id}/collection")
def show_collection(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor, wanted: str = ""
) -> Response:
    """The part of the page that changes while reports come in."""
    snapshot = Snapshot.of(curator, visitor, task_id)
    values = collection(snapshot, visitor, wanted, relays.relay_of(curator))
    return page(request, "collection.html", **values)


@router.post("/tasks/{task_id}/move", dependencies=[Admins])
def move_task(task_id: str, curator: TheCurator, visitor: TheVisitor, form: TheForm) -> Response:
    asked = str(form.get("move"))
    if asked not in MOVES:
        raise InvalidRequest("A study can only be opened or closed here.")
    MOVES[asked](curator, visitor, task_id)
    return see_other(f"/tasks/{task_id}")


@router.post("/tasks/{task_id}/invitations", dependencies=[Admins])
def invite(task_id: str, curator: TheCurator, visitor: TheVisitor, form: TheForm) -> Response:
    """New invitations as a file: one a line, each the link of one person."""
    count = str(form.get("count", "")).strip()
    if not count.isdecimal() or not 1 <= int(count) <= cases.MOST_INVITATIONS:
        raise InvalidRequest(f"Give the number of people to invite, 1 to {cases.MOST_INVITATIONS}.")
    link = holders_link(task_id, relays.probe(curator))
    made = cases.invite(curator, visitor, task_id, cases.InviteRequest(count=int(count)))
    before = "" if link is None else f"{link['address']}#"
    lines = "".join(f"{before}{invitation}\n" for invitation in made.invitations)
    return attached(lines, "text/plain", f"invitations-{task_id[:12]}.txt")


@router.post("/tasks/{task_id}/delete", dependencies=[Admins])
def delete_task(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """Delete a task whose name is given to confirm it; say on its page if that is another."""
    try:
        cases.delete_named_task(curator, visitor, task_id, str(form.get("name", "")))
    except InvalidRequest as error:
        snapshot = Snapshot.of(curator, visitor, task_id)
        return _task_page(request, snapshot, visitor, fault=error.detail)
    return see_other(f"/?deleted={task_id}")


def wanted_of(typed: str) -> tuple[float | None, str]:
    """The precision that is typed, None if none is, and what is wrong with it."""
    if not typed:
        return None, ""
    try:
        number = float(typed_number(typed.strip(), 0.0, MOST_WANTED) or 0.0)
    except InvalidRequest as error:
        return None, error.detail
    if not 0.0 < number <= MOST_WANTED:
        return None, f"Give a number above 0 and up to {MOST_WANTED:g}, such as 2.5."
    return number, ""


def target_near(
    snapshot: Snapshot, planned: int, reports: int, newest: int | None, insight: Insight | None
) -> float:
    """The finest of ``WANTED`` that the planned answers give by the plan, so that it stays the same
    while they come in; where that is reached, the first that is not."""
    given = WANTED[0]
    task, at_plan = snapshot.task, snapshot.reports_needed(as_planned=True)
    needed = needed_for(snapshot, newest, insight)
    if at_plan is None or needed is None:
        return WANTED[-1]
    for each in WANTED:
        if at_plan(half_width(task, each)) > planned:
            break
        given = each
    for each in WANTED[WANTED.index(given) :]:
        if not is_reached(needed(half_width(task, each)), reports, each):
            return each
    return WANTED[-1]


def newest_of(models: Sequence[ModelSummary]) -> int | None:
    """The number of the model of most reports, of several the one that serves, or the last."""
    of = {(each.reports, each.serves, each.number): each.number for each in models}
    return of[max(of)] if of else None


def known_so_far(
    snapshot: Snapshot, overall: Sequence[Comparison], reports: int, *, in_detail: bool
) -> tuple[str, int]:
    """A sentence on what ``reports`` tell, and how many more would if they tell too little.

    The difference that would have shown is left to the sentence ``in_detail``, where there is one.
    """
    task, needed, more = snapshot.task, snapshot.reports_needed(), 0
    if needed is not None:
        more = still_missing(needed(half_width(task, 100.0 * TELLING)), reports)
    stated = figures_to_state(task.label, overall)
    if stated:
        is_unread = all(tells_little(task.label, row) for row in stated)
        said = verdict(task.label, overall, reports, more, with_least=not in_detail)
        return said, more if is_unread else 0
    if more == 0 or snapshot.tells_mean:
        return "" if needed else snapshot.unstated, 0
    return too_few(task.label, reports, more), more


def other_than_serving(models: Sequence[ModelSummary]) -> int | None:
    """The number of the latest model that does not serve, to compare with the one that does."""
    others = [model.number for model in models if not model.serves]
    return max(others, default=None)


def needed_for(
    snapshot: Snapshot, newest: int | None, insight: Insight | None
) -> Callable[[float], int] | None:
    """``reports_needed``, by the mean of an insight that tells it."""
    known, label = None, snapshot.task.label
    if newest and insight is not None and isinstance(label, Range):
        (mean,) = insight.overall
        if not tells_nothing(mean.low, mean.high, *label.bounds):
            half = max(mean.high - mean.reported, mean.reported - mean.low)
            known = half, insight.reports
    return snapshot.reports_needed(known=known)


def half_width(task: Task, wanted: float) -> float:
    """``wanted`` points as a share, or percent of a number's range in the label's units."""
    return wanted / 100.0 * task.label.span


def holders_link(task_id: str, relay: NamedRelay | None) -> dict[str, Any] | None:
    """The answer page at a relay, as an address and HTML for pages of others, and the relay; a QR
    code if people can answer there. None without a relay."""
    if relay is None or relay.address is None:
        return None
    address = f"{relay.address}/answer/{task_id}"
    code = segno.make(address, error="m", micro=False).svg_data_uri(
        scale=4, dark="#000", light="#fff"
    )
    return {
        "address": address,
        "code": code if relay.works else None,
        "snippet": snippet(relay.address, task_id),
        "relay": relay,
    }
