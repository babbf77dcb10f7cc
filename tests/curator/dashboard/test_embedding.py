"""The dashboard names the component of this release, and serves none of it."""

from privet import page
from privet.curator.dashboard.embedding import EMBEDDED, EMBEDDED_HASH


def test_the_hash_is_the_components() -> None:
    """``python -m scripts.holder_package --write`` writes it."""
    assert EMBEDDED == page.FORM
    assert EMBEDDED_HASH == page.INTEGRITY
