"""Creating a task: a file, what its columns become, a plan, and the task.

The file comes with every step, so nothing is kept in between: it stays in the browser's form.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from privet.learning.core.amounts import of_hundred
from privet.learning.methods import GROWERS
from privet.learning.task_building.inputs import inputs_of
from privet.learning.task_building.publication import Publication, dates_of
from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import TASK_CAP, YEAR_CAP
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.task import Asker
from privet.tables.cells import typed_number

from ..http.requests import TheCurator, while_waited
from ..operations import relays
from ..operations.relays import RelayRequest
from ..operations.tasks import create_task, plan_task, preview_table, preview_task
from .embedding import preview_address
from .pages import OF_FILE, PageRoute, own_address, page, see_other, stated_in
from .visitor import Admins, TheForm, TheVisitor

MOST_WAVES = 12
"""Maximum number of waves in the form; the command line takes more."""
MOST_COLUMNS = 300
"""Maximum number of columns in the form; the command line takes more."""
COLUMNS, PLAN, CREATE = "/new/columns", "/new/plan", "/new"
PREVIEW, RELAY = "/new/preview", "/new/relay"
UPLOADS = (COLUMNS, PLAN, CREATE, PREVIEW, RELAY)
LANGUAGES = {
    "en": "English",
    "de": "Deutsch",
    "es": "Español",
    "zh-Hans": "中文",
    "fr": "Français",
    "it": "Italiano",
    "pl": "Polski",
    "pt": "Português",
    "tr": "Türkçe",
    "uk": "Українська",
    "ar": "العربية",
    "ru": "Русский",
}
SPOKEN = ("en", "de", "es", "zh-Hans")
"""Languages of the answer page's own texts."""
STEPS = {
    "data": "Data",
    "questions": "Questions",
    "study": "The study",
    "asker": "Who is asking",
    "where": "Where people answer",
    "check": "Check and publish",
}
METHODS = {"grower": tuple(GROWERS), "mechanism": tuple(MECHANISMS)}
"""The names among which the form lets people choose, by setting."""
INPUTS = {
    name: replace(each, kind="choice", choices=METHODS[name]) if name in METHODS else each
    for name, each in inputs_of(Publication).items()
}
OF_COLUMNS = (
    "label",
    "label_type",
    "ignore",
    "features",
    "describe",
    "disclosed",
    "classes",
    "label_range",
    "rename",
    "years",
)
"""Settings that the fields of single columns make."""
IN_WORDS = (
    *("name", "holders", "description", "invited", "opens", "closes", "epsilon", "waves", "mode"),
)
"""Settings that the form asks for in words of its own."""
OF_LABEL = ("prevalence",)
"""Settings beside the choice of the label."""
ORDINARY = ("quota", "looks", "smallest_group", "smallest_batch", "draft")
"""Settings that the form keeps folded up, and that need no word beside their help."""
APART = ("epsilon", "opens", "closes", "asker", "language", "waves", "mode")
ADVANCED = tuple(
    name
    for name in INPUTS
    if name
    not in (
        *(*OF_COLUMNS, *OF_FILE, *OF_LABEL, *IN_WORDS, *ORDINARY),
        *("asker", "language", "translations"),
    )
)
"""Settings of the tree and of the mechanism, folded up once more."""
UNPLANNED = ("name", "description", "describe", "asker", "language", "translations", "draft")
"""Settings that no plan depends on."""

router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=[Admins])


@router.get("/new")
def ask_file(request: Request, curator: TheCurator) -> Response:
    """The first step: a file, for which a worker process gets ready."""
    curator.workers.warm()
    return page(request, "new.html", steps=STEPS)


