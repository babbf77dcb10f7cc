"""The page of a study's results for everybody: to be read, linked and shown in other pages.

Whoever opens it sees what strangers see; it has no form, and nothing on it needs a session.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException, Request, Response

from privet.admin.results import WaveDates
from privet.learning.core.amounts import tells_enough
from privet.learning.core.trees import name_of_group, readable_path
from privet.learning.display.figure_picture import figures_to_csv, figures_to_svg
from privet.learning.figures.compare import Insight
from privet.learning.figures.sentences import PUBLIC_FILE, asked, finding_in_group
from privet.protocol.features import Classes
from privet.protocol.task import Task

from ..http.requests import TheCurator, attached
from ..operations import tasks as cases
from ..operations.snapshot import Snapshot
from .overview import Finding, findings_of, spread_of
from .pages import POLICY, PageRoute, data_url, days_of, own_address, page
from .panels import PanelForAll
from .visitor import Visitor

PAGE = "/tasks/{task_id}/results"
ANYWHERE = {
    "Content-Security-Policy": POLICY.replace("frame-ancestors 'none'", "frame-ancestors *"),
    "Cross-Origin-Resource-Policy": "cross-origin",
}
"""Headers with which other pages may show an answer."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


def drawn_figures(snapshot: Snapshot) -> list[Finding]:
    """The figures that everybody may read, the surest first; none before the end."""
    return findings_of(snapshot.task.label, snapshot.overall or (), PUBLIC_FILE)


def picture_of(task: Task, figures: Sequence[Finding], host: str = "") -> str:
    """The figures as an SVG picture that says whose study it is, and where it ran if given."""
    is_share = isinstance(task.label, Classes)
    measures = "share of people" if is_share else task.label.in_unit or task.label.name
    source = " · ".join(filter(None, (task.asker.name if task.asker else "", task.name, host)))
    return figures_to_svg(asked(task.label), figures, task.label.bounds, measures, source)


@dataclass(frozen=True)
class Groups:
    """Figures of groups of people, as a picture and as a table too."""

    findings: Sequence[Finding]
    picture: str
    table: str


def groups_of_people(
    snapshot: Snapshot, insight: Insight | None, file: str, number: int | None = None
) -> Groups | None:
    """The groups of an insight of a model, by default the one that serves, beside the ``file``;
    None without any."""
    if insight is None or not insight.groups:
        return None
    task, tree = snapshot.task, snapshot.model(number).model.partition
    is_share, found = isinstance(task.label, Classes), list[Finding]()
    for group in insight.groups:
        path = readable_path(tree, task.columns, group.node)
        for of in group.figures:
            found.append(
                Finding(
                    finding_in_group(task.label, group, of, path, file),
                    of.value,
                    of.low,
                    of.high,
                    of.public,
                    known=tells_enough(of.low, of.high, task.label.span),
                    name=f"{name_of_group(path)}: {of.name}",
                    axis=task.label.bounds,
                    is_share=is_share,
                    differs=of.differs,
                )
            )
    picture = data_url("image/svg+xml", picture_of(task, found))
    return Groups(found, picture, data_url("text/csv", figures_to_csv(found)))


@router.get(PAGE)
def show_results(request: Request, task_id: str, curator: TheCurator) -> Response:
    """The results of a study that has ended, in sentences and drawn."""
    snapshot = Snapshot.of(curator, Visitor(), task_id)
    task, figures, outcome = snapshot.task, drawn_figures(snapshot), snapshot.outcome
    response = page(
        request,
        "results.html",
        task=task,
        status=cases.status_of(snapshot),
        question=asked(task.label),
        figures=figures,
        panel=PanelForAll.of(snapshot) if task.is_panel else None,
        wave=_wave_of(task),
        spread=spread_of(task.label, outcome),
        groups=groups_of_people(snapshot, outcome, PUBLIC_FILE),
        doubt=outcome.if_false if outcome else "",
        address=f"{own_address(request)}{request.url.path}",
    )
    response.headers.update(ANYWHERE)
    return response


def _wave_of(task: Task) -> dict[str, Any] | None:
    """The panel that the task is a wave of, the wave's number of how many, and its days."""
    if task.wave is None or task.panel is None:
        return None
    number, waves = task.wave + 1, task.panel.waves
    days = days_of(
        WaveDates.model_validate({"id": task.id, "opens": task.opens, "closes": task.closes})
    )
    return {"panel": task.panel_id, "number": number, "of": len(waves), "days": days}


@router.get(f"{PAGE}.svg")
def show_picture(request: Request, task_id: str, curator: TheCurator) -> Response:
    """The same as one picture."""
    snapshot = Snapshot.of(curator, Visitor(), task_id)
    host = urlsplit(own_address(request)).netloc
    drawn = picture_of(snapshot.task, _there(snapshot), host)
    return Response(drawn, media_type="image/svg+xml", headers=ANYWHERE)


@router.get(f"{PAGE}.csv")
def download_figures(task_id: str, curator: TheCurator) -> Response:
    """The same as a table."""
    made = figures_to_csv(_there(Snapshot.of(curator, Visitor(), task_id)))
    return attached(made, "text/csv", "results.csv")


def _there(snapshot: Snapshot) -> list[Finding]:
    figures = drawn_figures(snapshot)
    if not figures:
        raise HTTPException(404, "There are no results to show yet.")
    return figures
