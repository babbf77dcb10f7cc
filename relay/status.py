"""A relay's status of a task: counts, and two guarantees that must not be mixed up.

The local guarantee holds whatever anybody does. The central one is what shuffling adds to it
(``protocol.shuffling``). It is about reports that others made: those that a curator sent itself, as
a holder or through somebody it invited, hide nobody.
"""

from dataclasses import dataclass

from pydantic import BaseModel, Field, ValidationError

from privet.http_client.errors import UnexpectedResponse
from privet.protocol.lifecycle import LOSSES
from privet.protocol.limits import DELTA
from privet.protocol.shuffling import epsilon_of_batch
from privet.protocol.status import CollectionStatus
from privet.protocol.task import Task

TAKEN = ("counted", "replayed", "held")
"""Outcomes of the reports that were taken; held: written as a file, for ``privet collect``."""
RELAY_COUNTS = frozenset({"waiting", "smallest_batch", *TAKEN})
"""Tallies that are not reasons of refusal."""
UNKNOWN = CollectionStatus(phase=None, invited=None)
PARTS = 8
"""In how many batches, about, the expected reports of a small task go."""
STEP = 1_000
"""Counts are in steps of this or more, so nothing is claimed of smaller batches."""
CONDITION = "if at least this many reports in the batch are not the observer's own"


@dataclass(frozen=True)
class BatchSizes:
    """The number of reports of a task that a relay forwards together.

    About ``least``; never fewer than the task says, nor than ``smallest``, whatever a curator says.
    """

    least: int
    smallest: int = 1

    def while_open(self, task: Task, status: CollectionStatus | None) -> int:
        """The number of reports that wait for each other while more may come.

        ``least``; but where the task says how few may go together, no more than its asker expects.
        All whom the asker expects where the task wants all to go together.
        """
        if task.smallest_batch == "all":
            expected = None if status is None else status.expected
            return max(self.least, expected or 0)
        if task.smallest_batch is None or status is None or status.expected is None:
            return max(self.least, self.at_the_end(task))
        return max(min(self.least, status.expected // PARTS), self.at_the_end(task))

    def at_the_end(self, task: Task) -> int:
        """Fewest reports that may go together once no more can come."""
        fewest = self.least if task.smallest_batch is None else task.fewest_together
        return max(fewest, self.smallest)


class Central(BaseModel):
    """The central guarantee for a holder in the smallest batch, of ``reports`` reports."""

    epsilon: float
    delta: float
    reports: int
    condition: str = CONDITION


class RelayStatus(CollectionStatus):
    """Counts are in steps of ``step``, so that nobody sees when a single report arrives.

    ``local_epsilon`` holds against everybody, the relay included. ``central`` holds against
    whoever sees only the curator's side; it is None where too few reports went together for
    shuffling to add anything.
    """

    task: str
    waiting: int = Field(description="Reports still waiting here; all counts are in steps.")
    counted: int = Field(description="Reports that the curator counted.")
    replayed: int = Field(description="Reports that it had counted before.")
    held: int = Field(description="Reports written as files, for the curator to collect.")
    refused: dict[str, int] = Field(description="Reports that it refused, by reason.")
    lost: dict[str, int] = Field(
        description="Reports that came too late, or with too few others, to count, by reason."
    )
    least: int = Field(description="Reports that wait for each other.")
    to_the_end: bool = Field(
        default=False,
        description="Whether all wait until the collection has ended, and then go together.",
    )
    at_the_end: int = Field(
        description="Fewest that are forwarded together once no more can come; fewer are lost."
    )
    step: int = Field(description="All counts are rounded down to a multiple of this.")
    smallest_batch: int = Field(
        description="Smallest number of reports taken together so far; with disclosed columns, of "
        "one stratum."
    )
    local_epsilon: float
    central: Central | None

    @classmethod
    def of(
        cls,
        task: Task,
        sizes: BatchSizes,
        tallies: dict[str, int],
        collection: CollectionStatus | None = None,
    ) -> "RelayStatus":
        """The status from a spool's tallies; takes a tenth of a second where a number is new."""
        least, to_the_end = sizes.while_open(task, collection), task.smallest_batch == "all"
        step = max(sizes.least if to_the_end else least, STEP)
        tallies = {name: n - n % step for name, n in tallies.items()}
        smallest = tallies.get("smallest_batch", 0)
        shuffled = epsilon_of_batch(task, smallest, DELTA)
        central = Central(epsilon=shuffled, delta=DELTA, reports=smallest)
        said = dict(UNKNOWN if collection is None else collection)
        if said["invited"]:
            said["asks_again"] = False  # holders would need another invitation
        return cls(
            task=task.id,
            waiting=tallies["waiting"],
            counted=tallies.get("counted", 0),
            replayed=tallies.get("replayed", 0),
            held=tallies.get("held", 0),
            refused={
                name: n
                for name, n in tallies.items()
                if n and name not in RELAY_COUNTS and name not in LOSSES
            },
            lost={name: n for name, n in tallies.items() if n and name in LOSSES},
            least=least,
            to_the_end=to_the_end,
            at_the_end=sizes.at_the_end(task),
            step=step,
            smallest_batch=smallest,
            **said,
            local_epsilon=task.epsilon,
            central=central if shuffled < task.log_ratio else None,
        )

    @classmethod
    def parse(cls, document: bytes) -> "RelayStatus":
        """A relay's answer; raises ``UnexpectedResponse`` for anything else."""
        try:
            return cls.model_validate_json(document)
        except ValidationError:
            raise UnexpectedResponse(
                "This address is not a relay's: give the task's address at the relay, as holders "
                "use it."
            ) from None

    def lines(self) -> list[tuple[str, str]]:
        """Names and values for a person; each guarantee has a line of its own."""
        central = "no more than the local one: too few reports have gone together"
        if self.central is not None:
            central = (
                f"({self.central.epsilon:.3g}, {self.central.delta:g}) against who sees the "
                f"curator's side only, in batches of {self.central.reports} or more, "
                f"{self.central.condition}"
            )
        refused = ", ".join(f"{reason}: {n}" for reason, n in self.refused.items())
        lost = ", ".join(f"{n}, {LOSSES[reason]}" for reason, n in self.lost.items())
        when = f"when {self.least} are together"
        if self.to_the_end:
            when = "together, when the collection has ended"
        return [
            ("delivered and counted", str(self.counted)),
            ("waiting here", f"{self.waiting}, sent on {when}"),
            ("at the end", f"sent on if at least {self.at_the_end} are left, else lost"),
            ("counts are", f"rounded down to multiples of {self.step}"),
            ("refused by the curator", refused or "none"),
            ("lost", lost or "none"),
            ("local epsilon", f"{self.local_epsilon:g} against everybody, this relay included"),
            ("central (epsilon, delta)", central),
        ]
