"""Set up .venv from the pins in requirements/, with nothing but Python: `make` calls it.

    python3 scripts/set_up.py demo|test|docs|all
    python3 scripts/set_up.py --lock [--upgrade]

uv installs; where it cannot be had, or reaches no index (it does not read pip's configuration), pip
installs the same files. `--lock` writes the pins anew from pyproject.toml.
"""

import argparse
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "requirements"
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
OLDEST = "3.11.0"
"""The oldest Python that the pins must install on."""
PROJECT = "pyproject.toml"
SERVICES = ("--extra=postgres", "--extra=oidc")
"""The services a curator may use."""
LOCKED = {
    "all": (PROJECT, "--all-extras", "--group=all"),
    "test": (PROJECT, "--extra=demo", *SERVICES, "--group=test"),
    "demo": (PROJECT, "--extra=demo"),
    "curator": (PROJECT, "--extra=curator", *SERVICES),
    "relay": (PROJECT, "--extra=relay"),
    "holder": (PROJECT, "--extra=pinned"),
    "docs": ("--group=docs",),
    "build": ("--group=build",),
    "uv": ("--group=uv",),
}
"""The sets of packages, the largest first, and what of pyproject.toml is in them."""
WITHOUT_PATIENCE = {"UV_HTTP_CONNECT_TIMEOUT": "5", "UV_HTTP_RETRIES": "1"}
"""uv's time-out in seconds: short, so that pip gets its turn where uv reaches no index."""


def main() -> None:
    """Install a set of packages and Privet itself, or write the pins."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", choices=LOCKED, nargs="?", default="demo")
    parser.add_argument("--lock", action="store_true", help="write the pins anew")
    parser.add_argument("--upgrade", action="store_true", help="to the newest versions")
    arguments = parser.parse_args()
    if arguments.lock:
        lock(upgrade=arguments.upgrade)
    else:
        install(arguments.packages)


def install(packages: str) -> None:
    """Install the pinned packages into .venv, which is created if need be."""
    started = time.monotonic()
    if not _runs("-m", "pip", "--version"):
        say(f"creating a virtual environment with Python {sys.version.split()[0]}")
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    lists = [PINS / "build.txt", PINS / f"{packages}.txt"]
    count = sum(line[0] not in " #" for path in lists for line in path.read_text().splitlines())
    say(f"downloading and installing {count} pinned packages")
    pinned = ["--no-deps", "--require-hashes", *(f"--requirement={path}" for path in lists)]
    privet = ["--no-deps", "--no-build-isolation", f"--editable={ROOT}"]
    by_uv = _has_uv() and (_uv(*pinned) or _uv("--system-certs", *pinned))
    if not by_uv:
        say("uv is not to be had here, so pip does the same, in a minute or two")
        _pip("--progress-bar=off", *pinned)
    if not (by_uv and _uv(*privet)):
        _pip("--quiet", "--quiet", *privet)
    say(f"done in {time.monotonic() - started:.0f} s")


def say(what: str) -> None:
    print(f"Setting up Privet in .venv: {what}.", flush=True)


def lock(*, upgrade: bool) -> None:
    _has_uv()
    for name in LOCKED:
        pin(name, PINS / f"{name}.txt", upgrade=upgrade and name == "all")


def pin(name: str, into: Path, *, upgrade: bool = False) -> None:
    """Pin a set of packages; the smaller ones with the largest one's versions."""
    how = ["--universal", f"--python-version={OLDEST}", "--generate-hashes", "--no-annotate"]
    how += ["--upgrade"] * upgrade + ["--constraint=requirements/all.txt"] * (name != "all")
    how += ["--quiet", "--no-header", f"--output-file={into}", *LOCKED[name]]
    _run("-m", "uv", "pip", "compile", *how, stdout=subprocess.DEVNULL)


def _has_uv() -> bool:
    """Fetch the pinned uv; False where pip cannot."""
    wanted = ("--quiet", "--no-deps", "--require-hashes", f"--requirement={PINS / 'uv.txt'}")
    return _runs("-m", "pip", "install", "--disable-pip-version-check", *wanted)


def _uv(*options: str) -> bool:
    return _runs("-m", "uv", "pip", "install", "--quiet", f"--python={PYTHON}", *options)


def _pip(*options: str) -> None:
    _run("-m", "pip", "install", "--disable-pip-version-check", *options)


def _runs(*arguments: str) -> bool:
    """True if it succeeds; its error output is printed."""
    try:
        _run(*arguments, stdout=subprocess.DEVNULL)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return False
    return True


def _run(*arguments: str, stdout: int | None = None) -> None:
    environment = WITHOUT_PATIENCE | os.environ
    subprocess.run([PYTHON, *arguments], cwd=ROOT, env=environment, stdout=stdout, check=True)


if __name__ == "__main__":
    main()
