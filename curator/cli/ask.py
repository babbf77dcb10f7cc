"""``privet ask``: publish one question, without a file."""

import json
import re
import sys
from typing import Annotated, Any

import typer

from privet.admin.client import CuratorClient
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.settings import OF_PUBLIC_DATA
from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import MAX_NAME_LENGTH
from privet.tables.cells import typed_number

from .options import AsJson, remote, with_settings
from .output import print_json, say, show_link

EPSILON = 1.0
LABEL = "answer"
RANGE = re.compile(r"(.+?)\s*(?:\.\.|\bto\b|[-\u2013])\s*(.+)")
OF_ASK = {"label_type", "classes", "label_range", "describe", "allocation"}
"""Settings that follow from the question and its answers."""


@remote(doing="Publishing the question ...")
@with_settings(Publication, only={*Publication.model_fields} - {*OF_PUBLIC_DATA} - OF_ASK)
def ask(
    api: CuratorClient,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="As people read it.")],
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWER",
            help="What may be answered: two or more answers, or for a number its range, as 0-24.",
        ),
    ],
    *,
    settings: dict[str, Any],
    unit: Annotated[str | None, typer.Option(help="Unit of a number.")] = None,
    as_json: AsJson = False,
) -> None:
    """Publish one question without a file; print the link where people answer it, and the plan.

    Epsilon is 1 unless you say otherwise, and the name is the question.
    """
    from privet.learning.planning import plan

    label = settings.get("label", LABEL)
    said = {"prompt": question} | ({} if unit is None else {"unit": unit})
    settings = {
        "name": question[:MAX_NAME_LENGTH],
        "label": label,
        "epsilon": EPSILON,
        "describe": {label: said},
        **allowed(answers),
        **settings,
    }
    said_beforehand = plan(None, **Publication.parse(json.dumps(settings)).of_plan()).verdict
    view = api.create(None, **settings)
    relay = api.relay()
    link = None if relay.address is None else f"{relay.address}/answer/{view['id']}"
    if as_json:
        print_json({**view, "link": link, "plan": said_beforehand})
        return
    say(f"Task {view['id']} asks with epsilon {view['epsilon']:g}.")
    say(f"{said_beforehand}.")
    if link is None:
        typer.echo(api.task_url(view))
        say(
            "Programs answer there (privet-holder answer). For people name a relay, at "
            f"{api.url}/tasks/{view['id']}#holders: this command then prints the link to its "
            "answer page."
        )
        return
    if relay.fault:
        say(f"Nobody can answer there now: {relay.fault}")
    show_link(link, code=sys.stdout.isatty() and not relay.is_local)


def allowed(answers: list[str]) -> dict[str, Any]:
    """The setting that says what may be answered; raises ``InvalidRequest`` for one answer alone
    that is no range."""
    if len(answers) > 1:
        return {"classes": answers}
    found = RANGE.fullmatch(answers[0].strip())
    ends = [] if found is None else [typed_number(end.strip()) for end in found.groups()]
    low_high = [float(end) for end in ends if end is not None]
    if len(low_high) != 2:
        raise InvalidRequest(
            f"{answers[0]!r} is one answer: give two or more, or the range of a number, as 0-24."
        )
    return {"label_range": low_high}
