"""The answer page's files: small, without anything from elsewhere, and the same for everybody."""

import base64
import gzip
import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privet import page
from privet.client import Caps
from privet.client.cli import app
from privet.client.clocks import MOST_APART
from privet.client.ledger import EARLIEST
from privet.protocol.lifecycle import LOSSES, ReportState
from privet.protocol.limits import LATE_SECONDS, SMALLEST_GROUP
from scripts import holder_package
from tests.keeping import keeps

TASK = f"https://curator.example/v1/tasks/{'ab' * 32}"
TRANSLATED = ("text-de.js", "text-es.js", "text-zh.js")
MODULES = {
    path.name: path.read_text("utf-8") for path in (holder_package.PACKAGE / "src").iterdir()
}
ACCEPTED = {"accept-encoding": "gzip, deflate, br, zstd"}
KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def test_the_page_is_small_and_whole() -> None:
    """55 kB compressed, in two files, and nothing is loaded from elsewhere."""
    sent = [page.served(name, TASK, ACCEPTED) for name in (page.INDEX, page.NAMED)]
    assert sum(len(reply.body) for reply in sent if reply) < 55_000
    code = page.FILES[page.FORM].decode()
    assert not re.search(r'\bimport\s*[("{]|from\s*"|"node:|\bprocess\.', code)
    assert not re.search(r"innerHTML|\beval\(|new Function|setAttribute\(.style", code)
    assert re.findall(r'(?:src|href)="([\w.-]+)"', page.index(TASK).decode()) == [page.NAMED]


