"""Names show as what they are."""

import pytest
from pydantic import ValidationError

from privet.protocol.features import Categorical, Classes, Numeric, showable

NAMES = ["Zwölf Äpfel 🍎", "wide\u00a0space", "می\u200cخواهم", "👩\u200d🔬", "<b>&amp;[red]"]


@pytest.mark.parametrize("name", NAMES)
def test_text_of_all_languages_is_a_name(name: str) -> None:
    """Joiners, emoji, spaces of all widths and markup are text like any other."""
    assert showable(name) == name
    assert Numeric(name=name, low=0.0, high=1.0).name == name
    assert Classes(name="y", classes=(name, "other")).classes[0] == name


@pytest.mark.parametrize("character", "\x00\n\t\x1b\x7f\x85\u2028\u202e\u2066\ud800")
def test_what_hides_or_overwrites_text_is_refused(character: str) -> None:
    """In names, categories and classes alike; the fault says which character, and where."""
    name = f"a{character}b"
    told = rf"remove character 2, the control character U\+{ord(character):04X}"
    with pytest.raises(ValueError, match=told):
        showable(name)
    for make in (
        lambda: Numeric(name=name, low=0.0, high=1.0),
        lambda: Categorical(name="x", categories=(name,)),
        lambda: Classes(name="y", classes=(name, "other")),
    ):
        with pytest.raises(ValidationError):
            make()
