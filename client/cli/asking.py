"""The steps before an answer: fetch and explain the task, and ask its owner."""

import time
from collections.abc import Sequence

import typer
from rich.console import Console

from privet.http_client.report_client import Offer
from privet.protocol.task import Task

from ..blocking import BlockingHolder
from ..disclosures import splits_of
from ..explanation import Explanation
from ..ledger import Ledger
from ..pinning import signed_by
from .output import print_explanation, say

ASKING = "Waiting for the curator ..."
AS_FILES = (
    "This relay passes reports on as files: what became of yours is known only when the curator "
    "has collected them, which may take days. privet-holder budget asks."
)

ONE_OPERATOR = (
    "For a trial: this relay and its curator are run by the same people, who could see who sent "
    "which report."
)


def explained(
    holder: BlockingHolder, url: str, curator_key: str | None, *, printed: bool
) -> tuple[Offer, Explanation]:
    """The offer of the task at ``url``, and its explanation, which may be ``printed``."""
    with Console(stderr=True).status(ASKING):
        offer = holder.offer(url)
        collection = holder.collection(url) if printed else None
    explanation = holder.explain(offer.task, signed_by(offer, curator_key))
    if printed:
        print_explanation(explanation)
    if collection is not None and collection.one_operator:
        say(ONE_OPERATOR)
    if collection is not None and collection.as_files:
        say(AS_FILES)
    return offer, explanation


def say_account(ledger: Ledger, subject: str, task: Task) -> None:
    """Say what the task adds to the bits that were disclosed, if it discloses columns."""
    splits = splits_of(task)
    if splits is not None:
        now, cap = time.time(), ledger.caps(subject).disclosed
        before, after = ledger.disclosed(subject, now), ledger.disclosed(subject, now, splits)
        say(
            f"This task adds {after - before:.3g} bits to the {before:.3g} of {cap:g} that were "
            "disclosed within a year."
        )


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
