"""Programs that tests run, and a checkout for those that start from one."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def output_of(*command: str | Path, **options: Any) -> str:
    """What a program prints, its errors included; fails with that unless the program succeeds."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout[-10_000:]
    return str(done.stdout)


def checkout(folder: Path) -> Path:
    """A copy of what git would hand out of this checkout."""
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder
