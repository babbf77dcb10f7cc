"""The calls of holders and relays, each stated once: where, with what, and what may come back.

Clients make them, curators and relays serve them, and all read this table: addresses, routes,
cross-origin rules, the content policy of the answer page, the OpenAPI document, and the holder in
JavaScript, whose ``calls.js`` is written by ``python -m scripts.write_calls``. docs/calls.md says
in words what holders and relays do.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import (
    PROBLEMS,
    InsufficientScope,
    InvalidReport,
    InvalidRequest,
    MalformedReport,
    NotAdmitted,
    NotAuthorized,
    Overloaded,
    PrivetError,
    QuotaReached,
    ReportConflict,
    ReportNotFound,
    StorageFailed,
    TaskMismatch,
    TaskNotFound,
    TaskNotOpen,
    TooLarge,
    UnsupportedMediaType,
    WrongPayload,
    WrongQuestions,
)
from .limits import MAX_TASK_BYTES

API = "/v1"
TASKS, TOKENS, METHODS = f"{API}/tasks", f"{API}/tokens", f"{API}/methods"
KEY, AUDIT = f"{API}/key", f"{API}/audit"
RELAY = f"{API}/relay"
"""At a relay, what it is; at a curator, the relay on whose page people answer."""
TASK = f"{TASKS}/{{task_id}}"
"""The path of a task; calls about one are at it or below it."""
TASK_ID, REPORT_ID = "[0-9a-f]{64}", "[0-9a-f]{32}"
"""Patterns of ids in paths."""

JSON_MEDIA_TYPE = "application/json"
TASK_MEDIA_TYPE = "application/vnd.privet.task+msgpack"
REPORT_MEDIA_TYPE = "application/vnd.privet.report+msgpack"
BATCH_MEDIA_TYPE = "application/vnd.privet.reports+msgpack"
ADMISSION_MEDIA_TYPE = "application/vnd.privet.admission+msgpack"
PROBLEM_MEDIA_TYPE = "application/problem+json"

INVITATION_HEADER = "Privet-Invitation"
"""Carries an unused invitation with a report, where a task counts invited ones only."""
SIGNATURE_HEADER = "Privet-Signature"
"""Carries the curator's key and signature with a task."""
RECEIPT_HEADER = "Privet-Receipt"
"""Header with which a relay asks for a batch's receipts; its value does not matter."""

RETRIED = frozenset(problem.status for problem in PROBLEMS.values() if not problem.final)
RETRIED |= {502, 504}
"""Statuses after which the same bytes are sent again: of problems that are not final, and a
gateway's."""


@dataclass(frozen=True, eq=False)
class Call:
    """One call about a task."""

    method: str
    below: str
    """The path after the task's address, with ``{report_id}`` for a report's id."""
    responses: Mapping[int, str]
    """The statuses of success, and what each says."""
    problems: tuple[type[PrivetError], ...]
    """The problems for which a call in the published form may be refused."""
    body: str | None = None
    """The media type of what it sends; it may come without one."""
    header: str | None = None
    """A request header that it may have."""
    response_type: str = JSON_MEDIA_TYPE
    max_response: int = 2**16
    """Maximum bytes of a response."""
    from_pages: bool = False
    """True if web pages of any origin may make it."""
    at: str = TASK
    """The path that it is below; of a curator's own calls another than a task's."""

    @property
    def path(self) -> str:
        """The path as a template, of a task's calls with ``{task_id}``."""
        return self.at + self.below

    @property
    def pattern(self) -> str:
        """A regular expression that matches the path."""
        return self.path.format(task_id=TASK_ID, report_id=REPORT_ID)

    def url(self, task_url: str, report_id: str = "") -> str:
        """The call's address for a task at ``task_url``, or at the curator of that task."""
        at = task_url if self.at == TASK else task_url.rpartition(TASKS)[0] + self.at
        return at + self.below.format(report_id=report_id)


_REPORT_PROBLEMS = (
    MalformedReport,
    TaskNotFound,
    TaskNotOpen,
    QuotaReached,
    NotAuthorized,
    ReportConflict,
    TooLarge,
    UnsupportedMediaType,
    InvalidReport,
    TaskMismatch,
    WrongQuestions,
    WrongPayload,
    Overloaded,
    StorageFailed,
)
_RELAY_PROBLEMS = (*_REPORT_PROBLEMS, NotAdmitted, InsufficientScope)

READ_TASK = Call(
    "GET",
    "",
    {200: "The task's canonical bytes."},
    (TaskNotFound,),
    response_type=TASK_MEDIA_TYPE,
    max_response=MAX_TASK_BYTES,
    from_pages=True,
)
READ_STATUS = Call(
    "GET",
    "/status",
    {200: "How the collection stands."},
    (TaskNotFound,),
    max_response=2**20,
    from_pages=True,
)
SEND_REPORT = Call(
    "POST",
    "/reports",
    {
        201: "Durable, and counted now.",
        200: "Durable, and counted before.",
        202: "Durable at a relay, which will deliver it.",
    },
    _REPORT_PROBLEMS,
    body=REPORT_MEDIA_TYPE,
    header=INVITATION_HEADER,
    from_pages=True,
)
READ_REPORT = Call(
    "GET",
    "/reports/{report_id}",
    {200: "What became of the report."},
    (ReportNotFound,),
    from_pages=True,
)
"""The call that only a relay has, for a report that it took."""
GET_RECEIPT = Call(
    "POST",
    "/receipts",
    {200: "Durable, counted, and signed."},
    (*_REPORT_PROBLEMS, ReportNotFound),
    body=REPORT_MEDIA_TYPE,
    header=INVITATION_HEADER,
)
SEND_BATCH = Call(
    "POST",
    "/reports/batch",
    {200: "All is durable, but for the listed reports."},
    _RELAY_PROBLEMS,
    body=BATCH_MEDIA_TYPE,
    header=RECEIPT_HEADER,
    max_response=8 * 2**20,
)
SEND_ADMISSION = Call(
    "POST",
    "/admissions",
    {200: "Held, but for the refused ones."},
    _RELAY_PROBLEMS,
    body=ADMISSION_MEDIA_TYPE,
    max_response=8 * 2**20,
)
TELL_HOLDINGS = Call(
    "POST",
    "/held",
    {200: "Kept, in place of what the relay said before."},
    (
        TaskNotFound,
        NotAuthorized,
        InsufficientScope,
        InvalidRequest,
        TooLarge,
        UnsupportedMediaType,
        Overloaded,
        StorageFailed,
    ),
    body=JSON_MEDIA_TYPE,
)
READ_KEY = Call("GET", "", {200: "The curator's key."}, (), at=KEY)
"""The call with which a holder pins the key of a curator that it trusts, and a relay names it."""
HOLDER_CALLS = (READ_TASK, READ_STATUS, SEND_REPORT, READ_REPORT, GET_RECEIPT)
RELAY_CALLS = (SEND_BATCH, SEND_ADMISSION, TELL_HOLDINGS)
