"""``privet task``: create, list, show, open, close, delete."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.admin.calls import ApiCall
from privet.admin.client import CuratorClient, Document
from privet.learning.core.amounts import amount, thousands
from privet.learning.task_building.columns import Table
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.renaming import prepared
from privet.learning.task_building.review import review
from privet.learning.task_building.schema import infer_features, infer_label, label_alone
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import FEATURES, Feature
from privet.protocol.lifecycle import Phase
from privet.protocol.limits import SMALLEST_GROUP, TASK_CAP
from privet.protocol.wire import printable

from .options import (
    FILE,
    AsJson,
    MaybePublicFile,
    Register,
    TaskName,
    Yes,
    command_of,
    remote,
    with_settings,
)
from .output import (
    SHORT_ID,
    print_facts,
    print_json,
    print_remarks,
    print_table,
    say,
    show_reading,
    when,
)

FEATURE_COLUMNS = ("name", "kind", "values", "if missing")
MODES = {"rotate": "one of them for each holder", "repeat": "all for each holder"}
MOST_CELLS = 40
"""Strata that are listed."""

app = typer.Typer(no_args_is_help=True, help="Create and manage tasks.")


@app.command(
    epilog="Example: privet task create docs/examples/clinic.csv --label readmitted --epsilon 1"
)
@remote(doing="Publishing the task ...")
@with_settings(Publication, required=("label", "epsilon"))
def create(
    api: CuratorClient,
    public: MaybePublicFile = None,
    *,
    settings: dict[str, Any],
    public_model: Annotated[
        Path | None,
        typer.Option(
            **FILE, help="ONNX model over the encoded columns (see encode); by default one is made."
        ),
    ] = None,
    register: Register = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Show what the public data would become, ask, grow a partition, and publish the task.

    The name is by default that of the file, or of the label without one.
    """
    settings = {"name": settings["label"] if public is None else public.stem, **settings}
    _check(api, public, settings, register, ask=not (yes or as_json))
    try:
        files = {"public": public, "public_model": public_model, "register": register}
        given = {name: (path.name, path.read_bytes()) for name, path in files.items() if path}
        parts = {"settings": (None, json.dumps(settings)), **given}
        response = api.answer(ApiCall.CREATE_TASK, files=parts)
    except KeyboardInterrupt:
        raise InvalidRequest(
            "Interrupted: the curator abandons the task unless it was finished already; "
            "'privet task list' shows it then."
        ) from None
    view = response.json()
    if as_json:
        print_json(view)
        return
    print_view(view)
    if view["waves"]:
        say("Holders answer this address at any time: their device knows its turn.")
    if kept := sorted({*settings.get("disclosed", ())} - {*view["task"].get("disclosed", ())}):
        say(
            f"The task hides {', '.join(kept)} too: so few disclosed groups are large enough that "
            "levels below "
            "them tell more. With --hidden-depth it would disclose all that it may."
        )
    if response.status_code == 200:
        say("The same task existed already; nothing was changed.")
    say(f"Holders answer: privet-holder answer {api.task_url(view)}")


def _in_panel(view: Document) -> dict[str, Any]:
    """The facts about a panel; empty for a task without one."""
    if not view["waves"]:
        return {}
    mode = MODES[view["task"]["panel"]["mode"]]
    return {"panel": f"{len(view['waves'])} waves, {mode}", "lifetime epsilon": view["lifetime"]}


def _print_waves(view: Document) -> None:
    rows = [
        (number, wave["id"][:SHORT_ID], when(wave["opens"]), when(wave["closes"]))
        for number, wave in enumerate(view["waves"], 1)
    ]
    if rows:
        print_table("Waves", ("wave", "task", "opens", "closes"), rows)


def show_review(
    table: Table, settings: Publication, *, rows: bool = False, registered: bool = False
) -> list[str]:
    """Remarks on a table, printed with how it was read and for how many reports it is planned."""
    show_reading(table, rows=rows)
    remarks = review(table, settings)
    print_remarks(remarks)
    if settings.depth is None and "holders" not in settings.model_fields_set:
        planned = "all in the register" if registered else f"{settings.holders} reports"
        say(f"The depth is chosen for {planned}: set --holders if you expect another number.")
    return remarks


