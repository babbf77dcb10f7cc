"""Creating a task: a file, what its columns become, a plan, and the task.

The file comes with every call that reads it, so nothing is kept in between: it stays in the
browser's form, and all else in its document (``study``).
"""

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from privet.learning.core.amounts import of_hundred
from privet.learning.figures.sentences import little_beside
from privet.learning.task_building.publication import Publication
from privet.learning.task_building.schema import YES
from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import TASK_CAP, YEAR_CAP
from privet.tables.text_format import OF_FILE

from ..http.requests import TheCurator, while_waited
from ..operations import relays
from ..operations.curator import Curator
from ..operations.relays import RelayRequest
from ..operations.tasks import create_task, plan_task, preview_table, preview_task
from .embedding import preview_address
from .pages import (
    PageRoute,
    as_question,
    own_address,
    page,
    see_other,
    stated_in,
    table_in,
    upload_in,
)
from .precision import Known, known_of
from .study import ALONE, BY_HAND, INPUTS, OF_COLUMNS, OF_NO_FILE, Column, PlannedWave, Study
from .visitor import Admins, TheForm, TheVisitor

FEWEST_WAVES = 2
MOST_WAVES = 12
"""Maximum number of waves in the form; the command line takes more."""
MOST_COLUMNS = 300
"""Maximum number of columns in the form; the command line takes more."""
COLUMNS, CHECK, PLAN, CREATE = "/new/columns", "/new/check", "/new/plan", "/new"
QUESTION, PREVIEW, RELAY = "/new/question", "/new/preview", "/new/relay"
UPLOADS = (COLUMNS, QUESTION, CHECK, PLAN, CREATE, PREVIEW, RELAY)
LANGUAGES = {
    "en": "English", "de": "Deutsch", "es": "Español", "zh-Hans": "中文",
    "fr": "Français", "it": "Italiano", "pl": "Polski", "pt": "Português",
    "tr": "Türkçe", "uk": "Українська", "ar": "العربية", "ru": "Русский",
}  # fmt: skip
SPOKEN = ("en", "de", "es", "zh-Hans")
"""Languages of the answer page's own texts."""
STEPS = {
    "data": "What you want to know",
    "question": "The question",
    "questions": "Questions",
    "study": "The study",
    "asker": "Who is asking",
    "where": "Where people answer",
    "check": "Check and publish",
}

router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=[Admins])


@router.get("/new")
def ask_file(request: Request, curator: TheCurator) -> Response:
    """The first step, at which a worker process gets ready."""
    curator.workers.warm()
    return page(request, "new.html", steps=STEPS)


