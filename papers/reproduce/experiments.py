"""The papers' figures and tables, and Privet's own, as descriptions."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import product, starmap
from typing import Any

from baselines.semi_private import excess_error
from reproduce import disclosure, second_bench
from reproduce.ablations import ABLATIONS, DESIGNS
from reproduce.blind import CLASS_SETS, FAIR, NATURAL, NUMBER_SETS
from reproduce.coverage import CASES
from reproduce.datasets import CLASSIFICATION, KNOWN, REGRESSION
from reproduce.derived import (
    beside_the_rerun,
    blind_summary,
    drawn_twice,
    equal_epsilon,
    holders_needed,
    noise_and_tests,
    ranks_and_effects,
    ranks_and_tests,
    what_disclosing_costs,
    what_earlier_waves_gain,
    what_shifts_show,
    what_showing_gains,
)
from reproduce.effects import CHOSEN, LABEL_ALONE
from reproduce.experiment import Experiment, Job, Numbers, drawn, jobs, printed
from reproduce.few_disclosed import COLLECTIONS as FEW
from reproduce.few_disclosed import NAMES as OF_FEW
from reproduce.intervals import KINDS as LABELS
from reproduce.intervals import NAMES
from reproduce.label_shifts import (
    CLASSES_MOVED,
    CONTRADICTED,
    FINER,
    NUMBERS,
    NUMBERS_MOVED,
    PART,
    PUBLIC,
    RANDOMIZED,
    STATED,
    TOO_HIGH,
    WITH,
    WITHOUT,
)
from reproduce.methods import COMPARED, PRUNED, RULES, TIMED
from reproduce.no_difference import DETECTED, FALSE, UNSEEN
from reproduce.ours import AS_SHIPPED, IN_ONE, MORE_CELLS, OF_ONE_AS_SHIPPED
from reproduce.problems import REPEATING, SHIFTS, SIZES
from reproduce.promises import EPSILONS, PARTS, PROMISES
from reproduce.promises import KINDS as PLANNED_FOR
from reproduce.rates import slopes
from reproduce.remembering import PACKAGED, SHIPPED
from reproduce.remembering import SERIES as REMEMBERING
from reproduce.scored import MISSED, READ, SCORED
from reproduce.second_bench import OF_CLASSES
from reproduce.sent_falsely import ALARMS, SENT
from reproduce.shapes import KINDS
from reproduce.statements import (
    BY_DEFAULT,
    EVERY,
    FIXED,
    LOOKED_AT,
    LOOKS,
    NORMAL,
    ONE,
    OTHER_LABELS,
    by_default,
)
from reproduce.waves import (
    ALONE,
    DRIFTS,
    FRESH,
    LAST,
    MEMOIZED,
    ROTATED,
    SMOOTHED,
    WAVES,
)
from reproduce.waves import EVERY as EVERY_LOOK
from reproduce.waves import KINDS as WAVE_KINDS

LARGEST = 64.0
"""The protocol's largest ε, for the papers' 1000."""
BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
ALL_BUDGETS = (*BUDGETS, LARGEST)
THREE = (0.5, 2.0, 8.0)

SUBSET = "LPCT, subset selection"
FAMILY = ("LPCT", "LPCT, Theorem 4", "LPCT-P", "LPCT-Q", *PRUNED, SUBSET, f"{SUBSET}-P")
FOUR = ("LPCT", "LPCT-P", "LPCT-Q", PRUNED[0])
BY_RULES = {name: f"{name}, {RULES}" for name in ("LPDT-M", "LPDT-V")}
"""LPDT by the rules of its authors' code."""
LPDT_METHODS = ("DT", "LPDT-M", "LPDT-V", "APHIST", "PHIST for numbers", "DECONV", "Privet")
LPDT_SERIES = (
    *("DT", "LPDT-M", "LPDT-V", *BY_RULES.values(), "APHIST", "PHIST", "DECONV", "Privet"),
)
PUBLIC_ONLY = ("public forest", "public extra trees", "public boosting", "public linear")
PRIVET = ("Privet", "Privet, plain tree", "public stack")
FEW_COLUMNS = tuple(name for name in CLASSIFICATION if name != "email")
"""Sets without the one whose 3000 columns take minutes."""
SEMI_PRIVATE = (0.1, 1.0)
WITH_DISCLOSED = (
    *("public stack", disclosure.HIDDEN, disclosure.HALF, disclosure.LABEL),
    *(disclosure.TREE_OF_HISTOGRAMS, "randomized labels, forest", "everybody's forest"),
)
FEWER = ("survey", "diabetes, volunteers", "made, flipped")
FIRST = (
    *("survey", *(f"made, {kind}" for kind in disclosure.MADE)),
    *(f"{name}, {shift}" for name in tuple(KNOWN)[:4] for shift in ("volunteers", "changed")),
)
EVERY_SET = (
    *("survey", *(f"made, {kind}" for kind in disclosure.MADE), *REGRESSION, *FEW_COLUMNS),
    *(f"{name}, {shift}" for name in tuple(KNOWN)[:4] for shift in ("volunteers", "changed")),
)
on_shifted = partial(jobs, [f"{name}, shifted" for name in FEW_COLUMNS], shift=tuple(SHIFTS))
with_earlier = partial(jobs, "panel", ("earlier waves",), drift=DRIFTS)
COLLECTIONS = ((10_000, 0.5), (10_000, 4.0), (100_000, 2.0), (1_000_000, 0.5), (10_000_000, 64.0))
"""Holders, and epsilon."""


