"""The settings of a new task that are only for its holders to read."""

from typing import Self

from pydantic import Field, model_validator

from privet.learning.task_building.settings import Count, TaskSettings
from privet.protocol.limits import MAX_TRANSLATIONS, SMALLEST_GROUP
from privet.protocol.task import Asker, Language, Task, Translation


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

    smallest_batch: Count | None = Field(
        default=None,
        description="Minimum number of reports that relays forward together, also at the end of "
        "the collection; by default 20, or half the holders if that is less.",
    )

    @model_validator(mode="after")
    def _check_smallest_batch(self) -> Self:
        if self.smallest_batch is not None and self.smallest_batch > self.holders:
            msg = (
                f"smallest_batch is {self.smallest_batch} and {self.holders} holders are expected: "
                "relays would lose every report; give a smaller one, or more holders"
            )
            raise ValueError(msg)
        return self

    def introduced(self, task: Task) -> Task:
        """``task`` with who asks, its translations and its smallest batch; raises
        ``InvalidTask``."""
        given = {name: getattr(self, name) for name in ("asker", "language", "translations")}
        by_default = min(SMALLEST_GROUP, max(1, self.holders // 2))
        return task.model_copy(
            update={**given, "smallest_batch": self.smallest_batch or by_default}
        )