def test_what_a_wheel_has_compressed_is_sent_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the better coding that a browser takes; a checkout, which has no such file, sends gzip."""
    form = page.FILES[page.FORM]
    for kept, coding, body in (
        ({}, "gzip", gzip.compress(form, mtime=0)),
        ({form: b"."}, "br", b"."),
    ):
        monkeypatch.setattr(page, "_BROTLI", kept)
        sent = page.served(page.NAMED, TASK, ACCEPTED)
        assert sent is not None
        assert (sent.headers["Content-Encoding"], sent.body) == (coding, body)


def test_the_form_is_built_from_its_sources() -> None:
    """``make package ARGS=--write`` builds it; a slow test builds it again, byte for byte."""
    assert page.FILES[page.FORM].decode().splitlines()[0] == holder_package.first_line()


def test_the_first_words_need_no_script() -> None:
    """Nor another request: they stand in the page itself, with what to do if nothing comes."""
    index = page.index(TASK).decode()
    within = index[index.index("<privet-answer") : index.index("</privet-answer>")]
    for words in ("Loading", "Wird geladen", "Cargando", "正在加载", "Check your connection"):
        assert words in within
    assert "<link" not in index.replace('<link rel="icon" href="data:,">', "")
    (style,) = re.findall(r"<style>(.*?)</style>", index, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page.policy(TASK)


def test_what_browsers_keep_is_named_by_its_content() -> None:
    """The component for ever, under a name with its hash; all else is asked for again, and not sent
    again, but a relay's page, whose address is one task's, only after a day."""
    assert hashlib.sha256(page.FILES[page.FORM]).hexdigest()[:16] in page.NAMED
    kept = page.served(page.NAMED, TASK, {})
    assert kept is not None
    assert "immutable" in kept.headers["Cache-Control"]
    assert "Content-Encoding" not in kept.headers
    for name in (page.INDEX, page.FORM):
        first = page.served(name, TASK, {"accept-encoding": "gzip;q=0.5, br;q=0"})
        assert first is not None
        assert (first.headers["Cache-Control"], first.headers["Vary"]) == (
            "no-cache",
            "Accept-Encoding",
        )
        assert gzip.decompress(first.body).startswith((b"<!doctype html>", b"/* @privet/holder"))
        again = page.served(name, TASK, {"if-none-match": f'"other", {first.headers["ETag"]}'})
        assert again is not None
        assert (again.status, again.body) == (304, b"")
    assert page.served("privet-answer.0123456789abcdef.js", TASK, {}) is None
    at_relay = f"../v1/tasks/{'ab' * 32}"
    assert page.headers(page.INDEX, at_relay)["Cache-Control"] == "max-age=86400"
    for name in (page.FORM, page.LOST):
        assert page.headers(name, at_relay)["Cache-Control"] == "no-cache"


def test_pages_of_others_may_embed_the_form_alone() -> None:
    """By its hash: what else is served stays the page's own."""
    headers = {n: page.headers(n, TASK) for n in (page.INDEX, page.FORM, page.NAMED)}
    embedded = {n for n, each in headers.items() if "Access-Control-Allow-Origin" in each}
    assert embedded == {page.FORM}
    assert headers[page.FORM]["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert headers[page.INDEX]["Cross-Origin-Resource-Policy"] == "same-origin"


@keeps(
    "threat-model: the answer page calls nothing else",
    in_="page/__init__.py",
    instead_of='task_url[: task_url.rindex("/") + 1] if',
    plant='"*" if',
)
@keeps(
    "threat-model: no inline script runs on the answer page",
    in_="page/__init__.py",
    instead_of="script-src 'self'",
    plant="script-src 'self' 'unsafe-inline'",
)
@keeps(
    "threat-model: texts of a task are no markup",
    in_="page/__init__.py",
    instead_of="html.escape(value)",
    plant="value",
)
def test_no_script_is_inline_and_only_tasks_are_called() -> None:
    """The policy is in the page itself too, for hosts that send no headers."""
    index = page.index(TASK, KEY).decode()
    assert page.policy(TASK) in index.replace("&#x27;", "'")
    assert "connect-src https://curator.example/v1/tasks/;" in page.policy(TASK)
    assert "connect-src 'self';" in page.policy("../v1/tasks/ab")
    assert "unsafe" not in page.policy(TASK)
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", index)
    assert f'curator-key="{KEY}"' in index
    assert b'"><script' not in page.index('https://a.example/"><script>')


@keeps(
    "threat-model: an export states its hash",
    in_="page/__init__.py",
    instead_of="for name, content in page.items()",
    plant="for name, content in FILES.items()",
)
def test_an_export_states_its_hash(tmp_path: Path) -> None:
    """The command prints the SHA-256 that a second person computes, and sha256sum agrees."""
    folder = tmp_path / "made" / "page"
    done = CliRunner().invoke(app, ["page", TASK, "--export", str(folder)])
    assert done.exit_code == 0, done.output
    files, digest = page.export(TASK)
    assert {path.name for path in folder.iterdir()} == set(files)
    assert digest in done.output
    assert hashlib.sha256((folder / page.SUMS).read_bytes()).hexdigest() == digest
    subprocess.run(["sha256sum", "--check", "--quiet", page.SUMS], cwd=folder, check=True)
    assert page.export(f"{TASK[:-1]}0")[1] != digest


@pytest.mark.parametrize(
    "url", ["https://curator.example/", f"http://other.example/v1/tasks/{TASK[-64:]}"]
)
def test_an_unsafe_address_is_refused(url: str, tmp_path: Path) -> None:
    """As by the other commands, before anything is written or served."""
    done = CliRunner().invoke(app, ["page", url, "--export", str(tmp_path / "page")])
    assert done.exit_code == 3
    assert not (tmp_path / "page").exists()


def test_the_caps_are_those_of_the_other_holder() -> None:
    """One default for both ledgers."""
    found = re.search(
        r"CAPS = \{ task: ([\d.]+), year: ([\d.]+), disclosed: ([\d.]+) \}",
        MODULES["ledger.js"],
    )
    assert found
    assert Caps(*map(float, found.groups())) == Caps()
    assert f"EARLIEST = {EARLIEST:_.0f};" in MODULES["ledger.js"]
    assert f"MOST_APART = {MOST_APART / 86_400:.0f} * 86_400;" in MODULES["holder.js"]
    assert f"SMALLEST_GROUP = {SMALLEST_GROUP};" in MODULES["holder.js"]


def catalogue(name: str) -> dict[str, str]:
    """The texts of a catalogue by key."""
    entries = re.findall(r'^  (\w+): "(.*)",$', MODULES[name], re.M)
    assert len(entries) == len(dict(entries))
    return dict(entries)


@keeps(
    "threat-model: the page names the address that it counts",
    in_="holder-js/src/text-en.js",
    instead_of="in this browser on {here}",
    plant="in this browser",
)
@pytest.mark.parametrize("name", ["text-en.js", *TRANSLATED])
def test_the_page_says_where_it_counts(name: str) -> None:
    """In every language the account is said to be this address's."""
    texts = catalogue(name)
    assert {"{here}", "{used}"} <= set(re.findall(r"{\w+}", texts["limit"]))
    assert {"{device}", "{server}"} <= set(re.findall(r"{\w+}", texts["wrongClock"]))


@pytest.mark.parametrize("name", ["text-en.js", *TRANSLATED])
def test_what_was_counted_names_no_server(name: str) -> None:
    """The total is the curator's, while the page knows the address that it sent to: a relay's."""
    texts = catalogue(name)
    assert "{host}" not in texts["counted"]
    assert "{host}" in texts["held"]


THREE_DAYS = {"en": "three days", "de": "drei Tage", "es": "tres días", "zh": "三天"}


@pytest.mark.parametrize("language", THREE_DAYS)
def test_the_page_says_how_long_results_may_change(language: str) -> None:
    """In every language, as long as reports that relays took in time count."""
    assert LATE_SECONDS == 3 * 86_400
    assert THREE_DAYS[language] in catalogue(f"text-{language}.js")["resultsMayChange"]


OF_A_WAVE = {
    "sentToTheEnd": ("study", "Studie", "estudio", "调查"),
    "heldToTheEnd": ("study", "Studie", "estudio", "调查"),
    "lostTaskNotOpen": ("study", "Studie", "estudio", "调查"),
    "keepWhy": ("new", "neue", "nuevo", "新"),
}
"""Texts that a wave has too, and a word in each language that is true of the whole study, or of a
wave that is not the last."""


@pytest.mark.parametrize("key", OF_A_WAVE)
def test_no_text_says_of_a_study_what_is_so_of_a_wave(key: str) -> None:
    """The study goes on after a wave, and after the last one there is no code to keep."""
    names = ("text-en.js", *TRANSLATED)
    for name, word in zip(names, OF_A_WAVE[key], strict=True):
        assert word not in catalogue(name)[key]


@pytest.mark.parametrize("name", TRANSLATED)
def test_every_language_says_everything(name: str) -> None:
    """All catalogues have the same keys, with the same values to fill in."""
    english, other = catalogue("text-en.js"), catalogue(name)
    assert list(other) == list(english)
    for key, text in english.items():
        assert set(re.findall(r"\{\w+\}", other[key])) == set(re.findall(r"\{\w+\}", text)), key
    lines = MODULES[name].splitlines()
    assert sum(line.startswith("  ") for line in lines) == len(other)  # so no entry was overlooked


def camel(name: str) -> str:
    return re.sub("-(.)", lambda found: found[1].upper(), name)


def test_every_text_is_used_and_there() -> None:
    """What the page asks its catalogue for is in it, and nothing else."""
    code = "".join(MODULES[name] for name in ("element.js", "form.js", "results.js", "review.js"))
    known = set(catalogue("text-en.js"))
    reasons = {camel(f"{ReportState.LOST}-{reason}") for reason in LOSSES}
    asked = set(re.findall(r'data-text="(\w+)"|say\("(\w+)"', code))
    assert {key for pair in asked for key in pair if key} <= known
    assert reasons <= known
    named = set(re.findall(r'"(\w+)"', code)) | reasons | {*ReportState}
    named |= {f"{state}Title" for state in (*ReportState, "restored")}
    assert known <= named


def test_no_text_needs_an_expert() -> None:
    """Epsilon is named where its numbers are alone, and sentences are short enough to be read."""
    english = catalogue("text-en.js")
    assert [key for key, text in english.items() if "epsilon" in text] == ["waveSpent", "learnOdds"]
    assert "{epsilon}" in english["learnOdds"]
    assert "{spent}" in english["waveSpent"]
    sentences = [each for text in english.values() for each in re.split(r"[.:?] ", text)]
    assert max(len(each.split()) for each in sentences) <= 25
