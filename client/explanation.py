"""A plain-language explanation of a task, shown before anything is answered."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

from privet.protocol.conditions import conditions_at
from privet.protocol.features import Described, EncodedRecord, Feature
from privet.protocol.limits import SMALLEST_GROUP
from privet.protocol.task import Question, Task
from privet.protocol.values import number_text
from privet.protocol.wire import printable

from .clocks import in_utc

UPWARDS = Context(prec=3, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class Explanation:
    """Everything a person should know before taking part, as short texts and plain numbers."""

    name: str
    task: str
    description: str
    asked_by: tuple[str, ...]
    reads: tuple[str, ...]
    label: str
    computes: tuple[str, ...]
    discloses: tuple[str, ...]
    sends: str
    report_bytes: int
    epsilon: float
    log_ratio: float
    means: str
    waves: tuple[str, ...] = ()
    signed_by: str = ""

    @classmethod
    def of(cls, task: Task, signed_by: str = "") -> "Explanation":
        """The explanation of a checked task; ``signed_by`` in words, as of its ``Offer``."""
        return cls(
            name=printable(task.name),
            task=task.id,
            description=printable(task.description, 10_000),
            asked_by=_asked_by(task),
            reads=tuple(_feature(task, feature) for feature in task.features),
            label=_field(task.label),
            computes=tuple(_question(task, index) for index in range(len(task.questions))),
            discloses=_discloses(task),
            sends=_sends(task),
            report_bytes=task.longest_report,
            epsilon=task.epsilon,
            log_ratio=task.log_ratio,
            means=_means(task),
            waves=_waves(task),
            signed_by=signed_by,
        )


def _asked_by(task: Task) -> tuple[str, ...]:
    """The asker's own words; empty if the task names none."""
    if task.asker is None:
        return ()
    asker = task.asker
    return (
        printable(asker.name, 200),
        f"Purpose: {printable(asker.purpose, 1_000)}",
        f"Contact: {printable(asker.contact, 1_000)}",
        f"More: {printable(asker.link, 1_000)}",
    )


def stratum(task: Task, record: EncodedRecord) -> int:
    """The number of the stratum of ``record``; 0 if the task discloses no column."""
    if task.strata is None:
        return 0
    return int(task.strata.of_cell[task.tree_of(0).locate_one(record.x)])


def disclosure(task: Task, record: EncodedRecord) -> str:
    """A sentence on what a report from ``record`` discloses; empty if the task discloses
    nothing."""
    if task.strata is None:
        return ""
    cell = stratum(task, record)
    node = int(task.strata.nodes[cell])
    conditions = conditions_at(task.tree_of(0), task.columns, node)
    said = " and ".join(printable(each.in_words, 200) for each in conditions)
    names = dict.fromkeys(each.feature.name for each in conditions)
    replaced = ", ".join(printable(name, 200) for name in names if name in record.replaced)
    instead = (
        f"Another value is used in place of the record's own: {replaced}. " if replaced else ""
    )
    size, total = task.group_sizes[cell], sum(task.group_sizes)
    return (
        f"Disclosed: {said or 'nothing, as everybody is in one group'}. "
        f"{instead}{_part(size, total)}: {size} of the {total} expected."
    )


def _part(size: int, total: int) -> str:
    if 10 * size >= total:
        return f"About {size / max(total, 1):.0%} of people"
    return f"About 1 in {round(total / size)} people" if size else "You may be the only one"


def _feature(task: Task, feature: Feature) -> str:
    empty = "" if feature.missing is None else "; may be missing"
    disclosed = "; disclosed" if feature.name in task.disclosed else ""
    return _field(feature, f"{empty}{disclosed}")


def _field(asked: Described, more: str = "") -> str:
    """A field: the answer that is asked for, then its question and help where there are any."""
    text = ""
    words = [f"“{printable(asked.prompt, 1_000)}”"] if asked.prompt else []
    words += [printable(asked.description, 1_000)] if asked.description else []
    for each in words:
        text += f" {each}" if text.rstrip("”").endswith((".", "!", "?", "。")) else f". {each}"
    return f"{printable(asked.name, 200)}: {asked.asked}{more}{text}"


def _question(task: Task, index: int) -> str:
    mechanism, question = task.mechanisms[index], task.questions[index]
    what = f"which of {mechanism.cells} published groups the record lies in{_answer(question)}"
    group = ""
    if task.strata is not None:
        group = f"which of {len(task.strata)} disclosed groups the record lies in, and perturbed "
        hidden = f"which of the at most {task.strata.most_hidden} groups in it"
        what = f"{group}{hidden}{_answer(question)}"
    if task.asks_label_alone(index):
        what = f"{group}your answer alone"
    if question.levels != 2:
        what += f", rounded at random to one of {question.levels} numbers"
    return (
        f"{what}, "
        f"perturbed by {question.mechanism} at epsilon {question.epsilon:g} into "
        f"{_bytes(mechanism.report_bytes)}"
    )


