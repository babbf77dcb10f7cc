"""The documents link each other and name what exists."""

import ast
import json
import math
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest

from privet import plan

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
CODE_FILE = re.compile(r"`([a-z_]+(?:/[\w.]+)+\.(?:py|json|md|csv|toml))`")
MODULE = re.compile(r"python -m ((?:privet|scripts|bench)[\w.]*)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TARGET = re.compile(r"(?:^|`|\$ )make ([a-z]+)", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, by GitHub's rule."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _linked(page: Path) -> set[Path]:
    found = LINK.findall(page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target, _ in found if target}


def test_the_front_page_begins_with_a_way_for_each_reader() -> None:
    """Five, and lists of decisions and of tables have pages of their own."""
    front = (DOCS / "index.md").read_text(encoding="utf-8")
    start = front.partition("## Start\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"^- \*\*You ", start, re.MULTILINE)) == 5
    assert len(_linked(DOCS / "index.md")) < 60


def test_the_index_links_every_page() -> None:
    """Readers cannot find a page without a link: from the index, or from an index that it links."""
    front = DOCS / "index.md"
    linked = _linked(front)
    linked |= {page for index in linked if index.name == "index.md" for page in _linked(index)}
    expected = set(DOCS.rglob("*.md")) - {front, DOCS / "adr" / "template.md"}
    assert {name(page) for page in expected if page not in linked} == set()


def test_pages_are_read_within_a_quarter_of_an_hour() -> None:
    """At 220 words a minute; with signs and the marks between a table's cells 3 500 at most."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")}
    assert {page for page, text in texts.items() if len(text.split()) > 3500} == set()
    words = {page: len(re.findall(r"\S*\w\S*", text)) for page, text in texts.items()}
    assert {page: number for page, number in words.items() if number > 15 * 220} == {}


def test_a_newcomer_is_at_a_file_of_their_own_within_ten_minutes() -> None:
    """From the README by one link, with all that its sessions print."""
    way = [ROOT / "README.md", DOCS / "own-data.md"]
    assert way[1].resolve() in _linked(way[0])
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in way) <= 10 * 220


def test_links_lead_somewhere() -> None:
    """Files exist, and headings where a link names one."""
    for page in PAGES:
        for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            file = (page.parent / target).resolve() if target else page
            assert file.exists(), f"{page}: {target}"
            assert not anchor or anchor in anchors(file), f"{page}: {target}#{anchor}"


def test_files_and_commands_exist() -> None:
    """Paths of the repository, modules that are run, and targets of make."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        if page.parent.name == "adr":
            continue
        text = page.read_text(encoding="utf-8")
        missing = [path for path in CODE_FILE.findall(text) if not (ROOT / path).exists()]
        missing += [module for module in MODULE.findall(text) if find_spec(module) is None]
        assert [*missing, *set(TARGET.findall(text)) - targets] == [], page


def test_code_blocks_are_code() -> None:
    """Python compiles, also with an await outside a function, and JSON is JSON."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    for page in PAGES:
        for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
            if language == "python":
                compile(block, str(page), "exec", flags)
            elif language == "json":
                assert json.loads(block) is not None, page


@pytest.mark.parametrize(
    ("pattern", "least"),
    [(LINK, 300), (CODE_FILE, 30), (MODULE, 10), (TARGET, 20), (BLOCK, 50)],
    ids=["links", "files", "modules", "targets", "blocks"],
)
def test_there_is_something_to_check(pattern: re.Pattern[str], least: int) -> None:
    """A pattern that matches nothing any more would let everything pass."""
    assert sum(len(pattern.findall(page.read_text(encoding="utf-8"))) for page in PAGES) >= least


def test_decisions_have_numbers_of_their_own() -> None:
    """Each file's number is its title's, and no other file's."""
    files = sorted((DOCS / "adr").glob("[0-9]*.md"))
    titles = [path.read_text(encoding="utf-8").partition(":")[0] for path in files]
    assert titles == [f"# {path.name[:4]}" for path in files]
    assert len(set(titles)) == len(titles)


def test_code_names_pages_and_decisions_that_exist() -> None:
    """In docstrings and messages: ``docs/PAGE.md``, ``ADR NNN`` and ``docs/adr/NNNN``."""
    decisions = {int(path.name[:4]) for path in (DOCS / "adr").glob("0*.md")}
    rooms = [room for floor in floors("privet") for room in floor]
    for room in (*rooms, "scripts", "bench", "tests"):
        for file in (*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.js")):
            text = file.read_text(encoding="utf-8")
            pages = re.findall(r"docs/[a-z/-]+\.md", text)
            assert [page for page in pages if not (ROOT / page).exists()] == [], file
            named = re.findall(r"ADR\s+(\d{3,4})|docs/adr/(\d{4})", text)
            assert {int(short or full) for short, full in named} <= decisions, file


def test_the_ways_through_the_code_are_as_described() -> None:
    """Every step in docs/architecture.md names a function that its file defines."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `([\w.]+)` \|", text, re.MULTILINE)
    assert len(steps) > 20
    for file, function in steps:
        *owner, name = function.split(".")
        source = (ROOT / file).read_text(encoding="utf-8")
        for cls in owner:
            assert re.search(rf"^class {cls}\b", source, re.MULTILINE), (file, function)
        assert re.search(rf"^ *(async )?def {name}\b", source, re.MULTILINE), (file, function)


ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]


def floors(container: str) -> list[set[str]]:
    """The rooms of each floor by the contract in pyproject.toml."""
    (layers,) = (each["layers"] for each in CONTRACTS if each.get("containers") == [container])
    return [set(layer.split(" | ")) for layer in layers]


def test_the_picture_has_the_floors_of_the_house() -> None:
    """Roles, what they share, the protocol."""
    house = BLOCK.findall(ARCHITECTURE)[0][1]
    drawn = [set(re.findall(r"\b[a-z_]+(?=  )", line)) for line in house.splitlines()]
    assert drawn == floors("privet")


def test_contracts_name_what_there_is() -> None:
    """A misspelt package is imported by nobody, and no contract about it is ever broken."""
    named = {name for each in CONTRACTS for name in each.get("forbidden_modules", ())}
    named |= {name for each in CONTRACTS for name in each.get("source_modules", ())}
    assert len(named) > 15
    assert [name for name in sorted(named) if find_spec(name) is None] == []
    rooms = {path.parent.name for path in (ROOT / "privet").glob("*/__init__.py")}
    assert rooms == {room for floor in floors("privet") for room in floor}


@pytest.mark.parametrize("container", ["privet", "privet.learning", "privet.curator"])
def test_rooms_import_what_the_page_says(container: str) -> None:
    """The tables have each room with all rooms that it imports, and no other; each below it."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", ARCHITECTURE, re.MULTILINE)
    listed = {room: set(re.findall(r"\w+", imports)) for room, imports in rows}
    graph = grimp.build_graph("privet")
    rooms = {each for floor in floors(container) for each in floor}
    for room in rooms:
        graph.squash_module(f"{container}.{room}")
    inside = f"{container}."
    imported = {
        room: {
            each.removeprefix(inside)
            for each in graph.find_modules_directly_imported_by(inside + room)
            if each.startswith(inside)
        }
        for room in rooms
    }
    assert {room: listed[room] for room in rooms} == {
        room: of - {room} for room, of in imported.items()
    }
    order = [room for room, _ in rows if room in rooms]
    for place, room in enumerate(order):
        assert container == "privet" or imported[room] <= set(order[place:])


def test_formulas_stand_where_the_methods_say() -> None:
    """The page names files with the numbers of formulas that they open with, counted from 1 on."""
    text = " ".join((DOCS / "methods.md").read_text(encoding="utf-8").split())
    counted = 0
    for file, first, last in re.findall(
        r"`(learning/[\w/]+\.py)`, (\d+)(?: (?:to|and) (\d+))?", text
    ):
        opening = ast.get_docstring(ast.parse((ROOT / file).read_text(encoding="utf-8"))) or ""
        named = [*range(int(first), int(last or first) + 1)]
        assert [int(number) for number in re.findall(r" \((\d+)\)$", opening, re.M)] == named, file
        assert named[0] == counted + 1
        counted = named[-1]
    assert counted > 20


def test_the_threat_model_names_tests_that_exist() -> None:
    """Every row of its tables ends with the test that shows it."""
    text = (DOCS / "threat-model.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)` \|$", text, re.MULTILINE)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(named) == len(rows) - 3  # but for the headers
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_the_front_pages_say_in_three_sentences_what_for_whom() -> None:
    """With a picture, which is that of the curator's own front page."""
    readme, index = (ROOT / name for name in ("README.md", "docs/index.md"))
    begins = []
    for page in (readme, index):
        _, first, picture, *_ = page.read_text(encoding="utf-8").split("\n\n")
        begins.append(first)
        assert len(re.findall(r"\.(?:\s|$)", first)) == 3
        assert (page.parent / re.findall(r"\]\(([^)]+)\)", picture)[0]).is_file()
    assert begins[0] == begins[1]
    assert begins[0].startswith("Privet is for ")
    drawn = (ROOT / "docs/images/front.svg").read_text(encoding="utf-8")
    served = (ROOT / "curator/dashboard/static/front.svg").read_text(encoding="utf-8")
    assert served == drawn


def test_one_question_takes_as_many_people_as_is_it_for_me_says() -> None:
    """Beside a survey whose answers are seen: p (1 - p) / n at one half, by the normal law."""
    said = re.search(
        r"so (\d+) answers give a share to ± 5 points; at ε = 1 one question here takes ([\d ]+) "
        r"if you look once, and ([\d ]+) if",
        (DOCS / "is-it-for-me.md").read_text(encoding="utf-8"),
    )
    assert said
    assert 1.96 * math.sqrt(0.25 / int(said[1])) == pytest.approx(0.05, abs=0.002)
    for stated, looks in ((said[2], "once"), (said[3], "many")):
        people = int(stated.replace(" ", ""))
        found = plan(
            label="answer", classes=("yes", "no"), holders=people, epsilon=1.0, looks=looks
        )
        assert found.sizes["± 5.0 points"].replace("\u202f", " ") == stated
