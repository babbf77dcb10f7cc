"""The package for JavaScript as one file, and what of it is written by programs.

``python -m scripts.holder_package build/`` writes the file that ``npm install`` takes. With
``--write`` it first writes its types anew (by TypeScript, from npm) and the hash by which the
dashboard names the component.
"""

import gzip
import io
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from privet import page

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "holder-js"
TYPES = PACKAGE / "types"
HASH = ROOT / "curator" / "dashboard" / "embedding.py"
NPM = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")


def pack(folder: Path) -> Path:
    """The packed package in ``folder``, as ``npm pack`` packs it, with the component as one file in
    ``dist/``; the same files always give the same bytes."""
    about = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    named = [PACKAGE / name for name in ("package.json", "README.md", *about["files"])]
    found = [path for each in named for path in [each, *sorted(each.rglob("*"))] if path.is_file()]
    files = {str(path.relative_to(PACKAGE)): path.read_bytes() for path in found}
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"dist/{page.FORM}"] = page.FILES[page.FORM]
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


def install(folder: Path, *more: str) -> None:
    """Install the tools that the lock file of ``tools/`` pins, and packages from files."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PACKAGE / "tools" / name, folder)
    subprocess.run(["npm", "ci", *NPM], cwd=folder, check=True, capture_output=True)
    if more:
        subprocess.run(["npm", "install", "--no-save", *NPM, *more], cwd=folder, check=True)


def types(tools: Path, out: Path) -> None:
    """Declarations of the package in ``out``, by the TypeScript that ``install`` put in
    ``tools``."""
    compiler = str(tools / "node_modules" / ".bin" / "tsc")
    subprocess.run([compiler, "-p", str(PACKAGE), "--outDir", str(out)], check=True)


def write_types() -> None:
    with TemporaryDirectory() as place:
        install(Path(place))
        shutil.rmtree(TYPES, ignore_errors=True)
        types(Path(place), TYPES)


def with_hash(text: str) -> str:
    """The module's text with the component's hash of now."""
    return re.sub(
        r'^EMBEDDED_HASH = ".*"$', f'EMBEDDED_HASH = "{page.INTEGRITY}"', text, flags=re.M
    )


def main(
    folder: Annotated[Path, typer.Argument(help="Where to write.")] = Path("build"),
    *,
    write: Annotated[bool, typer.Option(help="First write types and hash anew.")] = False,
) -> None:
    """Write the package for JavaScript."""
    if write:
        write_types()
        HASH.write_text(with_hash(HASH.read_text("utf-8")), "utf-8")
    print(pack(folder))


if __name__ == "__main__":
    typer.run(main)