def _answer(question: Question) -> str:
    """The part of a question's description that is about the label; may be empty."""
    if question.asks == "cell":
        return ""
    if question.centring is None:
        return " together with its answer"
    return (
        " together with how far its answer is from the one that the task expects there, "
        f"taken as at most {number_text(float(f'{question.centring.radius:.4g}'))} either way"
    )


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def _discloses(task: Task) -> tuple[str, ...]:
    """Sentences on what the message discloses; empty if the task discloses nothing."""
    if task.strata is None:
        return ()
    names = ", ".join(printable(name, 200) for name in task.disclosed)
    few: tuple[str, ...] = ()
    if min(task.group_sizes) < SMALLEST_GROUP:
        few = (
            f"In a group of fewer than {SMALLEST_GROUP} the disclosed values may identify you; "
            "epsilon then protects only the rest of your record.",
        )
    return (
        f"{names}: at the resolution of {len(task.strata)} groups of people. The message "
        "contains your group in the clear, and epsilon does not cover it.",
        f"The curator expects {min(task.group_sizes)} to {max(task.group_sizes)} people in "
        "each group. This device cannot check these numbers.",
        *few,
        "Disclosures in several tasks add up. No epsilon covers that: this device keeps an account "
        "of its own of them.",
    )


def _sends(task: Task) -> str:
    odds_of_each = f" ({' to '.join(map(str, task.parts))})" if task.parts else ""
    chosen = (
        f"one of them, chosen by chance{odds_of_each} and whatever the record is, leaves"
        if task.allocation == "one" and len(task.questions) > 1
        else "this leaves"
    )
    exactly = "at most " if task.allocation == "one" else ""
    length = f"{exactly}{task.longest_report}"
    invitation = ", your invitation" if task.invited else ""
    of_group, apart = (
        (" of your group", "Apart from your group, the") if task.disclosed else ("", "The")
    )
    return (
        f"Only {chosen} the device, in one message of {length} bytes with "
        f"the task's id{invitation} and 16 random bytes by which a repeated message is "
        "recognised. A record that does not fit the questions makes a message like any other"
        f"{of_group}. {apart} record, your name and the true answer stay here. Like any web "
        "server, the one that gets it sees the network address that the message comes from."
        f"{_together(task)}"
    )


def _together(task: Task) -> str:
    """A sentence on how many messages a relay passes on together; empty if nothing is said."""
    if task.smallest_batch is None:
        return ""
    fewest = task.fewest_together
    if fewest == 1:
        return " A relay may pass it on by itself, with no others."
    if task.smallest_batch == "all":
        return (
            " A relay keeps it until the collection has ended, so the result comes only then. It "
            f"passes it on together with all others, at least {fewest - 1}, or not at all: then it "
            "is lost, and what it costs is spent."
        )
    others = f"{fewest - 1} other{'s' * (fewest > 2)}"
    return (
        f" A relay passes it on together with at least {others}, or not at all: then it is lost, "
        "and what it costs is spent."
    )


def _means(task: Task) -> str:
    """Sentences on epsilon: even odds become e^epsilon to one at most."""
    of_cell = " of the same group" if task.disclosed else ""
    group = "Your group is not hidden. " if task.disclosed else ""
    return (
        f"{group}Epsilon {task.epsilon:g} means: no record makes this message more than "
        f"{odds(task.epsilon)} times as likely as another record{of_cell} does. Somebody who "
        f"thinks two possible records{of_cell} equally likely can be at most "
        f"{surest(task.epsilon)} sure after seeing it, whatever else they know and however "
        f"they compute. Recomputed on this device: {task.log_ratio:.6g}."
    )


def _waves(task: Task) -> tuple[str, ...]:
    """Sentences on the waves of a panel and what they cost together; empty without one."""
    if task.panel is None:
        return ()
    count, asked = len(task.panel.waves), "\n  ".join(_dates(each) for each in task.panel.waves)
    if task.panel.mode == "rotate":
        whose = (
            f"It is asked {count} times, and you answer once. When is drawn by this device, "
            "whatever your record is, once you agree; outside your turn nothing is sent."
        )
        since = "then"
    else:
        whose = (
            f"It is asked {count} times, and you may answer each time, also when your record has "
            "changed. Your answers cannot be linked by what is in them, but who takes part can "
            "be seen each time."
        )
        since = "the first one"
    return (
        whose,
        f"All your answers together cost epsilon {task.lifetime:g} at most. This device keeps that "
        f"for them from {since} on.",
        f"Asked:\n  {asked}",
    )


def _dates(wave: tuple[int, int]) -> str:
    return f"{in_utc(wave[0])} to {in_utc(wave[1])}"


def odds(epsilon: float) -> str:
    """The factor by which the odds of two records change at most, rounded up to three digits."""
    if epsilon >= 700:
        return "more than 10^300"
    return number_text(UPWARDS.create_decimal(math.exp(epsilon)))


def surest(epsilon: float) -> str:
    """The probability that even odds become at most, rounded up, since nobody can be surer."""
    return f"{math.ceil(1e3 / (1 + math.exp(-epsilon))) / 10:.1f}%"
