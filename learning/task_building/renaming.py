"""Categories renamed and merged, before anything is inferred from a column."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import ColumnValues, category_text
from privet.protocol.spellings import look_alike

from .columns import Columns, Table

Renaming = Mapping[str, Mapping[str, str]]
"""New names of categories by column and old name; an empty one is a missing value."""


def renamed(columns: Columns, renaming: Renaming) -> Columns:
    """The columns with the new names.

    Raises ``InvalidPublicData`` for a column or a category that is not there.
    """
    if not renaming:
        return columns
    made = columns.copy() if isinstance(columns, Table) else dict(columns)
    for name, names in renaming.items():
        if name not in columns:
            raise InvalidPublicData(f"There is no column {name!r} whose categories to rename.")
        made[name] = _renamed(name, columns[name], names)
    return made


def _renamed(name: str, values: ColumnValues, names: Mapping[str, str]) -> ColumnValues:
    found = {value: category_text(value) for value in dict.fromkeys(values) if value is not None}
    if unknown := [old for old in names if old not in found.values()]:
        raise InvalidPublicData(
            f"The column {name!r} has no category {unknown[0]!r} to rename: its categories are "
            f"{', '.join([*dict.fromkeys(found.values())][:20])}."
        )
    return [value if value is None else names.get(found[value], value) for value in values]


def alike(texts: Iterable[str]) -> list[list[str]]:
    """The texts that differ only in case or spaces from others, in groups, sorted."""
    groups = defaultdict(list)
    for text in sorted(texts):
        groups[look_alike(text)].append(text)
    return [spellings for spellings in groups.values() if len(spellings) > 1]
