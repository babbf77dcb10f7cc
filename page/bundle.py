"""One module out of several: what `import` and `export` join is joined beforehand.

The modules of ``holder-js/`` stay as they are but for these statements and for comments, each in
a function of its own. So one hash covers all the code that reads a record.
"""

import re
from collections.abc import Mapping

IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"\./([\w-]+\.js)";\n', re.M)
LATER = re.compile(r'import\("\./([\w-]+\.js)"\)')
EXPORT = re.compile(r"^export (?=(?:const|class|(?:async )?function) (\w+))", re.M)
DEFAULT = "export default {"
COMMENTS = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n|^ *//[^\n]*\n|^\n", re.M | re.S)


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """The module ``entry`` with all that it imports, from ``modules`` by name, in one text.

    Raises ``ValueError`` for modules that import each other, and for other forms of these
    statements.
    """
    parts: dict[str, str] = {}
    _add(modules, entry, parts, ())
    return f"/** {entry} of @privet/holder, with its imports. */\n" + "".join(parts.values())


def _add(
    modules: Mapping[str, str], name: str, parts: dict[str, str], above: tuple[str, ...]
) -> None:
    if name in parts:
        return
    if name in above:
        raise ValueError(f"{name} imports itself, by {', '.join(above)}.")
    text = COMMENTS.sub("", modules[name])
    wanted = [found[2] for found in IMPORT.finditer(text)] + LATER.findall(text)
    for each in wanted:
        _add(modules, each, parts, (*above, name))
    names = EXPORT.findall(text)
    text = IMPORT.sub(_taken, text)
    text = LATER.sub(lambda found: f"Promise.resolve({_variable(found[1])})", text)
    text = EXPORT.sub("", text)
    if DEFAULT in text:
        text, names = text.replace(DEFAULT, "const texts = {"), ["default: texts"]
    if left := re.search(r"^(?:import|export)\b.*", text, re.M):
        raise ValueError(f"{name}: {left[0]}")
    made = f"(() => {{\n{text}return {{ {', '.join(names)} }};\n}})()"
    parts[name] = f"// {name}\nconst {_variable(name)} = {made};\n"


def _taken(found: re.Match[str]) -> str:
    names = (found[1] or "").replace(" as ", ": ").split()
    return f"const {{ {' '.join(names)} }} = {_variable(found[2])};\n" if names else ""


def _variable(name: str) -> str:
    return "$" + name.removesuffix(".js").replace("-", "_")
