"""The view of strangers: numbers of reports in steps, times to the hour, and no relay's name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from privet.admin.results import ModelSummary
from privet.learning.core.model import FittedModel

from ..datastore.models import ModelInfo
from ..datastore.tasks import ListedTask
from .curator import Curator
from .model_cache import model_summary

STEP = 1_000
"""Strangers see the number of reports in steps of this size."""
HOUR = 3600.0
"""They see times that follow from reports in steps of this many seconds."""
COUNTED: Mapping[str, Callable[[str], str]] = {
    "earlier waves": lambda text: text.partition(",")[0],
    "false reports": lambda _: "found",
}
"""The part that strangers see of those of a model's facts that have numbers of reports."""


def reports_in_steps(key: str, task_id: str, reports: int) -> int:
    """A number of reports as strangers see it: a multiple of ``STEP``, each late at random.

    Whoever sends reports would otherwise find out by how many are missing to the next multiple
    whether another came (docs/adr/0303). ``key`` is the curators' own.
    """
    step, rest = divmod(reports, STEP)
    drawn = sha256(f"{key} {task_id} {step}".encode()).digest()
    return max(step - (rest < int.from_bytes(drawn) % STEP), 0) * STEP


def start_of_hour(moment: float, since: float) -> float:
    """The start of the hour of a past ``moment``, no earlier than ``since``, which all may know."""
    return max(moment // HOUR * HOUR, since)


def end_of_hour(moment: float | None) -> float | None:
    """The end of the hour that ``moment`` is in, for what lasts until then."""
    return None if moment is None else -(-moment // HOUR) * HOUR


def summary_seen(
    curator: Curator, stored: ListedTask, info: ModelInfo, *, reads: bool
) -> ModelSummary:
    """A stored model, as somebody who ``reads`` it sees it or as strangers do.

    These see nothing that shows single reports, the ways they came or when.
    """
    seen = dict[str, Any]()
    if not reads:
        seen = {
            "created": start_of_hour(info.created, stored.created),
            "reports": reports_in_steps(curator.steps_key, stored.head.id, info.summary["reports"]),
            "step": STEP,
            "facts": _facts(info.summary["facts"]),
            "ways": [],
            "worst_of_one": None,
        }
    return model_summary(stored.head.id, info, **seen)


def model_for_strangers(key: str, since: float, fitted: FittedModel) -> FittedModel:
    """The same of a model that is exported, of a task that was created at ``since``."""
    n = reports_in_steps(key, fitted.task, fitted.model.n)
    model = replace(fitted.model, n=n, facts=_facts(fitted.model.facts))
    return replace(fitted, created=start_of_hour(fitted.created, since), model=model)


def _facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    seen = {name: COUNTED[name](str(facts[name])) for name in COUNTED.keys() & facts.keys()}
    return {**facts, **seen}
