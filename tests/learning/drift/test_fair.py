"""Fair public rows, with a rare class or of a number that they explain nearly exactly: reports
hardly ever make the default worse than its model."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from privet.learning.core.public_data import Floats, PublicData
from privet.learning.methods import Fitting
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.build import TaskBuilder
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes, Numeric, Range

from ..examples import linear_model

HOLDERS, COLLECTIONS = 20_000, 6
EPSILONS = (0.5, 1.0, 2.0, 4.0)
WORSE = 1.1
"""Times the public model's Brier score that nobody should see."""


@dataclass(frozen=True)
class Law:
    """The ``share`` of the last class, in ``columns`` even columns that raise its odds by
    ``strength``, and so many public ``rows``."""

    share: float
    columns: int
    strength: float
    rows: int

    @property
    def slope(self) -> Floats:
        drawn = np.random.default_rng(self.columns).normal(size=self.columns)
        return np.asarray(self.strength * drawn / np.sqrt((drawn**2).sum() / 12.0))

    def drawn(self, rows: int, rng: np.random.Generator) -> PublicData:
        """Rows of the law, a tenth more of them than have the class by their odds alone."""
        X = rng.random((rows, self.columns))
        lean = (X - 0.5) @ self.slope + self.strength * np.sin(6.0 * X[:, 0]) * (X[:, 1] > 0.5)
        odds = np.exp(lean - np.log(np.exp(lean).mean())) * self.share / (1.0 - self.share)
        return PublicData(X, (rng.random(rows) < odds / (1.0 + odds)).astype(float))


LAWS = (
    Law(0.01, 4, 1.0, 2000),
    Law(0.02, 6, 1.5, 1000),
    Law(0.046, 8, 1.0, 3000),
    Law(0.05, 5, 3.0, 1500),
    Law(0.08, 10, 0.7, 800),
    Law(0.03, 6, 2.0, 300),
)


def brier(values: Floats, y: Floats) -> float:
    return float(((values[:, 1] - y) ** 2).mean())


@pytest.mark.slow
def test_a_rare_class_of_fair_rows_is_hardly_ever_worse_for_reports() -> None:
    """In at most 4 of 144 collections Brier score is above 1.1 times the public model's.

    If it were so in one collection of a hundred, more than 4 would be in 1.5 % of runs; the seeds
    are fixed. With stacked public models it was so in 1 of 456.
    """
    label, worst = Classes(name="y", classes=("no", "yes")), []
    for law in LAWS:
        rng = np.random.default_rng([law.columns, law.rows])
        public, new = law.drawn(law.rows, rng), law.drawn(20_000, rng)
        own = LogisticRegression().fit(public.X, public.y)
        zero = np.zeros_like(own.coef_[0])
        base = linear_model(np.stack([zero, own.coef_[0]], axis=1), [0.0, *own.intercept_])
        before = brier(base.predict(new.X), new.y)
        features = tuple(Numeric(name=f"x{i}", low=0.0, high=1.0) for i in range(law.columns))
        for epsilon in EPSILONS:
            settings = TaskSettings(name="t", label="y", epsilon=epsilon, holders=HOLDERS)
            task = TaskBuilder(features, label, public, base).task(settings)
            fitting = Fitting.of("drift", label, public, base)
            for _ in range(COLLECTIONS):
                holders = law.drawn(HOLDERS, rng)
                asked = [
                    replace(question, planned=HOLDERS * task.asked_share(place))
                    for place, question in enumerate(
                        simulate_counts(task, holders.X, holders.y, rng)
                    )
                ]
                after = brier(fitting.model(asked).predict(new.X).values, new.y)
                worst.append((after / before, law.share, epsilon))
    print(sorted(worst)[-8:])
    assert sum(times > WORSE for times, *_ in worst) <= 4, sorted(worst)[-6:]


@pytest.mark.slow
@pytest.mark.parametrize("explained", [0.8, 0.95, 0.99])
def test_label_only_hidden_is_no_worse_where_the_public_model_is_nearly_exact(
    explained: float,
) -> None:
    """In 20 pairs of collections at each epsilon its squared error is no more than two standard
    errors above that with all hidden, and in at most 3 of 120 collections twice the public
    model's or more."""
    slope = np.array([0.5, 0.3, 0.2, 0.0])
    noise = float(np.sqrt((slope**2).sum() / 12.0 * (1.0 - explained) / explained))
    label = Range(name="y", low=-5.0 * noise, high=1.0 + 5.0 * noise)
    names = tuple(f"x{i}" for i in range(4))
    features = tuple(Numeric(name=name, low=0.0, high=1.0) for name in names)
    worse = 0
    for epsilon in (0.5, 1.0, 2.0):
        lost = []
        for seed in range(20):
            rng = np.random.default_rng([seed, round(1000 * explained)])
            X = rng.random((7000, 4))
            y = np.clip(X @ slope + noise * rng.standard_normal(7000), *label.bounds)
            public = PublicData(X[:1000], y[:1000])
            own = LinearRegression().fit(public.X, public.y)
            base = linear_model(own.coef_[:, None], [own.intercept_], "identity")
            fitting = Fitting.of("drift", label, public, base)
            before = float(((base.predict(X[5000:])[:, 0] - y[5000:]) ** 2).mean())
            pair = []
            for disclosed in ((), names):
                settings = TaskSettings(
                    name="t", label="y", epsilon=epsilon, holders=4000, disclosed=disclosed
                )
                task = TaskBuilder(features, label, public, base).task(settings)
                counts = simulate_counts(task, X[1000:5000], y[1000:5000], rng)
                found = fitting.estimate(counts).predict(X[5000:]).values[:, 0]
                pair.append(float(((found - y[5000:]) ** 2).mean()) / before)
            worse += sum(times > 2.0 for times in pair)
            lost.append(pair[1] - pair[0])
        mean, error = np.mean(lost), np.std(lost, ddof=1) / np.sqrt(len(lost))
        print(f"{explained:g}, {epsilon:g}: {mean:+.4f} ± {error:.4f} times the public model's")
        assert mean <= 2.0 * error + 0.002
    assert worse <= 3