def on_the_design(
    name: str,
    title: str,
    methods: tuple[str, ...],
    epsilons: Iterable[float] = ALL_BUDGETS,
    *,
    also: tuple[tuple[str, tuple[float, ...]], ...] = (),
    gamma: tuple[float, ...] = (0.5,),
    n_public: tuple[int, ...] = (50,),
    n_private: tuple[int, ...] = (10_000,),
    x: str = "epsilon",
    **others: Any,
) -> Experiment:
    """A figure on LPCT's synthetic design, beside the points drawn in the paper's."""
    chosen: dict[str, Any] = {"series": ("LPCT",), "replications": 100} | others
    settings = {"gamma": gamma, "n_public": n_public, "n_private": n_private}
    made = Experiment(
        f"lpct-figure-{name}",
        f"LPCT, Figure {name}: {title}",
        tuple(
            job
            for some, budgets in ((methods, epsilons), *(((name,), at) for name, at in also))
            for job in jobs("design", some, budgets, **settings)
        ),
        x=x,
        kind="figure",
        log_x=x in ("epsilon", "weight"),
        reference="drawn",
        **chosen,
    )
    return replace(made, published=drawn(name, made.key))


SMALL, LARGE = "γ = 0.5, 50 public records", "γ = 5, 1000 public records"
over_sizes = partial(on_the_design, panels=("epsilon",), series=FOUR)
large = partial(on_the_design, gamma=(5.0,), n_public=(1000,))
deeper = partial(
    on_the_design, epsilons=ALL_BUDGETS[1:], n_public=(100,), x="depth", line=("epsilon",)
)
ranges = partial(
    jobs, "design", ("LPCT, Theorem 5",), (0.5, 8.0), gamma=(0.5,), n_private=(10_000,)
)
known_ranges = partial(ranges, n_public=(20, 160))
TO_200 = (*range(10, 101, 10), *range(120, 201, 20))
"""Public records of LPCT's Figures 6 and 9b."""
LPCT = [
    *(
        made(
            f"4{letter}",
            f"accuracy over ε; {setting}",
            ("LPCT", f"LPCT, Theorem 4, γ = {gamma:g}", *PRUNED),
            also=((SUBSET, THREE),),
            series=FAMILY,
            notes=beside_the_rerun,
        )
        for letter, made, setting, gamma in (
            ("a", on_the_design, SMALL, 0.5),
            ("b", large, LARGE, 5.0),
        )
    ),
    on_the_design(
        "4c",
        "accuracy over γ; 50 public records",
        ("LPCT",),
        BUDGETS,
        gamma=(0.5, 0.75, 1.0, 1.25, 1.5, 2.0),
        x="gamma",
        line=("epsilon",),
    ),
    over_sizes(
        "5",
        f"accuracy over n_P; {SMALL}",
        ("LPCT",),
        BUDGETS,
        also=((PRUNED[0], (1.0, 4.0, 8.0)),),
        n_private=(4000, 6000, 8000, 10_000, 12_000, 14_000, 16_000),
        x="n_private",
    ),
    over_sizes(
        "6",
        "accuracy over n_Q; γ = 0.5, 10 000 private records",
        ("LPCT",),
        BUDGETS,
        also=((PRUNED[0], (1.0, 4.0, 8.0, LARGEST)),),
        n_public=TO_200,
        x="n_public",
        notes=drawn_twice,
    ),
    deeper("7a", "accuracy over the depth p; γ = 0.5, 100 public records", ("LPCT, full grid",)),
    deeper(
        "7b",
        "LPCT-prune over its depth p_0; γ = 0.5, 100 public records",
        ("LPCT-prune p0",),
        series=PRUNED[:1],
    ),
    large("7c", f"accuracy over λ; {LARGE}", ("LPCT",), x="weight", line=("epsilon",)),
    Experiment(
        "lpct-figure-8",
        "LPCT, Figure 8: the range known (I), from public records (II), or the best guess (III)",
        (
            *known_ranges(scaled=("known", "public")),
            *known_ranges(scaled=("assumed",), reach=(1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)),
        ),
        x="n_public",
        line=("scaled",),
        panels=("epsilon",),
        series=("LPCT",),
        replications=50,
        kind="figure",
    ),
    over_sizes(
        "9b",
        "partitions with and without public labels over n_Q; γ = 0.5, 10 000 private records",
        ("LPCT", "LPCT-R"),
        (1.0, 4.0, 8.0),
        n_public=TO_200,
        x="n_public",
        series=("LPCT", "LPCT-R"),
    ),
    Experiment(
        "lpct-figure-10a",
        "LPCT, Figure 10a: accuracy over the share of private records; diabetes, 80 public, ε = 8",
        jobs(
            "portion of diabetes",
            ("LPCT, small λ", "PHIST cubes"),
            (8.0,),
            share=(0.2, 0.4, 0.6, 0.8, 1.0),
            n_public=(80,),
        ),
        x="share",
        series=("LPCT", "LPCT-P", "PHIST cubes"),
        replications=50,
        kind="figure",
        published=drawn("10a", ("series", "share")),
        reference="drawn",
    ),
    *(
        Experiment(
            f"lpct-table-2-epsilon-{epsilon:g}",
            f"LPCT, Table 2: accuracy at ε = {epsilon:g}",
            jobs(CLASSIFICATION, COMPARED, (epsilon,)),
            x="problem",
            series=COMPARED,
            published=printed("lpct-table-2", epsilon=epsilon),
            notes=ranks_and_tests,
        )
        for epsilon in THREE
    ),
    Experiment(
        "lpct-table-3",
        "LPCT, Table 3: time to fit and predict once, in units of CT-W's (ε = 2)",
        jobs(CLASSIFICATION, tuple(TIMED), (2.0,)),
        x="problem",
        series=COMPARED,
        replications=5,
        best="min",
        measures=("seconds",),
        relative="CT-W",
        published=printed("lpct-table-3"),
    ),
]


