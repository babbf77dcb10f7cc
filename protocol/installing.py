"""The command that installs Privet, for messages that say which extra is missing.

No package index has Privet: its name there would be whoever's registers it. So commands name the
wheel's file, by a path, for which no installer asks an index.
"""

WHEEL = "./privet-0.2.0-py3-none-any.whl"
"""The file of a release; ``make release`` writes it into dist/."""


def install_command(extras: str) -> str:
    """The command that installs Privet with these extras, in the folder of the release's files."""
    return f"pip install '{WHEEL}[{extras}]'"