def _check(
    api: CuratorClient,
    public: Path | None,
    settings: dict[str, Any],
    register: Path | None,
    *,
    ask: bool,
) -> None:
    """Show what is inferred and what looks wrong; raise unless it is to be published."""
    parsed_settings = Publication.parse(json.dumps(settings))
    remarks, features = list[str](), tuple[Feature, ...]()
    if public is None:
        label = label_alone(parsed_settings)
    else:
        from privet.learning.task_building.table import read_table  # pyarrow is slow to import

        table = read_table(public.read_bytes(), parsed_settings.stated)
        seen, registered = ask and sys.stdin.isatty(), register is not None
        remarks = show_review(table, parsed_settings, rows=seen, registered=registered)
        columns = prepared(table, parsed_settings)
        features = infer_features(columns, parsed_settings)
        label = infer_label(columns, parsed_settings)
    if parsed_settings.waves and parsed_settings.lifetime > TASK_CAP:
        remarks.append("the lifetime epsilon")
        say(
            f"Please check: All waves together cost epsilon {parsed_settings.lifetime:g}, and "
            f"people's devices refuse more than {TASK_CAP:g} unless told otherwise."
        )
    tasks = [task for task in api.tasks() if task["wave"] is None]
    named = [task["id"] for task in tasks if task["name"] == settings["name"]]
    if ask and (remarks or sys.stdin.isatty()):
        if features:
            print_table("Would be published as", FEATURE_COLUMNS, [*map(_feature, features)])
        print_facts("Label", {"is": _label(label.model_dump())})
    if named and ask:
        say(
            f"A task {settings['name']!r} already exists ({named[0][:SHORT_ID]}). Unless this is "
            "the same task, commands then need the ids of both; --name gives another name."
        )
    if ask and sys.stdin.isatty():
        typer.confirm("A published task cannot be changed. Publish it?", abort=True)
    elif ask and remarks:
        raise InvalidRequest("Nothing was published: correct what looks wrong, or use --yes.")


def _print_tasks(tasks: list[Document]) -> None:
    columns = ("id", "name", "state", "label", "epsilon", "created")
    rows = [
        (
            t["id"][:SHORT_ID],
            t["name"] if t["wave"] is None else f"{t['name']}, wave {t['wave']}",
            _state(t),
            t["label"],
            t["epsilon"],
            when(t["created"]).partition(" ")[0],
        )
        for t in tasks
    ]
    print_table("Tasks", columns, rows, whole=("id", "epsilon", "created"))


def print_view(view: Document) -> None:
    task = view["task"]
    facts = {
        "state": _state(view),
        "label": _label(task["label"]),
        "epsilon": view["epsilon"],
        "questions": _allocation(task["allocation"], view["questions"]),
        "report": f"at most {view['report_bytes']} bytes",
        "created": when(view["created"]),
    }
    facts |= _in_panel(view)
    if task.get("disclosed"):
        facts["disclosed"] = ", ".join(task["disclosed"])
    if view["registered"]:
        facts["groups"] = "counted in a register of the people asked"
    if view["public_model"] is not None:
        facts["public model"] = f"uploaded ONNX, SHA-256 {view['public_model'][:SHORT_ID]}"
    typer.echo(f"Task {view['id']}")
    print_facts(view["name"], facts)
    _print_waves(view)
    features = FEATURES.validate_python(task["features"])
    if features:
        print_table("Features", FEATURE_COLUMNS, map(_feature, features))
    of_tree = ("cells", "depth") if features else ()
    keys = ("mechanism", "epsilon", "asks", *of_tree, "report_bytes")
    rows = [
        [question[key] for key in keys] for question in map(_asks, view["questions_in_numbers"])
    ]
    print_table(
        "Questions", [key.replace("cells", "groups").replace("_", " ") for key in keys], rows
    )
    if view["strata"]:
        cells, title = view["strata"], "Disclosed groups"
        if len(cells) > MOST_CELLS:
            title = f"The {MOST_CELLS} smallest of {len(cells)} disclosed groups"
            cells = sorted(cells, key=lambda cell: cell["holders"])[:MOST_CELLS]
        rows = [[cell["holders"], " and ".join(cell["where"])] for cell in cells]
        print_table(title, ["holders expected", "where"], rows)
    if len(view["strata"]) == 1:
        say(
            "Reports disclose nothing: no part of the public records is evidence of a large enough "
            "group, or all levels split on hidden columns. Give more public records, a smaller "
            "--smallest-group, or more --depth than --hidden-depth."
        )
    elif view["strata"]:
        least = min(cell["holders"] for cell in view["strata"])
        if least < SMALLEST_GROUP:
            say(
                f"One group is expected to have only {least} people, so holders refuse this task "
                f"unless they set --smallest-group {least}; the answer page always refuses it."
            )


