"""Client of a running curator: creating tasks, fitting, predicting, exporting.

    curator = CuratorClient("http://127.0.0.1:8000", token)
    task = curator.create("public.csv", label="readmitted", epsilon=1.0)
    ...                                    # holders answer curator.task_url(task)
    curator.fit(task)
    curator.predict(task, [{"age": 70, "ward": "B"}])["label"]

Answers about tasks and models are the API's JSON documents (docs/api.md) as dicts, all others
results of ``privet.admin.results``, as are those of any new method. Every refusal is raised as the
``PrivetError`` that its problem document names, a curator that does not answer as
``CuratorUnreachable``, and an answer that is none of a curator's as ``UnexpectedResponse``. A call
opens its own connection, so there is nothing to close, and threads may share an object. This module
needs the base install only.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from privet.http_client.address import DIRECT, MOVED, check_transport, moved
from privet.http_client.errors import CuratorUnreachable, UnexpectedResponse
from privet.protocol.calls import TASKS
from privet.protocol.errors import (
    ERRORS_BY_URI,
    InvalidRequest,
    NotAuthorized,
    PrivetError,
    TaskNotFound,
    TooLarge,
)
from privet.protocol.wire import first_fault

from .calls import ApiCall
from .results import (
    AuditLogEntry,
    CuratorKey,
    Invitations,
    IssuedToken,
    Methods,
    NamedRelay,
    Revoked,
    Scope,
    Token,
)

if TYPE_CHECKING:
    import ssl

    import httpx

GIVEN = "as url=, in a shell by --url or PRIVET_URL"
DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT = (10.0, 600.0, 600.0, 600.0)
"""Seconds to connect, to read, to write and to wait for a free connection."""
ID_LENGTH = 64
ROWS_PER_CALL = 20_000
ARROW = "__arrow_c_stream__"
"""The method of tables that export Arrow columns, such as pyarrow's and polars'."""
REVOKED_PER_CALL = 1_000
OF_REQUEST = {"json", "params", "files"}
"""Parts of a request, as httpx names them."""

R = TypeVar("R")
Document = dict[str, Any]
TaskName = str | Mapping[str, Any]
"""A task's id, the start of it, the task's name or address, or a document that has its id."""
TokenName = Annotated[str, "Name of the token."]
Last = Annotated[bool, "Allow this even for the last admin token."]
Records = Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""Records one by one, or their columns by name (a pandas, polars or Arrow table will do)."""


class PredictionColumns(TypedDict):
    """Predictions of model number ``model``; each list has one entry per record.

    ``label`` holds the likeliest classes, or the mean labels. Of the holders in the record's cell,
    ``cell_value`` are the shares of classes or the mean label, ``cell_low`` and ``cell_high`` the
    ends of their 95 % intervals. An entry of these and of ``values`` has one number per class in
    the order of ``classes``, or one number where the label is numeric and ``classes`` is None.
    ``outside`` names the fields whose number lies outside the published range, whose nearest end
    counts. ``paths`` gives the splits that lead to each ``cell`` met.
    """

    model: int
    classes: list[str] | None
    label: list[Any]
    values: list[list[float]]
    cell_value: list[list[float]]
    cell_low: list[list[float]]
    cell_high: list[list[float]]
    cell: list[int]
    outside: list[list[str]]
    paths: dict[str, list[str]]