@router.post(COLUMNS)
async def show_columns(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """The second step: what each column becomes, to be corrected."""
    public, stated = (
        await table_in(form, "public"),
        stated_in((await _study(form)).model_extra or {}),
    )
    looked = preview_table(curator, visitor, public, stated)
    preview = await while_waited(request, looked)
    columns = len(preview.proposals)
    if columns > MOST_COLUMNS:
        raise InvalidRequest(
            f"The file has {columns} columns and this form shows {MOST_COLUMNS}: take a file with "
            "fewer columns, or the command line."
        )
    undecided = preview.format.undecided if preview.format else ""
    proposals = [] if undecided else preview.proposals  # which are those of another number
    return await _steps(
        request,
        curator,
        form,
        [Column.proposed(each) for each in proposals],
        preview=preview,
        little=little_beside(preview.rows),
        stated=asdict(stated),
        undecided=undecided,
        proposals=proposals,
    )


@router.post(QUESTION)
async def show_question(request: Request, curator: TheCurator, form: TheForm) -> Response:
    """The second step of one question, which needs no file."""
    alone = [Column.of_question()]
    return await _steps(request, curator, form, alone, stated={}, undecided="", proposals=[])


async def _steps(
    request: Request, curator: Curator, form: FormData, columns: list[Column], **values: Any
) -> Response:
    """The steps after the first one, with what each has before anything is typed."""
    relay = await run_in_threadpool(relays.probe, curator)
    described = relay.described if relay and relay.works else None
    in_waves = form.get("goal") == "change"
    study: dict[str, Any] = {
        "columns": columns,
        "waves": [{}] * MOST_WAVES,
        "wave_count": FEWEST_WAVES if in_waves else "",
        "holders": INPUTS["holders"].default,
        "epsilon": "1",
        "smallest_batch": "1" if described and described.one_operator else "",
        "translations": [],
        "language": language_of(request.headers.get("accept-language", "")),
        **values["stated"],
    }
    alone = any(column.alone for column in columns)
    if alone:
        study["label"] = ALONE
    return page(
        request,
        "steps.html",
        steps=STEPS,
        study=Study(**study).model_dump(mode="json"),
        alone=alone,
        in_waves=in_waves,
        settings=INPUTS,
        yes=YES,
        made=[
            each
            for name, each in INPUTS.items()
            if name not in BY_HAND
            and not (each.method or name in OF_COLUMNS if alone else name in OF_NO_FILE)
        ],
        of_file=OF_FILE,
        languages=LANGUAGES,
        spoken=SPOKEN,
        most_waves=MOST_WAVES,
        of_hundred=of_hundred,
        relay=relay,
        start=None,
        fault="",
        task_cap=TASK_CAP,
        year_cap=YEAR_CAP,
        **values,
    )


def language_of(accepted: str) -> str:
    """The first language of ``LANGUAGES`` among those that a browser accepts, "" without any."""
    scripts = {"zh-cn": "zh-hans", "zh-sg": "zh-hans", "zh": "zh-hans"}
    for each in accepted.lower().split(","):
        tag = each.partition(";")[0].strip()
        parts = {scripts.get(tag, tag), "-".join(tag.split("-")[:2]), tag.partition("-")[0]}
        for language in LANGUAGES:
            if language.lower() in parts:
                return language
    return ""


@dataclass(frozen=True)
class Checked:
    """The document's faults, by field, and the precision that it leads to."""

    faults: dict[str, str]
    known: Known


@router.post(CHECK)
async def check(curator: TheCurator, form: TheForm) -> Checked:
    """The faults of the document, and the precision of its figures."""
    return await run_in_threadpool(
        _checked, await upload_in(form, "study") or b"{}", curator.clock()
    )


def _checked(text: bytes, now: float) -> Checked:
    study = Study.parse(text)
    settings, faults = study.tried(now)
    return Checked(faults, known_of(study, settings, faults))


@router.post(PLAN)
async def show_plan(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """The plan: what to expect of the reports."""
    study, settings, public, register = await _whole(form, curator.clock())
    planning = plan_task(curator, visitor, public, settings, register)
    made = await while_waited(request, planning)
    asked = [each for each in study.columns if each.found.name not in settings.ignore]
    asked.sort(key=lambda column: column.found.name != settings.label)
    return page(
        request,
        "plan.html",
        plan=made,
        settings=settings,
        asked=[column.prompt or as_question(column.found.name) for column in asked],
        digest=plan_digest(public, register, settings),
        waves=[PlannedWave.of(wave) for wave in settings.waves],
        lifetime=settings.lifetime,
    )


@router.post(PREVIEW)
async def show_preview(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """The address of the relay's page with the task behind its hash, as people will see it; the
    questions without a relay that answers."""
    _, settings, public, register = await _whole(form, curator.clock())
    relay = await run_in_threadpool(relays.probe, curator)
    making = preview_task(curator, visitor, settings, public, register=register)
    task = await while_waited(request, making)
    if relay is None or not relay.works:
        why = "Name a relay first: a preview is on its page, as the real one will be."
        return page(
            request, "preview.html", address=None, why=relay.fault if relay else why, task=task
        )
    why = "The study is too large for a preview: take fewer groups, or fewer categories."
    address = preview_address(relay.address or "", task)
    return page(request, "preview.html", address=address, why=why, task=None)


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
    return page(request, "relay.html", relay=relay, start=start, fault=fault)


@router.post(CREATE)
async def create(
    request: Request, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    study, settings, public, register = await _whole(form, curator.clock())
    is_planned = form.get("planned") == plan_digest(public, register, settings)
    if study.alone and not is_planned:  # its plan is the figure beside its people
        is_planned = (await run_in_threadpool(known_of, study, settings, {})).tells
    if not is_planned and "unplanned" not in form:
        raise InvalidRequest(
            "Plan first, with the settings as they are now: too few answers tell nothing, and "
            "people would give them for nothing. Or say that you publish without a plan."
        )
    creating = create_task(curator, visitor, settings, public, register=register)
    stored, _ = await while_waited(request, creating)
    return see_other(f"/tasks/{stored.task.id}#holders")


def plan_digest(public: bytes | None, register: bytes | None, settings: Publication) -> str:
    """A digest of all that a plan depends on, which no text is."""
    texts = {"name", "description", "describe", "asker", "language", "translations", "draft"}
    counts = settings.model_dump_json(exclude=texts)
    files = b"".join(sha256(each or b"").digest() for each in (public, register))
    return sha256(files + counts.encode()).hexdigest()


async def _whole(
    form: FormData, now: float
) -> tuple[Study, Publication, bytes | None, bytes | None]:
    """The form's document and its settings, the public records, None of a question without a file,
    and the register; raises ``InvalidRequest`` if something is wrong."""
    study = await _study(form)
    settings, faults = await run_in_threadpool(study.read, now)
    if settings is None:
        said = "; ".join(f"{field}: {fault}" for field, fault in faults.items())
        raise InvalidRequest(f"Fill in the form first. {said}.")
    if study.alone:
        return study, settings, None, None
    return study, settings, await table_in(form, "public"), await upload_in(form, "register")


async def _study(form: FormData) -> Study:
    """The form's document, which is empty before there are columns."""
    return Study.parse(await upload_in(form, "study") or b"{}")
