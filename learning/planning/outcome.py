"""The result of planning, and its sentences."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from math import ceil, exp, sqrt
from typing import Any

from privet.protocol.panel import Mode

from ..core.amounts import (
    TELLING,
    about,
    amount,
    capital,
    listed,
    lowered,
    of_hundred,
    percent,
    points,
    thousands,
)
from ..core.looks import Looks
from ..core.public_data import Floats
from ..figures.sentences import around_centres
from .populations import DRAWS, RAREST, SCARCE

ASK_FOR_REGISTER = (
    "Do you have a list of the people you ask, without their answers, or a table that counts them? "
    "With it answers may disclose the columns that you know anyway, and their groups are counted "
    "instead of estimated."
)
TOO_FEW = "too few to tell"
WORSE = (
    "A gain below 0 means that a model of this many answers predicts worse in that case than your "
    "file does without them."
)
HARDLY = 0.005
"""Gain up to which predictions count as no better, in accuracy or parts of a number's variance."""
MUCH_BETTER = 0.7
"""Part of the plan's half-width up to which that of the question alone is worth a sentence."""
SIZES = "People needed, by precision"
"""The title of a plan's ``sizes``."""


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
    """The fewest ``holders`` whose own plan gives overall figures to ± ``half_width``."""

    half_width: float
    holders: int


