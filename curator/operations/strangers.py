"""The view of strangers: numbers of reports in steps, times to the hour, and no relay's name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from privet.admin.results import ModelSummary
from privet.learning.core.model import FittedModel

from ..datastore.models import ModelInfo
from .curator import Curator

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


def to_the_hour(moment: float | None) -> float | None:
    """The end of the hour that ``moment`` is in."""
    return None if moment is None else -(-moment // HOUR) * HOUR


def model_summary(curator: Curator, task_id: str, info: ModelInfo, *, reads: bool) -> ModelSummary:
    """A stored model, as somebody who ``reads`` it sees it or as strangers do.

    These see nothing that shows single reports, the ways they came or when.
    """
    aliases = list(info.aliases)
    known = {"task": task_id, "number": info.number, "created": info.created, "aliases": aliases}
    summary = {**info.summary, **known}
    if not reads:
        summary |= {
            "created": to_the_hour(info.created),
            "reports": reports_in_steps(curator.steps_key, task_id, summary["reports"]),
            "step": STEP,
            "facts": _facts(summary["facts"]),
            "ways": [],
            "worst_of_one": None,
        }
    return ModelSummary.model_validate(summary)


def model_for_strangers(key: str, fitted: FittedModel) -> FittedModel:
    """The same of a model that is exported."""
    n = reports_in_steps(key, fitted.task, fitted.model.n)
    model = replace(fitted.model, n=n, facts=_facts(fitted.model.facts))
    return replace(fitted, created=to_the_hour(fitted.created) or 0.0, model=model)


def _facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    seen = {name: COUNTED[name](str(facts[name])) for name in COUNTED.keys() & facts.keys()}
    return {**facts, **seen}