def rates(name: str, title: str, x: str, epsilon: float, **settings: Any) -> Experiment:
    """LPCT and LPCT-prune over the records of one kind on their design, for the slopes."""
    return Experiment(
        f"lpct-rates-{name}",
        title,
        jobs("design", ("LPCT, deep", "LPCT-prune, full grid"), (epsilon,), **settings),
        x=x,
        panels=("gamma",),
        series=("LPCT", PRUNED[1]),
        kind="figure",
        log_x=True,
        notes=slopes,
    )


RATES = [
    rates(
        "private",
        "LPCT, Theorems 3, 4 and 7: accuracy over n_P; ε = 8, γ = 0.5, 50 public records",
        "n_private",
        8.0,
        gamma=(0.5,),
        n_public=(50,),
        n_private=tuple(10_000 * 4**k for k in range(4)),
    ),
    rates(
        "public",
        "LPCT, Theorems 3, 4 and 7: accuracy over n_Q; ε = 0.5, 10 000 private records",
        "n_public",
        0.5,
        gamma=(0.5, 5.0),
        n_public=tuple(500 * 4**k for k in range(4)),
        n_private=(10_000,),
    ),
]

on_a_sine = partial(
    Experiment, line=("epsilon",), series=("LPDT-M",), best="min", kind="figure", x="epsilon"
)
PRIVATE_ROWS = (1000, 2000, 4000, 7000, 8000, 16_000, 32_000)
SINE = {"n_private": (6000,), "n_public": (2000,)}
FROM_2_TO_10 = tuple(map(float, range(2, 11)))
LPDT_M = ("LPDT-M", BY_RULES["LPDT-M"])
COSTS = tuple(
    f"{name}, {cost}"
    for name in ("LPDT-M", "PHIST", "DECONV")
    for cost in ("training", "testing", "space")
)


