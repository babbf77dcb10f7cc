"""A process of its own for a file that may harm the program that reads it.

``run_within`` starts a module as a process and hands it the file; the module calls
``confine`` before it reads, which limits its own memory, time and files.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

MIB = 2**20


@dataclass(frozen=True)
class ProcessLimits:
    """Limits on a process: its time, the time that is waited for it, and its memory."""

    cpu_seconds: int = 60
    wall_seconds: float = 300.0
    memory_mib: int = 4096


class ExceededLimit(Exception):
    """The process went beyond a limit, or crashed."""


def run_within(limits: ProcessLimits, module: str, sent: bytes) -> bytes:
    """The bytes that a module writes to standard output, given ``sent`` on standard input.

    Its one argument is the limits in JSON. Raises ``TimeoutError`` if it does not end in time, and
    ``ExceededLimit`` if it ends with an error.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRIVET_")}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        ended = subprocess.run(  # noqa: S603 - a module of ours, with the interpreter that runs it
            [sys.executable, "-P", "-m", module, json.dumps(asdict(limits))],
            input=sent,
            capture_output=True,
            timeout=limits.wall_seconds,
            env=kept | threads | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if ended.returncode:
        raise ExceededLimit
    return ended.stdout


def confine(limits: ProcessLimits) -> None:
    """Limit this process's memory and time, and forbid it to write files."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds))
    if sys.platform == "linux":
        memory = limits.memory_mib * MIB
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
