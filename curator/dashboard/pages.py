"""Shared page parts: templates, headers, error pages, formatting of figures."""

import re
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, time, timedelta
from hashlib import sha256
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from privet.learning.core.amounts import (
    about,
    amount,
    capital,
    date,
    figure,
    number_ends,
    of_hundred,
    percent,
    share_ends,
    tells_enough,
    thousands,
    when,
)
from privet.learning.core.trees import name_of_group
from privet.learning.display.chart_picture import chart_to_csv, chart_to_svg
from privet.learning.display.picture import axis_title
from privet.learning.figures.sentences import in_its_unit, known_share
from privet.learning.methods import ESTIMATORS
from privet.protocol.errors import InvalidRequest, NotAuthorized, PrivetError, problem_of
from privet.protocol.features import Feature
from privet.protocol.wire import first_fault
from privet.tables.text_format import OF_FILE, Stated

from ..http.state import state_of
from .visitor import COOKIE, visitor_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
OWN_PAGE = re.compile(r"/(?!/)[\w/-]*")
"""Pages to which a visitor may return after signing in."""
OF_PROGRAMS = re.compile(
    r" \((?:--[a-z][^()]*|(?:features|ignore|numbers|rename|years)=[^()]*)\)"
    r"| GET \S+ lists [^.]*\."
)
"""Options of a command, settings of Python's, and sentences that name a call."""
FILES = ("page.js", "wizard.js", "style.css", "sample.csv", "front.svg", "front-narrow.svg")
STATIC = {name: (files(__package__) / "static" / name).read_bytes() for name in FILES}
VERSION = sha256(b"".join(STATIC.values())).hexdigest()[:12]
"""Changes with the files, so browsers may keep them."""


MOMENTS = 1e9
"""Facts above are moments in Unix time."""
WORDS = {
    "drift": "Public model, corrected by the answers",
    "weighted": "File and answers, added with a weight (LPCT)",
    "pruned": "File and answers, pruned (LPCT-prune)",
    "histogram": "Answers alone (Berrett and Butucea's histogram)",
    "plain": "One value for each group",
    "weight": "Answers that one row of the file counts for (λ)",
    "counts": "Groups that come out below zero",
    "constants": "Limits of what is joined",
    "threshold": "Least that a group must have, in standard errors",
}
"""Estimators and their parameters for people; those of your own keep their names."""
WHEN = {
    "drift": "The usual choice: what the file says, moved where the answers differ.",
    "weighted": "Where you know how far to trust the file: you set what one row is worth.",
    "pruned": "Where many groups have few answers: they are joined as far as both data ask for it.",
    "histogram": "Where the file must have no say in the values.",
}
"""Sentences on when to choose an estimator."""


def in_words(name: str) -> str:
    return WORDS.get(name, name)


