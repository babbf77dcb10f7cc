"""Every error that crosses the wire, drawn as a tree; one table gives each its problem type.

PrivetError
├── InvalidTask            a task, partition or mechanism that cannot be built or published
│   └── TaskMismatch       the bytes do not hash to the id they were asked for by
├── InvalidRecord          a record that does not fit the task's features or label
├── InvalidPublicData      public data from which no task can be built
├── InvalidReport          a report that no honest holder could have sent
│   ├── MalformedReport    the bytes are not a report
│   ├── WrongQuestions     the answers are not those the task's allocation asks for
│   └── WrongPayload       a payload of the wrong length, or impossible for its mechanism
├── InvalidRequest         a request that does not have the published form
├── TooLarge               a body, batch or task above the published limits
├── TooSlow                a body that did not arrive in time
├── UnsupportedMediaType   a body of a content type that the call does not take
├── NotAuthorized          a call without a good token, or a report without a good invitation
├── InsufficientScope      a good token, whose scope does not allow the call
├── TaskNotFound           no such task here
├── ModelNotFound          no such model of this task
├── ReportNotFound         a relay knows no report of this id, or no longer
├── IllegalMove            the task's state does not allow this call
│   ├── TaskNotOpen        a report for a task that does not take reports
│   └── QuotaReached       a report beyond the most that the task counts
├── NotAdmitted            a batch whose holders' invitations are not held for it
├── ReportConflict         this report id was used before, with other bytes
├── NotEnoughReports       nothing to fit yet
├── Overloaded             the intake queue is full; try again after a while
│   └── TooManyRequests    more calls from one address than this curator takes
└── StorageFailed          the store could not write; nothing was counted

The curator turns each into an RFC 9457 problem document in one place; the client turns a problem
document back into the same class by its type, never by its text.
"""

from dataclasses import dataclass

PROBLEM_BASE = "urn:privet:problem:"


@dataclass(frozen=True)
class ProblemType:
    """A problem type: stable name, title, HTTP status."""

    name: str
    title: str
    status: int
    final: bool = True
    """True if the same bytes would be refused again; else it says nothing about what was sent."""

    @property
    def uri(self) -> str:
        """The ``type`` member of the problem document."""
        return PROBLEM_BASE + self.name


class PrivetError(Exception):
    """Base of all errors a caller may want to catch; ``detail`` says what to do next."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class InvalidTask(PrivetError): ...


class TaskMismatch(InvalidTask): ...


class InvalidRecord(PrivetError): ...


class InvalidPublicData(PrivetError): ...


class InvalidReport(PrivetError): ...


class MalformedReport(InvalidReport): ...


class WrongQuestions(InvalidReport): ...


class WrongPayload(InvalidReport): ...


class InvalidRequest(PrivetError): ...


class TooLarge(PrivetError): ...


class TooSlow(PrivetError): ...


class UnsupportedMediaType(PrivetError): ...


class NotAuthorized(PrivetError): ...


class InsufficientScope(PrivetError): ...


class TaskNotFound(PrivetError): ...


class ModelNotFound(PrivetError): ...


class ReportNotFound(PrivetError): ...


class IllegalMove(PrivetError): ...


class TaskNotOpen(IllegalMove): ...


class QuotaReached(IllegalMove): ...


class NotAdmitted(PrivetError): ...


class ReportConflict(PrivetError): ...


class NotEnoughReports(PrivetError): ...


class Overloaded(PrivetError): ...


class TooManyRequests(Overloaded):
    """``seconds`` say when to come again."""

    def __init__(self, detail: str, seconds: int = 1) -> None:
        super().__init__(detail)
        self.seconds = seconds


class StorageFailed(PrivetError): ...


PROBLEMS: dict[type[PrivetError], ProblemType] = {
    PrivetError: ProblemType("internal", "The service failed", 500, final=False),
    InvalidTask: ProblemType("invalid-task", "The task cannot be published", 422),
    TaskMismatch: ProblemType("task-mismatch", "The task is not the one asked for", 422),
    InvalidRecord: ProblemType("invalid-record", "The record does not fit the task", 422),
    InvalidPublicData: ProblemType("invalid-public-data", "The public data cannot be used", 422),
    InvalidReport: ProblemType("invalid-report", "The report is not acceptable", 422),
    MalformedReport: ProblemType("malformed-report", "The body is not a report", 400),
    WrongQuestions: ProblemType("wrong-questions", "The report answers other questions", 422),
    WrongPayload: ProblemType("wrong-payload", "The payload is impossible", 422),
    InvalidRequest: ProblemType("invalid-request", "Something is to be done or changed first", 422),
    TooLarge: ProblemType("too-large", "The body is above the published limit", 413),
    TooSlow: ProblemType("too-slow", "The body did not arrive in time", 408, final=False),
    UnsupportedMediaType: ProblemType(
        "unsupported-media-type", "The call does not take this content type", 415
    ),
    NotAuthorized: ProblemType("not-authorized", "The token or invitation is not accepted", 401),
    InsufficientScope: ProblemType(
        "insufficient-scope", "The token's scope does not allow this", 403
    ),
    TaskNotFound: ProblemType("task-not-found", "There is no such task", 404),
    ModelNotFound: ProblemType("model-not-found", "There is no such model", 404),
    ReportNotFound: ProblemType("report-not-found", "The relay knows no such report", 404),
    IllegalMove: ProblemType("illegal-move", "The task's state does not allow this", 409),
    TaskNotOpen: ProblemType("task-not-open", "The task takes no reports", 409),
    QuotaReached: ProblemType("quota-reached", "The task has all the reports it takes", 409),
    NotAdmitted: ProblemType("not-admitted", "No invitations are held for the batch", 409),
    ReportConflict: ProblemType("report-conflict", "The report id was used with other bytes", 409),
    NotEnoughReports: ProblemType("not-enough-reports", "There is nothing to fit yet", 409),
    Overloaded: ProblemType("overloaded", "The server is busy", 503, final=False),
    TooManyRequests: ProblemType(
        "too-many-requests", "Too many calls from one address", 429, final=False
    ),
    StorageFailed: ProblemType("storage-failed", "The server could not write", 503, final=False),
}

ERRORS_BY_URI: dict[str, type[PrivetError]] = {
    problem.uri: error for error, problem in PROBLEMS.items()
}


def problem_of(error: PrivetError) -> ProblemType:
    """The problem type of ``error``: its own class's, or the nearest ancestor's."""
    return next(PROBLEMS[cls] for cls in type(error).__mro__ if cls in PROBLEMS)