def by_both_rules(numbers: Numbers) -> Numbers:
    """``numbers``, those of LPDT also beside it by the rules of its code."""
    return {
        (name, place): value
        for (series, place), value in numbers.items()
        for name in {series, BY_RULES.get(str(series), series)}
    }


LPDT = [
    on_a_sine(
        "lpdt-figure-1",
        "LPDT, Figure 1: mean squared error over n at ε = 8, with 500 public records and without",
        (
            *jobs("sine", ("LPDT-M",), (8.0,), n_private=PRIVATE_ROWS, n_public=(500,)),
            *jobs("sine", ("LPDT-M, full grid",), (8.0,), n_private=PRIVATE_ROWS, n_public=(0,)),
        ),
        x="n_private",
        line=("n_public",),
        log_x=True,
        published={(500, 7000): 1.08, (0, 8000): 1.19},
        notes=slopes,
    ),
    Experiment(
        "lpdt-table-1",
        "LPDT, Table 1: milliseconds to fit and to predict 2000 rows, and numbers kept, over n",
        jobs(
            "sine",
            tuple(f"costs of {name}" for name in ("LPDT", "PHIST", "DECONV")),
            (8.0,),
            n_private=tuple(2000 * 4**k for k in range(4)),
            n_public=(500,),
        ),
        x="n_private",
        series=COSTS,
        replications=5,
        best="min",
        notes=slopes,
    ),
    on_a_sine(
        "lpdt-figure-2a",
        "LPDT, Figure 2 (a): mean squared error over the depth p",
        jobs("sine", ("LPDT-M",), (3.0, 4.0, 6.0, 8.0), **SINE),
        x="depth",
    ),
    on_a_sine(
        "lpdt-figure-2b",
        "LPDT, Figure 2 (b): mean squared error over the leaf size n_l",
        jobs("sine", ("LPDT leaves",), (3.0, 4.0, 6.0, 8.0), **SINE),
        x="min_leaf",
    ),
    on_a_sine(
        "lpdt-figure-2c",
        "LPDT, Figure 2 (c): mean squared error over ε",
        jobs("sine", LPDT_METHODS[1:2] + LPDT_METHODS[3:], FROM_2_TO_10, **SINE),
        line=("series",),
        series=("LPDT-M", "APHIST", "PHIST", "DECONV", "Privet"),
        replications=50,
    ),
    on_a_sine(
        "lpdt-script",
        "LPDT's script: mean squared error over ε, x uniform, by the text's rules and the code's",
        jobs("sine", LPDT_M, (2.0, 4.0, 6.0, 8.0, 10.0), **SINE, law=("uniform",)),
        line=("series",),
        series=LPDT_M,
        published=printed("lpdt-epsilon-mse", ("epsilon",)),
        reference="of the authors' repository",
    ),
    *(
        Experiment(
            f"lpdt-table-2-epsilon-{epsilon:g}",
            f"LPDT, Table 2: mean squared error at ε = {epsilon:g}",
            jobs(sorted(REGRESSION), (*LPDT_METHODS, *BY_RULES.values()), (epsilon,)),
            x="problem",
            series=LPDT_SERIES,
            replications=50,
            best="min",
            published=by_both_rules(printed("lpdt-table-2", epsilon=epsilon)),
            notes=noise_and_tests,
        )
        for epsilon in (2.0, 6.0)
    ),
    on_a_sine(
        "lpdt-figure-4",
        "LPDT, Figure 4: mean squared error on white wines over the share of red wines",
        jobs("mixed wine", ("LPDT-V",), (4.0, 6.0, 8.0), red=(0.1, 0.3, 0.5, 0.7, 0.9)),
        x="red",
        series=("LPDT-V",),
    ),
]


