"""Help texts of command lines, which are docstrings."""


def whole_paragraphs(text: str | None) -> str:
    """A docstring with each paragraph in one line: Typer breaks all but the first where the source
    does, in the middle of sentences."""
    paragraphs = (text or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs).strip()
