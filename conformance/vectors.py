"""The archive of test vectors: ``manifest.json`` and the files of tests/vectors, in one zip."""

import json
import zipfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from privet.protocol.errors import InvalidRequest

MANIFEST = "manifest.json"
VERSION = 3
"""Version of the archive's format; new cases and files of the same format do not change it."""


@dataclass(frozen=True)
class Vectors:
    """The cases of an archive, by the path of their file in it."""

    files: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Vectors":
        """The archive at ``path``; raises ``InvalidRequest`` if it is none of this version."""
        try:
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.endswith(".json")]
                files = {name: json.loads(archive.read(name)) for name in names}
            version = files[MANIFEST]["version"]
        except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError):
            raise InvalidRequest(
                f"{path} is no archive of Privet's test vectors: `make vectors` writes one."
            ) from None
        if version != VERSION:
            raise InvalidRequest(
                f"{path} has vectors of form {version}, and this program reads {VERSION}."
            )
        return cls(files)

    def bad_tasks(self) -> list[tuple[str, str, bytes]]:
        """(name, id, bytes) of what no holder may answer under its own id."""
        cases = [
            (case["name"], bytes.fromhex(case["bytes"]))
            for case in self.files["messages/tasks.json"]
            if not case["success"] and "asked" not in case
        ]
        return [(name, sha256(content).hexdigest(), content) for name, content in cases]

    def answers(self) -> list[tuple[dict[str, Any], str]]:
        """Cases to draw, each with its task's bytes and its report in hexadecimal."""
        tasks = {
            case["id"]: case["bytes"]
            for case in self.files["messages/tasks.json"]
            if case["success"]
        }
        return [
            (
                {
                    "task": tasks[case["task"]],
                    "record": case["record"],
                    "seed": case["seed"],
                },
                case["report"],
            )
            for case in self.files["messages/answers.json"]
        ]


NO_VECTORS = Vectors({})
