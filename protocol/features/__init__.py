"""The features and the label of a record, and how a record becomes numbers.

One file for each kind of feature: ``base`` is the contract, ``fields`` has what labels share,
``registry`` lists the kinds, ``records`` encodes whole records.
"""

from .base import Column, Condition, Matrix, Relation
from .categorical import Categorical
from .fields import UNSHOWABLE, Category, Described, Measured, Name, showable
from .labels import Classes, Label, Range
from .numeric import Numeric
from .records import EncodedRecord, columns_of, encode_record, encode_table
from .registry import FEATURES, Feature, Features, Kind

__all__ = [
    "FEATURES",
    "UNSHOWABLE",
    "Categorical",
    "Category",
    "Classes",
    "Column",
    "Condition",
    "Described",
    "EncodedRecord",
    "Feature",
    "Features",
    "Kind",
    "Label",
    "Matrix",
    "Measured",
    "Name",
    "Numeric",
    "Range",
    "Relation",
    "columns_of",
    "encode_record",
    "encode_table",
    "showable",
]
