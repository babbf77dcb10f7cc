"""Mechanisms, growers and estimators that a program has added, for worker processes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from privet.learning.estimators import ESTIMATORS
from privet.learning.partitions import GROWERS
from privet.protocol.mechanisms import MECHANISMS

from ..workers import Run

REGISTRIES: tuple[dict[str, Any], ...] = (MECHANISMS, GROWERS, ESTIMATORS)
"""Registries that a program may add to; its additions are sent to the worker processes."""


def with_registries(run: Run) -> Run:
    """``run``, whose process then knows what ``REGISTRIES`` have in this one."""
    anything: Callable[..., Any] = run
    return cast("Run", partial(anything, _registered, [dict(registry) for registry in REGISTRIES]))


def _registered(
    entries: Sequence[Mapping[str, Any]],
    function: Callable[..., Any],
    *arguments: Any,
    **named: Any,
) -> Any:
    for registry, added in zip(REGISTRIES, entries, strict=True):
        registry.update(added)
    return function(*arguments, **named)
