"""Servers of the standard library, in a thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

POLL_SECONDS = 0.01


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    """Its address, while it serves."""
    thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,))
    thread.start()
    try:
        yield "http://{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
