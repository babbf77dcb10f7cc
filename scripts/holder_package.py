"""The package for JavaScript as one file, and the component that the answer page has too.

``python -m scripts.holder_package build/`` writes the file that ``npm install`` takes; its types
are made by TypeScript, from npm. With ``--write`` it first builds the component anew.
"""

import gzip
import io
import json
import shutil
import subprocess
import tarfile
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "holder-js"
TOOLS = PACKAGE / "tools"
FORM = ROOT / "page" / "privet-answer.js"
NPM = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")


def pack(tools: Path, folder: Path) -> Path:
    """The packed package in ``folder``, as ``npm pack`` packs it, with the component as one file in
    ``dist/`` and types by what ``install`` put in ``tools``; the same files always give the same
    bytes."""
    about = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    named = [PACKAGE / name for name in ("package.json", "README.md", *about["files"])]
    found = [path for each in named for path in [each, *sorted(each.rglob("*"))] if path.is_file()]
    files = {str(path.relative_to(PACKAGE)): path.read_bytes() for path in found}
    with TemporaryDirectory() as made:
        types(tools, Path(made))
        declared = sorted(Path(made).rglob("*.d.ts"))
        files |= {f"types/{each.relative_to(made)}": each.read_bytes() for each in declared}
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"dist/{FORM.name}"] = FORM.read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    folder.mkdir(parents=True, exist_ok=True)
    name = about["name"].removeprefix("@").replace("/", "-")
    target = folder / f"{name}-{about['version']}.tgz"
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return target


def install(folder: Path) -> None:
    """Install the tools that the lock file of ``tools/`` pins."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(TOOLS / name, folder)
    subprocess.run(["npm", "ci", *NPM], cwd=folder, check=True, capture_output=True)


def types(tools: Path, out: Path) -> None:
    """Declarations of the package in ``out``, by the TypeScript that ``install`` put in
    ``tools``."""
    compiler = str(tools / "node_modules" / ".bin" / "tsc")
    subprocess.run([compiler, "-p", str(PACKAGE), "--outDir", str(out)], check=True)


def first_line() -> str:
    """The first line of the built component, which names its sources by their hash: so whoever has
    no Node sees whether it was built from them."""
    named = [
        *sorted((PACKAGE / "src").glob("*.js")),
        TOOLS / "build.mjs",
        TOOLS / "package-lock.json",
    ]
    sums = "".join(f"{sha256(each.read_bytes()).hexdigest()} {each.name}\n" for each in named)
    return f"/* @privet/holder, from sources {sha256(sums.encode()).hexdigest()} */"


def build(tools: Path, target: Path) -> None:
    """The component as one file, by what ``install`` put in ``tools``."""
    shutil.copy(TOOLS / "build.mjs", tools)
    arguments = [str(PACKAGE / "src" / "element.js"), str(target), first_line()]
    subprocess.run(["node", "build.mjs", *arguments], cwd=tools, check=True)


def main(
    folder: Annotated[Path, typer.Argument(help="Where to write.")] = Path("build"),
    *,
    write: Annotated[bool, typer.Option(help="First build the component anew.")] = False,
) -> None:
    """Write the package for JavaScript."""
    with TemporaryDirectory() as tools:
        install(Path(tools))
        if write:
            build(Path(tools), FORM)
        print(pack(Path(tools), folder))


if __name__ == "__main__":
    typer.run(main)
