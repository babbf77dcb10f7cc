"""A public model of the researcher's own: a scikit-learn estimator, or the bytes of ONNX."""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from privet.curator.public_data import PublicData
from privet.curator.public_model.base import BaseModel, Link, Single
from privet.curator.public_model.onnx_trial import tried_model
from privet.protocol.errors import InvalidPublicData, InvalidRequest
from privet.protocol.features import Classes, Label

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted scikit-learn estimator, for as long as this process lives.

    ``places`` are the task's numbers of the classes it has seen, or None for numbers; ``width``
    is the number of classes, or 1.
    """

    kind: ClassVar[str] = "estimator"
    copies: ClassVar[int] = 0
    link: ClassVar[Link] = "identity"
    estimator: Any
    places: NDArray[np.int64] | None
    width: int

    def predict(self, X: Single) -> Floats:
        """Probabilities or numbers for rows ``(rows, columns)``, shape ``(rows, width)``."""
        if self.places is None:
            return np.asarray(self.estimator.predict(X), dtype=np.float64).reshape(-1, 1)
        found = np.zeros((len(X), self.width))
        found[:, self.places] = self.estimator.predict_proba(X)
        return found

    @property
    def arrays(self) -> NoReturn:
        """It has none."""
        raise InvalidRequest(
            f"The public model is a {type(self.estimator).__name__} in memory, which no file can "
            "hold: convert it with skl2onnx, and give its bytes as public_model."
        )


def public_model(given: Any, label: Label, public: PublicData) -> BaseModel:
    """The model of ONNX bytes, or a clone of an estimator fitted to the encoded public rows.

    Raises ``InvalidPublicData`` for anything that cannot predict the label.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return tried_model(bytes(given), label, public)
    classes = isinstance(label, Classes)
    if not hasattr(given, "fit") or (classes and not is_classifier(given)):
        wanted = "a scikit-learn classifier" if classes else "a scikit-learn regressor"
        raise InvalidPublicData(
            f"public_model is {str(given)[:100]!r}: give {wanted}, or the bytes of an ONNX file."
        )
    y = public.y.astype(np.int64) if classes else public.y
    fitted = clone(given).fit(public.X.astype(np.float32), y)
    if classes and not hasattr(fitted, "predict_proba"):
        raise InvalidPublicData(
            f"public_model is {str(given)[:100]!r}, which gives no probabilities: "
            "put it into a CalibratedClassifierCV."
        )
    places = fitted.classes_.astype(np.int64) if classes else None
    part = Fitted(fitted, places, label.slots if isinstance(label, Classes) else 1)
    return BaseModel(f"{type(given).__name__} of the public records", (part,), (1.0,))
