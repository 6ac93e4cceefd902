"""Nodes and an index of small wheels, which the test makes.

Needs uv: that of FASTGPU_UV, of the build's tools, or of the PATH; skipped where there is none.
"""

import os

from env_site import Site, find_uv
from package_index import PackageIndex

UV = find_uv()
LARGE = 16 << 20  # Bytes of the one file of the package `large`.


class Wheels(Site):
    TOOL = ("--uv", UV)

    def make_index(self, address):
        index = PackageIndex(address)
        index.add(
            "alpha", "1.0", {"alpha.py": "from beta import word\nprint('alpha', word)\n"}, ["beta"]
        )
        index.add("beta", "1.0", {"beta.py": "word = 'one'\n"})
        return index

    def head(self):
        return f"python: /usr/bin/python3\nindex: {self.index.url}\nmpi: system\n"


class ManyNodes(Wheels):
    NODES = 4


class LargeWheels(ManyNodes):
    def make_index(self, address):
        index = super().make_index(address)
        index.add("large", "1.0", {"large.bin": b"\0" + os.urandom(LARGE - 1)})
        return index

    def wait_in_build(self):
        """Lets builds wait on nodes without /root/hurry, once their packages are there."""
        self.on_nodes("rm", "-f", "/root/hurry")
        waits = "post_install:\n  - [sh, -c, 'test -e /root/hurry || sleep 300']\n"
        self.file.write_text(self.file.read_text() + waits)