def set_by_hand(estimator: str, parameters: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The parameters that are not an estimator's defaults."""
    declared = ESTIMATORS[estimator].parameters if estimator in ESTIMATORS else {}
    return [
        (name, value)
        for name, value in parameters.items()
        if name not in declared or declared[name].default != value
    ]


def duration(seconds: int) -> str:
    return f"{seconds / 3600:g} hours" if seconds >= 7200 else f"{seconds / 60:g} minutes"


class Wave(Protocol):
    """Its dates, in UTC."""

    @property
    def opens(self) -> datetime: ...

    @property
    def closes(self) -> datetime: ...


def days_of(wave: Wave) -> tuple[str, str]:
    """The first and the last day of a wave; the minutes at which it opens and closes, where they
    are not both midnight."""
    if any(end.timetz() != time(tzinfo=UTC) for end in (wave.opens, wave.closes)):
        first, last = (f"{date(end)}, {end:%H:%M}" for end in (wave.opens, wave.closes))
        return first, last
    return date(wave.opens), date(wave.closes - timedelta(days=1))


def detail(value: Any) -> str:
    """A fact of an audit entry as people read it: a moment, or the names in a list."""
    if isinstance(value, float) and value > MOMENTS:
        return when(value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def asked_of(feature: Feature) -> str:
    """A feature's question as people read it, or its name, with the unit of a number."""
    return in_its_unit(feature.prompt or feature.name, feature.in_unit)


def amount_of(number: float, digits: int) -> str:
    """A number in at most so many digits, without an exponent."""
    return amount(float(f"{number:.{digits}g}"))


def day(moment: datetime) -> str:
    """A day without its year, as a mark on an axis."""
    return f"{moment.day} {moment:%b}"


def as_question(name: str) -> str:
    """A column's name as people read it where no question is given."""
    return capital(name.replace("_", " "))


def plural(count: int, noun: str) -> str:
    """A number of things, such as 1 cell or 12 cells."""
    return f"{thousands(count)} {noun}{'' if count == 1 else 's'}"


def unbroken(text: str) -> str:
    """A sentence whose numbers, and signs before them, no line break parts."""
    return PARTED.sub("\u00a0", text)


def data_url(kind: str, text: str) -> str:
    """The address of a file that the page itself carries."""
    return f"data:{kind};charset=utf-8,{quote(text)}"


def for_people(text: str) -> str:
    """A text without the options of commands in brackets, and without sentences about calls."""
    return OF_PROGRAMS.sub("", text)


def of_studies(text: str) -> str:
    """A sentence of the API in the words of pages, which call a task a study; quotes stay."""
    parts = QUOTED.split(text)
    parts[::2] = [TASK_WORD.sub(_study, part) for part in parts[::2]]
    return "".join(parts)


def _study(found: re.Match[str]) -> str:
    word = "studies" if found[1].endswith("s") else "study"
    return word.capitalize() if found[1][0].isupper() else word


QUOTED = re.compile(r"((?<!\w)'[^']*'(?!\w)|“[^”]*”|\"[^\"]*\")")
TASK_WORD = re.compile(r"\b([Tt]asks?|[Cc]ollections?)\b")
PARTED = re.compile(r"(?<=[0-9]) (?=[0-9]{3}\b)|(?<=[±=<>≤≥]) (?=[-\d])|(?<=ε) (?==)")
"""Spaces within a number, and of the signs before one."""
OWN_LINK = re.compile(rb'( (?:href|src|srcset|action|formaction|data-refresh)=")/(?!/)')
"""The beginning of a link to an own page in HTML; text that people gave has no such quotes."""


templates = Environment(
    loader=PackageLoader(__package__),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
BY_NAME = (
    *(about, amount, amount_of, as_question, capital, date, days_of, duration, figure, for_people),
    *(in_words, known_share, name_of_group, of_studies, percent, plural, set_by_hand, thousands),
    *(number_ends, share_ends, tells_enough, unbroken, when),
)
"""Functions that are filters by their own names."""
templates.filters |= {each.__name__: each for each in BY_NAME}
templates.filters |= {
    "of_hundred": of_hundred,
    "asked": asked_of,
    "extent": lambda feature: feature.extent(amount),
    "when_to_choose": lambda name: WHEN.get(name, ""),
    "svg_of": lambda chart: data_url("image/svg+xml", chart_to_svg(chart)),
    "csv_of": lambda chart: data_url("text/csv", chart_to_csv(chart)),
    "axis_title": lambda cells: axis_title(node.value for node, _ in cells),
}
templates.globals |= {"version": VERSION}


def page(request: Request, template: str, code: int = 200, **values: Any) -> HTMLResponse:
    text = templates.get_template(template).render(
        visitor=request.state.visitor, path=request.url.path, **values
    )
    return HTMLResponse(text, code)


def see_other(url: str) -> RedirectResponse:
    """The answer to a form that changed something: the page that shows it."""
    return RedirectResponse(url, 303)


def own_page(then: str) -> str:
    """The page after signing in: ``then`` if it is one of ours."""
    return then if OWN_PAGE.fullmatch(then) else "/"


def sign_in_page(request: Request, then: str, error: PrivetError | None = None) -> Response:
    """The form for a token and the link to the provider, with what went wrong."""
    status = 200 if error is None else problem_of(error).status
    fault, provider = error and error.detail, state_of(request).provider
    return page(request, "sign_in.html", status, then=then, fault=fault, provider=provider)


def set_cookie(
    request: Request, response: Response, name: str, sealed: str, seconds: int, path: str = ""
) -> None:
    """A cookie that no script reads; with a ``path``, one that comes along from another site."""
    response.set_cookie(
        name,
        sealed,
        max_age=seconds,
        path=path or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax" if path else "strict",
    )


class PageRoute(APIRoute):
    """A route that knows its visitor, and whose errors are pages too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def as_page(request: Request) -> Response:
            request.state.visitor = await run_in_threadpool(visitor_of, request)
            try:
                response = await handle(request)
            except (PrivetError, HTTPException, RequestValidationError) as error:
                response = _error_page(request, error)
            response.headers.setdefault("Content-Security-Policy", POLICY)
            response.headers.setdefault("Cache-Control", "no-store")
            response.headers.setdefault("Vary", "Accept")
            new = any(COOKIE in cookie for cookie in response.headers.getlist("set-cookie"))
            if COOKIE in request.cookies and not request.state.visitor.name and not new:
                response.delete_cookie(COOKIE)
            return _below(state_of(request).root_path.encode(), response)

        return as_page


def _below(root: bytes, response: Response) -> Response:
    """The response with its own links, its redirect and its cookies below the path ``root``."""
    if root:
        if isinstance(response, HTMLResponse):
            response.body = OWN_LINK.sub(rb"\1" + root + b"/", bytes(response.body))
            response.headers["Content-Length"] = str(len(response.body))
        for place, (name, value) in enumerate(response.raw_headers):
            if name == b"location" and value.startswith(b"/"):
                response.raw_headers[place] = name, root + value
            elif name == b"set-cookie":
                response.raw_headers[place] = name, value.replace(b"Path=/", b"Path=" + root + b"/")
    return response


def own_address(request: Request) -> str:
    """The curator's address as this visitor's browser has it, without a slash at its end."""
    return str(request.base_url).rstrip("/") + state_of(request).root_path


class BrowserRoute(PageRoute):
    """A page at an address of the API, for browsers: they ask for HTML, and programs do not."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        accepted = Headers(scope=scope).get("accept", "") if scope["type"] == "http" else ""
        return super().matches(scope) if "text/html" in accepted else (Match.NONE, {})


def _error_page(
    request: Request, error: PrivetError | HTTPException | RequestValidationError
) -> Response:
    cause = error.__cause__ if isinstance(error, HTTPException) else error
    if isinstance(cause, PrivetError):
        problem = problem_of(cause)
        asked = isinstance(cause, NotAuthorized) and not request.state.visitor.name
        title = "Please sign in" if asked else problem.title
        return page(request, "problem.html", problem.status, title=title, detail=cause.detail)
    status = error.status_code if isinstance(error, HTTPException) else 422
    detail = "There is no such page, or the form is not the dashboard's."
    return page(request, "problem.html", status, title="This page cannot be shown", detail=detail)


async def table_in(form: FormData, name: str) -> bytes:
    """A file with a table; raises ``InvalidRequest`` without one."""
    found = await upload_in(form, name)
    if found is None:
        raise InvalidRequest("There is no file: choose a CSV, Parquet or Excel file.")
    return found


async def upload_in(form: FormData, name: str) -> bytes | None:
    """A file of the form; None if none was chosen."""
    upload = form.get(name)
    if not isinstance(upload, UploadFile) or not upload.filename:
        return None
    await upload.seek(0)
    return await upload.read()


def stated_in(form: Mapping[str, Any]) -> Stated:
    """Format of the file as the form states it, or nothing of what is to be detected."""
    stated = {name: form[name] for name in OF_FILE if form.get(name)}
    try:
        return TypeAdapter(Stated).validate_python(stated)
    except ValidationError as error:
        raise InvalidRequest(first_fault(error)) from None
