"""What was answered and what it cost: the only thing a holder keeps.

An answer is stored, durably, before it is first sent, and from then on only resent byte for byte:
drawing a second one would spend epsilon again. Epsilon adds up over all tasks per *subject*, the
name that a holder gives to the person (or thing) its records are about; ``me`` unless it says
otherwise. The ledger holds perturbed reports only, never a record.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from privet.transport.errors import BudgetSpent

DEFAULT_CAP = 8.0
SLACK = 1e-9
"""Relative room for the rounding of sums such as 0.1 + 0.2."""


@dataclass(frozen=True)
class Answer:
    """One subject's answer to one task: the very bytes that are sent, and what became of them."""

    subject: str
    task: str
    url: str
    epsilon: float
    report_id: str
    report: bytes
    drawn: float
    invitation: str | None = None
    counted: bool = False
    fault: str | None = None


class Ledger(ABC):
    """Answers by subject and task. Every verb is atomic, across threads and processes alike."""

    waits: ClassVar[bool]
    """Whether a call may wait for a disk or a lock, and so belongs in a thread of its own."""

    def __init__(self, cap: float = DEFAULT_CAP) -> None:
        self.cap = cap

    @abstractmethod
    def find(self, subject: str, task: str) -> Answer | None:
        """The subject's answer to a task, if it was ever drawn."""

    @abstractmethod
    def keep(self, answer: Answer) -> Answer:
        """Store ``answer`` before it is sent, and return it.

        If the subject has answered the task already, return that answer and store nothing. Raises
        ``BudgetSpent`` if the epsilons of the subject would add up to more than the cap.
        """

    @abstractmethod
    def settle(self, subject: str, task: str, fault: str | None) -> None:
        """Note that the curator counted the answer, or else why it did not."""

    @abstractmethod
    def answers(self, subject: str | None = None) -> list[Answer]:
        """All answers, or a subject's, in the order in which they were drawn."""

    def spent(self, subject: str) -> float:
        """The epsilon that a subject's answers add up to."""
        return total(self.answers(subject))

    def afford(self, subject: str, epsilon: float, earlier: Iterable[Answer]) -> None:
        """Raise ``BudgetSpent`` if ``epsilon`` on top of ``earlier`` answers exceeds the cap."""
        spent = total(earlier)
        if spent + epsilon > self.cap * (1 + SLACK):
            raise BudgetSpent(
                f"Answering costs epsilon {epsilon:g} and {subject!r} has spent {spent:g} of "
                f"{self.cap:g}: leave it, or raise the cap (--cap) knowing that it weakens "
                "the protection of everything answered before."
            )


class MemoryLedger(Ledger):
    """A ledger that dies with its process: for simulations with thousands of subjects."""

    waits = False

    def __init__(self, cap: float = DEFAULT_CAP) -> None:
        super().__init__(cap)
        self._answers: dict[str, dict[str, Answer]] = {}
        self._lock = threading.Lock()

    def find(self, subject: str, task: str) -> Answer | None:
        """See ``Ledger.find``."""
        return self._answers.get(subject, {}).get(task)

    def keep(self, answer: Answer) -> Answer:
        """See ``Ledger.keep``; nothing is durable here."""
        with self._lock:
            mine = self._answers.setdefault(answer.subject, {})
            if answer.task not in mine:
                self.afford(answer.subject, answer.epsilon, mine.values())
                mine[answer.task] = answer
            return mine[answer.task]

    def settle(self, subject: str, task: str, fault: str | None) -> None:
        """See ``Ledger.settle``."""
        with self._lock:
            kept = self._answers[subject][task]
            self._answers[subject][task] = settled(kept, fault)

    def answers(self, subject: str | None = None) -> list[Answer]:
        """See ``Ledger.answers``."""
        subjects = list(self._answers) if subject is None else [subject]
        found = [answer for s in subjects for answer in self._answers.get(s, {}).values()]
        return sorted(found, key=lambda answer: answer.drawn)


def settled(answer: Answer, fault: str | None) -> Answer:
    """``answer`` after a reply; once counted, it stays counted."""
    return answer if answer.counted else replace(answer, counted=fault is None, fault=fault)


def total(answers: Iterable[Answer]) -> float:
    """The epsilon that answers add up to."""
    return sum(answer.epsilon for answer in answers)
