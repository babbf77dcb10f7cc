"""Charts as files: what a picture shows is what the table says."""

import csv
import io
from xml.etree import ElementTree

import pytest

from privet.learning.display.chart_picture import (
    DrawnChart,
    DrawnPoint,
    chart_to_csv,
    chart_to_svg,
)

SVG = "{http://www.w3.org/2000/svg}"
TICKS = ((0.0, "0 %"), (0.2, "20 %"), (0.4, "40 %"))
POINTS = (
    DrawnPoint("=1+1", 0.25, 0.1, "10 % (4 % to 20 %)", 0.04, 0.2),
    DrawnPoint("<b>", 0.75, 0.4, "40 % (30 % to 40 %)", 0.3, 0.4, beside="40 & no %"),
)


@pytest.mark.parametrize("bar", [0.4, None])
def test_points_stand_at_their_values(bar: float | None) -> None:
    """Bars up to them, or dots, and lines between the ends of the intervals, on one axis."""
    chart = DrawnChart("Share of <people>", "cigarettes", POINTS, TICKS, bar)
    drawn = ElementTree.fromstring(chart_to_svg(chart))
    assert drawn.findtext(f"{SVG}title") == "Share of <people>"
    assert drawn.findtext(f"{SVG}desc") == chart.described
    assert "<b> 40 % (30 % to 40 %)" in chart.described
    words = {each.text: float(each.get("y", "nan")) for each in drawn.iter(f"{SVG}text")}
    at = {value: words[text] - 4.0 for value, text in TICKS}
    assert {"cigarettes", "=1+1", "<b>"} <= words.keys()
    assert ("40 & no %" in words) == (bar is None), "a bar has an axis and an end"
    if bar is None:
        tops = [float(each.get("cy", "nan")) for each in drawn.iter(f"{SVG}circle")]
    else:
        bars = [each for each in drawn.iter(f"{SVG}rect") if each.get("y")]
        tops = [float(each.get("y", "nan")) for each in bars]
        heights = [float(each.get("height", "nan")) for each in bars]
        assert [y + h for y, h in zip(tops, heights, strict=True)] == pytest.approx([at[0.0]] * 2)
    assert tops == pytest.approx([(at[0.0] + at[0.2]) / 2.0, at[0.4]], abs=0.1)
    ends = [each.get("d", "") for each in drawn.iter(f"{SVG}path") if "h8" in each.get("d", "")]
    assert [f"{at[high]:.1f}" in each for high, each in zip((0.2, 0.4), ends, strict=True)]
    table = list(csv.DictReader(io.StringIO(chart_to_csv(chart))))
    assert [float(each["value"]) for each in table] == [0.1, 0.4]
    assert [float(each["low"]) for each in table] == [0.04, 0.3]
    assert table[0]["cigarettes"] == "'=1+1"  # no spreadsheet computes it


def test_names_that_do_not_fit_are_left_out() -> None:
    """At equal distances, but for those at both ends and in the middle where these do not fit."""
    points = [DrawnPoint(f"{day} Oct", day / 32.0, day, str(day)) for day in range(1, 32)]
    chart = DrawnChart("Answers by day", "day, in UTC", points, ((0.0, "0"), (40.0, "40")), 0.02)
    assert [each.name for each in chart.named] == ["1 Oct", "11 Oct", "21 Oct", "31 Oct"]
    levels = [DrawnPoint(f"{10 * at}", at / 10.0, at, "") for at in range(11)]
    assert len(DrawnChart("", "", levels, TICKS).named) == 11
    assert len(DrawnChart("", "", points[:8], TICKS).named) == 3
    assert len(DrawnChart("", "", points[:4], TICKS).named) == 4
    assert "17 Oct 17" in chart.described
