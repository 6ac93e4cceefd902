"""What PyPI is to nodes that share one way to it: wheels on this machine, with their sizes, and
their metadata apart, and so many bytes a second for all together.
"""

import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration/envs"))
from package_index import PackageIndex, sum_of

CHUNK = 1 << 16


class PackageMirror(PackageIndex):
    page_type = "application/vnd.pypi.simple.v1+json"

    def __init__(self, address, wheels, mbit):
        super().__init__(address)
        self._bytes_a_second = mbit * 1e6 / 8
        self._turn = threading.Lock()
        self._free_at = 0.0
        self.add_wheels(wheels)

    def page(self, name):
        files = [
            {
                "filename": file,
                "url": f"/files/{name}/{file}",
                "hashes": {"sha256": sum_of(content)},
                "size": len(content),
                "core-metadata": True,
            }
            for file, content in self.files[name].items()
        ]
        return json.dumps(
            {"meta": {"api-version": "1.1"}, "name": name, "versions": [], "files": files}
        ).encode()

    def send(self, out, content):
        for first in range(0, len(content), CHUNK):
            part = content[first : first + CHUNK]
            time.sleep(max(0.0, self._reserve(len(part)) - time.monotonic()))
            out.write(part)

    def _reserve(self, count):
        """When so many bytes may go, after those of others."""
        with self._turn:
            begin = max(self._free_at, time.monotonic())
            self._free_at = begin + count / self._bytes_a_second
            return begin