def _print_move(summary: Document) -> None:
    say(f"Task {summary['id'][:SHORT_ID]} is {summary['state']}.")


app.command("list", epilog="Example: privet task list")(
    command_of(CuratorClient.tasks, _print_tasks, token=False)
)


@app.command(epilog="Example: privet task show Readmission")
@remote(print_view, token=False)
def show(api: CuratorClient, task: TaskName) -> Document:
    """Show one task: its features, questions and what a holder spends."""
    return api.task(task)


app.command("open", epilog="Example: privet task open Readmission")(
    command_of(CuratorClient.open, _print_move)
)
app.command("close", epilog="Example: privet task close Readmission")(
    command_of(CuratorClient.close, _print_move)
)


@app.command(
    epilog="Example: privet task invite Readmission --count 100 --days 30 --out invitations.txt"
)
@remote()
def invite(
    api: CuratorClient,
    task: TaskName,
    count: Annotated[int, typer.Option(min=1, help="Number of invitations to create.")],
    days: Annotated[
        float | None, typer.Option(help="Days until they expire; by default never.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="New file to write them to, readable only by you."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Create single-use invitations to a task that was created with --invited."""
    if file is not None and file.exists():  # before they are made, and lost
        raise InvalidRequest(f"{file} already exists: name a new file.")
    view = api.task(task)
    invitations = api.invite(view, count, days)
    if file is not None:
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as out_file:
            out_file.writelines(f"{invitation}\n" for invitation in invitations)
        say(f"Wrote {count} invitations to {file}.")
    elif as_json:
        print_json({"invitations": invitations})
    else:
        for invitation in invitations:
            typer.echo(invitation)
        say("They will not be shown again. A holder answers with --invitation.")


app.command("invitations", epilog="Example: privet task invitations Readmission")(
    command_of(CuratorClient.invitations, partial(print_facts, "Invitations"))
)


@app.command(epilog="Example: privet task uninvite Readmission --all")
@remote()
def uninvite(
    api: CuratorClient,
    task: TaskName,
    file: Annotated[
        Path | None,
        typer.Option("--file", exists=True, dir_okay=False, help="Invitations, one per line."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are unused.")] = False,
) -> None:
    """Take back unused invitations; the task goes on counting invited reports only."""
    if (file is None) != every:
        raise typer.BadParameter("give either --file or --all")
    chosen = None if file is None else file.read_text(encoding="utf-8").split()
    revoked = api.revoke_invitations(task, chosen)
    say(f"{revoked} invitations can no longer be used.")


@app.command(epilog="Example: privet task delete Readmission")
@remote()
def delete(api: CuratorClient, task: TaskName, yes: Yes = False) -> None:
    """Delete a task with its public data, sums and models, permanently."""
    task_id = api.task_id(task)
    if not yes:
        status = api.status(task_id)
        reports, relays = status["reports"], status.get("relays") or ()
        if held := sum(relay["held"] for relay in relays):
            lost = f"Relays hold about {thousands(held)} reports of it, which would be lost."
            say(lost)
        (name,) = (listed["name"] for listed in api.tasks() if listed["id"] == task_id)
        typer.confirm(
            f"Permanently delete {printable(name)!r} ({task_id[:SHORT_ID]}) with its "
            f"{thousands(reports)} reports and all its models?",
            abort=True,
        )
    api.remove(task_id)
    say(f"Task {task_id[:SHORT_ID]} is deleted.")


def _state(summary: Document) -> str:
    state = Phase(summary["phase"]).in_words
    if summary["panel"] == summary["id"]:
        state = f"panel, {state}"
    return state if summary["marked"] is None else f"{state}, due for removal"


def _allocation(allocation: str, questions: int) -> str:
    if questions == 1:
        return "one, asked of every holder"
    drawn = f"one of {questions} per holder, by chance"
    return drawn if allocation == "one" else f"{questions}, all asked of every holder"


def _asks(question: Document) -> Document:
    """A question as a row of the table; ``asks`` has the radius of a centred number."""
    radius = question["radius"]
    return question if radius is None else {**question, "asks": f"label ± {amount(radius)}"}


def _label(label: Document) -> str:
    if label["kind"] == "classes":
        return f"{label['name']}: one of {', '.join(label['classes'])}"
    ends = f"{amount(label['low'])} to {amount(label['high'])} {label.get('unit') or ''}"
    return f"{label['name']}: a number from {ends}".rstrip()


def _feature(feature: Feature) -> tuple[str, str, str, Any]:
    return feature.name, feature.kind, feature.extent("{:g}".format), feature.missing
