"""The simulator beside measurements at 2 to 16 hosts: comm_model_test.py COMM_BENCH COMM_SCALE

Needs root, tc and real-time priority; exits with 77 where it cannot run. Whatever happens, nothing
is left of it: all is in networks of its own.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import comm_model
from suite import skip


def described(row):
    case = row.case
    return (
        f"{case.hosts} hosts of {case.ranks_each}, {case.algorithm or 'as chosen':18} "
        f"{row.bytes:8} bytes, {case.link.mbit} Mbit/s, {case.link.delay_ms} ms: "
        f"measured {row.measured * 1e3:8.2f} ms, simulated {row.simulated * 1e3:8.2f} ms, "
        f"{row.ratio:.3f}"
    )


class Model(unittest.TestCase):
    def test_what_is_simulated_is_what_is_measured(self):
        programs = comm_model.Programs(*map(os.path.abspath, sys.argv[1:3]))
        rows = comm_model.rows_of(programs, say=lambda row: print(described(row), flush=True))
        self.assertEqual([described(row) for row in rows if not row.is_near], [])


def can_run():
    if os.geteuid() != 0 or not all(
        map(shutil.which, ("ip", "tc", "nsenter", "setpriv", "unshare"))
    ):
        return False
    try:  # Else whatever else runs here would be measured as well.
        with comm_model.ahead_of_all_else():
            pass
    except PermissionError:
        return False
    return (
        subprocess.run(
            [
                "unshare",
                "--net",
                "sh",
                "-c",
                "ip link add type bridge && ip link add type veth && tc qdisc add dev veth0 root "
                "tbf rate 1mbit burst 16kb limit 1mb",
            ],
            capture_output=True,
            check=False,
        ).returncode
        == 0
    )


if __name__ == "__main__":
    if not can_run():
        skip("needs root, tc and real-time priority")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
