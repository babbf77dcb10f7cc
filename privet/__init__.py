"""Privet: decision trees learned from people who never reveal their record.

    from privet import PrivateTreeClassifier          # compare methods on your data
    from privet import BlockingHolder, Holder         # answer a task
    from privet import CuratorClient                  # use a running curator
    from privet import plan, simulate                 # estimate and simulate a collection
    from privet import TreeDisplay                    # see a tree

All errors are subclasses of ``PrivetError``. The wheel without extras is enough for a holder and
for ``CuratorClient``; what fits or simulates needs the extra ``learning``.
Names are imported on first use, so that ``import privet`` is fast.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.admin.client import CuratorClient
    from privet.client import BlockingHolder, Holder, MemoryLedger, ReportClient, SqliteLedger
    from privet.learning.display.tree import TreeDisplay
    from privet.learning.planning import plan
    from privet.learning.simulation import simulate
    from privet.learning.sklearn import (
        PrivatePanel,
        PrivateTreeClassifier,
        PrivateTreeRegressor,
    )
    from privet.protocol.errors import PrivetError
    from privet.protocol.task import Task

    __version__: str

if (Path(__file__).parent / "protocol").is_file():
    raise ImportError(
        "This checkout has files where it should have symbolic links, so privet cannot be imported "
        "from it. Allow links and check it out again: git config core.symlinks true && "
        "git checkout -- privet (on Windows in developer mode), or install a release's wheel."
    )

_HOMES = {
    "BlockingHolder": "privet.client",
    "CuratorClient": "privet.admin.client",
    "Holder": "privet.client",
    "MemoryLedger": "privet.client",
    "PrivatePanel": "privet.learning.sklearn",
    "PrivateTreeClassifier": "privet.learning.sklearn",
    "PrivateTreeRegressor": "privet.learning.sklearn",
    "PrivetError": "privet.protocol.errors",
    "ReportClient": "privet.client",
    "SqliteLedger": "privet.client",
    "Task": "privet.protocol.task",
    "TreeDisplay": "privet.learning.display.tree",
    "plan": "privet.learning.planning",
    "simulate": "privet.learning.simulation",
}

__all__ = [
    "BlockingHolder",
    "CuratorClient",
    "Holder",
    "MemoryLedger",
    "PrivatePanel",
    "PrivateTreeClassifier",
    "PrivateTreeRegressor",
    "PrivetError",
    "ReportClient",
    "SqliteLedger",
    "Task",
    "TreeDisplay",
    "__version__",
    "plan",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("privet")
    if name not in _HOMES:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    try:
        if _HOMES[name].startswith("privet.learning"):
            _require("sklearn")  # parts of learning import it on first use only
        value = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "privet":
            raise
        command = import_module("privet.protocol.installing").install_command("learning")
        raise ImportError(
            f"privet.{name} needs {error.name}, which is not installed: {command}"
        ) from error
    globals()[name] = value
    return value


def _require(module: str) -> None:
    """Raise ``ModuleNotFoundError`` if a module is not installed; import nothing."""
    if find_spec(module) is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
