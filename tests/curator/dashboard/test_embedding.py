"""The dashboard names the component of this release, and serves none of it."""

import base64
import hashlib

from privet import page
from privet.curator.dashboard.embedding import EMBEDDED, EMBEDDED_HASH, snippet
from tests.keeping import keeps


@keeps(
    "threat-model: a page that embeds the form refuses other code than the release's",
    in_="curator/dashboard/embedding.py",
    instead_of=' integrity="{EMBEDDED_HASH}"',
    plant="",
)
def test_the_hash_is_the_components() -> None:
    """Of the very file that this release's relays serve."""
    assert EMBEDDED == page.FORM
    digest = hashlib.sha384(page.FILES[page.FORM]).digest()
    assert f"sha384-{base64.b64encode(digest).decode()}" == EMBEDDED_HASH
    assert f' integrity="{EMBEDDED_HASH}"' in snippet("https://a", "ab")


def test_an_address_ends_no_attribute() -> None:
    """Whatever an admin calls the relay, the lines have one script and one form."""
    lines = snippet('https://a"><script>', "ab")
    assert lines.count("<script") == lines.count("<privet-answer") == 1
    assert lines.count('">') == 2
    assert "<a>" not in lines


def test_where_the_form_does_not_run_there_is_a_link() -> None:
    """Within the element, whose own content takes its place where it does."""
    link = '<a href="https://a/answer/ab">Answer this study</a></privet-answer>'
    assert snippet("https://a", "ab").endswith(f">{link}")