class CuratorClient:
    """The calls of the curator at ``url``; ``token`` is needed for an admin's calls.

    A call waits for its answer as long as ``timeout`` says. Raises ``UnsafeAddress`` for plain http
    to another machine, unless ``insecure_http`` is set: the token and all answers could be read.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        token: str | None = None,
        timeout: float | tuple[float, float, float, float] = TIMEOUT,
        *,
        insecure_http: bool = False,
    ) -> None:
        self.url = url.rstrip("/")
        if "://" not in url:
            raise InvalidRequest(
                f"The address {url!r} has no scheme: put http:// or https:// in front of it."
            )
        scheme, _, rest = self.url.partition("://")
        check_transport(scheme.lower(), _host(rest), insecure_http=insecure_http)
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {_sendable(token)}"} if token else {}

    def create(
        self,
        public: str | Path | bytes | Any = None,
        *,
        public_model: str | Path | bytes | None = None,
        register: str | Path | bytes | Any = None,
        **settings: Any,
    ) -> Document:
        """Grow a task on public records and publish it, open unless ``draft=True``.

        ``public`` is a CSV, Parquet or Excel file, its bytes, or a pandas, polars or Arrow table;
        without it the task asks for the label alone, and needs ``classes`` or ``label_range``.
        ``settings`` are those of docs/api.md, of which ``label`` and ``epsilon`` have no default.
        ``public_model`` is an ONNX file over the encoded columns. ``register``, in a form of
        ``public``, are the people asked, without labels. The same data and settings give
        the same task again.
        """
        name = Path(public).stem if isinstance(public, str | Path) else "task"
        given = {"public": public, "public_model": public_model, "register": register}
        files = {part: _content(data) for part, data in given.items() if data is not None}
        settings = {"name": name, **settings}
        parts = {"settings": (None, json.dumps(settings)), **files}
        return self._ask(Document, ApiCall.CREATE_TASK, files=parts)

    def tasks(self) -> list[Document]:
        """List all tasks, oldest first."""
        return self._ask(list[Document], ApiCall.LIST_TASKS)

    def task(self, task: TaskName) -> Document:
        """A task in full; ``Task.model_validate(document["task"])`` is what holders answer."""
        return self._ask(Document, ApiCall.READ_TASK, task)

    def status(self, task: TaskName) -> Document:
        """The collection's status: counts, refusals by reason, checksum."""
        return self._ask(Document, ApiCall.READ_STATUS, task)

    def waves(self, task: TaskName) -> Document:
        """Show how the waves stand, each class over time, and what changed beyond chance."""
        return self._ask(Document, ApiCall.READ_WAVES, task)

    def fit_waves(self, task: TaskName) -> Iterator[Document]:
        """Fit a model of each wave of a panel that has none of all its reports, in turn.

        Each is kept, and returned with the number of its **wave**, before the next is fitted.
        Raises ``InvalidRequest`` without any report.
        """
        waves = self.waves(task)["waves"]
        answered = [each for each in waves if each["reports"]]
        if not answered:
            raise InvalidRequest("No wave has reports yet, so there is nothing to fit.")
        if not any(each["to_fit"] or each["models"] for each in answered):
            raise InvalidRequest("The panel asks one thing, of which there is no model to fit.")
        for each in waves:
            if each["to_fit"]:
                yield {"wave": each["wave"], **self.fit(each["id"])}

    def export_waves(self, task: TaskName, *, format: str = "json") -> bytes:  # noqa: A002
        """The same as a ``json`` or ``csv`` file."""
        return self.answer(ApiCall.EXPORT_WAVES, task, params={"format": format}).content

    def open(self, task: TaskName) -> Document:
        """Take reports, for the first time or again."""
        return self._ask(Document, ApiCall.OPEN_TASK, task)

    def close(self, task: TaskName) -> Document:
        """Take no more reports; fitting and predicting go on."""
        return self._ask(Document, ApiCall.CLOSE_TASK, task)

    def invite(self, task: TaskName, count: int, days: float | None = None) -> list[str]:
        """New single-use invitations for ``days``, to a task that was created as ``invited``."""
        body = {"count": count, "days": days}
        return self._ask(Invitations, ApiCall.INVITE, task, json=body).invitations

    def invitations(self, task: TaskName) -> Document:
        """Show how many invitations were issued, used, revoked, and not used in time."""
        return self._ask(Document, ApiCall.COUNT_INVITATIONS, task)

    def revoke_invitations(self, task: TaskName, invitations: Sequence[str] | None = None) -> int:
        """Revoke the unused ones of these invitations, or of all; return how many they were."""
        bodies: list[Document] = [{}]
        if invitations is not None:
            starts = range(0, len(invitations), REVOKED_PER_CALL)
            parts = [list(invitations[start : start + REVOKED_PER_CALL]) for start in starts]
            bodies = [{"invitations": part} for part in parts]
        task_id, call = self.task_id(task), ApiCall.REVOKE_INVITATIONS
        return sum(self._ask(Revoked, call, task_id, json=body).revoked for body in bodies)

    def remove(self, task: TaskName) -> None:
        """Delete a task with its public data, sums and models, permanently."""
        self.answer(ApiCall.DELETE_TASK, task)

    def fit(
        self,
        task: TaskName,
        estimator: str | None = None,
        *,
        promote: bool = False,
        **parameters: int | float | str | bool,
    ) -> Document:
        """Fit a model to the reports so far, by the default estimator or another, and keep it.

        The first one serves, and others with ``promote``.
        """
        body = {"estimator": estimator, "parameters": parameters, "promote": promote}
        return self._ask(Document, ApiCall.FIT, task, json=body)

    def models(self, task: TaskName) -> list[Document]:
        """List the models of a task."""
        return self._ask(list[Document], ApiCall.LIST_MODELS, task)

    def model_number(self, task: TaskName) -> int:
        """The number of the model that serves.

        Raises ``ModelNotFound`` if there is none yet, and ``InvalidRequest`` for a task without
        features, of which there is no model.
        """
        models = self.models(task)
        models = models or [self._ask(Document, ApiCall.READ_MODEL, task, number=1)]  # says why not
        serving = [model for model in models if "serving" in model["aliases"]]
        return int((serving or models)[-1]["number"])

    def promote(self, task: TaskName, number: int, alias: str = "serving") -> Document:
        """Let a model predict where none is named, or stand under another ``alias``."""
        body = {"number": number}
        return self._ask(Document, ApiCall.PROMOTE_MODEL, task, json=body, alias=alias)

    def compare(self, task: TaskName, one: int, other: int) -> Document:
        """The differences between two models' predictions for the public records."""
        return self._ask(Document, ApiCall.COMPARE_MODELS, task, number=one, other=other)

    def predict(
        self, task: TaskName, records: Records, *, model: int | None = None
    ) -> PredictionColumns:
        """Predictions of a model, by default the one that serves; labels in records are ignored."""
        task_id, columns = self.task_id(task), _columns(records)
        rows = max((len(values) for values in columns.values()), default=0)
        answers: list[PredictionColumns] = []
        start, at_a_time = 0, ROWS_PER_CALL
        while start < rows or not answers:
            part = {name: values[start : start + at_a_time] for name, values in columns.items()}
            body = {"model": model, "columns": part}
            try:
                answer = self._ask(Document, ApiCall.PREDICT, task_id, json=body)
            except TooLarge:  # above the curator's limits, which may be lower than the default
                if at_a_time == 1:
                    raise
                at_a_time //= 2
                continue
            answers.append(cast("PredictionColumns", answer))
            model, start = answer["model"], start + at_a_time
        return _joined(answers)

    def export(self, task: TaskName, *, model: int | None = None, format: str = "json") -> bytes:  # noqa: A002
        """A model as a ``json`` or ``onnx`` file that other programs can predict with."""
        number = self.model_number(task) if model is None else model
        return self.answer(ApiCall.EXPORT, task, params={"format": format}, number=number).content

    def insight(self, task: TaskName, *, model: int | None = None) -> Document:
        """Compare holders with the public data: shares, groups that differ, what reports changed.

        For a model, by default the one that serves; of a task without features, which has no model,
        the figures of the holders.
        """
        if model is None:
            return self._ask(Document, ApiCall.READ_FIGURES, task)
        return self._ask(Document, ApiCall.READ_INSIGHT, task, number=model)

    def card(self, task: TaskName, *, model: int | None = None) -> str:
        """A model's card in Markdown: what it was made from, and how far to trust it."""
        number = self.model_number(task) if model is None else model
        return self.answer(ApiCall.READ_CARD, task, number=number).text

    def tokens(self) -> list[Token]:
        """List all tokens, never themselves: scope, where from, end, last use."""
        return self._ask(list[Token], ApiCall.LIST_TOKENS)

    def issue_token(
        self,
        name: TokenName,
        scope: Annotated[Scope, "What it allows."] = Scope.ADMIN,
        days: Annotated[float | None, "Days until it expires; by default never."] = None,
        overlap_hours: Annotated[
            float | None, "Hours for which an earlier token of that name stays good."
        ] = None,
        last: Last = False,
    ) -> IssuedToken:
        """Make a token; an earlier one of that name ends, at once by default: this rotates it."""
        body = {"scope": scope, "days": days, "overlap_hours": overlap_hours}
        return self._ask(
            IssuedToken, ApiCall.ISSUE_TOKEN, json=body, params={"last": last}, name=name
        )

    def revoke_token(self, name: TokenName, last: Last = False) -> None:
        """End a token at once."""
        self.answer(ApiCall.REVOKE_TOKEN, params={"last": last}, name=name)

    def audit(
        self,
        limit: Annotated[int, "Maximum number of entries to show."] = 50,
        before: Annotated[int | None, "Entries before this number."] = None,
    ) -> list[AuditLogEntry]:
        """Show who created, deleted, invited, fitted, promoted and issued what, the latest
        first."""
        asked = {"limit": limit} | ({} if before is None else {"before": before})
        return self._ask(list[AuditLogEntry], ApiCall.READ_AUDIT, params=asked)

    def key(self) -> CuratorKey:
        """Show the key that a curator signs with, for holders to pin."""
        return self._ask(CuratorKey, ApiCall.READ_KEY)

    def methods(self) -> Methods:
        """Names for the settings of a task, for a fit and for an export, and the limits."""
        return self._ask(Methods, ApiCall.READ_METHODS)

    def relay(self) -> NamedRelay:
        """The relay that was named, and why nobody can answer there, if so."""
        return self._ask(NamedRelay, ApiCall.READ_RELAY)

    def name_relay(self, address: str) -> NamedRelay:
        """Say at which relay people answer all tasks of this curator; none for ""."""
        return self._ask(NamedRelay, ApiCall.NAME_RELAY, json={"address": address})

    def task_url(self, task: TaskName) -> str:
        """The address that holders answer."""
        return f"{self.url}{ApiCall.READ_TASK.at(task_id=self.task_id(task))}"

    def task_id(self, task: TaskName) -> str:
        """The id of a task; raises ``TaskNotFound``, or ``InvalidRequest`` if several are meant.

        A name that a panel shares with its waves is the panel's.
        """
        named = str(task["id"]) if isinstance(task, Mapping) else task
        named = named.rstrip("/").removeprefix(f"{self.url}{TASKS}/")
        if len(named) == ID_LENGTH:
            return named
        tasks = self.tasks()
        matches = [t["id"] for t in tasks if named and t["id"].startswith(named)]
        matches = matches or [t["id"] for t in tasks if t["name"] == named and t["wave"] is None]
        if not matches:
            raise TaskNotFound(
                f"No task has the id or name {named!r}: see CuratorClient.tasks(), in a shell "
                "'privet task list'."
            )
        if len(matches) > 1:
            raise InvalidRequest(
                f"{named!r} could be {', '.join(i[:16] for i in matches)}: give more of the id."
            )
        return str(matches[0])

    def call(self, method: str, path: str, **request: Any) -> "httpx.Response":
        """The answer, if it is a success; raises the ``PrivetError`` of its problem document."""
        import httpx  # slow to import

        try:
            with httpx.Client(
                headers=self._headers, timeout=self._timeout, verify=self._tls, mounts=DIRECT
            ) as http:
                response = http.request(method, self.url + path, **request)
        except (httpx.TransportError, httpx.InvalidURL, UnicodeError) as error:
            reason = str(error) or type(error).__name__
            raise CuratorUnreachable(
                f"No curator answers at {self.url} ({reason}): start one with 'privet serve', "
                f"or give its address, {GIVEN}."
            ) from None
        if response.is_success:
            return response
        raise _problem_in(response)

    def answer(self, call: ApiCall, task: TaskName | None = None, **given: Any) -> "httpx.Response":
        """The answer to a call; ``given`` has ``OF_REQUEST``, and what else its path names."""
        request = {part: given.pop(part) for part in OF_REQUEST & given.keys()}
        if task is not None:
            given["task_id"] = self.task_id(task)
        return self.call(call.method, call.at(**given), **request)

    def _ask(self, kind: type[R], call: ApiCall, task: TaskName | None = None, **more: Any) -> R:
        """The answer's JSON; raises ``UnexpectedResponse`` for one that is none of this kind."""
        response = self.answer(call, task, **more)
        try:
            return TypeAdapter(kind).validate_json(response.content)
        except ValidationError as error:
            raise UnexpectedResponse(
                f"{response.url} answered what this version does not know ({first_fault(error)}): "
                f"check that the address given, {GIVEN}, is a Privet curator's, and its version."
            ) from None

    @cached_property
    def _tls(self) -> "ssl.SSLContext | bool":
        """Made once, as it takes longer than most calls; not needed for plain HTTP."""
        import httpx

        return httpx.create_ssl_context() if self.url.startswith("https:") else False