def semi_private(
    x: str, title: str, publics: tuple[int, ...], privates: tuple[int, ...]
) -> Experiment:
    """Accuracy over ``x``, beside the least that Alon, Bassily and Moran promise, if any."""
    promised = {
        (epsilon, n_public if x == "n_public" else n_private): 0.9
        - excess_error(n_public, n_private, epsilon)
        for epsilon, n_public, n_private in product(SEMI_PRIVATE, publics, privates)
    }
    return Experiment(
        x.replace("n_", "abm-"),
        f"Alon, Bassily and Moran: accuracy over {title}",
        jobs(
            "noisy threshold",
            ("semi-private thresholds",),
            SEMI_PRIVATE,
            n_private=privates,
            n_public=publics,
        ),
        x=x,
        line=("epsilon",),
        series=("semi-private learner",),
        replications=100,
        kind="figure",
        log_x=True,
        published={key: accuracy for key, accuracy in promised.items() if accuracy > 0},
        reference="bound",
    )


ABM = [
    semi_private(
        "n_public",
        "n_pub; thresholds, 10 000 private records",
        (2, 5, 10, 30, 100, 300, 1000, 10_000),
        (10_000,),
    ),
    semi_private(
        "n_private",
        "n_priv; thresholds, 300 public records",
        (300,),
        (30, 100, 300, 1000, 3000, 10_000),
    ),
]

