"""The result of planning, and its sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import ceil, exp, sqrt
from typing import Any

from privet.protocol.panel import Mode

from ..core.amounts import TELLING, about, amount, of_hundred, percent
from ..core.looks import Looks
from ..core.public_data import Floats

TOO_FEW, NOT_REACHABLE = "too few to tell", "not reachable"
SIZES = "People needed, by precision"
"""The title of a plan's ``sizes``."""
ROUGH = 0.1
"""Half width, as a part of all there can be, beyond which a figure is only a rough one."""
OUT_OF_REACH = 10
"""Multiple of the planned holders beyond which a target is out of reach."""


@dataclass(frozen=True)
class Mean:
    """A number with its standard error."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, values: Floats) -> "Mean":
        """Mean and standard error of independent values."""
        return cls(float(values.mean()), float(values.std(ddof=1) / sqrt(len(values))))


@dataclass(frozen=True)
class Prospect:
    """The detectable differences with the planned reports.

    ``half_width`` is that of the widest overall 95 % interval. ``overall_shift`` and ``cell_shift``
    are the smallest differences between holders and public records detected with the plan's power,
    of a class's share, or of a mean in the label's units; None where the largest possible
    one is not. ``power`` is the probability that the plan's target is detected. The task has
    ``cells``: more of them tell more groups apart, each less precisely.
    """

    cells: int
    half_width: float
    overall_shift: float | None
    cell_shift: float | None
    power: float


@dataclass(frozen=True)
class SampleSize:
    """The ``holders`` that a task takes for overall figures to plus or minus ``half_width``; None
    where no number of them is enough."""

    half_width: float
    holders: int | None


@dataclass(frozen=True)
class Showing:
    """The same plan with other columns ``allowed`` to be disclosed; none for all hidden.

    Of these the task discloses ``columns``; its ``cells`` are in ``stratum_count`` strata; ``here``
    and ``stop_after`` are as in the plan.
    """

    allowed: tuple[str, ...]
    columns: tuple[str, ...]
    cells: int
    stratum_count: int
    here: Prospect
    stop_after: int | None


@dataclass(frozen=True)
class BehindRelay:
    """The local epsilon that a central (``epsilon``, ``delta``) among ``batch`` honest reports
    allows.

    ``mechanism`` and the plan's epsilon are the most precise with it, up to a local epsilon of
    ``cap``; the central epsilon that then holds is ``stated``. Without a relay the local epsilon
    itself would have to be that small, and overall figures known to ``direct_width``.
    """

    epsilon: float
    delta: float
    batch: int
    cap: float
    stated: float
    mechanism: str
    direct_width: float


@dataclass(frozen=True)
class InWaves:
    """The changes that a panel of one ``mode`` shows, of ``holders`` in each wave at ``epsilon``.

    ``overall_change`` and ``cell_change`` are the smallest changes between two waves that are
    listed with the plan's power, at least; None where the largest possible one is not. ``power``
    is the least probability of listing a change of the plan's target overall, and
    ``people_needed`` how many people the same tasks take for the plan's.
    """

    mode: Mode
    holders: int
    epsilon: float
    overall_change: float | None
    cell_change: float | None
    power: float
    people_needed: int | None


@dataclass(frozen=True)
class PanelPlan:
    """The same people asked in ``waves``, at an equal ``lifetime`` epsilon: first as planned."""

    waves: int
    people: int
    lifetime: float
    modes: tuple[InWaves, ...]


@dataclass(frozen=True)
class RareClass:
    """Scores of a class that few public records have, of which accuracy says little.

    ``share`` of them do. If they are fair, a model of them has the ``log_loss``, where predicting
    their shares for everybody has ``log_loss_of_shares``, and the ``auc`` of this class against the
    rest. ``gains`` are by how much reports lower the log loss, named as those of the plan.
    """

    name: str
    share: float
    log_loss: Mean
    log_loss_of_shares: float
    auc: Mean
    gains: Mapping[str, Mean]


@dataclass(frozen=True, repr=False)
class Plan:
    """The plan of a collection of ``holders`` reports at ``epsilon`` beside ``public_records``.

    ``expected`` is the ``score``, the accuracy or the mean squared error of a number, if the public
    records are fair, and ``here`` is what the planned reports show. A published task's tree does
    not change, so all numbers of reports are for the one task that is planned: ``shift_after`` of
    them show a shift of ``target_shift`` with probability ``power``, ``stop_after`` give overall
    figures to plus or minus ``half_width``, and ``sample_sizes`` are those of other half-widths,
    the widest first; None where no number is enough. Numbers ``around_centres`` are clipped, and
    half-widths are those of holders whose numbers lie as the public ones, shifts of such that
    spread half to twice as far. ``gains`` are
    what reports are worth, in accuracy or parts of a number's variance, by a sentence that says how
    holders differ. ``questions`` are the published questions' mechanisms and cells. Where columns
    are disclosed, ``showing`` compares none disclosed, the plan's, and all, in that order; else it
    is empty. ``relay`` says what a central guarantee led to, where one was asked for. ``rare`` has
    other scores of a label with a class so rare that accuracy hardly depends on it. ``panel`` is
    about changes between waves, where some are planned; all else is then about one wave.
    ``remarks`` are what looks wrong about the public columns.
    """

    score: str
    label: str
    public_records: int
    holders: int
    epsilon: float
    looks: Looks
    estimator: str
    questions: tuple[dict[str, Any], ...]
    report_bytes: int
    expected: Mean
    here: Prospect
    target_shift: float
    power: float
    shift_after: int | None
    half_width: float
    stop_after: int | None
    sample_sizes: tuple[SampleSize, ...]
    gains: Mapping[str, Mean]
    showing: tuple[Showing, ...] = ()
    relay: BehindRelay | None = None
    rare: RareClass | None = None
    panel: PanelPlan | None = None
    span: float = 1.0
    """All that an overall figure can be: 1 for a share, or the width of a number's range."""
    around_centres: bool = False
    telling_after: int | None = 0
    """Reports of the published task that give overall figures to ± ``TELLING`` of the span."""
    question: str = ""
    """The label's question as people read it, or none."""
    label_unit: str = ""
    remarks: tuple[str, ...] = ()

    def to_document(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {**asdict(self), "enough": self.enough, "answers": self.answers, "board": self.board}

    @property
    def unit(self) -> str:
        """The unit of gains, which are disclosed times 100."""
        return "points of accuracy" if self.score == "accuracy" else "% of the label's variance"

    @property
    def enough(self) -> bool:
        """True if the planned collection shows the target with the power that is asked for."""
        return self.here.power >= self.power

    @property
    def tells(self) -> bool:
        """True if overall intervals are narrower than all that is possible."""
        return self.here.half_width < self.span / 2.0

    @property
    def sizes(self) -> dict[str, str]:
        """``sample_sizes`` as text, by half-width."""
        return {
            f"± {self.amount(size.half_width)}": NOT_REACHABLE
            if size.holders is None
            else _about(size.holders)
            for size in self.sample_sizes
        }

    def gain_in_words(self, gain: Mean) -> str:
        """A gain as text, without a number where the planned reports tell nothing."""
        if not self.tells:
            return TOO_FEW
        return f"{_signed(f'{100 * gain.value:+.1f}')} ± {100 * gain.standard_error:.1f}"

    @property
    def verdict(self) -> str:
        """The plan in a few words: the precision of overall figures, or too few."""
        if not self.tells:
            return "Too few people to tell anything"
        people = f"{_number(self.holders)} people{' in each wave' if self.panel else ''}"
        figure = "each share" if self.score == "accuracy" else "the mean"
        said = f"{people} give {figure} to ± {self.amount(self.here.half_width)}"
        if self.here.half_width <= ROUGH * self.span:
            return said
        first = self.sample_sizes[0]
        more = ""
        if first.holders is not None:
            more = f", about {_about(first.holders)} would to ± {self.amount(first.half_width)}"
        return f"Only a rough figure: {said}{more}"

    @property
    def answers(self) -> list[str]:
        """The plan in sentences."""
        here, of = self.here, f"{_number(self.holders)} holders at ε = {self.epsilon:g}"
        name = "accuracy" if self.score == "accuracy" else "a mean squared error of"
        fair = (
            f"If the public data are fair, expect {name} "
            f"{amount(float(f'{self.expected.value:.3g}'))} ± "
            f"{amount(float(f'{self.expected.standard_error:.1g}'))} from them only, and no more "
            "from the reports."
        )
        enough = "are enough" if self.enough else "are too few"
        often, spread, lie = percent(self.power), "", ""
        takes = f"For {often} of them to show it this task takes {_reports(self.shift_after)}."
        if self.around_centres:
            lie = ", if their numbers lie as those of the public records"
            spread = ", or more, if their numbers spread half to twice as far as public ones"
        if self.shift_after is None:
            enough = "are not enough"
            takes = f"More holders would not make that {often}; more public records might."
        shift = (
            f"To show that holders and public records differ by {self.amount(self.target_shift)} "
            f"overall, {of} {enough}: {_chance(here.power)} of such collections show it"
            f"{spread}. {takes}"
        )
        cell = "no difference, however large, is"
        if here.cell_shift is not None:
            cell = f"a difference of {self.amount(here.cell_shift)} or more is"
        local = f"In half of the cells {cell} shown by {often} of such collections."
        when = ", however often you look"
        if self.looks == "once":
            when = " at one look, set beforehand"
        known = f"{of} give every overall figure to ± {self.amount(here.half_width)}{when}{lie}."
        if not self.tells:
            known = (
                f"{of} are {TOO_FEW} any overall figure: {_reports(self.telling_after)} "
                f"of this task would give them to ± {self.amount(TELLING * self.span)}."
            )
        width = (
            f"For ± {self.amount(self.half_width)} this task takes {_reports(self.stop_after)}, "
            f"with its {here.cells} cells: the tree of a published task does not change."
        )
        compared = [self._compared()] if self.showing else []
        rare = [] if self.rare is None else [self._of_rare(self.rare)]
        panel = [] if self.panel is None else self._of_panel(self.panel)
        first = [known, shift, width, local, fair, *rare]
        sentences = [*first, *compared, self._stopping(), *panel]
        return sentences if self.relay is None else [*sentences, *self._behind_relay(self.relay)]

    def _of_rare(self, rare: RareClass) -> str:
        gains = "; ".join(
            f"{_signed(f'{gain.value:+.2g}')} ± {gain.standard_error:.1g} if {_lowered(case)}"
            for case, gain in rare.gains.items()
        )
        return (
            f"“{self.label}” is “{rare.name}” for {rare.share:.2g} of the public records, so "
            f"accuracy says little. Expect a log loss of {rare.log_loss.value:.3g} ± "
            f"{rare.log_loss.standard_error:.1g}, where the same shares for everybody have "
            f"{rare.log_loss_of_shares:.3g}, and an AUC of {rare.auc.value:.2g} ± "
            f"{rare.auc.standard_error:.1g} for “{rare.name}” against the rest. Reports lower the "
            f"log loss by {gains}."
        )

    def _of_panel(self, panel: PanelPlan) -> tuple[str, str]:
        """The changes between waves that a panel shows, and the people whom the target takes."""
        looks = (
            "at whichever look you stop" if self.looks == "many" else "at one look, set beforehand"
        )
        said, takes = [], []
        for each in panel.modes:
            who = f"{each.mode}, {_number(each.holders)} in each wave at ε = {each.epsilon:.3g}"
            overall, cell = (
                "none" if change is None else f"{self.amount(change)} or more"
                for change in (each.overall_change, each.cell_change)
            )
            said.append(f"If they {who}: {overall} overall, {cell} in half of the cells.")
            needed = each.people_needed
            many = "more people than there are" if needed is None else f"{_number(needed)} people"
            takes.append(f"{many} who {each.mode}")
        return (
            f"All of this is about one wave. In {panel.waves} waves {_number(panel.people)} people "
            f"spend a lifetime ε of {panel.lifetime:.3g} each, and in {percent(self.power)} of "
            f"such panels or more these changes between two waves are listed. {' '.join(said)}",
            f"For a change of {self.amount(self.target_shift)} overall it takes "
            f"{', or '.join(takes)}. Of the changes that are listed {looks}, one in twenty is "
            "false in expectation.",
        )

    def _compared(self) -> str:
        """A comparison of tasks that disclose no column, the plan's, and all."""
        takes, shows = [], []
        for other in self.showing:
            what = self._disclosed(other)
            least = self.amount(other.here.cell_shift, "no shift")
            takes.append(f"{_reports(other.stop_after)} with {what}".removeprefix("about "))
            shows.append(f"{least} ({other.cells} cells) with {what}")
        void = [
            other.columns for other in self.showing if other.columns and other.stratum_count == 1
        ]
        nothing = ""
        if void:
            nothing = (
                f" But with {listed(void[0])} disclosed, reports would disclose nothing: no part "
                "of the public records is evidence of a large enough group, or all levels split on "
                "hidden columns."
            )
        mine, kept = self.showing[1], ""
        if mine.columns != mine.allowed:
            hidden = listed([name for name in mine.allowed if name not in mine.columns])
            kept = (
                f" The task hides {hidden} too: groups allow so few strata that levels below them "
                "tell more. With a hidden_depth it would disclose all that it may."
            )
        return (
            f"For ± {self.amount(self.half_width)}, tasks planned for {_number(self.holders)} "
            f"holders take: {'; '.join(takes)}. Half of the cells show: {'; '.join(shows)}."
            f"{kept}{nothing}"
        )

    def _disclosed(self, other: Showing) -> str:
        """Words for what a task of the comparison hides or discloses."""
        if not other.allowed:
            return "everything hidden"
        if other.columns == self.showing[-1].allowed:
            return "only the label hidden"
        of = "" if other.columns == other.allowed else f" of {listed(other.allowed)}"
        return f"{listed(other.columns)}{of} disclosed"

    def _behind_relay(self, relay: BehindRelay) -> tuple[str, str]:
        most, together = "", _number(relay.batch)
        if self.epsilon >= relay.cap:
            most = f", the most that holders accept here; it leaves {relay.stated:.3g}"
        elif self.epsilon <= relay.epsilon:
            most = ": this few reports hide nobody"
        return (
            f"Behind a relay that sends at least {together} reports together, a central (ε, δ) = "
            f"({relay.epsilon:g}, {relay.delta:g}) allows a local ε of {self.epsilon:g} with "
            f"{relay.mechanism}{most}. Without the relay it takes a local ε of "
            f"{relay.epsilon:g}, which gives overall figures to "
            f"± {self.amount(relay.direct_width)}.",
            "The central guarantee holds against those who see only the curator's side, as long "
            f"as {together} of the reports in the batch are from honest holders and the relay "
            "keeps to itself who sent which. Create the task with a smallest batch of as many: a "
            "relay may otherwise send the last reports in smaller ones. Against everybody, the "
            "relay included, the local ε holds.",
        )

    def _stopping(self) -> str:
        if self.looks == "once":
            return "Stop once the planned reports are in: earlier looks prove nothing."
        reached = ""
        if self.stop_after is not None and self.stop_after <= OUT_OF_REACH * self.holders:
            reached = f"at ± {self.amount(self.half_width)}, or "
        return (
            f"Stop {reached}as soon as the difference that matters is listed: looking early or "
            "often does no harm."
        )

    @property
    def board(self) -> str:
        """A paragraph for an ethics board or a data protection officer, to be completed."""
        panel = self.panel
        people, lifetime = self.holders, self.epsilon
        sends, message, spent = "sends one message", "the message", f"ε = {self.epsilon:g}"
        enough = "With this number of people and this ε, a"
        found = f"found with a probability of {_chance(self.here.power)}"
        if panel is not None:
            people, lifetime, as_planned = panel.people, panel.lifetime, panel.modes[0]
            enough = f"With {_number(self.holders)} people in each wave and this ε, a"
            found += (
                f", and a change as large between two waves with one of {_chance(as_planned.power)}"
            )
            sends = f"draws one of {panel.waves} waves and sends one message in it,"
            if as_planned.mode == "repeat":
                sends = f"sends one message in each of {panel.waves} waves,"
                message, spent = "all messages of a device", f"{spent} each, {lifetime:g} in all"
        sure = f"{min(of_hundred(lifetime), 99)}\u00a0%"
        if of_hundred(lifetime) > 99:
            sure = f"{min(ceil(1e4 / (1.0 + exp(-lifetime))) / 100.0, 99.99):g}\u00a0%"
        shift = self.amount(self.target_shift)
        asked = f"“{self.question}”" if self.question else f"for {self.label}"
        return (
            f"We ask about {_number(people)} people {asked} and never receive what "
            f"they answer. Each device {sends} of at most {self.report_bytes} bytes, in "
            f"which {self._protected} changed at random (local differential privacy, {spent}). "
            f"Somebody who sees {message} and thinks two records equally "
            f"likely{self._alike} can be at most {sure} sure which of them is the true "
            "one, whatever else they know; this holds against us too, and for as long as messages "
            "exist. Messages are added up when they arrive; only their sums are kept, and a "
            f"random number of each, to recognise a repeated message. {enough} difference of "
            f"{shift} between them and our {_number(self.public_records)} public records is "
            f"{found}. A smaller ε would protect more and find less; fewer "
            "people would not protect more."
        )

    @property
    def _protected(self) -> str:
        if not self.showing:
            return "the answer and the features are"
        if self.showing[1].columns == self.showing[-1].allowed:
            rest = "the answer is"
        else:
            rest = "the answer and the other features are"
        return (
            f"{listed(self.showing[1].columns)} can be read as far as our "
            f"{self.showing[1].stratum_count} groups of people tell them apart, and {rest}"
        )

    @property
    def _alike(self) -> str:
        return ", both of one such group," if self.showing else ""

    def amount(self, shift: float | None, none: str = "none") -> str:
        """A shift in points, or in the label's units."""
        if shift is None:
            return none
        if self.score == "accuracy":
            return f"{100 * shift:.1f} points"
        number = amount(float(f"{shift:.3g}")).replace("\u202f", " ")
        return f"{number}\u00a0{self.label_unit}" if self.label_unit else number

    @property
    def tables(self) -> dict[str, dict[str, str]]:
        """The people needed for each half-width, and the gains, by title and first column."""
        gains = {sentence: self.gain_in_words(gain) for sentence, gain in self.gains.items()}
        return {SIZES: self.sizes, f"Gain from the reports, in {self.unit}": gains}

    def __str__(self) -> str:
        """The answers, and the tables."""
        lines = list(self.answers)
        for title, rows in self.tables.items():
            width = max(map(len, rows.values()))
            lines += [f"{title}:", *(f"  {value:>{width}}  {of}" for of, value in rows.items())]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The answers, and the tables, in a notebook."""
        said = "".join(f"<p>{escape(answer)}</p>" for answer in self.answers)
        for title, of in self.tables.items():
            rows = (f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in of.items())
            said += (
                f"<table><caption>{escape(title)}</caption><tbody>{''.join(rows)}</tbody></table>"
            )
        return said


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _lowered(sentence: str) -> str:
    """A sentence as the end of another."""
    return f"{sentence[0].lower()}{sentence[1:]}".rstrip(".")


def _chance(power: float) -> str:
    """A probability in percent, never rounded to none or to all."""
    if power < 0.005:
        return "less than 1\u00a0%"
    return "more than 99\u00a0%" if power > 0.995 else f"{100.0 * power:.0f}\u00a0%"


def _signed(number: str) -> str:
    """A number that has a sign, with a true minus sign; a zero has none."""
    return number.replace("-", "\u2212") if number.strip("+-0.") else number.lstrip("+-")


def _about(number: int) -> str:
    """A number in two digits, with the spaces of other numbers here."""
    return about(number).replace("\u202f", " ")


def _reports(number: int | None) -> str:
    """About how many reports it takes, in words."""
    return "more reports than there can be" if number is None else f"about {_about(number)} reports"


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")
