"""A panel over time as a file."""

import csv
import io
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from privet.learning.core.escaping import csv_cell
from privet.learning.figures.results import Line
from privet.protocol.calls import JSON_MEDIA_TYPE

from ..operations import panels
from ..operations.panels import CellLine, PanelOverTime
from ..operations.parameters import TaskId
from .requests import TheCaller, TheCurator, attached
from .routes import by_hand


@by_hand(
    panels.export_waves,
    response_class=Response,
    responses={
        200: {
            "description": "As a panel over time; of CSV a row for each wave, figure and change.",
            "model": PanelOverTime,
            "content": {"text/csv": {}},
        }
    },
)
def export_waves(
    task_id: TaskId,
    curator: TheCurator,
    caller: TheCaller,
    format_: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> Response:
    """The panel in the format that is asked for."""
    view = panels.export_waves(curator, caller, task_id)
    name = f"privet-{task_id[:12]}-waves.{format_}"
    if format_ == "csv":
        return attached(table_of(view), "text/csv", name)
    return attached(view.model_dump_json(), JSON_MEDIA_TYPE, name)


COLUMNS = (
    *("row", "since", "wave", "opens", "closes", "phase", "reports", "group", "splits", "name"),
    *("before", "value", "low", "high", "p_value"),
)


def table_of(view: PanelOverTime) -> str:
    """A row for each wave, each figure of all holders and of cells that changed, and each change.

    The value of a change, with its ends, is the change itself.
    """
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS)
    table.writeheader()
    for wave in view.waves:
        known = wave.model_dump(mode="json", include={"wave", "opens", "closes", "phase"})
        table.writerow({"row": "wave", "reports": wave.reports, **known})
    lines: list[tuple[Line | CellLine, dict[str, Any]]]
    lines = [(line, {}) for line in view.lines]
    for each in view.cells:
        lines.append((each, {"group": each.cell, "splits": csv_cell(" and ".join(each.path))}))
    for line, where in lines:
        for figure in line.figures:
            ends = {"value": figure.value, "low": figure.low, "high": figure.high}
            of_wave = {"wave": figure.wave, "reports": figure.reports, **ends}
            table.writerow({"row": "figure", "name": csv_cell(line.name), **where, **of_wave})
    for change in view.changes:
        known = change.model_dump(include={"since", "wave", "before", "low", "high", "p_value"})
        texts = {"name": csv_cell(change.name), "splits": csv_cell(" and ".join(change.path))}
        value = change.after - change.before
        table.writerow({"row": "change", "group": change.cell, "value": value, **known, **texts})
    return text.getvalue()
