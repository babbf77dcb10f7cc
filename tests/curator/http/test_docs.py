"""The API in a browser: everything comes from the curator, nothing from elsewhere."""

import re
from urllib.parse import urljoin

from tests.curator.http.conftest import Http

LOADED = re.compile(r'(?:src|href)="([^"]+)"')


async def test_the_page_loads_only_what_this_curator_serves(http: Http) -> None:
    """Every script and style is an address of this curator's, and is there; the one policy names no
    other place and allows no script inside the page."""
    page = await http.get("/docs")
    assert page.status_code == 200
    assert "//" not in page.text.replace("<!DOCTYPE html>", "")
    (policy,) = page.headers.get_list("content-security-policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == "'self'"
    assert "<script>" not in page.text
    assert " on" not in re.sub(r">[^<]*<", "><", page.text)
    loaded = [a for a in LOADED.findall(page.text) if a != "./" and not a.startswith("data:")]
    kinds = {}
    for address in loaded:
        answer = await http.get(urljoin("/docs", address))
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        kinds[address] = answer.headers["content-type"].split(";")[0]
    assert kinds == {
        "docs/swagger-ui.css": "text/css",
        "docs/contrast.css": "text/css",
        "docs/swagger-ui-bundle.js": "text/javascript",
        "docs/start.js": "text/javascript",
    }


async def test_the_start_reads_this_curators_description(http: Http) -> None:
    """The script calls what the bundle defines, and the address that it reads is there."""
    start = (await http.get("/docs/start.js")).text
    assert "//" not in start
    assert "\nSwaggerUIBundle(" in start
    assert "SwaggerUIBundle" in (await http.get("/docs/swagger-ui-bundle.js")).text
    found = re.search(r'url: "([^"]+)"', start)
    assert found
    assert (await http.get(urljoin("/docs", found[1]))).json()["info"]["title"] == "Privet"


async def test_no_other_file_can_be_read(http: Http) -> None:
    """Only the listed names are served."""
    for name in ("redoc.standalone.js", "../core.py", "%2e%2e/core.py", ""):
        assert (await http.get(f"/docs/{name}")).status_code in {307, 404}
    assert (await http.get("/redoc")).status_code == 404
