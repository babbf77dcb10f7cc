"""Ranges such as ``10-19`` of which a spreadsheet made a month or a day."""

import re
from collections.abc import Collection, Mapping
from itertools import pairwise, product
from typing import NamedTuple

from .renaming import Resemblance

MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    *("jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"),
    *("jan", "feb", "mrz"),
)
"""The months of a year as spreadsheets abbreviate them, in English and German."""
BAND = re.compile(r"(\d{1,3}) ?[-\u2013] ?(\d{1,3})")
BAND_END = re.compile(r"[<>\u2264\u2265] ?\d{1,3}|\d{1,3} ?\+")
"""A range with one end, as the first and the last often are."""
MONTH_FIRST = re.compile(r"([^\W\d_]{3})\.?[- ](\d\d)")
DAY_FIRST = re.compile(r"(\d\d?)[-. ]{1,2}([^\W\d_]{3})\.?")
YEAR_FIRST = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
YEAR_LAST = re.compile(r"(\d\d?)[./-](\d\d?)[./-](\d{4}|\d\d)")
MOST_RANGES = 12
"""Ranges of a column, at most; a column of dates has more of them."""
FEWEST_DAYS = 3
"""Days, at least, that are ranges where none is beside them."""
FEW = 2
"""Days for each other text, such as none, more than which a column then has."""


class Ends(NamedTuple):
    """The ends of a range; of one that became a day, its year, or minus that of its month."""

    low: int
    high: int
    year: int = 0


def excels_months(rows: Mapping[str, int]) -> list[Resemblance]:
    """Categories that were ranges before a spreadsheet made a month of them, ``Oct-19``, or a day
    of the year in which they were typed.

    Ranges are left beside them, or none of those that they would be overlap.
    """
    read = {text: ranges for text in rows if (ranges := _ranges(text))}
    others = [text for text in rows if text not in read]
    left = [found for text in others if (found := BAND.fullmatch(text))]
    are_days = any(each.year for ranges in read.values() for each in ranges)
    fewest = FEWEST_DAYS if are_days else 2
    is_beside = bool(left) or any(map(BAND_END.fullmatch, others))
    are_most = len(read) >= fewest and len(read) > FEW * len(others)
    if len(read) > MOST_RANGES or not (is_beside or are_most):
        return []
    beside = [Ends(int(each[1]), int(each[2])) for each in left]
    fitting = (ranges for ranges in product(*read.values()) if _fit([*ranges, *beside]))
    pairs = zip(read, next(fitting, ()), strict=False)
    named = [(text, f"{each.low}-{each.high}") for text, each in pairs]
    return [Resemblance(text, rows[text], new, rows.get(new, 0)) for text, new in named]


def _ranges(text: str) -> list[Ends]:
    """The ranges that a text may have been; none of one that is no month and no day."""
    first, day = MONTH_FIRST.fullmatch(text), DAY_FIRST.fullmatch(text)
    name = (first[1] if first else day[2] if day else "").casefold()
    if name in MONTHS:
        month = MONTHS.index(name) % 12 + 1
        low, high = sorted((month, int(first[2] if first else day[1] if day else 0)))
        return [Ends(low, high)]
    if found := YEAR_FIRST.fullmatch(text):
        year, *ends = map(int, found.groups())
    elif found := YEAR_LAST.fullmatch(text):
        *ends, year = map(int, found.groups())
    else:
        return []
    low, high = sorted(ends)
    of_month = [Ends(high, year % 100, -year)] if low == 1 else []
    return [each for each in (*of_month, Ends(low, high, year)) if each.low < each.high]


def _fit(ranges: Collection[Ends]) -> bool:
    """True if no two overlap, and all days are of one year, of which no month is."""
    years = {each.year for each in ranges if each.year > 0}
    ends = sorted({each[:2] for each in ranges})
    apart = all(one[1] <= other[0] for one, other in pairwise(ends))
    return apart and len(years) <= 1 and not any(-each.year in years for each in ranges)
