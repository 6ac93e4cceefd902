"""Nodes and an index of small wheels, which the test makes.

Needs uv: that of FASTGPU_UV, of the build's tools, or of the PATH; skipped where there is none.
"""

from env_site import Site, find_uv
from package_index import PackageIndex

UV = find_uv()


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
