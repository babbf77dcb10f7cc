"""The packed package, as somebody who installs the file has it."""

import gzip
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from privet import page
from privet.curator.dashboard.embedding import EMBEDDED, EMBEDDED_HASH, snippet
from scripts import holder_package
from scripts.servers import running_relay
from tests.browsing import violations
from tests.curator import samples
from tests.end_to_end.running_curator import RunningCurator
from tests.holder_js.node import NODE
from tests.page.test_browser import fill_in
from tests.page.test_colours import background
from tests.served import serving

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "in-your-own-app.md").read_text(encoding="utf-8")
README = (ROOT / "holder-js" / "README.md").read_text(encoding="utf-8")
ADDRESS = "https://curator.example/v1/tasks/4f0c..."
MAIN = """
import { createRoot } from "react-dom/client";
import { Study } from "./study.jsx";
const given = new URLSearchParams(location.search);
const languages = given.has("language") ? given.getAll("language") : undefined;
const study = <Study url={given.get("task")} languages={languages} />;
createRoot(document.getElementById("root")).render(study);
"""
HTML = '<!doctype html><html lang="en"><title>App</title><div id="root"></div>{}</html>'
TYPED = """
import { answer, loadTask, MemoryStore, Problem, resend, review, status, Store, validate } from "@privet/holder";
import type { Answer, Finding, Review, Task } from "@privet/holder";
import { FileStore } from "@privet/holder/node";
import { PrivetAnswer } from "@privet/holder/element";

class Own extends Store {
  kept: Answer[] = [];
  override async answers(): Promise<Answer[]> { return this.kept; }
  override async change(work: (answers: Answer[]) => Answer[]): Promise<void> {
    for (const row of work(this.kept)) this.kept = [...this.kept.filter(({ task }) => task !== row.task), row];
  }
}
const store = new Own({ caps: { year: 3 } });
const task: Task = await loadTask("https://curator.example/", { curatorKey: "00" });
const ranges: string[] = task.features.map((each) => each.kind === "numeric" ? `${each.low}` : each.categories.join());
const findings: Finding[] = validate(task, { age: 30 }).findings;
const shown: Review = await review(task, { age: 30 }, { languages: ["de"] });
const sent: Answer = await answer(task, shown.record, { store, invitation: "x" });
const all: Answer[] = await resend({ store: new FileStore("a.json") });
const found: Answer | undefined = await status(task.url, { store: new MemoryStore() });
const form = document.querySelector("privet-answer") as PrivetAnswer;
form.back();
try { await answer(task, { age: 30 }); } catch (error) {
  if (error instanceof Problem && error.type === "budget-spent" && error.why === "year") throw error;
}
// @ts-expect-error there is no such option
await answer(task, { age: 30 }, { stor: store });
// @ts-expect-error a record is named values
validate(task, 30);
console.log(ranges, findings, sent.state === "counted", all, found);
"""  # noqa: E501
JSX = """
import type { Step } from "@privet/holder/element";
IMPORT
const heard: string[] = [];
export const form = <privet-answer task="https://curator.example/" theme="dark" curator-key="00" level={3} onprivet-step={({ detail }) => heard.push(detail.step)} />;
addEventListener("privet-step" as never, ({ detail }: CustomEvent<Step>) => heard.push(detail.title));
document.querySelector("privet-answer")?.back();
// @ts-expect-error there is no such theme
export const other = <privet-answer theme="blue" />;
"""  # noqa: E501
SMALL = """
import { answer, loadTask, resend, status, validate } from "@privet/holder";
window.privet = { answer, loadTask, resend, status, validate };
"""

pytestmark = [pytest.mark.needs("node", "npm"), pytest.mark.slow]