@dataclass(frozen=True)
class Disclosing:
    """The same plan with other columns ``allowed`` to be disclosed; none for all hidden.

    Of these the task discloses ``columns``; its ``cells`` are in ``stratum_count`` strata; ``here``
    and ``stop_after`` are as in the plan.
    """

    allowed: tuple[str, ...]
    columns: tuple[str, ...]
    cells: int
    stratum_count: int
    here: Prospect
    stop_after: int


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
    records are fair, and ``here`` is what the planned reports show. More people get a finer tree,
    so each number of people is the least whose own plan reaches the target, None without one:
    ``shift_after`` show a shift of ``target_shift`` with probability ``power``, ``people_needed``
    give overall figures to plus or minus ``half_width``, ``telling_after`` to ± ``TELLING`` of the
    span, and ``sample_sizes`` are those of other half-widths, the widest first. A published task's
    tree does not change: ``stop_after`` reports to the one that is planned give ± ``half_width``,
    or ``at_one_look`` of them at a single look. Of numbers ``around_centres`` only the mean is
    stated, from the part that is
    asked for it alone. ``gains`` are
    what reports are worth, in accuracy or parts of a number's variance, by a sentence that says how
    holders differ. ``questions`` are the published questions' mechanisms and cells. Where columns
    are disclosed, ``disclosing`` compares none, the plan's, and all, in that order; else it is
    empty. ``relay`` says what a central guarantee led to, where one was asked for. ``rare`` has
    other scores of a label with a class so rare that accuracy hardly depends on it. ``panel`` is
    about changes between waves, where some are planned; all else is then about one wave.
    Groups are counted among the ``registered`` people of a register; ``strata_without_register`` is
    the number of strata that public records alone would allow, where columns are disclosed.
    ``remarks`` are what looks wrong about the public columns. A task without features has no
    ``public_records``, so nothing is ``expected`` of them, or compared with them.
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
    expected: Mean | None
    here: Prospect
    target_shift: float
    power: float
    shift_after: int | None
    half_width: float
    stop_after: int
    people_needed: int | None
    sample_sizes: tuple[SampleSize, ...]
    gains: Mapping[str, Mean]
    disclosing: tuple[Disclosing, ...] = ()
    relay: BehindRelay | None = None
    rare: RareClass | None = None
    panel: PanelPlan | None = None
    span: float = 1.0
    """All that an overall figure can be: 1 for a share, or the width of a number's range."""
    around_centres: bool = False
    ends: str = ""
    """The values that count as the ends of a number's range, in words."""
    same_for_all: float | None = None
    """The score where everybody is predicted to have the likeliest class, or the mean."""
    asked_alone: float | None = None
    """The half-width of shares if the same people are asked for the label only."""
    at_one_look: int = 0
    telling_after: int | None = None
    left_open: str = ""
    """An example of what the precision leaves open, in words."""
    rarest: str = ""
    """The answer that fewest people give by the public records, of classes."""
    question: str = ""
    """The label's question as people read it, or none."""
    label_unit: str = ""
    remarks: tuple[str, ...] = ()
    registered: int = 0
    strata_without_register: int | None = None

    def to_document(self) -> dict[str, Any]:
        """The plan as JSON values."""
        said = {name: getattr(self, name) for name in ("verdict", "answers", "details", "board")}
        return {**asdict(self), "enough": self.enough, **said}

    @property
    def unit(self) -> str:
        """The unit of gains, which are stated times 100."""
        if self.score == "accuracy":
            return "points of right predictions"
        return "% of the label's variance"

    @property
    def enough(self) -> bool:
        """True if the planned collection shows the target with the power that is asked for, or,
        without public records, gives overall figures as precisely as is asked for."""
        if self.expected is None:
            return self.here.half_width <= self.half_width
        return self.here.power >= self.power

    @property
    def tells(self) -> bool:
        """True if overall intervals are narrower than all that is possible."""
        return self.here.half_width < self.span / 2.0

    @property
    def tells_enough(self) -> bool:
        """True if overall figures are known to ± ``TELLING`` of all that is possible."""
        return self.here.half_width <= TELLING * self.span

    @property
    def sizes(self) -> dict[str, str]:
        """``sample_sizes`` as text, by half-width."""
        return {
            f"± {self.amount(size.half_width)}": about(size.holders) for size in self.sample_sizes
        }

    def gain_in_words(self, gain: Mean) -> str:
        """A gain as text, without a number where the planned reports tell nothing."""
        if not self.tells:
            return TOO_FEW
        error = f"{100 * gain.standard_error:.1f}"
        if error == "0.0":  # where each simulated study leads to nearly the same predictions
            error = "below 0.1"
        return f"{_signed(f'{100 * gain.value:+.1f}')} ± {error}"

    def case_in_words(self, sentence: str) -> str:
        """A sentence of ``gains`` that names the rarest answer."""
        named = f"{RAREST}, “{self.rarest}”," if self.rarest else RAREST
        return sentence.replace(RAREST, named)

    @property
    def verdict(self) -> str:
        """The plan in a few words: the precision of overall figures, and the people for more.

        Where that tells hardly anything, an example, and what the question alone would give.
        """
        if not self.tells_enough:
            alone = ""
            if self.asked_alone is not None and self._gains_alone(self.asked_alone):
                alone = f" The question alone would give ± {self.amount(self.asked_alone)}."
            return f"{self._people_asked} are too few: {self.left_open}.{alone}"
        here = f"± {self.amount(self.here.half_width)} with {self._people_asked}"
        narrower = self._narrower()
        if narrower is None:
            return here
        wish = self.amount(narrower.half_width)
        if self.score == "accuracy":
            wish = f"{100.0 * narrower.half_width:g}"
        beyond = "" if self._are_listed(narrower.holders) else ", more than your list has"
        return f"{here}; to ± {wish} you would need {about(narrower.holders)}{beyond}"

    @property
    def _people_asked(self) -> str:
        return f"{thousands(self.holders)} people{' in each wave' if self.panel else ''}"

    def _narrower(self) -> SampleSize | None:
        """The wish, or the widest of ``sample_sizes``, that takes more people than are planned."""
        sizes = list(self.sample_sizes)
        if self.people_needed is not None:
            sizes.insert(0, SampleSize(self.half_width, self.people_needed))
        return next((size for size in sizes if size.half_width < self.here.half_width), None)

    @property
    def answers(self) -> list[str]:
        """The plan in sentences for whoever asks."""
        said = [self.ends]
        if not self.tells_enough:
            return [*filter(None, said), *self._enough_people()]
        if self.expected is not None:
            said.append(self._no_better(self.expected))
            said += [self._difference(), self._in_groups() if self.here.cells > 1 else ""]
            said.append(self._asked_alone())
        if self.panel is not None:
            said.append(self._change(self.panel.modes[0]))
        return [*filter(None, said), self._stopping()]

    @property
    def details(self) -> list[str]:
        """The grounds of the plan and its other numbers, in the words of the method."""
        said, gains = [self._known(), self._needed()], self.gains.values()
        if self.expected is not None:
            said += [self._of_register(), self._if_fair(self.expected)]
        if self.tells and any(gain.value < -2.0 * gain.standard_error for gain in gains):
            said.append(WORSE)
        said += [] if self.rare is None else [self._of_rare(self.rare)]
        said += [self._compared()] if self.disclosing else []
        said += [] if self.panel is None else self._of_panel(self.panel)
        return said if self.relay is None else [*said, *self._behind_relay(self.relay)]

    def _enough_people(self) -> list[str]:
        """The people who would tell something, where those who are planned do not."""
        if self.telling_after is None:
            return []
        who, to = _people(self.telling_after), self.amount(TELLING * self.span)
        return [f"{capital(who)} would give ± {to}."]

    @property
    def _often(self) -> str:
        return f"{10.0 * self.power:g} times in 10"

    def _no_better(self, expected: Mean) -> str:
        """The use of the answers where predictions gain nothing from them, if the file is fair.

        Not even with a quarter of the file do they, where this stands; where a file that is off
        gains, the sentence is only about one that is not.
        """
        fair = self.gains.get(SCARCE)
        if not self.tells or fair is None or fair.value > HARDLY:
            return ""
        said = "People's answers would not make predictions better than your file's"
        if any(gain.value > HARDLY for gain in self.gains.values()):
            said = (
                "If people are like your file, their answers would not make predictions better "
                "than the file's"
            )
        if self.score == "accuracy":
            said += f": right for {percent(expected.value)} either way"
        shift, off = self.here.overall_shift, ""
        if shift is not None:
            off = f", and whether your file is off by {self.amount(shift)} or more"
        what = "how many people give each answer" if self.score == "accuracy" else "the mean"
        return f"{said}. They show {what}{off}."

    def _difference(self) -> str:
        """The chance that the wished difference shows, and the people that it takes."""
        of, chance = f"a difference of {self.amount(self.target_shift)}", _chance(self.here.power)
        if self.shift_after is None:
            return (
                f"Do not count on seeing {of} from your file: {chance} of such studies show it"
                ". More people would not show it; a file of more than "
                f"{thousands(self.public_records)} records might."
            )
        only = "" if self.enough or chance.startswith("less") else "only "
        return (
            f"{capital(of)} from your file would show in {only}{chance} of such studies; it takes "
            f"{_people(self.shift_after)} to show it {self._often}."
        )

    def _in_groups(self) -> str:
        """The difference that shows in half of the cells, or the reason for stating none."""
        if self.around_centres:
            return around_centres(alone=True)
        least = self.here.cell_shift
        if least is None:
            return "In groups, do not count on seeing any difference from your file."
        return (
            f"In half of the {self.here.cells} planned groups a difference of "
            f"{self.amount(least)} or more would show {self._often}."
        )

    def _asked_alone(self) -> str:
        """The precision without other questions, where that is much better."""
        if self.asked_alone is None or not self._gains_alone(self.asked_alone):
            return ""
        return (
            f"Asked this question alone, {self._people_asked} give ± "
            f"{self.amount(self.asked_alone)} if they answer as in your file, and say nothing of "
            "groups."
        )

    def _gains_alone(self, asked_alone: float) -> bool:
        """True if this precision is worth a sentence."""
        return asked_alone <= min(MUCH_BETTER * self.here.half_width, self.span / 2.0)

    def _change(self, planned: InWaves) -> str:
        """The change between two waves that shows."""
        if planned.overall_change is None:
            return "Do not count on seeing any change between two waves, however large."
        return (
            f"A change of {self.amount(planned.overall_change)} or more between two waves would "
            f"show at least {self._often}."
        )

    def _if_fair(self, expected: Mean) -> str:
        """The score that public records alone give, if they are fair."""
        if self.score == "accuracy":
            same = ""
            if self.same_for_all is not None:
                same = f" (the same prediction for everybody for {percent(self.same_for_all)})"
            return (
                "If your file is like the people who are asked, predictions from it are right for "
                f"{percent(expected.value)} ± {points(expected.standard_error)}{same}, and no more "
                "with the answers."
            )
        same = ""
        if self.same_for_all is not None:
            of = amount(float(f"{self.same_for_all:.3g}"))
            same = f" (to predict the same for everybody gives {of})"
        return (
            "If your file is like the people who are asked, expect a mean squared error of "
            f"{amount(float(f'{expected.value:.3g}'))} ± "
            f"{amount(float(f'{expected.standard_error:.1g}'))} from it only{same}, and no less "
            "with the answers."
        )

    def _known(self) -> str:
        """The precision of overall figures, and what it rests on."""
        of = f"{self._people_asked} at ε = {self.epsilon:g}"
        what, none = "every overall figure", "any overall figure"
        if self.score != "accuracy":
            what = none = "the mean"
        when = ", however often you look"
        if self.looks == "once":
            when = " at one look, set beforehand"
        if self.expected is None:
            when = f", whatever people answer{when}"
        if self.tells:
            return f"{of} give {what} to ± {self.amount(self.here.half_width)}{when}."
        return f"{of} are {TOO_FEW} {none}."

    def _needed(self) -> str:
        """The answers that the precision that is asked for takes, to the task as it is planned."""
        rest = ""
        takes = f"Published with this plan, the task takes about {about(self.stop_after)}"
        if self.expected is not None:
            takes = (
                f"With this plan's {self.here.cells} groups kept as they are, the task takes about "
                f"{about(self.stop_after)}"
            )
            rest = (
                " Publishing grows the tree anew, by a public model of more trees, so that it may "
                "have some groups more or fewer; then it does not change."
            )
        return (
            f"{takes} answers for ± {self.amount(self.half_width)}. Each number of people in the "
            f"table is that of a plan for so many.{rest}"
        )

    def _of_rare(self, rare: RareClass) -> str:
        gains = "; ".join(
            f"{_signed(f'{gain.value:+.2g}')} ± {gain.standard_error:.1g} if "
            f"{lowered(self.case_in_words(case))}"
            for case, gain in rare.gains.items()
        )
        return (
            f"“{self.label}” is “{rare.name}” for {percent(rare.share)} of your file, so the share "
            "of right predictions says little. Expect a log loss of "
            f"{rare.log_loss.value:.3g} ± "
            f"{rare.log_loss.standard_error:.1g}, where the same shares for everybody have "
            f"{rare.log_loss_of_shares:.3g}, and an AUC of {rare.auc.value:.2g} ± "
            f"{rare.auc.standard_error:.1g} for “{rare.name}” against the rest. Answers lower the "
            f"log loss by {gains}."
        )

    def _of_panel(self, panel: PanelPlan) -> tuple[str, str]:
        """The changes between waves that a panel shows, and the people whom the target takes."""
        looks = (
            "at whichever look you stop" if self.looks == "many" else "at one look, set beforehand"
        )
        said, takes = [], []
        for each in panel.modes:
            who = f"{each.mode}, {thousands(each.holders)} in each wave at ε = {each.epsilon:.3g}"
            overall, cell = (
                "none" if change is None else f"{self.amount(change)} or more"
                for change in (each.overall_change, each.cell_change)
            )
            in_cells = f" overall, {cell} in half of the groups"
            if self.expected is None or self.around_centres:
                in_cells = ""
            said.append(f"If they {who}: {overall}{in_cells}.")
            needed = each.people_needed
            many = "more people than there are" if needed is None else f"{thousands(needed)} people"
            takes.append(f"{many} who {each.mode}")
        return (
            f"All other figures are of one wave. In {panel.waves} waves {thousands(panel.people)} "
            f"people spend a lifetime ε of {panel.lifetime:.3g} each, and in {percent(self.power)} "
            f"of such panels or more these changes between two waves are listed. {' '.join(said)}",
            f"For a change of {self.amount(self.target_shift)} overall it takes "
            f"{', or '.join(takes)}. Of the changes that are listed {looks}, one in twenty is "
            "false in expectation.",
        )

    def _compared(self) -> str:
        """A comparison of tasks that disclose no column, the plan's, and all."""
        takes, shows = [], []
        for other in self.disclosing:
            what = self._disclosed(other)
            least = self.amount(other.here.cell_shift, "no shift")
            takes.append(f"{_people(other.stop_after)} with {what}".removeprefix("about "))
            shows.append(f"{least} ({other.cells} groups) with {what}")
        void = [
            other.columns for other in self.disclosing if other.columns and other.stratum_count == 1
        ]
        nothing = ""
        if void:
            nothing = (
                f" But with {listed(void[0])} disclosed, answers would disclose nothing: no part "
                "of your file is evidence of a large enough group, or all levels split on "
                "hidden columns."
            )
        mine, kept = self.disclosing[1], ""
        if mine.columns != mine.allowed:
            hidden = listed([name for name in mine.allowed if name not in mine.columns])
            kept = (
                f" The task hides {hidden} too: so few disclosed groups are large enough that "
                "levels below them tell more. With a hidden_depth it would disclose all that it "
                "may."
            )
        return (
            f"For ± {self.amount(self.half_width)}, tasks planned for {thousands(self.holders)} "
            f"people take: {'; '.join(takes)}. Half of the groups show: {'; '.join(shows)}."
            f"{kept}{nothing}"
        )

    def _of_register(self) -> str:
        """The worth of a list of the people asked."""
        if not self.registered:
            return ASK_FOR_REGISTER
        people = f"{thousands(self.registered)} people of your list"
        counted = f"Disclosed groups are counted among the {people}"
        if self.strata_without_register is None:
            return f"{counted}."
        mine = self.disclosing[1].stratum_count
        return f"{counted}: {mine}; your file alone would allow {self.strata_without_register}."

    def _disclosed(self, other: Disclosing) -> str:
        """Words for what a task of the comparison hides or discloses."""
        if not other.allowed:
            return "everything hidden"
        if other.columns == self.disclosing[-1].allowed:
            return "only the label hidden"
        of = "" if other.columns == other.allowed else f" of {listed(other.allowed)}"
        return f"{listed(other.columns)}{of} disclosed"

    def _behind_relay(self, relay: BehindRelay) -> tuple[str, str]:
        most, together = "", thousands(relay.batch)
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

    def _are_listed(self, people: int) -> bool:
        """True unless the register has fewer."""
        return not 0 < self.registered < people

    def _stopping(self) -> str:
        if self.looks == "once":
            return "Stop once the planned reports are in: earlier looks prove nothing."
        when = []
        reached, once = self.stop_after <= self.holders, ""
        if self.expected is None:
            when.append("as soon as figures are as precise as you need them")
        elif reached:
            when.append(f"at ± {self.amount(self.half_width)}")
        if self.shift_after is not None:
            when.append("as soon as your study's page says more or fewer than your file")
        if reached:
            once = (
                f" A single look, set beforehand, takes {_people(self.at_one_look)} for "
                f"± {self.amount(self.half_width)} instead of {about(self.stop_after)}."
            )
        return (
            f"Stop {', or '.join(when) or 'whenever you like'}: you may look as often as you like, "
            f"and all these numbers allow for it.{once}"
        )

    @property
    def board(self) -> str:
        """A paragraph for an ethics board or a data protection officer, to be completed."""
        panel = self.panel
        people, lifetime = self.holders, self.epsilon
        sends, message, spent = "sends one message", "the message", f"ε = {self.epsilon:g}"
        with_these = "With this number of people and this ε"
        found = f"found with a probability of {_chance(self.here.power)}"
        if panel is not None:
            people, lifetime, as_planned = panel.people, panel.lifetime, panel.modes[0]
            with_these = f"With {thousands(self.holders)} people in each wave and this ε"
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
        asked = f"“{self.question}”" if self.question else "a question that is not written yet"
        gives = (
            f"{with_these}, a difference of {shift} between them and our "
            f"file of {thousands(self.public_records)} records is {found}"
        )
        if self.expected is None:
            share, any_ = "each share", "any share"
            if self.score != "accuracy":
                share = any_ = "the mean"
            gives = f"{with_these}, {share} is known to ± {self.amount(self.here.half_width)}"
            if not self.tells:
                gives = f"{with_these}, there are too few answers to tell {any_}"
            if panel is not None:
                power = _chance(panel.modes[0].power)
                change = f"a change of {shift} between two waves found"
                gives += f", and {change} with a probability of {power}"
        return (
            f"We ask about {thousands(people)} people {asked} and never receive what "
            f"they answer. Each device {sends} of at most {self.report_bytes} bytes, in "
            f"which {self._protected} changed at random (local differential privacy, {spent}). "
            f"Somebody who sees {message} and thinks two records equally "
            f"likely{self._alike} can be at most {sure} sure which of them is the true "
            "one, whatever else they know; this holds against us too, and for as long as messages "
            "exist. Messages are added up when they arrive; only their sums are kept, and a "
            f"random number of each, to recognise a repeated message. {gives}. A smaller ε would "
            "protect more and find less; fewer people would not protect more."
        )

    @property
    def _protected(self) -> str:
        if self.expected is None:
            return "the answer is"
        if not self.disclosing:
            return "the answer and the features are"
        if self.disclosing[1].columns == self.disclosing[-1].allowed:
            rest = "the answer is"
        else:
            rest = "the answer and the other features are"
        return (
            f"{listed(self.disclosing[1].columns)} can be read as far as our "
            f"{self.disclosing[1].stratum_count} disclosed groups tell them apart, and {rest}"
        )

    @property
    def _alike(self) -> str:
        return ", both of one such group," if self.disclosing else ""

    def amount(self, shift: float | None, none: str = "none") -> str:
        """A shift in points, or in the label's units."""
        if shift is None:
            return none
        if self.score == "accuracy":
            return points(shift)
        number = amount(float(f"{shift:.3g}"))
        return f"{number}\u00a0{self.label_unit}" if self.label_unit else number

    @property
    def title_of_gains(self) -> str:
        return f"Gain from the answers, in {self.unit} ± the standard error of {DRAWS} simulations"

    @property
    def tables(self) -> dict[str, dict[str, str]]:
        """The people needed for each half-width, and the gains, by title and first column."""
        gains = {
            self.case_in_words(sentence): self.gain_in_words(gain)
            for sentence, gain in self.gains.items()
        }
        of_gains = {self.title_of_gains: gains} if gains else {}
        return {SIZES: self.sizes, **of_gains}

    def __str__(self) -> str:
        """The verdict, the people for each precision, the answers, and the details with gains."""
        sizes, *gains = ("\n".join(_lines(*of)) for of in self.tables.items())
        return "\n".join([self.verdict, sizes, *self.answers, "Details:", *self.details, *gains])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        sizes, *gains = (_table(*of) for of in self.tables.items())
        said, rest = (
            "".join(f"<p>{escape(each)}</p>" for each in sentences)
            for sentences in (self.answers, self.details)
        )
        rest = f"<details><summary>Details</summary>{rest}{''.join(gains)}</details>"
        return f"<p><b>{escape(self.verdict)}</b></p>{sizes}{said}{rest}"


def _lines(title: str, of: Mapping[str, str]) -> list[str]:
    """A table as lines, its figures first."""
    width = max(map(len, of.values()))
    return [f"{title}:", *(f"  {value:>{width}}  {name}" for name, value in of.items())]


def _table(title: str, of: Mapping[str, str]) -> str:
    """A table as HTML."""
    rows = (f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in of.items())
    return f"<table><caption>{escape(title)}</caption><tbody>{''.join(rows)}</tbody></table>"


def _chance(power: float) -> str:
    """A probability in percent, never rounded to none or to all."""
    if power < 0.005:
        return "less than 1\u00a0%"
    return "more than 99\u00a0%" if power > 0.995 else f"{100.0 * power:.0f}\u00a0%"


def _signed(number: str) -> str:
    """A number that has a sign, with a true minus sign; a zero has none."""
    return number.replace("-", "\u2212") if number.strip("+-0.") else number.lstrip("+-")


def _people(number: int) -> str:
    """About how many people it takes, in words."""
    return f"about {about(number)} people"
