"""The clauses of the holder's specification, each with its check.

A check runs the program in scenes and returns what was wrong, or None. It judges by what arrived
and only by the exit status.
"""

import json
import math
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.responses import RedirectResponse, Response

from privet.curator.access.signing import Signer
from privet.protocol import wire
from privet.protocol.calls import HOLDER_CALLS, JSON_MEDIA_TYPE, REPORT_MEDIA_TYPE, TASKS
from privet.protocol.errors import (
    InvalidRequest,
    NotAuthorized,
    Overloaded,
    PrivetError,
    QuotaReached,
    ReportConflict,
    TaskNotFound,
    TaskNotOpen,
    problem_of,
)
from privet.protocol.features import Classes, Numeric, Range
from privet.protocol.mechanisms import MECHANISMS, GeneralizedResponse
from privet.protocol.partition import LEAF, Partition, Tree
from privet.protocol.report import Report
from privet.protocol.task import Question, Task, Translation
from privet.protocol.task_head import TASK_BOUNDS

from .vectors import NO_VECTORS, Vectors
from .wire import Bench, RecordedCall, Scene, Script, problem, receipt

COUNTED, KEPT, HELD = 0, 4, 5
"""Exit statuses: the report counts; nobody has taken it yet; a relay has it."""
DELIVERED = {COUNTED, HELD}
ALPHA = 1e-6
"""Probability that a right program fails a statistical clause."""
SECONDS = 120.0
"""Maximum time of one run of a program."""
EARLY = 0.05
"""Seconds of a pause that a clock may be off."""
STUMP = Tree(
    columns=1,
    feature=(0, LEAF, LEAF),
    threshold=(0.5, 0.0, 0.0),
    left=(1, LEAF, LEAF),
    right=(2, LEAF, LEAF),
)
RECORD = {"x": "5.0", "y": "yes"}
"""At the threshold, which is not below it: cell 1, level 1, category 3."""
OTHER = {"x": 1, "y": "no"}
MISFIT = {"x": "many", "y": "yes"}
RECORD_CATEGORY, MISFIT_CATEGORY = 3, 4
ODD_RECORDS: tuple[Any, ...] = (
    OTHER,
    MISFIT,
    {},
    {"x": None, "y": ""},
    {"x": "1e999", "y": "maybe"},
    {"x": [[[]]], "y": {"no": 1}},
    {"x": "\ud800", "y": "y" * 50_000},
    {"x": math.inf, "y": 10**400},
)
"""Records that answer otherwise, do not fit, or cannot be read."""
NOTHING: Mapping[str, str] = {}


def example(name: str, *epsilons: float, mechanism: str = "grr", **fields: Any) -> Task:
    """A task of two cells and two classes, with a question for each epsilon."""
    return Task(
        name=name,
        features=(Numeric(name="x", low=0.0, high=10.0),),
        label=Classes(name="y", classes=("no", "yes")),
        partitions=(STUMP,),
        questions=tuple(
            Question(partition=0, mechanism=mechanism, epsilon=epsilon)
            for epsilon in epsilons or (1.0,)
        ),
        **fields,
    )


def alone(name: str, label: Classes | Range, **question: Any) -> Task:
    """A task without features, which is about its label alone."""
    return Task(
        name=name,
        features=(),
        label=label,
        partitions=(Tree.of(Partition.root(0)),),
        questions=(Question(partition=0, mechanism="grr", epsilon=1.0, **question),),
        smallest_batch="all",
    )


@dataclass(frozen=True)
class Given:
    """The configuration a holder program is started with."""

    url: str
    state: Path
    record: str
    environment: Mapping[str, str]


Holder = Callable[[Given], int]
"""Runs a holder program; its exit status."""
Site = Callable[[Given, Path], int]
"""Runs a program that answers for each line of a CSV file, instead of one record."""
SUBJECT = "subject"
"""The column of a site's file that says whom a line is about."""
SITE_LINES = 12


