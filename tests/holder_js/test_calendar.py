"""Calendar files about the next wave of a panel, read by another program (RFC 5545)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.holder_js.node import evaluated

pytestmark = pytest.mark.needs("node")
MADE = """
import { readFileSync } from "node:fs";
import { calendar } from "./calendar.js";
const all = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(all.map((each) => calendar(each, 1_800_000_000))));
"""
OPENS, CLOSES = 1_805_184_000, 1_806_912_000
WAVE = {"id": "ab" * 32, "url": "https://relay.example/answer/4f0c?language=de", "opens": OPENS}

ALARM = ["BEGIN", "ACTION", "DESCRIPTION", "TRIGGER", "END"]
NAMES = ["BEGIN", "SUMMARY", "DTSTART", "DTEND", "DTSTAMP", "UID", "DESCRIPTION", "TRANSP", "URL"]
NAMES += [*ALARM, "END"]


def made(*texts: tuple[str, str]) -> list[bytes]:
    """The files with these titles and texts."""
    wanted = [{**WAVE, "closes": CLOSES, "title": title, "text": text} for title, text in texts]
    return [each.encode() for each in evaluated(MADE, json.dumps(wanted))]


def event(file: bytes) -> Any:
    """The one event of a file, every line of which is whole and at most 75 octets long."""
    *lines, rest = file.split(b"\r\n")
    assert rest == b""
    assert all(len(line) <= 75 and b"\n" not in line and b"\r" not in line for line in lines)
    for line in lines:
        line.decode()  # no character is cut in two
    read = pytest.importorskip("icalendar").Calendar.from_ical(file)
    assert (read["VERSION"], len(read.errors)) == ("2.0", 0)
    (found,) = read.walk("VEVENT")
    assert found.errors == []
    return found


def test_a_calendar_has_the_wave_and_where_to_come_back() -> None:
    """With its dates in UTC, the page's address, and an alarm when it begins."""
    (file,) = made(("Months: wave 2 of 3", "Open this address: https://relay.example/"))
    found = event(file)
    assert found["SUMMARY"] == "Months: wave 2 of 3"
    assert found["UID"] == f"{'ab' * 32}@relay.example"
    assert found["URL"] == WAVE["url"]
    dates = [datetime.fromtimestamp(each, UTC) for each in (OPENS, CLOSES, 1_800_000_000)]
    assert [found[name].dt for name in ("DTSTART", "DTEND", "DTSTAMP")] == dates
    assert found["TRANSP"] == "TRANSPARENT"
    (alarm,) = found.walk("VALARM")
    assert (alarm["ACTION"], alarm["TRIGGER"].dt.total_seconds()) == ("DISPLAY", 0)


@settings(max_examples=5)
@given(st.lists(st.tuples(st.text(min_size=1), st.text(max_size=300)), min_size=40, max_size=60))
def test_any_text_stays_what_it_is(texts: list[tuple[str, str]]) -> None:
    """None ends a line, begins a property or is cut; control characters become spaces."""
    texts.append(("a\r\nEND:VEVENT;,\\n", "ü" * 100 + "𝄞" * 50))
    for (title, text), file in zip(texts, made(*texts), strict=True):
        found = event(file)
        assert [name for name, _ in found.property_items()] == NAMES
        assert (found["SUMMARY"], found["DESCRIPTION"]) == (plain(title), plain(text))


def plain(text: str) -> str:
    """The text with line feeds as line ends and no other control character."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(" " if (ord(c) < 32 and c != "\n") or ord(c) == 127 else c for c in lines)
