"""An HTTP server of a test that can misbehave in the ways that servers of packages do."""

import base64
import contextlib
import http.server
import threading


class FaultyServer:
    """Serves until it is closed. `fault` is "", "500", "hang" and "hang files" (no answer), or
    "corrupt" and "truncated" (files are not what the index says). With `login`, "user:password",
    other requests are answered 401. Who inherits says what there is: `find(path)` gives the content
    and whether it is a package's file, or nothing.
    """

    page_type = "text/html"

    def __init__(self, address):
        self.fault, self.asked, self.login = "", [], ""
        self._closed = threading.Event()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.answer(self)

            def do_HEAD(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.root = f"http://{address}:{self._server.server_address[1]}"

    def find(self, path):
        raise NotImplementedError

    def answer(self, request):
        self.asked.append(request.path)
        if (
            self.login
            and request.headers.get("Authorization")
            != "Basic " + base64.b64encode(self.login.encode()).decode()
        ):
            request.send_response(401)
            request.send_header("WWW-Authenticate", 'Basic realm="index"')
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        found = self.find(request.path)
        status, content = (404, b"no such thing") if found is None else (200, found[0])
        is_file = found is not None and found[1]
        if self.fault == "500":
            status, content = 500, b"out of order"
        elif self.fault == "hang" or (self.fault == "hang files" and is_file):
            self._closed.wait(300)
        elif self.fault == "corrupt" and is_file:
            content = self.corrupted(content)
        elif self.fault == "truncated" and is_file:
            content = content[: len(content) // 2]
        request.send_response(status)
        request.send_header(
            "Content-Type", self.page_type if found and not is_file else "application/octet-stream"
        )
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command == "GET":
            with contextlib.suppress(OSError):  # Whoever asked may have gone.
                self.send(request.wfile, content)

    def send(self, out, content):
        out.write(content)

    def corrupted(self, content):
        return content[:-1] + bytes([content[-1] ^ 1])

    def close(self):
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()
