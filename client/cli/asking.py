"""The steps before an answer: fetch and explain the task, and ask its owner."""

from collections.abc import Sequence

import typer
from rich.console import Console

from privet.protocol.task import Task

from ..blocking import BlockingHolder
from ..explanation import Explanation
from ..pinning import signed_by
from .output import print_explanation, say

ASKING = "Waiting for the curator ..."


def explained(
    holder: BlockingHolder, url: str, curator_key: str | None, *, printed: bool
) -> tuple[Task, Explanation]:
    """The task at ``url`` and its explanation, which is printed if it is to be ``printed``."""
    with Console(stderr=True).status(ASKING):
        offer = holder.offer(url)
    explanation = holder.explain(offer.task, signed_by(offer, curator_key))
    if printed:
        print_explanation(explanation)
    return offer.task, explanation


def agreed(findings: Sequence[str], what: str = "a perturbed answer and send it") -> bool:
    if findings:
        say(
            f"The record does not fit. {' '.join(findings)}\n"
            "Correct it and run this again, or send a report, which will state, perturbed like "
            "every other, that the record does not fit. If you send none, the curator may notice."
        )
    try:
        return typer.confirm(f"Draw {what}?", err=True)
    except typer.Abort:
        return False
