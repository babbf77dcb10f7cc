"""The holder in JavaScript has the calls of ``protocol.calls``, and spells none of them itself."""

import re

from scripts.write_calls import PATH, module


def test_the_module_is_what_the_script_writes() -> None:
    """``python -m scripts.write_calls`` writes it."""
    assert PATH.read_text(encoding="utf-8") == module()


def test_no_other_file_names_a_path_header_or_media_type() -> None:
    """They are in calls.js; a comment may name them."""
    for module_path in PATH.parent.iterdir():
        name, text = module_path.name, module_path.read_text(encoding="utf-8")
        if name != PATH.name:
            code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
            assert not re.search(r"/v1/|privet-(?:invitation|signature)|vnd\.privet", code, re.I), (
                name
            )
            assert "application/" not in code, name
