"""The component in pages of others: its colours, and what it says there."""

import base64
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from privet import page as answer_page
from privet.learning.task_building.build import build_task
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from tests.browsing import violations
from tests.curator import samples
from tests.page.test_browser import READY, check, fill_anything_in

pytestmark = pytest.mark.needs("chromium")
DOCS = (Path(__file__).parents[2] / "docs" / "in-your-own-app.md").read_text("utf-8")
TOKENS = re.findall(
    r"`(?:--privet)?(-[\w-]+)`",
    re.search(r"Colours are CSS properties: (.*?) `--privet-font-family`", DOCS, re.S)[1],  # type: ignore[index]
)
"""The names of the colours that a page may set, as the documentation lists them."""
PAGES = {
    "light": "",
    "light, stated": ":root { color-scheme: light; } body { background: #fff; color: #222; }",
    "dark": ":root { color-scheme: dark; }",
    "dark, unstated": "body { background: #111; color: #eee; }",
    "as the system": ":root { color-scheme: light dark; }",
}
"""Style sheets of pages around the component."""
FONT = """each => {
  const { fontFamily, fontSize, lineHeight } = getComputedStyle(each);
  return [fontFamily, fontSize, parseFloat(lineHeight) / parseFloat(fontSize)];
}"""
"""The font of a part: its family, its size, and the height of its lines in sizes."""
VALUES = ("#fff", "#000", "#777", "#ff0", "rgb(255 255 255 / .1)")
LEAST = """([values, tokens]) => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const over = (color, under) => {
    const both = `${color} ${under}`;
    if (!known.has(both)) known.set(both, painted(color, under));
    return known.get(both);
  };
  const painted = (color, under) => {
    paint.fillStyle = under;
    paint.fillRect(0, 0, 1, 1);
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    return `rgb(${[...paint.getImageData(0, 0, 1, 1).data].slice(0, 3)})`;
  };
  const luminance = (color) => {
    const [r, g, b] = color.match(/\\d+/g).map((each) => each / 255).map((each) => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const form = document.querySelector("privet-answer");
  const canvas = document.createElement("span");
  canvas.style.color = "Canvas";
  document.body.append(canvas);
  const behind = (place) => place === null ? getComputedStyle(canvas).color : over(
    getComputedStyle(place).backgroundColor, behind(place.parentElement ?? place.getRootNode().host ?? null));
  const texts = () => {
    const walker = document.createTreeWalker(form.shadowRoot, NodeFilter.SHOW_TEXT);
    const places = new Set();
    while (walker.nextNode()) if (walker.currentNode.data.trim()) places.add(walker.currentNode.parentElement);
    return [...places, ...form.shadowRoot.querySelectorAll("input")].filter((each) => each.tagName !== "STYLE" && each.tagName !== "OPTION" && each.checkVisibility());
  };
  for (const details of form.shadowRoot.querySelectorAll("details")) details.open = true;
  const found = [];
  for (const [token, value] of [["", ""], ...tokens.flatMap((token) => values.map((value) => [token, value]))]) {
    if (token) document.documentElement.style.setProperty(`--privet${token}`, value);
    const shown = texts();
    if (shown.length < 5) throw new Error("There is no text.");
    for (const place of shown) {
      const under = behind(place);
      const [high, low] = [luminance(over(getComputedStyle(place).color, under)), luminance(under)].sort((a, b) => b - a);
      const contrast = (high + .05) / (low + .05);
      if (contrast < 4.5) found.push(`${token} ${value}: ${contrast.toFixed(2)} of ${place.tagName}#${place.id}.${place.className} ${place.textContent.slice(0, 20)}`);
    }
    if (token) document.documentElement.style.removeProperty(`--privet${token}`);
  }
  canvas.remove();
  return found;
}"""  # noqa: E501
"""Texts on the screen whose contrast (WCAG 2) is below 4.5, with each colour set to each value."""


def previewed(**more: Any) -> str:
    """A task as the component shows it without a server."""
    settings = {"name": "Colours", "label": "label", "epsilon": 2, **more}
    task, _ = build_task(TaskSettings.model_validate(settings), read_table(samples.survey()))
    return base64.urlsafe_b64encode(task.canonical).decode().rstrip("=")


@pytest.fixture(scope="module")
def preview() -> str:
    """A task that discloses a group."""
    return previewed(depth=3, hidden_depth=1, disclosed=["job", "age"])


