"""A subject's part in a panel: the wave that its device drew, and the epsilon kept for it.

Whoever merely looks at a panel has no part in it: nothing is drawn or kept. Where holders rotate, a
subject that agrees has its device draw a wave, evenly among those that have not closed, and the
ledger keeps that with the panel's lifetime: all epsilon that its waves can cost one holder. Where
they repeat, the lifetime is kept with the first answer. The caps refuse it then or never, since
later waves find it there; waves that have closed by then cost nothing, as nothing is answered to
them. The draw depends on the panel's dates and this device's clock only, and
stays, since a turn that is known is a kept one; other dates are another panel.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from privet.protocol.errors import TaskNotOpen
from privet.protocol.limits import MAX_PANEL_SECONDS
from privet.protocol.mechanisms.base import RandomBytes
from privet.protocol.task import Task

from .clocks import in_utc
from .errors import OutOfTurn, TaskRefused


@dataclass(frozen=True)
class Membership:
    """A subject's part in one panel."""

    subject: str
    panel: str
    """The panel's id, 64 hexadecimal digits."""
    wave: int | None
    """The number of the wave that the subject answers, from 0; None if it answers all."""
    lifetime: float
    """The epsilon that all its answers cost at most."""
    closes: float
    """End of the last wave that the subject answers, Unix time."""

    @classmethod
    def drawn(
        cls, subject: str, document: Task, now: float, randomness: RandomBytes
    ) -> "Membership":
        """The part of a subject that comes to a panel at ``now``; raises what ``coming`` does."""
        panel, open_to = document.panel, coming(document, now)
        if panel is None:
            raise TypeError("this task has no waves")
        wave = open_to[_below(len(open_to), randomness)] if panel.mode == "rotate" else None
        closes = panel.span[1] if wave is None else panel.waves[wave][1]
        return cls(subject, document.whole_panel.id, wave, lifetime_from(document, now), closes)

    def reserved(self, spent: float, now: float) -> float:
        """The epsilon that is kept for later waves, when ``spent`` has been spent on the panel."""
        return max(self.lifetime - spent, 0.0) if now < self.closes else 0.0

    def turns(self, document: Task, now: float) -> list[Task]:
        """The tasks of the waves that the subject may answer from ``now`` on; of the last one if
        there are none.

        That is the wave which was drawn, or of all waves those that had not closed when the subject
        took part: nothing is kept for the others, whatever the clock says since.
        """
        panel = document.panel
        if panel is None:
            raise TypeError("this task has no waves")
        if self.wave is not None:
            return [document.wave_task(self.wave)]
        total = len(panel.waves)
        numbers = [n for n in range(self.first_of(document), total) if now < panel.waves[n][1]]
        return [document.wave_task(number) for number in numbers or [total - 1]]

    def first_of(self, document: Task) -> int:
        """The number of the first wave that the lifetime of a subject that answers all covers, from
        0; 0 if its device drew one."""
        waves = () if document.panel is None else document.panel.waves
        return 0 if self.wave is not None else len(waves) - round(self.lifetime / document.epsilon)


def check_turn(wave: Task, now: float) -> None:
    """Raise ``OutOfTurn``, saying when the subject's turn is, before this wave of its own opens and
    when it has closed."""
    opens, closes = wave.opens or 0, wave.closes or 0
    if opens <= now < closes:
        return
    whose = (
        "The next turn" if wave.panel is not None and wave.panel.mode == "repeat" else "Your turn"
    )
    said = (
        f"{whose} is in {_month(opens)}: from {in_utc(opens)} to {in_utc(closes)}. Come back then"
        if now < opens
        else f"Your turn was until {in_utc(closes)}, and it is over"
    )
    raise OutOfTurn(f"{said}. Nothing was sent. This device's clock says {in_utc(now)}.")


def lifetime_from(document: Task, now: float) -> float:
    """The most that all answers to a panel cost a subject that comes at ``now``; raises what
    ``coming`` does."""
    numbers = coming(document, now)
    is_repeated = document.panel is not None and document.panel.mode == "repeat"
    return document.epsilon * (len(numbers) if is_repeated else 1)


def coming(document: Task, now: float) -> list[int]:
    """The numbers of a panel's waves that have not closed, from 0.

    Raises ``TaskNotOpen`` once the last one has, and ``TaskRefused`` where that is more than
    ``MAX_PANEL_SECONDS`` away.
    """
    panel = document.panel
    if panel is None:
        raise TypeError("this task has no waves")
    numbers = [n for n, (_, closes) in enumerate(panel.waves) if now < closes]
    if not numbers:
        raise TaskNotOpen(
            f"The last wave closed on {in_utc(panel.span[1])}: nothing was drawn and nothing was "
            f"sent. This device's clock says {in_utc(now)}."
        )
    if panel.span[1] - now > MAX_PANEL_SECONDS:
        raise TaskRefused(
            f"The last wave closes on {in_utc(panel.span[1])}, more than three years from now: "
            "until then your ledger would keep what the panel can cost. Do not answer it, and "
            "tell its curator. Nothing was drawn and nothing was sent."
        )
    return numbers


def reserved(members: Iterable[Membership], spent: Mapping[str, float], now: float) -> float:
    """The epsilon that is kept for later waves, when ``spent`` has been spent by panel."""
    return sum(each.reserved(spent.get(each.panel, 0.0), now) for each in members)


def _below(count: int, randomness: RandomBytes) -> int:
    """A uniformly random whole number below ``count``."""
    end = 2**64 - 2**64 % count
    while (drawn := int.from_bytes(randomness(8))) >= end:
        pass
    return drawn % count


def _month(moment: float) -> str:
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%B %Y")
    except (OverflowError, ValueError, OSError):
        return "another age"
