"""Write holder-js/src/calls.js, what the holder in JavaScript reads of ``protocol.calls``, and the
tables of errors in docs/calls.md and of calls in docs/api.md.

python -m scripts.write_calls
"""

import json
from collections.abc import Iterable
from pathlib import Path

from fastapi.routing import APIRoute

from privet.curator.http import ROUTES
from privet.curator.http.health import router
from privet.curator.http.routes import OperationRoute
from privet.protocol import calls
from privet.protocol.earlier import VERSIONS
from privet.protocol.errors import PROBLEM_BASE, PROBLEMS
from privet.protocol.lifecycle import REPORT_MOVES, Phase, ReportState

from .pages import fill, markdown

PATH = Path(__file__).parents[1] / "holder-js" / "src" / "calls.js"
DOCS = Path(__file__).parents[1] / "docs"
NAMES = {
    "readTask": calls.READ_TASK,
    "readStatus": calls.READ_STATUS,
    "sendReport": calls.SEND_REPORT,
    "readReport": calls.READ_REPORT,
}


def module() -> str:
    """The text of the module."""
    constants = {
        "VERSIONS": VERSIONS,
        "TASKS": calls.TASKS,
        "TASK_ID": calls.TASK_ID,
        "TASK_TYPE": calls.TASK_MEDIA_TYPE,
        "JSON_TYPE": calls.JSON_MEDIA_TYPE,
        "PROBLEM_TYPE": calls.PROBLEM_MEDIA_TYPE,
        "PROBLEM_BASE": PROBLEM_BASE,
        "INVITATION_HEADER": calls.INVITATION_HEADER,
        "SIGNATURE_HEADER": calls.SIGNATURE_HEADER,
    }
    final = (problem.name for problem in PROBLEMS.values() if problem.final)
    lines = [
        "/** A holder's calls, by `python -m scripts.write_calls` from protocol/calls.py. */",
        "",
        *(f"export const {name} = {json.dumps(value)};" for name, value in constants.items()),
        "/** HTTP statuses after which the same bytes are sent again. */",
        f"export const RETRIED = {_set(sorted(calls.RETRIED))};",
        "/** Problems after which the same bytes would be refused again. */",
        f"export const FINAL = {_set(final)};",
        "/** What may become of a report, as pairs of states; other news changes nothing. */",
        f"export const REPORT_MOVES = {_set(f'{now} {then}' for now, then in REPORT_MOVES)};",
        "/** The state of a report, as its holder knows it.",
        f" * @typedef {{{' | '.join(json.dumps(state) for state in ReportState)}}} ReportState */",
        f"export const REPORT_STATES = {_set(ReportState)};",
        "/** The phase of a collection, by its state, dates and quota.",
        f" * @typedef {{{' | '.join(json.dumps(phase) for phase in Phase)}}} Phase */",
        "export const CALLS = {",
        *(f"  {name}: {_call(call)}," for name, call in NAMES.items()),
        "};",
    ]
    return "\n".join(lines) + "\n"


def errors() -> str:
    """The table of problem types, in Markdown."""
    rows = (
        (f"`{problem.name}`", f"`{error.__name__}`", str(problem.status), problem.title)
        for error, problem in PROBLEMS.items()
    )
    return markdown(("name", "class", "status", "title"), rows)


def calls_of_programs() -> str:
    """The table of all that a curator answers, in Markdown."""
    relays = {call.path for call in calls.RELAY_CALLS}
    rows = []
    for route in (*ROUTES, *router.routes):
        assert isinstance(route, APIRoute)
        who = "holder"
        if isinstance(route, OperationRoute):
            who = route.operation.scope.value
        elif not route.path.startswith(calls.API):
            who = "operator"
        elif route.path in relays:
            who = "relay"
        method, does = "".join(route.methods or ()), route.description.partition("\n\n")[0]
        rows.append((f"`{method} {route.path}`", who, " ".join(does.split())))
    return markdown(("call", "who", "does"), rows)


def _set(items: Iterable[object]) -> str:
    listed = [*items]
    if all(isinstance(item, int) for item in listed):
        return f"new Set({json.dumps(listed)})"
    return "new Set([\n" + "".join(f"  {json.dumps(item)},\n" for item in listed) + "])"


def _call(call: calls.Call) -> str:
    """As an object; ``below`` ends where a report's id follows."""
    below = call.below.partition("{")[0]
    types = {calls.TASK_MEDIA_TYPE: "TASK_TYPE", calls.JSON_MEDIA_TYPE: "JSON_TYPE"}
    return (
        f"{{ method: {json.dumps(call.method)}, below: {json.dumps(below)}, "
        f"accept: {types[call.response_type]}, good: {json.dumps([*call.responses])}, "
        f"limit: {call.max_response} }}"
    )


if __name__ == "__main__":
    PATH.write_text(module(), encoding="utf-8")
    fill(DOCS / "calls.md", {"errors": errors()})
    fill(DOCS / "api.md", {"calls": calls_of_programs()})