def embed(tab: Any, style: str, preview: str, attributes: str = "") -> None:
    """Open a page of somebody else that has the component."""
    html = (
        f'<!doctype html><html lang="en"><title>Ours</title><style>{style}</style>'
        "<main><h1>Ours</h1>"
        '<script type="module" src="/form.js"></script>'
        f'<privet-answer task="/v1/tasks/{"a" * 64}" preview="{preview}" {attributes}>'
        "</privet-answer></main>"
    )
    tab.unroute_all()
    tab.route(
        "https://site.example/", lambda route: route.fulfill(body=html, content_type="text/html")
    )
    form = answer_page.FILES[answer_page.FORM].decode()
    tab.route(
        "https://site.example/form.js",
        lambda route: route.fulfill(body=form, content_type="text/javascript"),
    )
    tab.goto("https://site.example/")
    tab.wait_for_selector(READY)


def background(tab: Any, place: str) -> tuple[float, ...]:
    """The colour behind a part of the component: red, green and blue, each from 0 to 1."""
    return colour(tab, place, "backgroundColor")


def colour(tab: Any, place: str, of: str) -> tuple[float, ...]:
    """A colour of a part of the component: red, green and blue, each from 0 to 1."""
    shown = tab.locator(place).evaluate("(each, of) => getComputedStyle(each)[of]", of)
    numbers = re.fullmatch(r"color\(srgb(?:-linear)? (\S+) (\S+) (\S+)\)", shown)
    assert numbers is not None, shown
    return tuple(float(each) for each in numbers.groups())


@pytest.mark.parametrize(("around", "system"), list(product(PAGES, ("light", "dark"))))
def test_text_is_readable_in_any_page_whatever_colour_is_set(
    tab: Any, preview: str, around: str, system: str
) -> None:
    """On each screen, with no colour set, and with each one set to white, black, grey, yellow and
    nearly nothing."""
    tab.emulate_media(color_scheme=system)
    embed(tab, PAGES[around], preview)
    found = [tab.evaluate(LEAST, [VALUES, TOKENS])]
    assert violations(tab.locator("#start")) == []
    fill_anything_in(tab)
    found.append(tab.evaluate(LEAST, [VALUES, TOKENS]))
    check(tab)
    found.append(tab.evaluate(LEAST, [VALUES, TOKENS]))
    assert violations(tab.locator("#preview")) == []
    assert found == [[], [], []]


def test_the_component_is_dark_as_its_page_is_or_as_it_is_asked(tab: Any, preview: str) -> None:
    """The system alone changes nothing; a colour that is readable stays as it was set."""
    light, dark = (1, 1, 1), (0x19 / 255, 0x21 / 255, 0x1E / 255)
    for around, system, attributes, expected in (
        ("light", "dark", "", light),
        ("dark", "light", "", dark),
        ("as the system", "dark", "", dark),
        ("light", "light", 'theme="dark"', dark),
        ("dark", "dark", 'theme="light"', light),
    ):
        tab.emulate_media(color_scheme=system)
        embed(tab, PAGES[around], preview, attributes)
        assert background(tab, "#start") == pytest.approx(expected, abs=0.002)
    tab.emulate_media(color_scheme="light")
    for accent, shown, ink in (
        ("#005", (0, 0, 0x55 / 255), 1),
        ("#ffe14d", (1, 0xE1 / 255, 0x4D / 255), 0),
    ):
        embed(tab, f":root {{ --privet-accent: {accent}; }}", preview)
        assert background(tab, "#begin") == pytest.approx(shown, abs=0.002)
        assert colour(tab, "#begin", "color") == pytest.approx((ink,) * 3, abs=0.002)


def test_the_font_is_the_pages_or_as_it_is_set(tab: Any, preview: str) -> None:
    """Lines keep their distance in each."""
    own = "body { font: 20px/1 Georgia; }"
    for style, expected in (
        (own, ["Georgia", "17px"]),
        (
            f"{own} :root {{ --privet-font-family: Arial; --privet-font-size: 20px; }}",
            ["Arial", "20px"],
        ),
    ):
        embed(tab, style, preview)
        *shown, line = tab.locator("#answer").evaluate(FONT)
        assert shown == expected
        assert float(line) == pytest.approx(1.55)


@pytest.mark.parametrize(("epsilon", "right"), [(0.5, 63), (2, 89)])
def test_the_first_screen_bounds_a_guess_and_names_whose_page_it_is(
    tab: Any, epsilon: float, right: int
) -> None:
    """The bound is the one that the picture shows; whoever runs the page around the form could read
    it, which is said wherever answers are elsewhere said to stay on the device."""
    embed(tab, "", previewed(epsilon=epsilon))
    bound = f"is right 50 times in 100 without it, and at most {right} times with it."
    warning = "part of a page of site.example. Whoever runs that page could read what you fill in."
    first = tab.inner_text("#start")
    assert bound in first
    assert warning in first
    assert f"at most {right} gave your answers" in tab.text_content("#learn")
    assert warning in tab.text_content("#sent")
    fill_anything_in(tab)
    assert warning in tab.inner_text("#questions")
    assert "stay on this device" not in tab.text_content("#answer")
