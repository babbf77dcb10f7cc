"""The states of an answer as ``privet-holder`` says them: in words, and as an exit status."""

from typing import NamedTuple

from privet.protocol.lifecycle import LOSSES, ReportState
from privet.protocol.wire import printable

from ..ledger import StoredAnswer

EXIT_FAULT, EXIT_REFUSED, EXIT_KEPT, EXIT_HELD, EXIT_LATER = 1, 3, 4, 5, 6


class AnswerState(NamedTuple):
    """The exit status of a state, and its words with ``{why}`` and ``{epsilon}``."""

    status: int
    words: str
    no_reason: str = "without a reason"


ANSWER_STATES = {
    ReportState.REFUSED: AnswerState(EXIT_FAULT, "refused: {why}"),
    ReportState.LOST: AnswerState(
        EXIT_FAULT, "lost by the relay, because {why}; epsilon {epsilon:g} is spent all the same"
    ),
    ReportState.DRAWN: AnswerState(EXIT_KEPT, "kept, not counted: {why}", "never sent"),
    ReportState.HELD: AnswerState(
        EXIT_HELD, "held by a relay, not counted yet: privet-holder resend asks what became of it"
    ),
    ReportState.COUNTED: AnswerState(0, "counted"),
}
"""Each state of an answer, the worst first."""


RESTORED = "answered, as a code to keep says"


def state_in_words(answer: StoredAnswer) -> str:
    if answer.restored:
        return RESTORED
    state = ANSWER_STATES[answer.state]
    why = printable(LOSSES.get(answer.reason or "", answer.reason) or state.no_reason, 200)
    return state.words.format(why=why, epsilon=answer.epsilon)


def answered_before(answer: StoredAnswer) -> str:
    """The words of an answer that was there before, and of which nothing is sent again."""
    return RESTORED if answer.restored else "answered before and counted"
