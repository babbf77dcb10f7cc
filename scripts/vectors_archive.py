"""Write the test vectors as one archive, which every implementation can be held to.

    python -m scripts.vectors_archive privet-vectors-3.zip

The same vectors give the same bytes. ``manifest.json`` has the archive's version and the SHA-256 of
each file, ``schema.json`` is the JSON schema of every file by its path.
"""

import json
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from privet.conformance.vectors import MANIFEST, VERSION

VECTORS = Path(__file__).parent.parent / "tests" / "vectors"


def write(target: Path) -> None:
    files = {
        str(path.relative_to(VECTORS)): path.read_bytes()
        for path in sorted(VECTORS.rglob("*.json"))
    }
    hashes = {name: sha256(content).hexdigest() for name, content in files.items()}
    manifest = {"version": VERSION, "files": hashes}
    files[MANIFEST] = json.dumps(manifest, indent=2).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def main(target: Annotated[Path, typer.Argument(help="The archive to write.")]) -> None:
    """Write the archive."""
    write(target)
    print(f"{target}: SHA-256 {sha256(target.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    typer.run(main)
