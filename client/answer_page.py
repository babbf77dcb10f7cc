"""Serves the answer page to the browsers of this machine, from the installed package.

No other server has a say in the code that reads the record. It listens on loopback, answers only to
the name under which it is addressed there, and keeps no log.
"""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from privet import page

from .errors import HolderError

HOST = "127.0.0.1"
PORT = 8440
"""Fixed, since a browser keeps the ledger by address and port."""


def answer_page_server(
    task_url: str, curator_key: str = "", port: int = PORT
) -> ThreadingHTTPServer:
    """A server of the page for one task; raises ``HolderError`` if the port is taken."""

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "privet-holder", ""

        def do_GET(self) -> None:
            name = self.path.partition("?")[0].removeprefix("/") or page.INDEX
            host = self.headers.get("Host", "").partition(":")[0]
            asked = {header.lower(): value for header, value in self.headers.items()}
            if host not in {HOST, "localhost"}:
                self.send_error(404)
                return
            reply = page.served(name, task_url, asked, curator_key) or page.served(
                page.LOST, task_url, asked
            )
            assert reply is not None  # noqa: S101 - which is there
            self.send_response(reply.status)
            for header, value in reply.headers.items():
                self.send_header(header, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise HolderError(
            f"Port {port} of this machine cannot be used ({error.strerror}): end what uses it, or "
            "choose another with --port. Each port has a ledger of its own in your browser."
        ) from None
