"""A small conda channel, made and served by a test: packages that are a few files each, and their
index.
"""

import hashlib
import io
import json
import tarfile

from faulty_server import FaultyServer

# What the files of a package have in place of the prefix that they will lie in.
PLACEHOLDER = "/opt/placeholder_" + "_".join(["placehold"] * 6)


def package(name, version, files, *, noarch="", depends=(), build="0"):
    """A package's file name, bytes and record. `files`: text or bytes by path; those in bin can be
    run, and the placeholder in any text is rewritten.
    """
    files = {
        path: held if isinstance(held, bytes) else held.encode() for path, held in files.items()
    }
    mark = PLACEHOLDER.encode()
    index = {
        "name": name,
        "version": version,
        "build": build,
        "build_number": 0,
        "depends": list(depends),
        "subdir": "noarch" if noarch else "linux-64",
        **({"noarch": noarch} if noarch else {}),
    }
    paths = [
        {
            "_path": path,
            "path_type": "hardlink",
            "sha256": hashlib.sha256(held).hexdigest(),
            "size_in_bytes": len(held),
            **({"prefix_placeholder": PLACEHOLDER, "file_mode": "text"} if mark in held else {}),
        }
        for path, held in files.items()
    ]
    info = {
        "info/index.json": json.dumps(index),
        "info/files": "".join(f"{path}\n" for path in files),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}),
    }
    if noarch == "python":
        info["info/link.json"] = json.dumps(
            {"noarch": {"type": "python", "entry_points": []}, "package_metadata_version": 1}
        )
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:bz2") as archive:
        for path, held in {**{path: text.encode() for path, text in info.items()}, **files}.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(held), 0o755 if path.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(held))
    content = out.getvalue()
    return (
        f"{name}-{version}-{build}.tar.bz2",
        content,
        {**index, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)},
    )


class CondaChannel(FaultyServer):
    """`lies` has names of packages whose sums in the index are others."""

    def __init__(self, address):
        super().__init__(address)
        self.packages, self.lies = {"linux-64": {}, "noarch": {}}, set()
        self.archives = {}  # By their path: b"..." by "/python.tar.gz".
        self.url = self.root + "/channel"

    def add(self, name, version, files=None, **more):
        file, content, record = package(
            name, version, files or {f"share/{name}": version + "\n"}, **more
        )
        self.packages[record["subdir"]][file] = (content, record)

    def find(self, path):
        if path in self.archives:
            return self.archives[path], True
        words = path.strip("/").split("/")
        if len(words) != 3 or words[0] != "channel" or words[1] not in self.packages:
            return None
        if words[2] == "repodata.json":
            return self.index(words[1]), False
        found = self.packages[words[1]].get(words[2])
        return None if found is None else (found[0], True)

    def index(self, folder):
        records = {
            file: {**record, "sha256": "0" * 64} if record["name"] in self.lies else record
            for file, (_, record) in self.packages[folder].items()
        }
        return json.dumps(
            {
                "info": {"subdir": folder},
                "packages": records,
                "packages.conda": {},
                "repodata_version": 1,
            }
        ).encode()
