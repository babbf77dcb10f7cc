"""What Privet's accuracy is compared with in the demonstrations."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from privet.curator.http.records import encode_records
from privet.curator.public_model.knowledge import public_knowledge
from privet.curator.publishing.build import build_task
from privet.curator.publishing.settings import TaskSettings
from privet.curator.publishing.table import read_table
from privet.protocol.features import Classes
from scripts import fair_survey
from scripts.fair_survey import LABEL, Record, without_label

LEAF_SIZES = (5, 10, 20, 40, 80, 160)


@dataclass(frozen=True)
class Result:
    """A model's share of correct test labels, with its binomial standard error."""

    name: str
    accuracy: float
    standard_error: float


def score(name: str, predicted: Sequence[str], truth: Sequence[str]) -> Result:
    """Compare predicted labels with the true ones."""
    accuracy = sum(map(str.__eq__, predicted, truth)) / len(truth)
    return Result(name, accuracy, math.sqrt(accuracy * (1 - accuracy) / len(truth)))


def majority(learnable: Sequence[Record], test: Sequence[Record]) -> list[str]:
    """The commonest label, for everybody."""
    [(label, _)] = Counter(str(record[LABEL]) for record in learnable).most_common(1)
    return [label] * len(test)


def best_public_model(public: Sequence[Record], test: Sequence[Record]) -> list[str]:
    """What the public model that ``drift`` starts from says, before any holder has answered."""
    settings = TaskSettings.model_validate(fair_survey.settings(1.0, 1))
    task, data = build_task(settings, read_table(fair_survey.as_csv(public)))
    assert isinstance(task.label, Classes)
    classes = task.label.classes
    model = public_knowledge(data.X, data.y, len(classes)).model
    return [classes[i] for i in model.predict(encode_records(task, test)).argmax(axis=1)]


def non_private_tree(learnable: Sequence[Record], test: Sequence[Record]) -> list[str]:
    """What scikit-learn's tree learns from raw records; cross-validation chooses its leaf size."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    tree = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"min_samples_leaf": LEAF_SIZES}, cv=5
    )
    model = make_pipeline(DictVectorizer(sparse=False), tree)
    model.fit([without_label(r) for r in learnable], [r[LABEL] for r in learnable])
    return [str(label) for label in model.predict([without_label(r) for r in test])]