@router.post(COLUMNS)
async def show_columns(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """The second step: what each column becomes, to be corrected."""
    public = await _public(form)
    stated = stated_in(form)
    looked = preview_table(curator, visitor, public, stated)
    preview = await while_waited(request, looked)
    undecided = preview.format.undecided if preview.format else ""
    columns = len(preview.proposals)
    if columns > MOST_COLUMNS:
        raise InvalidRequest(
            f"The file has {columns} columns and this form shows {MOST_COLUMNS}: take a file with "
            "fewer columns, or the command line."
        )
    return page(
        request,
        "columns.html",
        steps=STEPS,
        preview=preview,
        stated=asdict(stated),
        undecided=undecided,
        proposals=[] if undecided else preview.proposals,  # which are those of another number
        settings=INPUTS,
        of_file=OF_FILE,
        in_words=ORDINARY,
        advanced=ADVANCED,
        languages=LANGUAGES,
        spoken=SPOKEN,
        most_waves=MOST_WAVES,
        of_hundred=of_hundred,
        relay=await run_in_threadpool(relays.probe, curator),
        start=None,
        fault="",
        task_cap=TASK_CAP,
        year_cap=YEAR_CAP,
    )


@router.post(PLAN)
async def show_plan(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """The third step: what to expect of the reports."""
    public, settings = await _public(form), settings_of(form)
    register = await _file(form, "register")
    planning = plan_task(curator, visitor, public, settings, register)
    made = await while_waited(request, planning)
    names = [str(form[f"name.{i}"]) for i in range(MOST_COLUMNS) if f"name.{i}" in form]
    asked = [name for name in names if name not in {settings.label, *settings.ignore}]
    digest = plan_digest(public, settings)
    return page(
        request,
        "plan.html",
        plan=made,
        settings=settings,
        asked=asked,
        digest=digest,
        waves=[_days(wave) for wave in settings.waves],
        lifetime=settings.lifetime,
    )


@router.post(PREVIEW)
async def show_preview(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """The address of the relay's page with the task behind its hash, as people will see it."""
    public, settings = await _public(form), settings_of(form)
    relay = await run_in_threadpool(relays.probe, curator)
    if relay is None or not relay.works:
        why = "Name a relay first: a preview is on its page, as the real one will be."
        return page(request, "preview.html", address=None, why=relay.fault if relay else why)
    register = await _file(form, "register")
    making = preview_task(curator, visitor, settings, public, register=register)
    task = await while_waited(request, making)
    why = "The study is too large for a preview: take fewer cells, or fewer categories."
    address = preview_address(relay.address or "", task)
    return page(request, "preview.html", address=address, why=why)


@router.post(RELAY)
def ask_relay(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """The part about the relay, which is named and asked what it is, or how to start one."""
    start, fault, relay = None, "", None
    try:
        if "start" in form:
            start = relays.start_relay(curator, visitor, own_address(request) + "/")
        else:
            body = RelayRequest(address=str(form.get("relay", "")))
            relay = relays.name_relay(curator, visitor, body)
    except InvalidRequest as error:
        fault = error.detail
    if relay is None or relay.address is None:
        relay = relays.probe(curator)
    return page(request, "asked_relay.html", relay=relay, start=start, fault=fault)


@router.post(CREATE)
async def create(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    public, settings = await _public(form), settings_of(form)
    if settings.asker is None:
        raise InvalidRequest("Say who is asking: people read it before they answer.")
    if form.get("planned") != plan_digest(public, settings) and "unplanned" not in form:
        raise InvalidRequest(
            "Plan first, with the settings as they are now: too few answers tell nothing, and "
            "people would give them for nothing. Or say that you publish without a plan."
        )
    register = await _file(form, "register")
    creating = create_task(curator, visitor, settings, public, register=register)
    stored, _ = await while_waited(request, creating)
    return see_other(f"/tasks/{stored.task.id}#holders")


def plan_digest(public: bytes, settings: Publication) -> str:
    """A digest of all that a plan depends on."""
    counts = settings.model_dump_json(exclude=set(UNPLANNED))
    return sha256(sha256(public).digest() + counts.encode()).hexdigest()


def settings_of(form: FormData) -> Publication:
    """The settings in the form; what agrees with the inferred columns is left to inference.

    Raises ``InvalidRequest`` naming the field at fault.
    """
    fields = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
    label = fields.get("label", "")
    epsilon = _number(fields, "epsilon")
    if epsilon > TASK_CAP:
        raise InvalidRequest(
            f"Epsilon is {epsilon:g}, and the answer page refuses more than {TASK_CAP:g} for one "
            "study: choose a smaller one, and expect more holders instead."
        )
    settings: dict[str, Any] = {
        **_written(fields),
        "label": label,
        "epsilon": epsilon,
        **_introduction(fields),
        **_waves(fields),
        "ignore": [],
        "disclosed": [],
        "features": {},
        "describe": {},
        "rename": {},
        "years": [],
    }
    columns = list(_columns(fields))
    _check_decided((name, of) for name, of in columns if name == label or "use" in of)
    for name, of in columns:
        if (name == label or "use" in of) and (names := _names(name, of)):
            settings["rename"][name] = names
        kind = (fields.get("label_type") or of.get("as_label")) if name == label else None
        described = _described(of, has_unit=kind != "classes")
        if name == label:
            settings |= _label(of, fields.get("label_type", ""))
        elif "use" not in of:
            settings["ignore"].append(name)
            continue
        elif of["use"] == "year":
            settings["years"].append(name)
        elif declared := _declared(of):
            settings["features"][name] = declared
        if "disclosed" in of:
            settings["disclosed"].append(name)
        if described:
            settings["describe"][name] = described
    return _affordable(Publication.parse(json.dumps(settings)))


def _described(of: dict[str, str], *, has_unit: bool) -> dict[str, str]:
    """The texts of a column for people; categories have no unit."""
    keys: tuple[str, ...] = ("prompt", "description", "unit")
    described = {key: of[key] for key in keys if key in of}
    if of.get("kind") == "categorical" or not has_unit:
        described.pop("unit", None)
    return described


def _columns(fields: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The columns' names, each with its own fields that are filled in."""
    for place in range(MOST_COLUMNS):
        name = fields.get(f"name.{place}")
        if name is None:
            return
        end = f".{place}"
        yield (
            name,
            {
                key.removesuffix(end): value
                for key, value in fields.items()
                if value and key.endswith(end)
            },
        )


def _affordable(settings: Publication) -> Publication:
    """The settings; raises ``InvalidRequest`` if all waves together pass what people's pages
    take."""
    if (lifetime := settings.lifetime) > TASK_CAP:
        raise InvalidRequest(
            f"All {len(settings.waves)} waves together cost epsilon {lifetime:g}, and the answer "
            f"page refuses more than {TASK_CAP:g}: choose a smaller epsilon, or let each person "
            "answer one wave."
        )
    return settings


def _days(wave: str) -> tuple[datetime, datetime]:
    """The first and the last day of a wave."""
    opens, closes = (datetime.fromtimestamp(each, UTC) for each in dates_of(wave))
    return opens, closes - timedelta(seconds=1)


def _waves(fields: dict[str, str]) -> dict[str, Any]:
    """The waves, each with all of its first and its last day, and who answers them; nothing
    without waves."""
    count = fields.get("wave_count", "")
    if not count:
        return {}
    if not count.isdecimal() or not 2 <= int(count) <= MOST_WAVES:
        raise InvalidRequest(f"A panel has 2 to {MOST_WAVES} waves here, and not {count!r}.")
    if fields.get("first_day") or fields.get("last_day"):
        raise InvalidRequest("Each wave has days of its own: leave those of the study empty.")
    waves = []
    for number in range(1, int(count) + 1):
        first, last = (_midnight(fields, f"wave_{end}.{number}") for end in ("first", "last"))
        waves.append(f"{first.isoformat()}/{(last + timedelta(days=1)).isoformat()}")
    return {"waves": waves, "mode": fields.get("mode") or "rotate"}


def _midnight(fields: dict[str, str], name: str) -> datetime:
    """The beginning of a day in UTC; raises ``InvalidRequest`` that names the field."""
    try:
        return datetime.combine(date.fromisoformat(fields.get(name, "")), time(), UTC)
    except ValueError:
        wave = re.fullmatch(r"wave_(first|last)\.(\d+)", name)
        field = name if wave is None else f"The {wave[1]} day of wave {wave[2]}"
        raise InvalidRequest(f"{field} is not a date: write it as YYYY-MM-DD.") from None


def _written(fields: dict[str, str]) -> dict[str, Any]:
    """The settings of the collection, which are left out where their field is empty."""
    written: dict[str, Any] = {}
    in_words = [name for name in IN_WORDS if name not in APART]
    for name in (*OF_FILE, *OF_LABEL, *in_words, *ORDINARY, *ADVANCED, "translations"):
        text = fields.get(name, "")
        kind = INPUTS[name].kind
        if text and (kind, text) == ("flag", "on"):  # a box that is checked
            written[name] = True
        elif kind == "number" and text:
            written[name] = _number(fields, name)
        elif text:
            written[name] = INPUTS[name].value(_whole(name, text) if kind == "integer" else text)
    return written


def _introduction(fields: dict[str, str]) -> dict[str, Any]:
    """The asker, the language and the dates, without those left empty."""
    asker = {name: fields.get(f"asker_{name}", "") for name in Asker.model_fields}
    given: dict[str, Any] = {"asker": asker} if any(asker.values()) else {}
    if fields.get("language"):
        given["language"] = fields["language"]
    if fields.get("first_day"):
        given["opens"] = _midnight(fields, "first_day").isoformat()
    if fields.get("last_day"):
        given["closes"] = (_midnight(fields, "last_day") + timedelta(days=1)).isoformat()
    return given


def _declared(of: dict[str, str]) -> dict[str, Any]:
    """The settings of a column that differ from the inferred ones."""
    kind = of.get("kind", "")
    if "means_0" in of:  # the words are inferred
        return {}
    if of.get("blank") == "missing" and "is_number" in of:
        return {"kind": "numeric"}
    if kind != of.get("inferred", ""):
        return {"kind": kind}
    if kind == "numeric":
        changed = [end for end in ("low", "high") if of.get(end) != of.get(f"found_{end}")]
        return {end: _number(of, end) for end in changed}
    categories = _lines(of.get("categories", ""))
    return {"categories": categories} if categories != _lines(of.get("found", "")) else {}


def _label(of: dict[str, str], kind: str) -> dict[str, Any]:
    """The label's own settings; ``kind`` is empty for the usual one.

    A number has the ends that the form shows, so that the file's own tell nobody's value.
    """
    inferred = of.get("inferred", "")
    if "means_0" in of:
        return {"label_type": kind} if kind else {}
    if not kind and of.get("kind", inferred) != inferred:
        kind = {"numeric": "range", "categorical": "classes"}[of["kind"]]
    settings: dict[str, Any] = {"label_type": kind} if kind else {}
    if inferred == "numeric":
        if (kind or of.get("as_label")) == "range":
            settings["label_range"] = [_number(of, "low"), _number(of, "high")]
    else:
        declared = _declared({**of, "kind": inferred})
        if "categories" in declared and kind != "range":
            settings["classes"] = declared["categories"]
    return settings


def _names(name: str, of: dict[str, str]) -> dict[str, str]:
    """New names of a column's categories, as somebody has decided or written them."""
    decided = {**_called(name, of), **_merged(of), **_gaps(name, of)}
    return decided | _renaming(of.get("rename", ""))


def _called(name: str, of: dict[str, str]) -> dict[str, str]:
    """New names of the two values of a column, 0 and 1 unless the form says otherwise."""
    meanings = {
        of.get(f"stands_{number}", number): of[f"means_{number}"]
        for number in "01"
        if f"means_{number}" in of
    }
    if len(meanings) == 1 or len(set(meanings.values())) == 1:
        one, other = (of.get(f"stands_{number}", number) for number in "01")
        raise InvalidRequest(
            f"{name}: say what {one} means and what {other} means, each with its own words."
        )
    return {stands: meaning for stands, meaning in meanings.items() if stands != meaning}


def _gaps(name: str, of: dict[str, str]) -> dict[str, str]:
    """New names of texts that may stand for a missing value, as somebody has decided."""
    names = dict.fromkeys(_lines(of.get("blanks", "")), "") if of.get("blank") == "missing" else {}
    if of.get("void") == "answer":
        if not of.get("void_name"):
            raise InvalidRequest(f"{name}: say how the answer is called that counted as missing.")
        names |= dict.fromkeys(_lines(of.get("voids", "")), of["void_name"])
    return names


def _pairs(of: dict[str, str]) -> Iterator[tuple[str, str, str | None]]:
    """Old and new name of each two categories that look alike, and what was decided of them."""
    for key, old in of.items():
        kind, _, place = key.partition("-")
        new = of.get(f"new-{place}")
        if kind == "old" and new is not None:
            yield old, new, of.get(f"one-{place}")


def _check_decided(columns: Iterable[tuple[str, dict[str, str]]]) -> None:
    """Raise ``InvalidRequest`` that names all categories of which nobody has decided yet."""
    columns = list(columns)
    for name, of in columns:
        if "blanks" in of and "blank" not in of:
            texts = ", ".join(map(repr, _lines(of["blanks"])))
            raise InvalidRequest(f"{name}: say whether {texts} is an answer, or none.")
    pairs = ((name, *pair) for name, of in columns for pair in _pairs(of))
    open_pairs = [f"{name}: {old!r} and {new!r}" for name, old, new, one in pairs if one is None]
    if open_pairs:
        raise InvalidRequest(
            f"Say whether these are one answer. {'; '.join(open_pairs)}. Both would be asked for, "
            "and a published study cannot be changed."
        )


def _merged(of: dict[str, str]) -> dict[str, str]:
    """New names of the categories that are one with another, as somebody has decided."""
    names = {old: new for old, new, decided in _pairs(of) if decided == "yes"}
    return {old: names.get(new, new) for old, new in names.items()}


def _renaming(text: str) -> dict[str, str]:
    """New names by old name, from lines ``old = new``."""
    names = {}
    for line in _lines(text):
        old, equals, new = line.rpartition("=")
        if not equals:
            raise InvalidRequest(f"{line!r}: write the old name, =, and the new name.")
        names[old.strip()] = new.strip()
    return names


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _number(fields: dict[str, str], name: str) -> float:
    """A number as people write it, perhaps with a decimal comma; raises ``InvalidRequest``."""
    text = fields.get(name, "")
    number = typed_number(text)
    if number is None:
        raise InvalidRequest(f"{name} is {text!r}: give a number.")
    return float(number)


def _whole(name: str, text: str) -> str:
    """A whole number without its spaces; raises ``InvalidRequest`` for what marks thousands in one
    country and fractions in another."""
    if re.search("[.,]", text):
        raise InvalidRequest(f"{name} is {text!r}: write a whole number, without points or commas.")
    return re.sub(r"\s", "", text)


async def _public(form: FormData) -> bytes:
    public = await _file(form, "public")
    if public is None:
        raise InvalidRequest("There is no file: choose a CSV or Parquet file.")
    return public


async def _file(form: FormData, name: str) -> bytes | None:
    """A file of the form; None if none was chosen."""
    upload = form.get(name)
    if not isinstance(upload, UploadFile) or not upload.filename:
        return None
    await upload.seek(0)
    return await upload.read()