compared = partial(Experiment, x="series", line=("epsilon",), panels=("problem",), replications=20)
ranked = partial(
    ranks_and_effects, without=("Privet, plain tree", "everybody's tree", CHOSEN, LABEL_ALONE)
)
REFERENCES = (*PUBLIC_ONLY, "public tree", "everybody's tree", LABEL_ALONE)
EVERYWHERE, LISTED = ("Privet", "public stack", *REFERENCES), (*PRIVET, *REFERENCES, CHOSEN)
OURS = [
    *(
        compared(
            f"accuracy-design-gamma-{gamma:g}",
            f"γ = {gamma:g}, {n_public} public records",
            jobs(
                "design",
                ("Privet", "public stack", CHOSEN, LABEL_ALONE, "LPCT", PRUNED[0]),
                BUDGETS,
                gamma=(gamma,),
                n_public=(n_public,),
                n_private=(10_000,),
            ),
            series=(*PRIVET, CHOSEN, LABEL_ALONE, "LPCT", PRUNED[0]),
            panels=(),
        )
        for gamma, n_public in ((0.5, 50), (5.0, 1000))
    ),
    compared(
        "accuracy-classes",
        "Accuracy",
        (
            *jobs(CLASSIFICATION, (*EVERYWHERE, "LPCT CART", "LPCT-prune CART"), THREE),
            *jobs(FEW_COLUMNS, (CHOSEN,), THREE),
        ),
        series=(*LISTED, "LPCT CART", "LPCT-prune CART"),
        notes=ranked,
    ),
    compared(
        "accuracy-numbers",
        "Mean squared error",
        jobs(REGRESSION, (*EVERYWHERE, CHOSEN, "LPDT-V"), (2.0, 6.0)),
        series=(*LISTED, "LPDT-V"),
        best="min",
        notes=ranked,
    ),
    compared(
        "shifts",
        "Public data that mislead",
        on_shifted(
            (
                *("Privet", "public stack", *PUBLIC_ONLY, "public tree", CHOSEN, LABEL_ALONE),
                *("references", "everybody's forest"),
            ),
            BUDGETS,
        ),
        series=(
            *("public stack", *PUBLIC_ONLY, "public tree", CHOSEN),
            *(LABEL_ALONE, "base rate reported"),
            *("Privet", "Privet, plain tree"),
            *("trusted curator", "everybody's forest"),
        ),
        panels=("problem", "shift"),
        measures=("score", "brier", "log_loss", "coverage"),
        notes=what_shifts_show,
    ),
    Experiment(
        "trust",
        "ε of shuffled reports, for the central one of the columns",
        on_shifted(("behind a relay",), BUDGETS[:4]),
        x="shift",
        line=("series", "epsilon"),
        panels=("problem",),
        series=(IN_ONE, AS_SHIPPED, OF_ONE_AS_SHIPPED),
        replications=1,
        notes=equal_epsilon,
    ),
    Experiment(
        "trust-cells",
        "A trusted curator with as many cells as central noise allows: accuracy, Brier score",
        on_shifted(("central, more cells",), BUDGETS[:4]),
        x="shift",
        line=("epsilon",),
        panels=("problem",),
        series=(MORE_CELLS,),
        measures=("score", "brier"),
    ),
    compared(
        "disclosed-scores",
        "With columns disclosed",
        (
            *jobs(FIRST, WITH_DISCLOSED, BUDGETS[:4], part=(1.0,)),
            *jobs(FIRST, (disclosure.ALONE,), (0.5, 2.0), part=(1.0,)),
            *jobs(tuple(KNOWN)[:4], WITH_DISCLOSED, BUDGETS[:4]),
            *jobs(tuple(KNOWN)[:4], (disclosure.ALONE,), (0.5, 2.0)),
            *jobs("census", WITH_DISCLOSED, (0.5, 2.0)),
            *jobs(
                [f"{name}, unseen" for name in REPEATING],
                (*WITH_DISCLOSED, disclosure.ALONE),
                (0.5, 2.0),
            ),
        ),
        series=(*WITH_DISCLOSED[:4], disclosure.ALONE, *WITH_DISCLOSED[4:]),
        measures=("score", "brier"),
        errors=True,
        notes=what_showing_gains,
    ),
    Experiment(
        "disclosed-holders",
        "With fewer holders",
        (
            *jobs(FEWER, (disclosure.HIDDEN,), (0.5, 2.0), part=(1.0,)),
            *jobs(FEWER, (disclosure.HALF, disclosure.LABEL), (0.5, 2.0), part=disclosure.PARTS),
        ),
        x="part",
        line=("series", "epsilon"),
        panels=("problem",),
        series=(disclosure.HIDDEN, disclosure.HALF, disclosure.LABEL),
        measures=("brier",),
        best="min",
        notes=holders_needed,
    ),
    Experiment(
        "disclosed-rule",
        "Against all hidden",
        jobs(
            (*EVERY_SET, "made, far numbers"),
            ("against hidden", "against hidden, register"),
            (1.0, 4.0),
        ),
        x="problem",
        panels=("epsilon",),
        series=tuple(name for name, _, _ in disclosure.WAYS),
        best="min",
        errors=True,
        notes=what_disclosing_costs,
    ),
    Experiment(
        "disclosed-misfits",
        "Misfits of one ward",
        jobs("eight wards", ("misfits of a ward",), (4.0,), unfit=(0.4, 0.15, 0.0)),
        x="unfit",
        series=disclosure.MISFITS,
        best="min",
        errors=True,
    ),
    Experiment(
        "coverage",
        "Coverage of 95 % intervals",
        tuple(
            job
            for holders, epsilon in COLLECTIONS
            for job in jobs("quadrants", CASES, (epsilon,), holders=(holders,), shift=(0.0, 0.1))
        ),
        x="series",
        line=("collection",),
        panels=("shift",),
        series=tuple(CASES),
        replications=4,
    ),
    Experiment(
        "coverage-disclosed",
        "With few holders in few disclosed strata",
        tuple(
            Job("few disclosed", "hold with few", epsilon, settings)
            for settings in FEW
            for epsilon in (0.5, 1.0, 4.0)
        ),
        x="collection",
        panels=("kind", "epsilon"),
        series=OF_FEW,
    ),
    *(
        Experiment(
            f"statements-{name}",
            title,
            tuple(
                Job("collection", "list differences", epsilon, tuple(settings.items()))
                for epsilon, settings in collections
            ),
            x="collection",
            series=(NORMAL, ONE, EVERY),
            best="min",
            measures=("score", "found"),
            replications=replications,
        )
        for name, title, collections, replications in (
            (
                "differences",
                "Part of the collections with a false difference listed, and of the changed cells "
                "found",
                (*FIXED, *starmap(by_default, BY_DEFAULT)),
                200,
            ),
            ("labels", "The same of other labels", tuple(starmap(by_default, OTHER_LABELS)), 60),
        )
    ),
    Experiment(
        "statements-looks",
        f"Part of the collections with a false statement at any of {LOOKS} looks",
        tuple(
            Job("collection", "look often", epsilon, tuple(LOOKED_AT.items())) for epsilon in THREE
        ),
        x="statement",
        line=("series",),
        panels=("epsilon",),
        series=(ONE, EVERY),
        best="min",
        replications=200,
    ),
    Experiment(
        "statements-intervals",
        "Part of the 95 % intervals that hold, by name, labels, and how far holders have moved",
        jobs("moved", ("hold",), THREE, kind=tuple(LABELS), moved=(0.0, 0.1, 0.3)),
        x="series",
        line=("kind", "moved"),
        panels=("epsilon",),
        series=NAMES,
        replications=40,
    ),
    Experiment(
        "statements-false",
        "Part of the collections of 5 000 reports with an alarm, and of the false ones stated",
        tuple(
            Job("sent", "test for false reports", epsilon, (*settings, ("reports", 5_000)))
            for epsilon in (0.5, 1.0, 2.0, 4.0)
            for settings in SENT
        ),
        x="collection",
        panels=("epsilon",),
        series=ALARMS,
        measures=("score", "found"),
        replications=40,
    ),
    Experiment(
        "statements-none",
        "Part of the collections where a difference is stated",
        tuple(
            Job("alike", "say where none is seen", epsilon, settings)
            for epsilon, settings in UNSEEN
        ),
        x="collection",
        panels=("looks",),
        series=(*FALSE, *DETECTED),
        replications=100,
    ),
    *(
        Experiment(
            f"statements-{name}",
            title,
            tuple(Job("judged", "judge", epsilon, settings) for epsilon, settings in SCORED),
            x="collection",
            series=series,
            replications=16,
        )
        for name, title, series in (
            ("scores", "Part of the collections where a score is not in its 95 % interval", MISSED),
            ("accuracy", "The accuracy of a model's cells, read from its own reports", READ),
        )
    ),
    Experiment(
        "memory",
        "The public model by its weights: half the Brier score, or squared error over the variance",
        jobs(
            (
                *("employ", "diabetes", "anonymity", "concrete", "airfoil", *SHIPPED),
                *(f"{name}, one population" for name in ("employ", "diabetes", "rice")),
                *PACKAGED,
            ),
            ("remember",),
            (0.0,),
        )
        + jobs("noisy threshold", ("remember",), (0.0,), n_private=(20_000,), n_public=(300,)),
        x="problem",
        series=REMEMBERING,
        best="min",
        errors=True,
    ),
    Experiment(
        "label-shift-classes",
        "Squared distance from the true probabilities, 10⁻⁴, of classes whose shares differ",
        jobs("classes moved", ("follow labels",), BUDGETS[:3], of=CLASSES_MOVED),
        x="of",
        panels=("epsilon",),
        series=(PUBLIC, WITHOUT, WITH, PART, STATED, TOO_HIGH, RANDOMIZED),
        best="min",
        errors=True,
    ),
    Experiment(
        "label-shift-numbers",
        "Squared error, in % of the label's variance, of numbers that differ",
        jobs(
            [f"numbers moved, {name}" for name in NUMBERS],
            ("follow labels",),
            BUDGETS[:4],
            kind=NUMBERS_MOVED,
        ),
        x="problem",
        panels=("kind", "epsilon"),
        series=(PUBLIC, WITHOUT, WITH, PART, FINER, RANDOMIZED),
        best="min",
        errors=True,
    ),
    Experiment(
        "label-shift-stated",
        "Part of the collections of 20 000 whose reports contradict the stated prevalence",
        jobs(
            "stated share",
            ("contradict",),
            (0.5, 1.0, 3.0),
            classes=(2, 4),
            share=(0.02, 0.1),
        ),
        x="collection",
        panels=("epsilon",),
        series=CONTRADICTED,
        best="min",
        replications=200,
    ),
    Experiment(
        "waves-smoothed",
        "Squared error of cells' shares, in points², of waves fitted alone and with earlier ones",
        (
            *with_earlier(BUDGETS[:3], waves=WAVES[:2], kind=WAVE_KINDS),
            *with_earlier((1.0,), waves=WAVES[2:], kind=WAVE_KINDS[:1]),
        ),
        x="panel",
        line=("epsilon", "series"),
        panels=("kind", "of"),
        series=(ALONE, SMOOTHED),
        best="min",
        notes=what_earlier_waves_gain,
    ),
    Experiment(
        "waves-lifetimes",
        "Error of shares and of their changes since the wave before, in points; lifetime ε = 2",
        jobs("panel", ("equal lifetimes",), (2.0,), waves=WAVES, drift=DRIFTS, categories=(2, 64)),
        x="panel",
        panels=("categories",),
        series=(FRESH, ROTATED, *MEMOIZED),
        best="min",
        measures=("score", "changes"),
    ),
    Experiment(
        "waves-changes",
        "Of the changes that were listed at any look, the part that is false and the part whose "
        "interval misses, how many there are, and the part of the true ones that is found",
        jobs("panel", ("listed changes",), (2.0,), waves=WAVES, drift=DRIFTS),
        x="panel",
        series=(LAST, EVERY_LOOK),
        best="min",
        measures=("score", "missed", "listed", "found"),
        replications=60,
    ),
    Experiment(
        "ablations",
        "How the holders differ, and the error without a part of the prior",
        jobs(
            "16 cells",
            tuple(f"ablation: {ablation.name}" for ablation in ABLATIONS),
            BUDGETS,
            design=tuple(DESIGNS),
        ),
        x="design",
        panels=("epsilon",),
        series=tuple(ablation.name for ablation in ABLATIONS),
        best="min",
        replications=30,
    ),
    Experiment(
        "shapes",
        "With the member, without it, and their difference",
        jobs("random laws", ("without the public shape",), (0.0,), classes=(2, 5, 8), kind=KINDS),
        x="reports",
        panels=("classes", "kind"),
        series=("with", "without", "difference", "weighted"),
        measures=("score", "brier"),
        errors=True,
        replications=8,
    ),
    Experiment(
        "plans-promises",
        "What plans say, beside what happens",
        jobs("promised", ("keep promises",), EPSILONS, kind=PLANNED_FOR, part=PARTS),
        x="of",
        panels=("epsilon",),
        series=PROMISES,
        errors=True,
    ),
    *(
        Experiment(
            f"plans-{name}",
            title,
            jobs(problems, ("plan",), (2.0,)),
            x="problem",
            series=("expected", "stated error", "happened", "covered", "public alone"),
            replications=5,
        )
        for name, title, problems in (
            (
                "one-population",
                "Holders resemble the public records",
                (
                    "synthetic, one population",
                    *(f"{name}, one population" for name in SIZES),
                    *REGRESSION,
                ),
            ),
            ("as-collected", "Holders may differ from the public records", FEW_COLUMNS),
        )
    ),
]
PUBLIC_ALONE = ("public stack", *PUBLIC_ONLY)


