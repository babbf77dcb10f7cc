"""Privet as scikit-learn estimators: ``fit`` simulates all holders of one collection.

    from privet import PrivateTreeClassifier

    model = PrivateTreeClassifier(epsilon=1.0).fit(X_private, y_private, public=(X, y))

The steps are those of a real task: the task is built from the public records, every private
record's report is simulated exactly in distribution, and the model sees only the sums of the
reports. ``random_state`` seeds the simulation. ``PrivatePanel`` does so for several waves.
"""

from .estimators import PrivateTreeClassifier, PrivateTreeRegressor
from .panel import PrivatePanel

__all__ = ["PrivatePanel", "PrivateTreeClassifier", "PrivateTreeRegressor"]