def program(command: str) -> Holder:
    """A holder program by its command line, in which {url} and {state} stand for the two.

    Where they are not named they come last. Raises ``InvalidRequest`` for an empty command.
    """
    run = _command(command, ["{url}", "{state}"])
    return lambda given: run(given, {})


def site_program(command: str) -> Site:
    """A site's program by its command line, in which {records} stands for the file as well."""
    run = _command(command, ["{url}", "{state}", "{records}"])
    return lambda given, records: run(given, {"{records}": str(records)})


def _command(command: str, last: list[str]) -> Callable[[Given, dict[str, str]], int]:
    """Runs a command line with its places filled; ``last`` is added where it names no {url}."""
    words = shlex.split(command)
    if not words:
        raise InvalidRequest(
            "Give the command that runs your holder, for example 'node holder.js'."
        )
    if "{url}" not in command:
        words += last

    def run(given: Given, more: dict[str, str]) -> int:
        places = {"{url}": given.url, "{state}": str(given.state), **more}
        filled = [places.get(word, word) for word in words]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PRIVET_")}
        try:
            return subprocess.run(  # noqa: S603 - the command that the user has given
                filled,
                input=given.record.encode(),
                env={**clean, **given.environment},
                capture_output=True,
                timeout=SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return -1
        except OSError as error:
            raise InvalidRequest(f"{words[0]} cannot be run: {error.strerror}.") from None

    return run


@dataclass
class Trial:
    """One holder program on one bench."""

    bench: Bench
    holder: Holder
    folder: Path
    reports: int = 100
    """Number of reports of each statistical clause."""
    jobs: int = 4
    vectors: Vectors = NO_VECTORS
    draw: Callable[[str], str] = str
    site: Site = lambda _given, _records: -1
    _numbers: "count[int]" = field(default_factory=count)

    def state(self) -> Path:
        """An empty folder for a holder program's state."""
        return self.folder / str(next(self._numbers))

    def answer(
        self,
        scene: Scene,
        record: Any = RECORD,
        state: Path | None = None,
        environment: Mapping[str, str] = NOTHING,
    ) -> int:
        """Let a person answer; the exit status."""
        given = json.dumps(record).replace("Infinity", "1e999")  # which is JSON, and as large
        return self.holder(Given(scene.url, state or self.state(), given, environment))

    def check(self, scene: Scene, report: Report) -> None:
        """Raise ``PrivetError`` unless a report answers the questions of a published task."""
        report.check(self.bench.tasks[scene.task_id])

    def at_once(self, checks: Sequence[Callable[[], str | None]]) -> str | None:
        """The first fault of several checks that run side by side."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return next(filter(None, pool.map(lambda check: check(), checks)), None)

    def refuses(
        self, what: str, scene: Scene, environment: Mapping[str, str] = NOTHING
    ) -> str | None:
        """A fault if a person answers all the same."""
        status = self.answer(scene, environment=environment)
        if scene.posts:
            return f"sent a report to {what}"
        return f"ended with {status} for {what}" if status in DELIVERED else None

    def answers(
        self, what: str, scene: Scene, environment: Mapping[str, str] = NOTHING
    ) -> str | None:
        """A fault if a person does not answer."""
        status = self.answer(scene, environment=environment)
        if status != COUNTED or len(scene.bodies) != 1:
            return f"ended with {status} and {len(scene.bodies)} reports for {what}"
        return None


# ---- the task


def task_hash(trial: Trial) -> str | None:
    good, other = example("asked for"), example("another")
    scene = trial.bench.offer(good.id, other.canonical)
    return trial.refuses("a task with another hash", scene)


def task_form(trial: Trial) -> str | None:
    cases = trial.vectors.bad_tasks()
    return trial.at_once(
        [
            partial(trial.refuses, f"the bad task {name!r}", trial.bench.offer(task_id, content))
            for name, task_id, content in cases
        ]
    )


def task_size(trial: Trial) -> str | None:
    """With as many lists and maps as it may have, by texts that nobody sees, and with one more."""

    def sized(texts: int) -> Task:
        pairs = tuple((f"{number:x}", "a") for number in range(texts))
        languages = ("de", "es", "zh")
        return example(
            "large",
            translations=tuple(
                Translation(language=language, texts=pairs[number :: len(languages)])
                for number, language in enumerate(languages)
            ),
        )

    texts = TASK_BOUNDS.containers - _containers(sized(3)) + 3
    most, more = trial.bench.publish(sized(texts)), sized(texts + 1)
    fault = trial.answers(f"a task of {TASK_BOUNDS.containers} lists and maps", most)
    return fault or trial.refuses(
        f"a task of {TASK_BOUNDS.containers + 1} lists and maps",
        trial.bench.offer(more.id, more.canonical),
    )


def _containers(task: Task) -> int:
    """The lists and maps in a task's bytes."""

    def within(value: Any) -> int:
        if isinstance(value, dict):
            return 1 + sum(map(within, value.values()))
        return 1 + sum(map(within, value)) if isinstance(value, list) else 0

    return within(wire.unpack(task.canonical, TASK_BOUNDS))


def fetch(trial: Trial) -> str | None:
    """Busy for a moment, then for good: nothing is drawn, so nothing is kept either."""

    def busy_for(calls: float) -> Scene:
        return trial.bench.publish(
            example("busy"),
            lambda call, before: problem(BUSY) if call.method == "GET" and before < calls else None,
        )

    fault = trial.answers("a task that could not be had at first", busy_for(1))
    if fault is not None:
        return fault
    scene = busy_for(math.inf)
    status = trial.answer(scene)
    if scene.posts or status in DELIVERED | {KEPT}:
        return f"ended with {status} for a task that it could not have"
    return None


def signature(trial: Trial) -> str | None:
    bench, stranger = trial.bench, Signer(Ed25519PrivateKey.generate())
    pinned = {"PRIVET_HOLDER_CURATOR_KEY": bench.key}

    def signed(name: str, header: Callable[[str], str | None]) -> Scene:
        task = example(name)
        return bench.offer(task.id, task.canonical, header(task.id))

    def forged(task_id: str) -> str:
        theirs = stranger.sign(task_id).header
        return theirs.replace(stranger.key.hex(), bench.key)

    return (
        trial.refuses("an unsigned task", signed("unsigned", lambda _: None), pinned)
        or trial.refuses(
            "another key's task", signed("theirs", lambda i: stranger.sign(i).header), pinned
        )
        or trial.refuses("another key's task under this key", signed("forged", forged), pinned)
        or trial.answers("a signed task", bench.publish(example("signed")), pinned)
    )


def budget(trial: Trial) -> str | None:
    bench = trial.bench
    return (
        trial.refuses("a task of epsilon 2.5", bench.publish(example("dear", 2.5)))
        or trial.refuses("two questions of 1.5", bench.publish(example("sum", 1.5, 1.5)))
        or trial.answers(
            "one of two questions of 1.5", bench.publish(example("one", 1.5, 1.5, allocation="one"))
        )
    )


def year(trial: Trial) -> str | None:
    """One person's, so of one state."""
    state = trial.state()
    for epsilon in (2.0, 2.0):
        scene = trial.bench.publish(example("year", epsilon))
        status = trial.answer(scene, state=state)
        if status != COUNTED:
            return f"ended with {status} for a task within the year's epsilon"
    scene = trial.bench.publish(example("year", 0.5))
    status = trial.answer(scene, state=state)
    if scene.posts or status in DELIVERED:
        return f"ended with {status} for a task that takes a person above epsilon 4 within a year"
    return None


def dates(trial: Trial) -> str | None:
    now = int(time.time())
    early = trial.bench.publish(example("early", opens=now + 3_600))
    return trial.refuses("a task that is not open yet", early) or trial.refuses(
        "a task that has closed", trial.bench.publish(example("late", closes=now - 1))
    )


def clock(trial: Trial) -> str | None:
    for days, words in ((-400, "400 days behind"), (4, "4 days ahead of")):
        scene = trial.bench.publish(example("clock"))
        scene.clock_ahead = days * 86_400.0
        fault = trial.refuses(f"a server whose clock is {words} its own", scene)
        if fault is not None:
            return fault
    return None


def turns(trial: Trial) -> str | None:
    day, now = 86_400, int(time.time())
    over, current, later = [(now + start * day, now + (start + 2) * day) for start in (-5, -1, 30)]

    def panel(mode: str, *waves: tuple[int, int], epsilon: float = 1.0) -> Scene:
        opens, closes, asked = waves[0][0], waves[-1][1], {"mode": mode, "waves": waves}
        made = example("turns", epsilon, panel=asked, opens=opens, closes=closes)
        return trial.bench.publish(made)

    def answers_once(mode: str, *waves: tuple[int, int]) -> str | None:
        scene, state = panel(mode, *waves), trial.state()
        at = trial.bench.waves(scene)
        ends = [trial.answer(scene, state=state) for _ in range(2)]
        sent = [len(each.bodies) for each in (scene, *at)]
        if set(ends) <= DELIVERED and sent == [0, *(int(wave == current) for wave in waves)]:
            return None
        return f"sent {sent} reports to a panel ({mode}) and its waves, of which one is open"

    def is_silent(what: str, scene: Scene) -> str | None:
        at = trial.bench.waves(scene)
        fault = trial.refuses(what, scene)
        sends = any(wave.posts for wave in at)
        return fault or (f"sent a report to {what}" if sends else None)

    dear = panel("repeat", current, later, epsilon=1.5)
    return trial.at_once(
        [
            partial(answers_once, "repeat", current, later),
            partial(answers_once, "rotate", over, current),
            partial(is_silent, "a panel between its waves", panel("repeat", over, later)),
            partial(is_silent, "a panel whose next wave is far", panel("rotate", over, later)),
            partial(is_silent, "a panel of epsilon 1.5 in each of two waves", dear),
        ]
    )


def invitation(trial: Trial) -> str | None:
    task, code = example("invited", invited=True), "an-invitation"
    fault = trial.refuses("a task for invited people, uninvited", trial.bench.publish(task))
    scene = trial.bench.publish(task, invitation=code)
    fault = fault or trial.answers("an invited task", scene, {"PRIVET_INVITATION": code})
    return fault or (
        None if trial.bench.counted(scene) == 1 else "its invited report does not count"
    )


# ---- the report


def report_form(trial: Trial) -> str | None:
    tasks = [example(name, mechanism=name) for name in MECHANISMS]
    tasks += [example("all", 0.5, 0.5), example("one", 0.5, 0.5, allocation="one")]
    yes, much = {"y": "yes"}, {"y": 7}
    label = Classes(name="y", classes=("no", "yes"), headline="yes")
    number = Range(name="y", low=0.0, high=10.0)
    asked = [
        *((task, RECORD) for task in tasks),
        (alone("no features", label), yes),
        (alone("no features", label), {"y": "maybe"}),
        (alone("a number on levels", number, levels=5), much),
    ]
    return trial.at_once(
        [partial(_has_form, trial, trial.bench.publish(task), record) for task, record in asked]
    )


def _has_form(trial: Trial, scene: Scene, record: Any) -> str | None:
    """A fault of a report; a mechanism that a program does not know it may refuse."""
    status = trial.answer(scene, record)
    must_know = trial.bench.tasks[scene.task_id].questions[0].mechanism == GeneralizedResponse.name
    if not scene.posts:
        wrong = must_know or status in DELIVERED
        return f"sent no report to {scene.name!r} and ended with {status}" if wrong else None
    sent = scene.posts[0]
    kind = sent.headers.get("content-type", "")
    if kind not in {"", REPORT_MEDIA_TYPE}:
        return f"sent a report as {kind!r}"
    try:
        trial.check(scene, Report.unpack(sent.body))
    except PrivetError as error:
        return f"sent {scene.name!r} what is no report: {error.detail}"
    return None


def report_law(trial: Trial) -> str | None:
    return _has_law(trial, RECORD, RECORD_CATEGORY)


def misfit(trial: Trial) -> str | None:
    return _has_law(trial, MISFIT, MISFIT_CATEGORY)


def _has_law(trial: Trial, record: object, category: int) -> str | None:
    """Each question's and category's count against its binomial law, at ``ALPHA`` for all
    together."""
    from scipy.stats import binomtest

    parts = (1, 3)
    task = example("law", 2.0, 2.0, allocation="one", parts=parts)
    scene, mechanism = trial.bench.publish(task), GeneralizedResponse(2.0, cells=2, slots=2)
    with ThreadPoolExecutor(trial.jobs) as pool:
        list(pool.map(lambda _: trial.answer(scene, record), range(trial.reports)))
    if len(scene.bodies) != trial.reports:
        return f"sent {len(scene.bodies)} different reports for {trial.reports} people"
    try:
        sent = [Report.unpack(body) for body in scene.bodies]
        for report in sent:
            trial.check(scene, report)
    except PrivetError:
        return "sent what is no report"
    answers = [report.answers[0][1][0] for report in sent]
    questions = [report.answers[0][0] for report in sent]
    laws = [
        (
            f"say category {place}",
            answers.count(place),
            mechanism.p if place == category else mechanism.q,
        )
        for place in range(mechanism.categories)
    ]
    laws.append((f"answer question 0 of {parts} parts", questions.count(0), Fraction(1, 4)))
    for what, seen, share in laws:
        if binomtest(seen, trial.reports, float(share)).pvalue < ALPHA / len(laws):
            return (
                f"{seen} of {trial.reports} reports {what}; "
                f"{trial.reports * float(share):.1f} are expected"
            )
    return None


def names(trial: Trial) -> str | None:
    for value in (5, None, "many"):
        scene = trial.bench.publish(example("names"))
        status = trial.answer(scene, {**RECORD, "z": value})
        if scene.posts or status in DELIVERED:
            return f"ended with {status} and {len(scene.posts)} reports for an unknown field"
    return None


def silence(trial: Trial) -> str | None:
    scenes = [trial.bench.publish(example("silence")) for _ in (RECORD, *ODD_RECORDS)]
    with ThreadPoolExecutor(trial.jobs) as pool:
        statuses = list(pool.map(trial.answer, scenes, (RECORD, *ODD_RECORDS)))
    usual = _shows(scenes[0], statuses[0])
    for record, scene, status in zip(ODD_RECORDS, scenes[1:], statuses[1:], strict=True):
        if (shows := _shows(scene, status)) != usual:
            return f"tells {json.dumps(record)[:60]} by {shows} in place of {usual}"
    return None


def site_silence(trial: Trial) -> str | None:
    """Three lines known not to fit must not make a fourth decide for all, nor any other number."""
    usual = None
    for misfits in (0, 3, 4, SITE_LINES):
        scene, state = trial.bench.publish(example("site")), trial.state()
        lines = [MISFIT] * misfits + [RECORD] * (SITE_LINES - misfits)
        records = trial.folder / f"{state.name}.csv"
        rows = [f"{row},{line['x']},{line['y']}" for row, line in enumerate(lines)]
        records.write_text("\n".join([f"{SUBJECT},x,y", *rows, ""]))
        status = trial.site(Given(scene.url, state, "", NOTHING), records)
        if status != COUNTED or len(scene.bodies) != SITE_LINES:
            return (
                f"ended with {status} and {len(scene.bodies)} of {SITE_LINES} reports where "
                f"{misfits} records do not fit"
            )
        usual = usual or _shows(scene, status)
        if (shows := _shows(scene, status)) != usual:
            return f"tells that {misfits} records do not fit by {shows} in place of {usual}"
    return None


def site_status(trial: Trial) -> str | None:
    """Files of which a relay holds all lines, and all but one, which is refused."""

    def held_but(first: int) -> Script:
        refusal = QuotaReached("A test.")
        return _posted(lambda call, n: problem(refusal) if n < first else receipt(call, 202))

    for refusals, wanted in ((0, {HELD}), (1, set(range(256)) - DELIVERED - {KEPT})):
        scene = trial.bench.publish(example("site"), held_but(refusals))
        state = trial.state()
        records = trial.folder / f"{state.name}.csv"
        rows = [f"{row},5.0,yes" for row in range(SITE_LINES)]
        records.write_text("\n".join([f"{SUBJECT},x,y", *rows, ""]))
        status = trial.site(Given(scene.url, state, "", NOTHING), records)
        if status not in wanted or len(scene.bodies) != SITE_LINES:
            return (
                f"ended with {status} and {len(scene.bodies)} of {SITE_LINES} reports where a "
                f"relay holds all but {refusals}, which are refused"
            )
    return None


def _shows(scene: Scene, status: int) -> tuple[int, list[tuple[str, str, int]]]:
    """All that others see of an answer, but when and which random bytes."""
    return status, [(call.method, call.path, len(call.body)) for call in scene.calls]


def vectors(trial: Trial) -> str | None:
    cases = trial.vectors.answers()
    asked = "".join(json.dumps(case) + "\n" for case, _ in cases)
    drawn = trial.draw(asked).split()
    if len(drawn) != len(cases):
        return f"drew {len(drawn)} reports for {len(cases)} cases"
    for (case, expected), report in zip(cases, drawn, strict=True):
        if report != expected:
            return f"drew another report for the record {json.dumps(case['record'])[:200]}"
    return None


# ---- sending


def _posted(answer: Callable[[RecordedCall, int], Response | None]) -> Script:
    """The curator's own answers, but to a POST."""
    return lambda call, before: answer(call, before) if call.method == "POST" else None


def _fails_first(times: float, error: PrivetError, retry_after: int | None = None) -> Script:
    return _posted(lambda _, before: problem(error, retry_after) if before < times else None)


BUSY = Overloaded("A test.")


def drawn_once(trial: Trial) -> str | None:
    bench, state = trial.bench, trial.state()
    scene = bench.publish(example("busy"), _fails_first(2, BUSY))
    status = trial.answer(scene, state=state)
    if status != COUNTED or len(scene.posts) < 3:
        return f"ended with {status} after {len(scene.posts)} tries at a busy curator"
    trial.answer(scene, OTHER, state)
    return None if len(scene.bodies) == 1 else "drew a second report for a retry"


def kept(trial: Trial) -> str | None:
    state, down = trial.state(), [True]
    script = _posted(lambda *_: problem(BUSY) if down[0] else None)
    scene = trial.bench.publish(example("down"), script)
    status = trial.answer(scene, state=state)
    if status != KEPT or not scene.posts:
        return f"ended with {status} after {len(scene.posts)} tries where nobody took its report"
    down[0] = False
    status = trial.answer(scene, OTHER, state)
    if len(scene.bodies) != 1:
        return "drew a second report when it was run again"
    return None if status == COUNTED else f"ended with {status} when it was run again"


def retry_after(trial: Trial) -> str | None:
    seconds = 2
    scene = trial.bench.publish(example("later"), _fails_first(1, BUSY, seconds))
    trial.answer(scene)
    if len(scene.posts) < 2:
        return "did not try again"
    pauses = [later.at - call.at for call, later in pairwise(scene.posts)]
    return None if pauses[0] >= seconds - EARLY else f"came back after {pauses[0]:.2f} seconds"


def receipt_clause(trial: Trial) -> str | None:
    script = _posted(lambda call, _: receipt(call, report_id="00" * 16))
    scene = trial.bench.publish(example("lies"), script)
    status = trial.answer(scene)
    if not scene.posts:
        return "sent no report"
    return f"ended with {status} on another report's receipt" if status in DELIVERED else None


def held(trial: Trial) -> str | None:
    """Run again it may ask the relay, or send the same bytes: either way it learns that they
    count."""

    def relay(call: RecordedCall, before: int) -> Response | None:
        if call.method == "POST":
            return receipt(call, 202 if before == 0 else 200)
        report_id = call.path.removeprefix("reports/")
        if report_id == call.path:
            return None
        state = {"report": report_id, "state": "counted", "reason": None}
        return Response(json.dumps(state), media_type=JSON_MEDIA_TYPE)

    state, scene = trial.state(), trial.bench.publish(example("held"), relay)
    status = trial.answer(scene, state=state)
    if status != HELD:
        return f"ended with {status} where a relay holds its report"
    status = trial.answer(scene, OTHER, state)
    if len(scene.bodies) != 1:
        return "drew a second report for one that a relay holds"
    return None if status == COUNTED else f"ended with {status} once the relay had delivered it"


REFUSALS = (NotAuthorized, TaskNotFound, TaskNotOpen, QuotaReached)


def refused(trial: Trial) -> str | None:
    """Whatever it does when it is run again, it draws no second report."""
    for kind in REFUSALS:
        state = trial.state()
        scene = trial.bench.publish(example("refused"), _fails_first(1, kind("A test.")))
        status = trial.answer(scene, state=state)
        what = problem_of(kind("A test.")).name
        if len(scene.posts) != 1 or status in DELIVERED | {KEPT}:
            return f"ended with {status} after {len(scene.posts)} tries at {what}"
        trial.answer(scene, OTHER, state)
        if len(scene.bodies) != 1:
            return f"drew a second report after {what}"
    return None


def conflict(trial: Trial) -> str | None:
    state = trial.state()
    scene = trial.bench.publish(
        example("conflict"), _fails_first(float("inf"), ReportConflict("A test."))
    )
    status = trial.answer(scene, state=state)
    if len(scene.posts) != 1 or status in DELIVERED:
        return f"ended with {status} after {len(scene.posts)} tries at a conflict"
    trial.answer(scene, OTHER, state)
    return None if len(scene.bodies) == 1 else "drew a second report after a conflict"


def _moved(method: str, address: str) -> Script:
    return lambda call, _: RedirectResponse(address, 307) if call.method == method else None


def redirect(trial: Trial) -> str | None:
    for method in ("GET", "POST"):
        elsewhere = trial.bench.publish(example("elsewhere"))
        end = "" if method == "GET" else "/reports"
        scene = trial.bench.publish(
            example("moved"),
            _moved(method, elsewhere.url + end),
        )
        status = trial.answer(scene)
        if elsewhere.calls or status in DELIVERED:
            return f"followed a redirect of its {method}"
    return None


def calls(trial: Trial) -> str | None:
    """Judged last, over all that was sent in every scene."""
    for scene in trial.bench.wire.scenes.values():
        for call in scene.calls:
            path = f"{TASKS}/{scene.task_id}/{call.path}".rstrip("/")
            if not any(
                call.method == each.method and re.fullmatch(each.pattern, path)
                for each in HOLDER_CALLS
            ):
                return f"called {call.method} /{call.path}"
            if "cookie" in call.headers:
                return "sent a cookie back"
    return None


@dataclass(frozen=True)
class Clause:
    """A requirement on holders, with the page and section of docs/ that states it."""

    says: str
    section: str
    check: Callable[[Trial], str | None]
    needs: tuple[str, ...] = ()
    """The parts of a trial that it needs."""


CALLS = "calls.md#calls-of-a-holder"
TASK, REPORT = "protocol.md#task", "protocol.md#report"
CATEGORY = "encoding.md#from-a-record-to-a-category"
CLAUSES = {
    "task-hash": Clause("refuses a task whose bytes do not hash to its id", TASK, task_hash),
    "task-form": Clause(
        "refuses every task that is not canonical, valid and within the limits",
        TASK,
        task_form,
        ("vectors",),
    ),
    "task-size": Clause(
        "answers a task at the limit of lists and maps, and refuses one above it",
        "protocol.md#limits",
        task_size,
    ),
    "fetch": Clause(
        "asks again for a task that it cannot have now, and draws nothing without it", CALLS, fetch
    ),
    "signature": Clause(
        "with a pinned key, answers only tasks that this key signed",
        "protocol.md#signature",
        signature,
    ),
    "budget": Clause(
        "refuses a task above the epsilon that it spends, a sum for `all`, the largest for `one`",
        CALLS,
        budget,
    ),
    "year": Clause("spends at most epsilon 4 on one person within a year", CALLS, year),
    "dates": Clause("sends nothing before a task opens and after it closes", CALLS, dates),
    "turns": Clause(
        "answers a panel in the wave whose turn it is and in no other, if all waves together are "
        "within epsilon 2",
        "holder.md#panels",
        turns,
    ),
    "clock": Clause(
        "draws nothing while its clock and the server's are more than two days apart", CALLS, clock
    ),
    "invitation": Clause("sends an invitation where one is needed", CALLS, invitation),
    "report-form": Clause(
        "sends a canonical report of the questions, also without features or on levels",
        REPORT,
        report_form,
    ),
    "report-law": Clause(
        "draws the question with the task's parts, and the record's category with the mechanism's "
        "probabilities",
        CATEGORY,
        report_law,
    ),
    "misfit": Clause(
        "answers a record that does not fit with a report like any other",
        CATEGORY,
        misfit,
    ),
    "names": Clause("refuses a record with a name that the task does not ask for", CALLS, names),
    "silence": Clause(
        "does the same for all values: the same calls, sizes and exit status",
        CALLS,
        silence,
    ),
    "site-silence": Clause(
        "sends a report for each line, however many do not fit",
        CALLS,
        site_silence,
        ("site",),
    ),
    "site-status": Clause(
        "sends a report for each line, and ends with the exit status of the worst",
        "conformance.md#what-your-program-must-do",
        site_status,
        ("site",),
    ),
    "vectors": Clause(
        "draws the same reports from the vectors' tasks, records and random bytes",
        "protocol.md#vectors",
        vectors,
        ("vectors", "draw"),
    ),
    "drawn-once": Clause("sends the same bytes in every try", CALLS, drawn_once),
    "kept": Clause(
        "keeps a report that nobody took, and sends the same bytes when run again", CALLS, kept
    ),
    "retry-after": Clause("comes back no sooner than `Retry-After` says", CALLS, retry_after),
    "receipt": Clause("takes a report as delivered on its own receipt only", CALLS, receipt_clause),
    "held": Clause(
        "distinguishes a report that a relay holds from one that counts, and draws no second one",
        CALLS,
        held,
    ),
    "refused": Clause("stops at a refusal, and draws no second report", CALLS, refused),
    "conflict": Clause("stops at a conflict, and draws no second report", CALLS, conflict),
    "redirect": Clause("follows no redirect", CALLS, redirect),
    "calls": Clause("makes no other calls, and keeps no cookie", CALLS, calls),
}


@dataclass(frozen=True)
class Verdict:
    """True if a clause is kept; None if it was not tried, and then ``fault`` says why."""

    clause: str
    kept: bool | None
    fault: str | None = None


def judge(trial: Trial, clause: str) -> Verdict:
    asked = CLAUSES[clause]
    there = {
        "vectors": bool(trial.vectors.files),
        "draw": trial.draw is not str,
        "site": trial.site is not Trial.site,
    }
    missing = [need for need in asked.needs if not there[need]]
    if missing:
        return Verdict(clause, None, f"needs --{missing[0]}")
    fault = asked.check(trial)
    return Verdict(clause, fault is None, fault)


def judge_all(trial: Trial, clauses: Sequence[str] = tuple(CLAUSES)) -> list[Verdict]:
    """Try clauses one after the other; ``calls`` comes last, since it is about all the others."""
    return [judge(trial, clause) for clause in sorted(clauses, key=list(CLAUSES).index)]
