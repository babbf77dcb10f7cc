"""Node, in the folder of the holder in JavaScript."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

MODULES = Path(__file__).parents[2] / "holder-js" / "src"
NODE = str(shutil.which("node"))


def evaluated(script: str, given: str = "") -> Any:
    """The JSON that a module in this folder prints."""
    command = [NODE, "--input-type=module", "--eval", script]
    return json.loads(subprocess.check_output(command, input=given, cwd=MODULES, text=True))
