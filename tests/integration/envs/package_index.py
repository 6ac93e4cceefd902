"""A small index of Python packages (PEP 503), made and served by a test."""
import base64
import functools
import hashlib
import io
import zipfile

from faulty_server import FaultyServer


def wheel(name, version, files, requires=()):
    """The bytes of a pure wheel of texts and bytes, and its file name."""
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    content = {**files, f"{info}/METADATA": "\n".join(lines) + "\n",
               f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    rows = []
    for path, what in content.items():
        held = what if isinstance(what, bytes) else what.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(held).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(held)}")
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in content.items():
            archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), text)
    return f"{name}-{version}-py3-none-any.whl", out.getvalue()


@functools.cache
def sum_of(content):
    return hashlib.sha256(content).hexdigest()


class PackageIndex(FaultyServer):
    def __init__(self, address):
        super().__init__(address)
        self.files, self.archives = {}, {}  # Archives by their path: b"..." by "/python.tar.gz".
        self.url = self.root + "/simple/"

    def add(self, name, version, files=None, requires=()):
        file, content = wheel(name, version, files or {f"{name}.py": f"version = '{version}'\n"}, requires)
        self.files.setdefault(name, {})[file] = content

    def add_wheels(self, files):
        """Those that somebody else has made, by their paths."""
        for file in files:
            name = file.name.split("-")[0].lower().replace("_", "-").replace(".", "-")
            self.files.setdefault(name, {})[file.name] = file.read_bytes()

    def find(self, path):
        if path in self.archives:
            return self.archives[path], True
        words = path.strip("/").split("/")
        if words[0] == "simple" and len(words) == 2 and words[1] in self.files:
            return self.page(words[1]), False
        if words[0] == "files" and words[2] in self.files.get(words[1], {}):
            return self.files[words[1]][words[2]], True
        return None

    def corrupted(self, content):
        return content[:-2] + b"\1\0x"  # A good archive still, with a comment at its end.

    def page(self, name):
        rows = (self.link(name, file, content) for file, content in self.files[name].items())
        return ("<!DOCTYPE html><html><body>" + "\n".join(rows) + "</body></html>").encode()

    def link(self, name, file, content):
        return f'<a href="/files/{name}/{file}#sha256={sum_of(content)}">{file}</a>'
