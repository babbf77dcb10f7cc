"""The table of use cases. Each declares itself, above its function:

    @operation(
        ApiCall.ISSUE_TOKEN, Scope.ADMIN, audit=ISSUED, refuses=(InvalidRequest,), status=201
    )
    def issue_token(
        curator: Curator, actor: Acting, name: TokenName, body: TokenRequest, last: Last = False
    ) -> IssuedToken:
        \"\"\"Make a token, in place of any earlier one of that name.\"\"\"

Routes, pages and programs call the function with any ``Actor``. Around it the table authorizes
before it, writes the audit entry after it, and measures it; the function does only what its name
says. A call that raises has changed nothing and leaves no entry.

The call stands in ``privet.admin.calls``; a use case that only pages have has none. Of it
``privet.curator.http.routes`` makes the route, whose description is the docstring: parameters in
the path are its path's, models its body, all others its query, each as annotated (``Path``,
``Query``; ``parameters`` has those that several share). Its name gives the operation id.

A ``Scope`` asks for a token of that scope or a higher one; ``Open.TASKS`` is for anyone, but for
drafts, and ``Open.MODELS`` for anyone unless models are guarded. What path and scope bring (401,
403, 404 of a task, 429) is not among ``refuses``.

The audit entry is about the ``task_id`` or ``name`` among the arguments, and has the details that
the function gives by ``actor.note(count=3)``.

A ``job`` needs a worker process: its function runs in a thread, which may ask ``actor.run`` for the
result of another function in that process, and its callers await it.

    @job(ApiCall.FIT, Scope.FITTER, pool="workers")
    def fit(curator: Curator, actor: Acting, task_id: TaskId, body: FitRequest) -> Model:
        model = actor.run(fit_model, ...)
"""

import inspect
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypedDict, TypeVar, Unpack, cast

from privet.admin.calls import ApiCall
from privet.admin.results import Scope
from privet.learning.methods import ESTIMATORS, GROWERS
from privet.protocol.errors import PrivetError
from privet.protocol.lifecycle import TaskState
from privet.protocol.mechanisms import MECHANISMS

from ..access.actors import Actor
from ..datastore.tasks import no_task
from ..metrics import Metrics
from ..workers import Run
from .curator import COUNTS, Curator

P = ParamSpec("P")
R = TypeVar("R")
Sync = Callable[Concatenate[Curator, Actor, P], R]
Async = Callable[Concatenate[Curator, Actor, P], Coroutine[Any, Any, R]]
Measure = Callable[[Metrics, float, Any, BaseException | None], None]
"""Adds a use case to the metrics: its seconds, and its result or its error."""
Pool = Literal["workers", "predictors", "exporters"]
REGISTRIES: tuple[dict[str, Any], ...] = (MECHANISMS, GROWERS, ESTIMATORS)
"""Registries that a program may add to; its additions are sent to the worker processes."""


class Open(StrEnum):
    """The callers, where not everybody needs a token; drafts are there for readers only."""

    ANYONE = "anyone"
    TASKS = "anyone; drafts: reader"
    MODELS = "anyone; where models are guarded: reader"