def block(text: str, kind: str, containing: str = "") -> str:
    """The only block of a kind that contains a text."""
    (found,) = (
        b for b in re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S) if containing in b
    )
    return str(found)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the packed package is installed, with Vite, React and TypeScript."""
    folder = tmp_path_factory.mktemp("project")
    holder_package.install(folder)
    packed = str(holder_package.pack(folder, folder))
    subprocess.run(
        ["npm", "install", "--no-save", *holder_package.NPM, packed], cwd=folder, check=True
    )
    return folder


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCurator]:
    with RunningCurator(tmp_path_factory.mktemp("curator")) as running:
        yield running


def new_task(curator: RunningCurator, name: str, **more: Any) -> str:
    """The id of a task over ``samples.survey``, whose label is 0 or 1."""
    settings: dict[str, Any] = {"label": "label", "epsilon": 2, "depth": 2, "grower": "cart"}
    return curator.create(samples.survey(), name=name, smallest_batch=1, **settings, **more)


def tool(project: Path, name: str, *arguments: str) -> None:
    command = [str(project / "node_modules" / ".bin" / name), *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def host(folder: Path, task_url: str) -> ThreadingHTTPServer:
    """A static host with a strict policy, under which pages call nothing but a task."""
    policy = page.policy(task_url)

    class Files(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))


def test_the_component_is_built_anew_byte_for_byte(project: Path, tmp_path: Path) -> None:
    """``python -m scripts.holder_package --write`` builds it."""
    holder_package.build(project, tmp_path / page.FORM)
    assert (tmp_path / page.FORM).read_bytes() == page.FILES[page.FORM]


@pytest.mark.parametrize("resolution", ["bundler", "nodenext"])
def test_strict_programs_have_types(project: Path, resolution: str) -> None:
    """Of every call; what is no option or record is an error."""
    (project / f"{resolution}.ts").write_text(TYPED, encoding="utf-8")
    module = "nodenext" if resolution == "nodenext" else "esnext"
    flags = ["--strict", "--noEmit", "--target", "es2022", "--skipLibCheck", "false"]
    tool(
        project,
        "tsc",
        *flags,
        "--module",
        module,
        "--moduleResolution",
        resolution,
        "--types",
        "",
        f"{resolution}.ts",
    )


@pytest.mark.parametrize(
    ("jsx", "types", "added"),
    [
        ("preserve", "", "export {};"),
        ("react-jsx", "react", 'import type {} from "@privet/holder/react";'),
    ],
)
def test_the_element_has_types_in_jsx(project: Path, jsx: str, types: str, added: str) -> None:
    """In React's and where JSX is a global namespace; a wrong attribute is an error."""
    (project / f"{jsx}.tsx").write_text(JSX.replace("IMPORT", added), encoding="utf-8")
    flags = ["--strict", "--noEmit", "--target", "es2022", "--skipLibCheck", "false"]
    module = ["--module", "esnext", "--moduleResolution", "bundler", "--types", types]
    tool(project, "tsc", *flags, *module, "--jsx", jsx, f"{jsx}.tsx")


