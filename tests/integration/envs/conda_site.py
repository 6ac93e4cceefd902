"""Nodes and a conda channel, which the test makes.

Needs py-rattler: that of FASTGPU_PY_RATTLER or of the build's tools; skipped where there is none.
"""

import subprocess

from conda_channel import PLACEHOLDER, CondaChannel
from env_site import Site, find_rattler

PYTHON = subprocess.run(
    ["/usr/bin/python3", "-c", "import platform; print(platform.python_version())"],
    capture_output=True,
    check=True,
    text=True,
).stdout.strip()
MODULES = f"lib/python{PYTHON.rpartition('.')[0]}/site-packages"
# A Python of channels in so far as packages can tell: it lies in the prefix, and finds what is
# installed there.
PROGRAM = f'#!/bin/sh\nPYTHONPATH={PLACEHOLDER}/{MODULES} exec INTERPRETER "$@"\n'
# Open MPI of channels likewise: a program of its own, whose work the nodes' does.
MPIRUN = (
    '#!/bin/sh\n[ "$1" = --version ] || echo "$0" >>/tmp/mpirun-of-channel\n'
    'exec /usr/bin/mpirun "$@"\n'
)
ALPHA = "import subprocess\nprint('alpha', subprocess.check_output('beta', text=True))\n"
BETA = 'BETA_HOME="${BETA_HOME:-}$CONDA_PREFIX/share"; export BETA_HOME\n'
ORTED = '#!/bin/sh\nexec /usr/bin/orted "$@"\n'


class Conda(Site):
    TOOL = ("--py-rattler", find_rattler())
    INTERPRETER = "/usr/bin/python3"  # That of the nodes which does the work of the channel's.

    def make_index(self, address):
        channel = CondaChannel(address)
        program = PROGRAM.replace("INTERPRETER", self.INTERPRETER)
        channel.add(
            "python",
            PYTHON,
            {f"bin/python{PYTHON.rpartition('.')[0]}": program, "bin/python": program},
        )
        channel.add(
            "alpha",
            "1.0",
            {"site-packages/alpha.py": ALPHA},
            noarch="python",
            depends=["python", "beta >=1.0"],
        )
        channel.add(
            "beta",
            "1.0",
            {
                "bin/beta": f"#!/bin/sh\ncat {PLACEHOLDER}/share/beta\n",
                "share/beta": "one\n",
                "etc/conda/activate.d/beta.sh": BETA,
            },
        )
        channel.add("openmpi", "4.1.6", {"bin/mpirun": MPIRUN, "bin/orted": ORTED})
        return channel

    def head(self):
        return f"channels: [{self.index.url}]\n"
