"""The dashboard names the component of this release, and serves none of it."""

from privet import page
from privet.curator.dashboard.embedding import EMBEDDED, EMBEDDED_HASH, snippet


def test_the_hash_is_the_components() -> None:
    """``python -m scripts.holder_package --write`` writes it."""
    assert EMBEDDED == page.FORM
    assert EMBEDDED_HASH == page.INTEGRITY


def test_an_address_ends_no_attribute() -> None:
    """Whatever an admin calls the relay, the lines have one script and one form."""
    lines = snippet('https://a"><script>', "ab")
    assert lines.count("<script") == lines.count("<privet-answer") == 1
    assert lines.count('">') == 1
