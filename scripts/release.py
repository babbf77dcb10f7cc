"""The files of a release, in dist/: archives, package for JavaScript, test vectors, bills of
materials, and the hashes of all.

    make release

Archives are built from the commit that is checked out, and from nothing that lies beside it. The
wheel's bytes depend on the commit and on the pinned setuptools and Brotli alone; the types in the
package for JavaScript are made by Node and the TypeScript that its lock file pins. There is a bill
of materials (CycloneDX) for each role's image, from the pins that the image installs; the holder's
is the wheel's, whose base install it is.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from privet.conformance.vectors import VERSION
from privet.protocol.errors import PrivetError

ROOT = Path(__file__).resolve().parent.parent
ROLES = ("holder", "relay", "curator", "demo")
BUILD = "from setuptools import build_meta as b; print(b.build_{}({!r}))"
SUMS = "SHA256SUMS"


def main() -> None:
    """Write dist/ anew, and print the hashes."""
    if _git("status", "--porcelain").strip():
        print("Left out, as it is not committed:\n" + _git("status", "--short"), file=sys.stderr)
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for earlier in filter(Path.is_file, dist.iterdir()):
        earlier.unlink()
    print(release("HEAD", dist), end="")


def release(commit: str, dist: Path) -> str:
    """Build everything of a commit into an empty folder; the text of ``SHA256SUMS``."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder)
        moment = export(commit, checkout)
        for kind in ("sdist", "wheel"):
            build(kind, checkout, dist, moment)
        for_holders(checkout, dist, moment)
        (wheel,) = dist.glob("*.whl")
        stem = "-".join(wheel.name.split("-")[:2])
        for role in ROLES:
            bill(checkout, role, dist / f"{stem}-{role}.cdx.json", moment)
    files = sorted(dist.iterdir())
    sums = "".join(f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files)
    (dist / SUMS).write_text(sums, encoding="utf-8")
    return sums


def export(commit: str, folder: Path) -> str:
    """Write a commit's files; its time, in Unix seconds."""
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="tar")
    return _git("log", "-1", "--format=%ct", commit).strip()


def build(kind: str, checkout: Path, dist: Path, moment: str) -> None:
    """Build an ``sdist`` or a ``wheel`` whose files are as old as the commit."""
    _run(
        [sys.executable, "-c", BUILD.format(kind, str(dist.resolve()))],
        checkout,
        moment,
    )


def for_holders(checkout: Path, dist: Path, moment: str) -> None:
    """Write what holders in other languages take: the package for JavaScript and the vectors."""
    vectors = f"privet-vectors-{VERSION}.zip"
    for module, target in (("holder_package", "."), ("vectors_archive", vectors)):
        written = str(dist.resolve() / target)
        _run([sys.executable, "-m", f"scripts.{module}", written], checkout, moment)


def bill(checkout: Path, role: str, into: Path, moment: str) -> None:
    """Write the bill of materials of a role, checked against CycloneDX's schema."""
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", "--pyproject=pyproject.toml"]
    command += ["--output-reproducible", "--validate", "--output-file", str(into.resolve())]
    _run([*command, f"requirements/{role}.txt"], checkout, moment)
    if not json.loads(into.read_text(encoding="utf-8"))["components"]:
        raise PrivetError(f"The bill of materials of {role} is empty.")


def _run(command: list[str], folder: Path, moment: str) -> None:
    environment = os.environ | {"SOURCE_DATE_EPOCH": moment, "TZ": "UTC"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        umask=0o022,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PrivetError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
