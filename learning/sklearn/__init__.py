"""Privet as scikit-learn estimators: ``fit`` simulates all holders of one collection.

    from privet import PrivateTreeClassifier

    model = PrivateTreeClassifier(epsilon=1.0).fit(X_private, y_private, public=(X, y))

The steps are those of a real task: the task is built from the public records, every private
record's report is simulated exactly in distribution, and the model sees only the sums of the
reports. ``random_state`` seeds the simulation.
"""

from .estimators import PrivateTreeClassifier, PrivateTreeRegressor

__all__ = ["PrivateTreeClassifier", "PrivateTreeRegressor"]
