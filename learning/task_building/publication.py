"""The settings of a new task that are only for its holders to read."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from privet.protocol.limits import MAX_TRANSLATIONS, MAX_WAVES, SMALLEST_GROUP
from privet.protocol.panel import Mode, Panel
from privet.protocol.task import Asker, Language, Translation
from privet.tables.cells import whole_number

from .inputs import Asked
from .settings import Count, TaskSettings, setting_fault, unix_seconds


def _dates(wave: str) -> str:
    dates_of(wave)
    return wave


def dates_of(wave: str) -> tuple[int, int]:
    """First second and end of a wave; raises ``ValueError`` that says how to write one."""
    try:
        opens, closes = (datetime.fromisoformat(each.strip()) for each in wave.split("/"))
    except ValueError:
        opens = closes = datetime.min
    if opens.tzinfo is None or closes.tzinfo is None:
        msg = (
            f"{wave[:80]!r} is no wave: give its first moment and its end with their time zones, "
            "as YYYY-MM-DDTHH:MMZ/YYYY-MM-DDTHH:MMZ"
        )
        raise ValueError(msg)
    return int(opens.timestamp()), int(closes.timestamp())


def _number_or_all(given: Any) -> Any:
    """The number that a text is; ``all`` and what is no text as it is; ``ValueError`` for other
    texts."""
    if not isinstance(given, str) or given == "all":
        return given
    number = whole_number(given)
    if number is None:
        msg = "write a whole number, such as 20, or all"
        raise ValueError(msg)
    return number


class Publication(TaskSettings):
    """The settings of a task, and who asks, in which languages."""

    asker: Asker | None = Field(
        default=None,
        description="Who asks, published and signed with the task: name, contact, purpose and link "
        "(https).",
    )
    language: Language | None = Field(default=None, description="The language of the task's texts.")
    translations: tuple[Translation, ...] = Field(
        default=(),
        max_length=MAX_TRANSLATIONS,
        description="The task's texts in other languages: a list of language and texts, which are "
        "pairs of a text and its translation.",
    )

    smallest_batch: Annotated[
        Count | Literal["all"] | None,
        BeforeValidator(_number_or_all),
        Asked("Fewest answers that a relay sends together", method=False),
    ] = Field(
        default=None,
        description="How many answers a relay collects before it sends them on together, also at "
        "the end of the collection; by default 20, or half the people you expect if that is less. "
        "With all, relays hold every answer until the collection has ended, so results come only "
        "then.",
    )

    waves: tuple[Annotated[str, AfterValidator(_dates)], ...] = Field(
        default=(),
        max_length=MAX_WAVES,
        description="Waves of a panel, which asks the same several times, in place of opens and "
        "closes: of each the first moment and the end, within three years, as "
        "YYYY-MM-DDTHH:MMZ/YYYY-MM-DDTHH:MMZ. Holders and quota are then those of each wave.",
    )
    mode: Mode = Field(
        default="rotate",
        description="Whether each holder of a panel answers one wave, which its device draws "
        "(rotate), or every wave (repeat), at epsilon times their number.",
    )

    @model_validator(mode="after")
    def _check_waves(self) -> Self:
        if not self.waves:
            if self.mode == "repeat":
                raise setting_fault(
                    "mode", "mode repeat is of a panel: give its waves, or leave mode out"
                )
            return self
        if self.opens is not None or self.closes is not None:
            first = "closes" if self.opens is None else "opens"
            raise setting_fault(first, "waves have dates of their own: leave opens and closes out")
        Panel(mode=self.mode, waves=tuple(map(dates_of, self.waves)))
        return self

    @property
    def lifetime(self) -> float:
        """The epsilon that all answers of one person cost together."""
        return (self.epsilon or 0.0) * (len(self.waves) if self.mode == "repeat" else 1)

    @property
    def ends(self) -> int | None:
        """The end of the collection, or of the first wave, Unix time; None if it has none."""
        return dates_of(self.waves[0])[1] if self.waves else unix_seconds(self.closes)

    @model_validator(mode="after")
    def _check_smallest_batch(self) -> Self:
        if isinstance(self.smallest_batch, int) and self.smallest_batch > self.holders:
            raise setting_fault(
                "smallest_batch",
                f"smallest_batch is {self.smallest_batch} and {self.holders} holders are expected: "
                "relays would lose every report; give a smaller one, or more holders",
            )
        if self.smallest_batch == "all" and self.holders < 2 * SMALLEST_GROUP:
            raise setting_fault(
                "smallest_batch",
                f"smallest_batch is all and {self.holders} holders are expected: relays send no "
                f"fewer than {SMALLEST_GROUP} then, and would lose them; give a number, or more "
                "holders",
            )
        return self

    def of_plan(self) -> dict[str, Any]:
        """The settings of a plan of the task, as far as they were given, and its holders."""
        planned = {*TaskSettings.model_fields}
        given = self.model_dump(mode="json", exclude_unset=True, include=planned)
        given["holders"] = self.holders
        return given | ({"waves": len(self.waves), "mode": self.mode} if self.waves else {})

    def published(self) -> dict[str, Any]:
        """``TaskSettings.published`` with who asks, translations, smallest batch and waves."""
        given = super().published()
        given |= {name: getattr(self, name) for name in ("asker", "language", "translations")}
        by_default = min(SMALLEST_GROUP, max(1, self.holders // 2))
        given["smallest_batch"] = self.smallest_batch or by_default
        if self.waves:
            panel = Panel(mode=self.mode, waves=tuple(map(dates_of, self.waves)))
            given |= {"panel": panel, "opens": panel.span[0], "closes": panel.span[1]}
        return given
