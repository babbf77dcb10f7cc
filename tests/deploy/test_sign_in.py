"""The curators' way to an OpenID provider, in containers."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from joserfc.jwk import ECKey

from tests.processes import output_of

ROOT = Path(__file__).parents[2]
PROJECT, IMAGE = "privet-sign-in", "privet-curator:latest"
COMPOSE = ("docker", "compose", "--project-name", PROJECT, "--file", "docker-compose.yml")
WITH_OIDC = ("--file", "docker-compose.oidc.yml")
PROVIDER = """
import http.server, json, ssl
root = "https://stand-in:8443"
documents = {{
    "/.well-known/openid-configuration": {{
        "issuer": root, "authorization_endpoint": root + "/authorize",
        "token_endpoint": root + "/token", "jwks_uri": root + "/keys",
    }},
    "/keys": {{"keys": [{key}]}},
}}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(documents[self.path]).encode())
server = http.server.ThreadingHTTPServer(("0.0.0.0", 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/given/certificate.pem", "/given/key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
ASK = """
import time
from privet.curator.access.oidc import Provider
from privet.curator.settings import Settings
for _ in range(50):
    try:
        print(Provider(Settings(), time.time).begin("/")[0])
        break
    except Exception as error:
        reason = repr(error)
        time.sleep(0.1)
else:
    print(reason)
"""
OVERRIDE = """
services:
  stand-in:
    image: privet-curator
    user: "0"
    entrypoint: [python, /given/provider.py]
    command: []
    healthcheck: {{disable: true}}
    networks: [{network}]
    volumes: ["{folder}:/given:ro"]
  curator:
    volumes: ["{folder}:/given:ro"]
    environment: {{SSL_CERT_FILE: /given/certificate.pem}}
networks:
  {network}:
"""
SETTINGS = """
PRIVET_OIDC_ISSUER=https://stand-in:8443
PRIVET_OIDC_CLIENT_ID=privet
PRIVET_OIDC_CLIENT_SECRET=Yh2kQpV9dLrXw8TnYh2kQpV9dLrXw8Tn
PRIVET_OIDC_REDIRECT_URI=https://curator.example/sign-in/callback
PRIVET_OIDC_ADMINS=privet-admin
"""


@pytest.fixture
def given(tmp_path: Path) -> Iterator[Path]:
    """The provider, its certificate, and the settings for it; containers are removed after."""
    key = ECKey.generate_key("P-256", {"kid": "1"}).as_dict(private=False)
    (tmp_path / "provider.py").write_text(PROVIDER.format(key=key))
    (tmp_path / ".env").write_text(SETTINGS)
    made = "req -x509 -newkey ed25519 -nodes -days 2 -subj /CN=stand-in"
    names = ("-addext", "subjectAltName=DNS:stand-in")
    files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem"))
    output_of("openssl", *made.split(), *names, *files)
    tmp_path.chmod(0o755)
    yield tmp_path
    output_of(*COMPOSE, *WITH_OIDC, "down", "--volumes", "--remove-orphans", cwd=ROOT)


def asked(given: Path, files: tuple[str, ...], network: str) -> str:
    """What a curator of the stack, with these files more, says of a provider in this network."""
    (given / "override.yml").write_text(OVERRIDE.format(network=network, folder=given))
    more = ("--file", str(given / "override.yml"), "--env-file", str(given / ".env"))
    compose = (*COMPOSE, *files, *more)
    output_of(*compose, "up", "--detach", "--no-deps", "--no-build", "stand-in", cwd=ROOT)
    run = ("run", "--rm", "--no-deps", "--no-TTY", "--entrypoint", "python", "curator", "-c", ASK)
    try:
        return output_of(*compose, *run, cwd=ROOT)
    finally:
        output_of(*compose, "rm", "--stop", "--force", "stand-in", cwd=ROOT)


@pytest.mark.needs("docker", "docker compose", "openssl")
def test_curators_reach_the_provider_with_one_more_file(given: Path) -> None:
    """With the settings from .env, over TLS; without the file they have neither."""
    inspected = ["docker", "image", "inspect", IMAGE]
    if subprocess.run(inspected, capture_output=True, check=False).returncode:
        pytest.skip(f"needs {IMAGE}")
    assert "https://stand-in:8443/authorize?" in asked(given, WITH_OIDC, "provider")
    assert "https://stand-in:8443/authorize?" not in asked(given, (), "outside")
