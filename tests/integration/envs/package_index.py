"""A small index of Python packages (PEP 503, 658), made and served by a test."""

import base64
import functools
import gzip
import hashlib
import io
import tarfile
import zipfile

from faulty_server import FaultyServer

METADATA = ".metadata"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(name, version, files, requires=()):
    """The bytes of a pure wheel of texts and bytes, and its file name."""
    info = f"{name}-{version}.dist-info"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    content = {**files, f"{info}/METADATA": "\n".join(lines) + "\n", f"{info}/WHEEL": WHEEL}
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


def source(name, version, files, ending=".tar.gz"):
    """The bytes of a source distribution, and its file name, which may end with .zip, too."""
    top = f"{name}-{version}"
    content = {"PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n", **files}
    out = io.BytesIO()
    if ending == ".zip":
        with zipfile.ZipFile(out, "w") as archive:
            for path, text in content.items():
                archive.writestr(zipfile.ZipInfo(f"{top}/{path}", (2024, 1, 1, 0, 0, 0)), text)
        return f"{top}.zip", out.getvalue()
    with (
        gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path, text in content.items():
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return f"{top}.tar.gz", out.getvalue()


def normalized(name):
    return name.lower().replace("_", "-").replace(".", "-")


@functools.cache
def sum_of(content):
    return hashlib.sha256(content).hexdigest()


@functools.cache
def metadata_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(
            next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        )


class PackageIndex(FaultyServer):
    def __init__(self, address):
        super().__init__(address)
        self.files, self.archives = {}, {}  # Archives by their path: b"..." by "/python.tar.gz".
        self.url = self.root + "/simple/"

    def add(self, name, version, files=None, requires=()):
        file, content = wheel(
            name, version, files or {f"{name}.py": f"version = '{version}'\n"}, requires
        )
        self.files.setdefault(normalized(name), {})[file] = content

    def add_source(self, name, version, files, ending=".tar.gz"):
        """`files` by their paths, setup.py or pyproject.toml among them."""
        file, content = source(name, version, files, ending)
        self.files.setdefault(normalized(name), {})[file] = content

    def add_wheels(self, files):
        """Those that somebody else has made, by their paths."""
        for file in files:
            self.files.setdefault(normalized(file.name.split("-")[0]), {})[file.name] = (
                file.read_bytes()
            )

    def find(self, path):
        if path in self.archives:
            return self.archives[path], True
        words = path.strip("/").split("/")
        if words[0] == "simple" and len(words) == 2 and words[1] in self.files:
            return self.page(words[1]), False
        if words[0] == "files":
            return self.file(self.files.get(words[1], {}), words[2])
        return None

    def file(self, files, name):
        if name in files:
            return files[name], True
        whole = name.removesuffix(METADATA)
        return (
            (metadata_of(files[whole]), False)
            if name.endswith(".whl" + METADATA) and whole in files
            else None
        )

    def corrupted(self, content):
        return content[:-2] + b"\1\0x"  # A good archive still, with a comment at its end.

    def page(self, name):
        rows = (self.link(name, file, content) for file, content in self.files[name].items())
        return ("<!DOCTYPE html><html><body>" + "\n".join(rows) + "</body></html>").encode()

    def link(self, name, file, content):
        address = f'href="/files/{name}/{file}#sha256={sum_of(content)}"'
        if not file.endswith(".whl"):
            return f"<a {address}>{file}</a>"
        return f'<a {address} data-core-metadata="sha256={sum_of(metadata_of(content))}">{file}</a>'
