import pytest

from privet.client import UnsafeAddress
from privet.http_client.address import TaskAddress
from tests.keeping import keeps

ID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "url",
    [
        f"https://curator.example/v1/tasks/{ID}",
        f"https://curator.example:8443/under/a/path/v1/tasks/{ID}/",
        f"http://localhost:8000/v1/tasks/{ID}",
        f"http://127.0.0.1/v1/tasks/{ID}",
        f"http://[::1]:8000/v1/tasks/{ID}",
        f"  https://curator.example/v1/tasks/{ID}\n",
    ],
)
def test_a_task_is_found_under_its_address(url: str) -> None:
    """https anywhere and http on this machine are accepted; the id is the last part."""
    address = TaskAddress.parse(url)
    assert address.id == ID
    assert address.url == url.strip().rstrip("/")


@pytest.mark.parametrize("before", ["https://relay.example", "http://[::1]:8000/below"])
def test_a_link_to_the_answer_page_leads_to_its_task(before: str) -> None:
    """People are sent such links, with an invitation after the #."""
    address = TaskAddress.parse(f"{before}/answer/{ID}#aBc-9")
    assert address == TaskAddress(f"{before}/v1/tasks/{ID}", ID, "aBc-9")
    plain = TaskAddress.parse(f"{before}/answer/{ID}/")
    assert plain == TaskAddress.parse(f"{before}/v1/tasks/{ID}")
    for wrong in (f"{before}/answer/{ID}?x=1", "http://relay.example/answer/" + ID):
        with pytest.raises(UnsafeAddress):
            TaskAddress.parse(wrong)


@keeps(
    "threat-model: plain http is for this machine",
    in_="http_client/address.py",
    instead_of='if scheme == "http" and',
    plant="if False and",
)
@pytest.mark.parametrize(
    "url",
    [
        "",
        "curator.example",
        f"ftp://curator.example/v1/tasks/{ID}",
        f"file:///v1/tasks/{ID}",
        f"https:///v1/tasks/{ID}",
        "https://curator.example/v1/tasks/",
        f"https://curator.example/v1/tasks/{ID[:-1]}",
        f"https://curator.example/v1/tasks/{ID.upper()}",
        f"https://curator.example/v1/tasks/{ID}/reports",
        f"https://user:secret@curator.example/v1/tasks/{ID}",
        f"https://curator.example/v1/tasks/{ID}?who=me",
        f"https://curator.example/v1/tasks/{ID}#here",
        f"https://curator.example:99999999/v1/tasks/{ID}",
        "https://[broken/v1/tasks/" + ID,
        f"http://curator.example/v1/tasks/{ID}",
        f"http://localhost.evil.example/v1/tasks/{ID}",
        f"http://10.0.0.1/v1/tasks/{ID}",
    ],
)
def test_other_addresses_are_refused_with_advice(url: str) -> None:
    """Whatever is no task's address, or could be read on the way, is UnsafeAddress."""
    with pytest.raises(UnsafeAddress, match=r"https|leave them out"):
        TaskAddress.parse(url)


def test_plain_http_is_a_choice() -> None:
    """On a network that the user trusts, http to another machine can be allowed."""
    assert TaskAddress.parse(f"http://curator:8000/v1/tasks/{ID}", insecure_http=True).id == ID
