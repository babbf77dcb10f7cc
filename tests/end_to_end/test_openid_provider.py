"""Sign-in at a real OpenID provider, from npm, in a real browser."""

import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from scripts.servers import RunningCurator, free_port, running_curator
from tests.browsing import violations

pytestmark = [pytest.mark.needs("node", "npm"), pytest.mark.slow]
PACKAGE = "oidc-provider@8.8.1"
SCRIPT = Path(__file__).parent / "openid_provider.mjs"
API = "urn:privet:api"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningCurator, str, str]]:
    """A curator, the issuer whose people it takes, and the client secret.

    Browsers take 127.0.0.1 and localhost for two sites.
    """
    folder = tmp_path_factory.mktemp("provider")
    shutil.copy(SCRIPT, folder)
    install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
    subprocess.run(install, cwd=folder, check=True, capture_output=True, timeout=240)
    port, own, secret = free_port(), free_port(), secrets.token_urlsafe(32)
    redirect = f"http://127.0.0.1:{own}/sign-in/callback"
    command = ["node", SCRIPT.name, str(port), redirect, secret]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            settings = {"port": str(own), "oidc_issuer": f"http://localhost:{port}"}
            settings |= {"oidc_client_id": "privet", "oidc_client_secret": secret}
            settings |= {"oidc_redirect_uri": redirect, "oidc_admins": "privet-admin"}
            with running_curator(folder, **settings, oidc_audience=API) as curator:
                yield curator, settings["oidc_issuer"], secret
        finally:
            process.terminate()


def sign_in(tab: Any, curator: RunningCurator, name: str) -> None:
    """From the curator's page through the provider's two, log in and consent, as people do."""
    tab.goto(f"{curator.url}/sign-in?then=/new")
    provider = tab.get_by_role("link", name=re.compile("^Sign in with localhost"))
    assert violations(provider) == []
    provider.click()
    tab.locator("[name=login]").fill(name)
    tab.locator("[name=password]").fill("any")
    tab.locator("[type=submit]").click()
    tab.get_by_role("button", name="Continue").click()


@pytest.mark.needs("chromium")
def test_people_sign_in_and_out(running: tuple[RunningCurator, str, str], tab: Any) -> None:
    """The session is there on the page that was asked for, though it began on another site."""
    curator, issuer, _ = running
    sign_in(tab, curator, "admin-ada")
    tab.get_by_text("Dr admin-ada (admin)").wait_for()
    assert tab.url == f"{curator.url}/new"
    tab.get_by_role("link", name="Access").click()
    tab.get_by_role("cell", name="oidc:admin-ada").first.wait_for()
    tab.get_by_role("button", name="Sign out").click()
    end = tab.get_by_role("link", name="Sign out there too")
    assert violations(end) == []
    assert end.get_attribute("href").startswith(f"{issuer}/session/end?")
    end.click()
    tab.get_by_role("button", name="Yes, sign me out").click()
    tab.get_by_text("Sign-out Success").wait_for()
    tab.goto(f"{curator.url}/new")
    tab.get_by_role("alert").wait_for()


@pytest.mark.needs("chromium")
def test_people_without_a_role_stay_out(running: tuple[RunningCurator, str, str], tab: Any) -> None:
    """They are told what they are called, and what is missing."""
    sign_in(tab, running[0], "eve")
    tab.get_by_text("oidc:eve has no role here").wait_for()
    tab.goto(f"{running[0].url}/new")
    tab.get_by_role("alert").wait_for()


def test_programs_call_the_api_with_access_tokens(running: tuple[RunningCurator, str, str]) -> None:
    """Of the client credentials grant, for this API alone; ID tokens are for the dashboard."""
    curator, issuer, secret = running
    form = {"grant_type": "client_credentials", "resource": API}
    answer = httpx.post(f"{issuer}/token", auth=("admin-program", secret), data=form)
    bearer = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    url = f"{curator.url}/v1/tokens/desk"
    assert httpx.put(url, headers=bearer, json={"scope": "reader"}).status_code == 201
    (entry, *_) = httpx.get(f"{curator.url}/v1/audit", headers=bearer).json()
    assert (entry["actor"], entry["action"]) == ("oidc:admin-program", "token issued")
    changed = {"Authorization": bearer["Authorization"][:-6] + "AAAAAA"}
    assert httpx.get(f"{curator.url}/v1/tokens", headers=changed).status_code == 401
