"""What handlers of the tests' HTTP servers have in common."""

import http.server


class Answering(http.server.BaseHTTPRequestHandler):
    """Keeps connections, writes no log, and leaves in one piece: the kernel would keep the second
    until the first is acknowledged.
    """

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_):
        pass

    def give(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def request_body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))
