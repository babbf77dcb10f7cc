"""Estimators and a grower of one's own, registered by the script that starts a curator.

Their functions stand at the top of a module that can be imported, so worker processes find them.
"""

import errno
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.estimator import Estimator, Parameter
from privet.learning.core.grower import Grower
from privet.learning.core.growth import Growth
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.lpct.weighted import public_alone
from privet.learning.methods import ESTIMATORS, GROWERS
from privet.protocol.features import Label
from privet.protocol.partition import Partition

SCRIPT = """
from privet.curator import app, server
from privet.curator.cli import main
from tests.curator import endless
app.MAX_WAITING_JOBS = server.SHUTDOWN_SECONDS = 1
endless.register()
main(["serve"])
"""


def never_ends(*_: Any, note: str) -> Model:
    """Start a process, write both ids and the names of all PRIVET variables, and stay."""
    child = subprocess.Popen(["sleep", "1000"])
    names = [name for name in os.environ if name.startswith("PRIVET_")]
    temporary = Path(f"{note}.new")
    temporary.write_text(f"{os.getpid()} {child.pid} {' '.join(names)}")
    temporary.rename(note)
    while True:
        time.sleep(1)


def dies(*_: Any) -> Model:
    """End as a process does that takes too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def fails(*_: Any) -> Model:
    """Fail as a bug does."""
    raise ZeroDivisionError("a bug of its own")


def fails_after_want_of_memory() -> None:
    """Fail of something else while an allocation's failure is handled."""
    try:
        bytes(2**40)
    finally:
        raise ValueError("an open file")


def cannot_map_a_library() -> None:
    """Fail as an import does where the linker lacks memory."""
    raise ImportError("_bounded_integers.so: failed to map segment from shared object")


def lacks_memory_for_a_process() -> None:
    """Fail as ``fork`` does."""
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def mine(growth: Growth) -> Partition:
    """Grow a grid."""
    return GROWERS["grid"].grow(growth)


def own_public(label: Label, public: PublicData, questions: Sequence[QuestionCounts]) -> Model:
    """Public counts alone."""
    return public_alone(label, public, questions[0])


def register() -> None:
    """Let this process know them."""
    note = {"note": Parameter("", "Where to write process ids.")}
    for estimator in (
        Estimator("never_ends", "Stays.", never_ends, note),
        Estimator("dies", "Ends.", dies),
        Estimator("fails", "Fails.", fails),
        Estimator("own_public", "Public counts.", own_public),
    ):
        ESTIMATORS[estimator.name] = estimator
    GROWERS["mine"] = Grower("mine", mine)
