"""Privet as scikit-learn estimators: ``fit`` plays all the holders, so methods compare in one line.

    from privet import PrivateTreeClassifier

    model = PrivateTreeClassifier(epsilon=1.0).fit(X_private, y_private, public=(X, y))

The private records take the same way as in a real task: the task is grown and published from the
public records, every private record's report is simulated exactly in distribution, and the model
sees the sums of the reports only. What is simulated is one collection; ``random_state`` says which.
"""

from privet.curator.sklearn_api.estimators import PrivateTreeClassifier, PrivateTreeRegressor

__all__ = ["PrivateTreeClassifier", "PrivateTreeRegressor"]
