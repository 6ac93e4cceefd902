"""A small index of Python packages (PEP 503), made and served by a test, that can misbehave in the ways that indexes do."""
import base64
import hashlib
import http.server
import io
import threading
import time
import zipfile


def wheel(name, version, files, requires=()):
    """The bytes of a pure wheel, and its file name."""
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    content = {**files, f"{info}/METADATA": "\n".join(lines) + "\n",
               f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    rows = []
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}")
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in content.items():
            archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), text)
    return f"{name}-{version}-py3-none-any.whl", out.getvalue()


class PackageIndex:
    """Serves until it is closed. `fault` is "", "500", "hang", or "corrupt" and "truncated" (files are not what the pages say)."""

    def __init__(self, address):
        self.files, self.fault, self.asked = {}, "", []
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                index.answer(self)

            def do_HEAD(self):
                index.answer(self)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://{address}:{self._server.server_address[1]}/simple/"

    def add(self, name, version, files=None, requires=()):
        file, content = wheel(name, version, files or {f"{name}.py": f"version = '{version}'\n"}, requires)
        self.files.setdefault(name, {})[file] = content

    def answer(self, request):
        self.asked.append(request.path)
        words = request.path.strip("/").split("/")
        status, content, kind = 404, b"no such thing", "text/plain"
        if self.fault == "500":
            status = 500
        elif self.fault == "hang":
            time.sleep(300)
        elif words[0] == "simple" and len(words) == 2 and words[1] in self.files:
            status, content, kind = 200, self.page(words[1]), "text/html"
        elif words[0] == "files" and words[2] in self.files.get(words[1], {}):
            status, content, kind = 200, self.files[words[1]][words[2]], "application/octet-stream"
            if self.fault == "corrupt":  # A good archive still, with a comment at its end.
                content = content[:-2] + b"\1\0x"
            if self.fault == "truncated":
                content = content[:len(content) // 2]
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(content)

    def page(self, name):
        rows = (f'<a href="/files/{name}/{file}#sha256={hashlib.sha256(content).hexdigest()}">{file}</a>'
                for file, content in self.files[name].items())
        return ("<!DOCTYPE html><html><body>" + "\n".join(rows) + "</body></html>").encode()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
