"""Shares, numbers, counts and moments as text for people."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil, exp, floor, log10

TOO_FEW_ANSWERS = "too few answers"
"""In place of a figure whose interval tells nothing."""
TELLING = 0.25
"""Half width of an interval that tells something, as a part of all that is possible."""

WIDE = 0.1
"""Width of an interval of shares from which on tenths of a percent say nothing."""


def percent(share: float | None, *, whole: bool = False) -> str:
    """A share in two digits, such as 34 % or 0.3 %, or in ``whole`` percents; a dash for None."""
    if share is None:
        return "–"
    least, some = (0.005, 0) if whole else (0.0005, 1)
    if 0.0 < share < least or 1.0 - least < share < 1.0:
        end = 10.0**-some
        return f"<{end:g}\u00a0%" if share < 0.5 else f">{100.0 - end:g}\u00a0%"
    digits = some if 0.0 < share < 0.00995 or 0.99 < share < 1.0 else 0
    return f"{100.0 * share:.{digits}f}\u00a0%"


def points(share: float) -> str:
    """A part of all in points, from ten on as a whole number: ``5.7 points``, ``25 points``."""
    return f"{100.0 * share:.{0 if share >= 0.0995 else 1}f} points"


def amount(number: float | None) -> str:
    """A number in four digits or as a whole one, without an exponent; a dash for None."""
    if number is None:
        return "–"
    if 1e4 <= abs(number) < 1e9:
        return thousands(round(number))
    short = f"{number:.4g}"
    if "e" not in short:
        return short
    return thousands(int(float(short))) if abs(number) >= 1 else f"{Decimal(short):f}"


def of_hundred(epsilon: float) -> int:
    """The most of 100 people sending one message whose answers it points to."""
    return ceil(100 / (1 + exp(-epsilon)))


def share_ends(low: float, high: float, to: str = " to ") -> str:
    """The ends of a share's interval, such as ``62 % to 99 %``."""
    whole = high - low > WIDE
    return to.join(percent(end, whole=whole) for end in (low, high))


def figure(value: float, low: float, high: float, *, is_share: bool) -> str:
    """A figure with its interval, such as ``31 % (20 % to 41 %)``.

    It has no more digits than two of its interval's half width.
    """
    if is_share:
        whole = high - low > WIDE
        said, *ends = (percent(each, whole=whole) for each in (value, low, high))
        return f"{said} ({' to '.join(ends)})"
    said, *ends = in_digits((high - low) / 2.0, value, low, high)
    return f"{said} ({' to '.join(ends)})"


def number_ends(low: float, high: float, to: str = " to ") -> str:
    """The ends of a number's interval, such as ``6.6 to 20.8``."""
    return to.join(in_digits((high - low) / 2.0, low, high))


def in_digits(unsure: float, *numbers: float | None) -> list[str]:
    """Numbers in no more digits than two of what they are ``unsure`` by; zeros have no sign."""
    digits = 1 - floor(log10(unsure)) if unsure > 0.0 else None
    return [
        amount(each if each is None or digits is None else round(each, digits) + 0.0)
        for each in numbers
    ]


def thousands(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")


def about(number: int) -> str:
    """A count in two digits, since its own error is larger: ``130 000``."""
    digits = max(len(str(number)) - 2, 0)
    return thousands(round(number, -digits))


def tells_enough(low: float, high: float, span: float = 1.0) -> bool:
    """True if the interval is known to ± ``TELLING`` of all that is possible, which is ``span``."""
    return high - low <= 2.0 * TELLING * span


def tells_nothing(low: float, high: float, least: float, most: float) -> bool:
    """True if the interval is all that is possible, from ``least`` to ``most``."""
    return low <= least and high >= most


def date(moment: datetime | float) -> str:
    """A date in UTC, such as ``1 December 2026``."""
    at = _in_utc(moment)
    return f"{at.day} {at:%B %Y}"


def when(moment: datetime | float) -> str:
    """A moment to the minute in UTC, such as ``1 December 2026, 15:20 UTC``."""
    return f"{date(moment)}, {_in_utc(moment):%H:%M} UTC"


def in_figures(moment: datetime | float) -> str:
    """The same without a month's name, for every language: ``2026-12-01 15:20 UTC``."""
    return f"{_in_utc(moment):%Y-%m-%d %H:%M} UTC"


def _in_utc(moment: datetime | float) -> datetime:
    return moment if isinstance(moment, datetime) else datetime.fromtimestamp(moment, UTC)


def capital(text: str) -> str:
    """A text as a sentence begins."""
    return f"{text[:1].upper()}{text[1:]}"


def lowered(sentence: str) -> str:
    """A sentence as a part of another, without its full stop."""
    return f"{sentence[:1].lower()}{sentence[1:].rstrip('.')}"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
