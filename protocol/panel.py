"""A panel: one task asked in several waves, of rotating people or of the same ones.

A panel is a task with ``panel``: its mode and the dates of its waves. The panel's own document has
the dates of the whole, from the first opening to the last closing; each wave's task is the same
with the dates of the wave. So every wave has the panel's columns, label, tree and mechanisms, and
whoever has one of these documents can write down all others with their ids.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from . import wire
from .limits import MAX_WAVES

Second = Annotated[int, Field(ge=0, lt=2**53)]
Dates = Annotated[tuple[Second, Second], Field(strict=False)]
Mode = Literal["rotate", "repeat"]
REPEATED_DISCLOSURE = (
    "In a panel that repeats, a record may have changed from wave to wave, so that each would "
    "disclose more of it: disclose nothing, or let the holders rotate."
)


def _fault(wave: int, said: str) -> PydanticCustomError:
    return PydanticCustomError("wave", "{said}", {"said": said, "wave": wave})


class Panel(wire.Message):
    """The waves of a panel, and who answers which."""

    mode: Mode = Field(
        description="rotate: each holder answers one wave, which its device draws; repeat: each "
        "answers every wave."
    )
    waves: Annotated[tuple[Dates, ...], Field(strict=False, max_length=MAX_WAVES)] = Field(
        description="First second and end of each wave, Unix time, in their order."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.waves) < 2:
            msg = "a panel has two waves or more; for one, publish a task with its dates"
            raise ValueError(msg)
        for number, (opens, closes) in enumerate(self.waves, 1):
            if opens >= closes:
                raise _fault(number, f"wave {number} must open before it closes")
            if number > 1 and opens < self.waves[number - 2][1]:
                raise _fault(number, f"wave {number} opens before wave {number - 1} has closed")
        return self

    @property
    def span(self) -> tuple[int, int]:
        """The first opening and the last closing."""
        return self.waves[0][0], self.waves[-1][1]

    @property
    def answers(self) -> int:
        """The number of waves that one holder answers, at most."""
        return 1 if self.mode == "rotate" else len(self.waves)

    def at(self, now: float) -> int | None:
        """The number of the wave that is open, from 0; None between waves."""
        dates = enumerate(self.waves)
        return next((n for n, (opens, closes) in dates if opens <= now < closes), None)
