"""What the commands print of errors that name parameters."""

import pytest

from privet.curator.cli.output import with_options


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["id"], "(--ignore id)"),
        (["a b", "it's", 'q"'], """(--ignore 'a b' --ignore 'it'"'"'s' --ignore 'q"')"""),
        (["x, y", "back\\slash"], "(--ignore 'x, y' --ignore 'back\\slash')"),
    ],
)
def test_columns_to_ignore_are_options_quoted_for_a_shell(names: list[str], options: str) -> None:
    """Whatever their names are; other brackets stay."""
    text = f"Leave it out (ignore={names}), or (see above) declare it."
    assert with_options(text) == f"Leave it out {options}, or (see above) declare it."
    years = f"Let the year count (years={names})."
    assert with_options(years) == f"Let the year count {options.replace('ignore', 'years')}."


def test_settings_without_columns_and_new_names_are_options() -> None:
    """New names are JSON, which Python reads too; a unit in brackets is none."""
    text = 'Age (years): rename it (rename=…), or all (rename={"a (b)": {"No": "no"}}).'
    assert with_options(text) == (
        """Age (years): rename it (--rename), or all (--rename '{"a (b)": {"No": "no"}}')."""
    )
    two = 'Leave it out (rename={"y": {"": ""}}), or name it (rename={"y": {"": "none"}}).'
    assert with_options(two) == (
        """Leave it out (--rename '{"y": {"": ""}}'), or """
        """name it (--rename '{"y": {"": "none"}}')."""
    )
