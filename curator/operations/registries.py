"""Mechanisms, growers and estimators that a program has added, for worker processes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from privet.learning.methods import ESTIMATORS, GROWERS
from privet.protocol.mechanisms import MECHANISMS

from ..workers import Run, Workers

REGISTRIES: tuple[dict[str, Any], ...] = (MECHANISMS, GROWERS, ESTIMATORS)
"""Registries that a program may add to; its additions are sent to the worker processes."""

T = TypeVar("T")


async def call_in(workers: Workers, function: Callable[[Run], T]) -> T:
    """``function(run)`` in a thread; the process of ``run`` knows what ``REGISTRIES`` have here.

    Raises ``Overloaded`` if too many wait already.
    """

    def with_registries(run: Run) -> T:
        anything: Callable[..., Any] = run
        known = [dict(registry) for registry in REGISTRIES]
        return function(cast("Run", partial(anything, _registered, known)))

    return await workers.call(with_registries)


def _registered(
    entries: Sequence[Mapping[str, Any]],
    function: Callable[..., Any],
    *arguments: Any,
    **named: Any,
) -> Any:
    for registry, added in zip(REGISTRIES, entries, strict=True):
        registry.update(added)
    return function(*arguments, **named)