def _host(address: str) -> str:
    """The host of an address without its scheme, as a client connects to it."""
    try:
        return urlsplit(f"//{address}").hostname or ""
    except ValueError:  # no address of IPv6 in brackets, which no client reaches either
        return address


def _sendable(token: str) -> str:
    """The token without spaces around it, if a header can carry it; raises ``NotAuthorized``."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise NotAuthorized(
            "The token is empty or has characters that no token has: copy it again, as the curator "
            "showed it."
        )
    return token


def _problem_in(response: "httpx.Response") -> PrivetError:
    if response.status_code in MOVED:
        return moved(str(response.url), response.headers.get("location", ""))
    try:
        document = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        document = None
    if not isinstance(document, Mapping) or "detail" not in document:
        return UnexpectedResponse(
            f"{response.url} answered {response.status_code} without saying why: "
            f"check that the address given, {GIVEN}, is a Privet curator's."
        )
    error = ERRORS_BY_URI.get(str(document.get("type")), PrivetError)
    return error(str(document["detail"]))


def _content(data: Any) -> bytes:
    """A file's bytes, bytes as they are, a DataFrame as CSV, or a table of Arrow's as Parquet."""
    if isinstance(data, str | Path):
        return Path(data).read_bytes()
    if hasattr(data, "collect_schema") and not hasattr(data, ARROW):  # polars', not collected yet
        data = data.collect()
    if hasattr(data, "to_csv"):
        return str(data.to_csv(index=False)).encode()
    if hasattr(data, ARROW):
        table = _arrow(data)
        from pyarrow import BufferOutputStream, parquet

        written = BufferOutputStream()
        parquet.write_table(table, written)
        return written.getvalue().to_pybytes()  # type: ignore[no-any-return]
    return bytes(data)


def _arrow(table: Any) -> Any:
    """A table of another library as pyarrow's; raises ``InvalidRequest`` without that package."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise InvalidRequest(
            "Tables other than pandas' need pyarrow: pip install pyarrow, or give a CSV file or "
            "columns by name."
        ) from None
    return pyarrow.table(table)


def _columns(records: Any) -> dict[str, list[Any]]:
    """Columns by name as JSON has them: a missing number is null."""
    if hasattr(records, ARROW) and not hasattr(records, "items"):
        records = _arrow(records).to_pydict()
    if hasattr(records, "items"):
        columns = {str(name): getattr(v, "tolist", lambda v=v: v)() for name, v in records.items()}
    else:
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: [record.get(name) for record in records] for name in names}
    return {
        name: [None if isinstance(value, float) and isnan(value) else value for value in values]
        for name, values in columns.items()
    }


def _joined(answers: Sequence[PredictionColumns]) -> PredictionColumns:
    """The answers of one model to consecutive records as one."""
    first = answers[0]
    paths = {cell: path for answer in answers for cell, path in answer["paths"].items()}
    rows: Document = {}
    for name in [key for key in first if key not in {"model", "classes", "paths"}]:
        rows[name] = [row for answer in answers for row in cast("Document", answer)[name]]
    return cast("PredictionColumns", {**first, **rows, "paths": paths})
