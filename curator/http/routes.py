"""Routes made from the table of operations."""

import inspect
from collections.abc import Callable, Coroutine
from types import ModuleType
from typing import Any, TypeVar

from fastapi import Request, Response, Security
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from privet.admin.calls import ApiCall
from privet.admin.results import Scope

from ..operations.table import OPERATIONS, Open, Operation
from .problems import described
from .requests import PERHAPS, TOKENS, StrictRequest, caller_of, count_as_post, while_waited
from .state import state_of

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


BY_HAND: dict[Operation, tuple[Callable[..., Any], dict[str, Any]]] = {}
"""Endpoints of operations whose body or answer is no JSON, and their part of the document."""


def by_hand(operation: Callable[..., Any], **documented: Any) -> Callable[[Endpoint], Endpoint]:
    """Let a function of the request take an operation's calls; it calls the operation itself."""

    def declare(endpoint: Endpoint) -> Endpoint:
        BY_HAND[OPERATIONS[operation]] = endpoint, documented
        return endpoint

    return declare


class OperationRoute(APIRoute):
    """A route of an operation, which asks who calls before it reads a body, as strict JSON."""

    def __init__(self, operation: Operation, call: ApiCall) -> None:
        self.operation = operation
        endpoint, documented = BY_HAND.get(operation) or (endpoint_of(operation), {})
        scope = operation.scope
        token = TOKENS[scope] if isinstance(scope, Scope) else PERHAPS
        super().__init__(
            call.path,
            endpoint,
            methods=[call.method],
            status_code=None if operation.status == 200 else operation.status,
            tags=[call.tag],
            summary=call.summary,
            description=inspect.getdoc(operation.function),
            dependencies=[] if scope is Open.ANYONE else [Security(token)],
            response_model_exclude_none=operation.omits_none,
            **documented
            | {"responses": documented.get("responses", {}) | described(*operation.refuses)},
        )

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, operation = super().get_route_handler(), self.operation

        async def strictly(request: Request) -> Response:
            if self.methods != {"GET"} or operation.pool:  # before a body, or in no thread
                asked = caller_of(request), request.path_params.get("task_id")
                await run_in_threadpool(operation.admit, state_of(request).curator, *asked)
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


def routes_of(*modules: ModuleType) -> list[OperationRoute]:
    """The routes of the operations in ``modules`` that are calls, in their order."""
    return [
        OperationRoute(operation, operation.call)
        for module in modules
        for operation in OPERATIONS.values()
        if operation.call and operation.function.__module__ == module.__name__
    ]


def endpoint_of(operation: Operation) -> Any:
    """A function with the parameters of an operation and the request, for the framework."""
    (function,) = [f for f, declared in OPERATIONS.items() if declared is operation]

    def answer(request: Request, **given: Any) -> Any:
        if operation.rated:
            count_as_post(request)
        return function(state_of(request).curator, caller_of(request), **given)

    async def wait(request: Request, **given: Any) -> Any:
        return await while_waited(request, answer(request, **given))

    endpoint: Any = answer if operation.pool is None else wait
    _, _, *own = operation.signature.parameters.values()
    asked = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    endpoint.__signature__ = operation.signature.replace(parameters=[*parameters, asked])
    endpoint.__name__ = operation.name
    return endpoint
