"""Text from elsewhere, made safe to show in a terminal."""


def plain(text: str, longest: int = 1_000) -> str:
    """``text`` without control characters, and not longer than ``longest``."""
    shown = "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return shown if len(shown) <= longest else shown[: longest - 3] + "..."