def test_the_readmes_session_runs_in_node(project: Path, curator: RunningCurator) -> None:
    """It prints what the page says."""
    task = new_task(curator, "session")
    session = block(README, "js").replace(ADDRESS, f"{curator.url}/v1/tasks/{task}")
    (project / "session.mjs").write_text(session, encoding="utf-8")
    command = [NODE, "session.mjs"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", block(README, "text"))
    assert curator.status(task)["reports"] == 1


def test_an_app_takes_the_size_that_the_page_says(project: Path) -> None:
    """Minified and compressed, without texts."""
    small = project / "small"
    small.mkdir()
    (small / "main.js").write_text(SMALL, encoding="utf-8")
    (small / "index.html").write_text(HTML.format('<script type="module" src="main.js"></script>'))
    tool(project, "vite", "build", "small")
    (script,) = (small / "dist" / "assets").glob("index-*.js")
    assert 17_000 < len(gzip.compress(script.read_bytes())) < 18_500
    assert "grows by 18 kB" in PAGE


@pytest.mark.needs("chromium")
def test_the_pages_react_app_answers(project: Path, curator: RunningCurator, tab: Any) -> None:
    """Built by Vite, under a strict policy: the study's questions, in German too; the check in
    words, what does not fit, one report; who has answered is told so."""
    app = project / "app"
    app.mkdir()
    study = block(PAGE, "jsx")
    assert len(study.splitlines()) <= 60
    (app / "study.jsx").write_text(study, encoding="utf-8")
    (app / "main.jsx").write_text(MAIN, encoding="utf-8")
    (app / "index.html").write_text(HTML.format('<script type="module" src="main.jsx"></script>'))
    tool(project, "vite", "build", "app")
    asked = {"age": {"prompt": "How old are you?", "unit": "y"}}
    texts = [("How old are you?", "Wie alt sind Sie?"), ("nurse", "Pflegekraft"), ("y", "Jahre")]
    german = [{"language": "de", "texts": texts}]
    task = new_task(curator, "react", describe=asked, language="en", translations=german)
    url = f"{curator.url}/v1/tasks/{task}"
    with serving(host(app / "dist", url)) as address:
        tab.goto(f"{address}/?task={url}&language=de")
        assert tab.get_by_label("Wie alt sind Sie? (Jahre)").get_attribute("name") == "age"
        assert "Pflegekraft" in tab.get_by_label("job").inner_text()
        tab.goto(f"{address}/?task={url}")
        tab.get_by_text("You have not answered yet.").wait_for()
        for name, value in (("How old are you? (y)", "30"), ("hours", "many")):
            tab.get_by_label(name).fill(value)
        for name, value in (("job", "nurse"), ("member", "True"), ("label", "1")):
            tab.get_by_label(name).select_option(value)
        tab.get_by_role("button", name="Check").click()
        tab.get_by_text("hours: Enter a number in digits").wait_for()
        tab.get_by_label("hours").fill("12.5")
        tab.get_by_role("button", name="Check").click()
        tab.get_by_text("at most 89 gave your answers").wait_for()
        assert tab.locator("li").count() == 0
        tab.route("**/reports", lambda route: route.abort())
        tab.get_by_role("button", name="Send").click()
        tab.get_by_text("unreachable").wait_for()
        assert tab.get_by_label("hours").input_value() == "12.5"
        tab.unroute_all()
        tab.get_by_role("button", name="Send").click()
        tab.get_by_text("You have answered: your answer counts.").wait_for()
        tab.reload()
        tab.get_by_text("You have answered: your answer counts.").wait_for()
        assert tab.locator("form").count() == 0
    assert curator.status(task)["reports"] == 1


@pytest.mark.needs("chromium")
def test_plain_html_shows_the_form(project: Path, curator: RunningCurator, tab: Any) -> None:
    """The page's lines with the package's file and its hash: in German, to the receipt; the host's
    colours; steps without values."""
    folder = project / "plain"
    shutil.copytree(project / "node_modules" / "@privet" / "holder" / "dist", folder)
    task = new_task(curator, "plain")
    url = f"{curator.url}/v1/tasks/{task}"
    lines = block(PAGE, "html", "<privet-answer").replace("HASH", EMBEDDED_HASH)
    lines = lines.replace("https://relay.example/v1/tasks/4f0c...", url)
    (folder / "index.html").write_text(lines, encoding="utf-8")
    with serving(host(folder, url)) as address:
        tab.add_init_script(
            "addEventListener('privet-step', ({ detail }) => (window.steps ??= []).push(detail));"
        )
        tab.goto(f"{address}/index.html")
        assert violations(tab.get_by_role("button", name="Beginnen")) == []
        assert tab.locator("h1").all_inner_texts() == ["Our study"]
        tab.evaluate(
            "document.documentElement.style.setProperty('--privet-accent', 'rgb(1, 2, 3)')"
        )
        assert background(tab, "#begin") == pytest.approx((1 / 255, 2 / 255, 3 / 255), abs=0.002)
        fill_in(tab)
        tab.locator("#next").click()
        tab.locator("#send").click()
        tab.get_by_role("heading", name="Danke. Ihre Antwort wurde gezählt").wait_for()
        steps = tab.evaluate("window.steps")
        assert [each["step"] for each in steps][-4:] == ["questions", "check", "sending", "receipt"]
        assert {key for each in steps for key in each} == {"step", "title", "language", "state"}
        assert steps[-1]["state"] == "counted"
    assert curator.status(task)["reports"] == 1


@pytest.mark.needs("chromium")
def test_the_dashboards_lines_embed_the_form_from_a_relay(
    curator: RunningCurator, tab: Any, tmp_path: Path
) -> None:
    """In a page of another origin; with another hash nothing of the relay's code runs."""
    task = new_task(curator, "embedded")
    with curator.http() as http:
        issued = http.put("/v1/tokens/relay", json={"scope": "relay"}, headers=curator.admin)
    token = issued.json()["token"]
    with running_relay(tmp_path, curator.url, token, least=1, every=1.0) as relay:
        lines = snippet(relay.url, task)
        (tmp_path / "embedded.html").write_text(f"<!doctype html><title>Ours</title>{lines}")
        other = lines.replace(EMBEDDED_HASH, "sha384-" + "A" * 64)
        (tmp_path / "other.html").write_text(f"<!doctype html><title>Ours</title>{other}")
        handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
        with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as address:
            tab.goto(f"{address}/other.html")
            tab.wait_for_load_state("networkidle")
            assert tab.evaluate("customElements.get('privet-answer') === undefined")
            tab.goto(f"{address}/embedded.html")
            fill_in(tab)
            tab.locator("#next").click()
            tab.locator("#send").click()
            tab.get_by_role("heading", name="Your message is on its way").wait_for()


def test_the_archive_holds_what_it_needs_and_nothing_else(project: Path) -> None:
    """Types of every module; no dependency, script or program runs when it is installed."""
    with tarfile.open(next(project.glob("*.tgz"))) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    assert {"LICENSE", "README.md", "index.js", "node.js", f"dist/{EMBEDDED}"} <= names
    modules = {name for name in names if re.match(r"(src/)?[\w-]+\.js$", name)}
    assert {f"types/{name.removesuffix('.js')}.d.ts" for name in modules} <= names
    assert not {
        name
        for name in names
        if not re.match(r"(src|types|dist)/|[\w-]+(\.d)?\.\w+$|LICENSE", name)
    }
    package = (project / "node_modules" / "@privet" / "holder" / "package.json").read_text()
    assert not re.search(r'"(?:dependencies|scripts|bin)"', package)
