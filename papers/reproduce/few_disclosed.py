"""Coverage of every interval, by its name, where few holders report from few disclosed strata.

Public records and holders lean up with the one column, which divides it into strata of equal length
and these into hidden cells. Holders are spread over a stratum as public records are, or ``askew``:
they are in the upper half of each cell only, and a tenth of the label's range higher there. One
record in twenty does not fit, in every stratum alike. Cells' intervals are those of ``weighted`` by
reports alone, which the default's are too.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privet.learning.core.counts import Interval, QuestionCounts
from privet.learning.core.labels import kind_of
from privet.learning.core.public_data import PublicData
from privet.learning.figures.figure import Reports
from privet.learning.figures.misfits import gathered_misfits
from privet.learning.figures.node_shares import BelowNodes
from privet.learning.lpct.grid import grid_partition
from privet.learning.lpct.weighted import fit_weighted
from privet.learning.simulation import simulate_question
from privet.protocol.features import Classes, Label, Numeric, Range, columns_of
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms.stratified import StratifiedMechanism
from privet.protocol.mechanisms.subset import SubsetSelection
from reproduce.contestants import Scored
from reproduce.coverage import CLASSES, NUMBER, drawn
from reproduce.datasets import Floats
from reproduce.intervals import within

KINDS: dict[str, Label] = {"classes": CLASSES, "number": NUMBER}
RUNS = 20
"""Collections per replication."""
ROWS, UNFIT, MOVED = 300, 0.05, 0.1
COLUMNS = columns_of([Numeric(name="x", low=0.0, high=1.0)])
GATHER = "misfits gather"
NAMES = ("a cell", "all holders", "below a node", "a node's part", "did not fit", GATHER)
"""The last is how often it is said where there is no such thing."""
ASKEW = {"no": "", "yes": ", askew"}
SIZES = ((2, 1, 5), (2, 1, 20), (4, 2, 20), (8, 1, 5), (8, 1, 50))
"""Strata, hidden cells in each, and holders of each stratum."""
COLLECTIONS = tuple(
    (("kind", kind), ("strata", strata), ("hidden", hidden), ("each", each), ("askew", askew))
    for kind in ("classes", "number")
    for strata, hidden, each in SIZES
    for askew in ("no", "yes")
    if askew == "no" or each > 5 * strata // 2
)


@dataclass(frozen=True)
class Few:
    """``each`` holders in each of the ``strata``, with so many ``hidden`` cells."""

    kind: str
    strata: int
    hidden: int
    each: int
    askew: str = "no"


def hold_with_few(of: Few, epsilon: float, seed: int) -> Iterator[Scored]:
    """The part of the intervals that hold, by name."""
    held: defaultdict[str, list[float]] = defaultdict(list)
    for run in range(RUNS):
        for name, parts in held_once(of, epsilon, RUNS * seed + run).items():
            held[name] += parts
    cells = f"{of.hidden} cells" if of.hidden > 1 else "a cell"
    point: dict[str, float | str] = {
        "collection": f"{of.strata} strata of {cells}, {of.each} holders each{ASKEW[of.askew]}"
    }
    for name in NAMES:
        yield name, point, {"score": float(np.mean(held[name]))}


def held_once(of: Few, epsilon: float, seed: int) -> dict[str, list[float]]:
    """1 for each interval of one collection that holds, else 0, by name."""
    rng, label = np.random.default_rng([seed, 31]), KINDS[of.kind]
    cells, n = of.strata * of.hidden, of.strata * of.each
    tree = grid_partition(1, cells)
    X = rng.random((ROWS, 1))
    public = PublicData(X, drawn(label, _means(X[:, 0]), rng))
    stratum = np.repeat(np.arange(of.strata), of.each)
    cell = stratum * of.hidden + rng.integers(of.hidden, size=n)
    within_cell = rng.random(n)
    truth = _means((np.arange(cells) + 0.5) / cells)
    means = _means((cell + within_cell) / cells)
    if of.askew == "yes":
        within_cell = 0.5 + within_cell / 2.0
        truth = _means((np.arange(cells) + 0.75) / cells) + MOVED
        means = _means((cell + within_cell) / cells) + MOVED
    x, y = (cell + within_cell) / cells, drawn(label, means, rng)
    fit = rng.random(n) >= UNFIT
    inner = SubsetSelection.create(
        epsilon, of.hidden, label.slots, regression=isinstance(label, Range)
    )
    strata = tuple(np.repeat(np.arange(of.strata), of.hidden).tolist())
    mechanism = StratifiedMechanism.around(inner, strata)
    scale = LabelScale.of(label, cells) if isinstance(label, Range) else None
    sums = simulate_question(
        tree,
        mechanism,
        label=label,
        X=x[fit, None],
        y=y[fit],
        copies=np.ones(fit.sum(), dtype=np.int64),
        rng=rng,
        scale=scale,
        misfits=int((~fit).sum()),
    )
    question = QuestionCounts(tree, mechanism, sums, n, scale=scale)
    model = fit_weighted(label, public, [question], weight=0.0, counts="unbiased")
    inside = fit & (x < tree.threshold[0])
    of_node = BelowNodes(label, public, question).shares(int(tree.left[0]))
    low, high = model.low[:, -1], model.high[:, -1]
    held = {
        "a cell": ((low <= truth) & (truth <= high)).astype(float).tolist(),
        "all holders": [within(_overall(label, public, question), float(y[fit].mean()))],
        "a node's part": [within(of_node.mass.reported, inside.sum() / fit.sum())],
        "did not fit": [within(question.misfits.interval(0.0, n), (~fit).sum())],
        GATHER: [float(gathered_misfits(question, COLUMNS) != "")],
    }
    if inside.any():
        held["below a node"] = [within(of_node.rows[-1].reported, float(y[inside].mean()))]
    return held


def _overall(label: Label, public: PublicData, question: QuestionCounts) -> Interval:
    """The share of the second class, or the mean, of all holders, as ``insight`` states it."""
    about = 0.5 if isinstance(label, Classes) else float(public.y.mean())
    return Reports(kind_of(label), question).overall(about)[-1].interval()


def _means(x: Floats) -> Floats:
    return np.asarray(0.2 + 0.5 * x)
