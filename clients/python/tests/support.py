"""What the tests share."""

import contextlib
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dibs_client import Worker


@contextlib.contextmanager
def serving(handler):
    """A server that handles requests so. Yields its URL."""
    # It writes the head of an answer and its body apart. Else the body would wait for 40 ms.
    handler.disable_nagle_algorithm = True
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def answering(answer):
    """A server in the place of Dibs: `answer(method, path, headers)` gives the status, the headers and the text. Yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self):
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, headers, text = answer(self.command, self.path, self.headers)
            self.send_response(status)
            for name, value in {"content-length": str(len(text.encode())), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do

        def log_message(self, *_):
            pass

    with serving(Handler) as url:
        yield url


def problem(status, code, **more):
    """A refusal of Dibs."""
    body = {"type": f"urn:problem-type:dibs:{code}", "title": code, "status": status, "code": code, "detail": code, **more}
    return status, {"content-type": "application/problem+json"}, json.dumps(body)


def page(status, text="<html>default backend</html>", **headers):
    """An answer of a proxy."""
    return status, {"content-type": "text/html", **headers}, text


@contextlib.contextmanager
def working(client, handler, **options):
    """A worker that runs meanwhile."""
    worker = Worker(client, ["mail"], handler, **{"stop_seconds": 2, **options})
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(20)
        assert not thread.is_alive(), "the worker has not ended"


def until(look, limit=10):
    """Looks again and again, for `limit` seconds at most, until it sees something."""
    end = time.monotonic() + limit
    while not look():
        if time.monotonic() > end:
            raise AssertionError("it has not come about")
        time.sleep(0.005)


def sockets_of(process):
    """The sockets that a process has open, without those of its standard streams."""
    folder = f"/proc/{process}/fd"
    found = set()
    for number in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(f"{folder}/{number}") if int(number) > 2 else "")
    return {link for link in found if link.startswith("socket:")}
