"""Run the notebooks of ``docs/examples/`` and keep their outputs."""

import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS_PER_CELL = 300


def run(path: Path) -> Any:
    """The notebook with the outputs of a fresh run, every cell of which must succeed."""
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata = {}  # who ran it, and where
    return notebook


def main() -> None:
    """Run all notebooks, or those that are named, and write them back."""
    import nbformat

    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else NOTEBOOKS:
        nbformat.write(run(path), path)
        print(path.name)


if __name__ == "__main__":
    main()