@dataclass
class Acting:
    """The actor of one call, the details of its audit entry, and its worker process."""

    actor: Actor
    worker: Run
    subject: str = ""
    """The task or token that the audit entry is about."""
    detail: dict[str, Any] = field(default_factory=dict)
    leaves_entry: bool = True
    """Set it to False where nothing changed, or the store keeps the entry with the change."""

    @property
    def id(self) -> str:
        return self.actor.id

    @property
    def reads(self) -> bool:
        return self.actor.reads

    def run(self, function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
        """The result of a function in the worker process, which knows what ``REGISTRIES`` have."""
        known = [dict(registry) for registry in REGISTRIES]
        return self.worker(_registered, known, function, given, named)

    def need(self, scope: Scope, what: str = "") -> None:
        """Ask for more than the table does, because of an argument."""
        self.actor.need(scope, what)

    def note(self, **detail: Any) -> None:
        """Add details to the audit entry."""
        self.detail |= detail


@dataclass(frozen=True, eq=False)
class Operation:
    """A use case as it was declared."""

    function: Callable[..., Any]
    """As it was written, without the table around it."""
    call: ApiCall | None
    """None for a use case that only pages have."""
    scope: Scope | Open
    audit: str = ""
    """The action in the audit log; empty if nothing changes."""
    refuses: tuple[type[PrivetError], ...] = ()
    """Errors beyond those that the path and the scope bring."""
    shows: str = COUNTS
    """The subject that a stranger is refused where the scope is that of readers."""
    status: int = 200
    rated: bool = False
    """True if a GET takes long, so that it counts in the rate limit of posts."""
    omits_none: bool = False
    """True if the JSON leaves out fields that are None."""
    measure: Measure | None = None
    pool: Pool | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def signature(self) -> inspect.Signature:
        """Its parameters with their annotations, ``curator`` and ``actor`` first."""
        return inspect.signature(self.function, eval_str=True)

    def admit(self, curator: Curator, actor: Actor, task_id: str | None) -> None:
        """Raise ``NotAuthorized``, ``InsufficientScope`` or ``TaskNotFound`` unless they may."""
        if self.scope is Open.MODELS and curator.guard_models:
            actor.need(Scope.READER, "models")
        elif isinstance(self.scope, Scope):
            actor.need(self.scope, self.shows if self.scope is Scope.READER else "")
        if isinstance(self.scope, Scope) or task_id is None or actor.reads:
            return
        if curator.store.tasks.head(task_id).state is TaskState.DRAFT:
            raise no_task(task_id)

    def do(
        self, curator: Curator, actor: Actor, arguments: inspect.BoundArguments, run: Run
    ) -> Any:
        """Authorize, call the function, and write the audit entry."""
        given = arguments.arguments
        self.admit(curator, actor, given.get("task_id"))
        acting = Acting(actor, run, given.get("task_id") or given.get("name") or "")
        given["actor"] = acting
        result = self.function(*arguments.args, **arguments.kwargs)
        if self.audit and acting.leaves_entry:
            curator.audit.add_entry(actor.id, self.audit, acting.subject, **acting.detail)
        return result

    @contextmanager
    def measured(self, curator: Curator) -> Iterator[list[Any]]:
        """Measure what happens meanwhile, whose result is added to the list."""
        started, results = time.perf_counter(), list[Any]()
        error: BaseException | None = None
        try:
            yield results
        except BaseException as raised:
            error = raised
            raise
        finally:
            if self.measure is not None:
                seconds = time.perf_counter() - started
                self.measure(curator.metrics, seconds, results[-1] if results else None, error)


class Declared(TypedDict, total=False):
    """The fields that an operation may declare, see ``Operation``."""

    audit: str
    refuses: tuple[type[PrivetError], ...]
    shows: str
    status: int
    rated: bool
    omits_none: bool
    measure: Measure


OPERATIONS: dict[Callable[..., Any], Operation] = {}
"""All use cases by the function that callers call, in the order of their declarations."""


def operation(
    call: ApiCall | None, scope: Scope | Open, **declared: Unpack[Declared]
) -> Callable[[Callable[Concatenate[Curator, Acting, P], R]], Sync[P, R]]:
    """Declare a use case that computes where it is called; web code calls it from a thread."""

    def declare(function: Callable[Concatenate[Curator, Acting, P], R]) -> Sync[P, R]:
        made = Operation(function, call, scope, **declared)
        signature = made.signature

        @wraps(function)
        def called(curator: Curator, actor: Actor, /, *given: P.args, **named: P.kwargs) -> R:
            arguments = signature.bind(curator, actor, *given, **named)
            with made.measured(curator) as results:
                results.append(made.do(curator, actor, arguments, _here))
            return cast("R", results[0])

        OPERATIONS[called] = made
        return called

    return declare


def job(
    call: ApiCall | None, scope: Scope | Open, *, pool: Pool, **declared: Unpack[Declared]
) -> Callable[[Callable[Concatenate[Curator, Acting, P], R]], Async[P, R]]:
    """Declare a use case that computes in a process of ``pool``.

    Raises ``Overloaded`` if too many wait there already.
    """

    def declare(function: Callable[Concatenate[Curator, Acting, P], R]) -> Async[P, R]:
        made = Operation(function, call, scope, pool=pool, **declared)
        signature = made.signature

        @wraps(function)
        async def called(curator: Curator, actor: Actor, /, *given: P.args, **named: P.kwargs) -> R:
            arguments = signature.bind(curator, actor, *given, **named)
            made.admit(curator, actor, None)
            with made.measured(curator) as results:
                work = partial(made.do, curator, actor, arguments)
                results.append(await getattr(curator, pool).call(work))
            return cast("R", results[0])

        OPERATIONS[called] = made
        return called

    return declare


def _here(function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    return function(*given, **named)


def _registered(
    entries: Sequence[Mapping[str, Any]],
    function: Callable[..., R],
    given: Sequence[Any],
    named: Mapping[str, Any],
) -> R:
    for registry, added in zip(REGISTRIES, entries, strict=True):
        registry.update(added)
    return function(*given, **named)