def bench(
    name: str, title: str, sets: tuple[str, ...], measures: tuple[str, ...], *, first: bool
) -> Experiment:
    """One table of a blind bench; the first lacks the model that cross-validation chooses."""
    chosen = () if first else (CHOSEN,)
    return compared(
        name,
        title,
        jobs(
            [f"{one}, {public}" for one in sets for public in (FAIR, NATURAL)],
            ("Privet", *PUBLIC_ALONE, *chosen, LABEL_ALONE, "everybody's boosting"),
            BUDGETS[:4],
        ),
        series=(
            *(*PUBLIC_ALONE, *chosen, LABEL_ALONE),
            *("Privet", "Privet, plain tree", "everybody's boosting"),
        ),
        best="min",
        measures=measures,
        errors=True,
        notes=blind_summary,
    )


OF_EACH = (
    ("classes", "Classes: Brier score and accuracy", ("brier", "score")),
    ("numbers", "Numbers: mean squared error", ("score",)),
)
BLIND = [
    bench(f"blind-{name}", title, of, measures, first=True)
    for (name, title, measures), of in zip(OF_EACH, (CLASS_SETS, NUMBER_SETS), strict=True)
]
SECOND = [
    bench(f"second-bench-{name}", title, of, measures, first=False)
    for (name, title, measures), of in zip(
        OF_EACH, (second_bench.NAMES[:OF_CLASSES], second_bench.NAMES[OF_CLASSES:]), strict=True
    )
]
EXPERIMENTS: list[Experiment] = [*LPCT, *RATES, *LPDT, *ABM, *OURS, *BLIND, *SECOND]
