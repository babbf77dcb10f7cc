"""The scikit-learn classes at their largest: public rows, classes, and rows to predict."""

from collections.abc import Iterator
from functools import partial

from sklearn.datasets import make_classification

from bench.figures import Effort, Figure, timed
from privet import PrivateTreeClassifier

COLUMNS = 10
CASES = {
    Effort.QUICK: [(60, 100, 2, 10)],
    Effort.FULL: [
        (2_000, 10_000, 2, 10**6),
        (100_000, 10_000, 2, 10**6),
        (2_000, 10_000, 100, 10_000),
        (5_000, 10_000, 100, 10_000),
    ],
}
"""Public rows, private rows, classes, rows to predict."""


def estimating(effort: Effort) -> Iterator[Figure]:
    """One fit, all private rows answering, and one call of ``predict_proba``."""
    for public, private, classes, rows in CASES[effort]:
        case = f"public={public},private={private},classes={classes}"
        X, y = make_classification(
            public + private + rows,
            COLUMNS,
            n_informative=COLUMNS,
            n_redundant=0,
            n_classes=classes,
            n_clusters_per_class=1 if classes > 2 else 8,
            random_state=0,
        )
        volunteers, holders = slice(public), slice(public, public + private)
        model = PrivateTreeClassifier(2.0, random_state=0)
        fit = partial(model.fit, X[holders], y[holders], public=(X[volunteers], y[volunteers]))
        yield Figure("estimators", case, "fit", timed(fit), "s")
        predict = partial(model.predict_proba, X[public + private :])
        yield Figure("estimators", f"{case},rows={rows}", "predict_proba", timed(predict), "s")
