#!/usr/bin/env python3
"""dpkg's lock in another's hands, on a real local node: locks_test.py FASTGPU [TEST ...]"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from apt_repository import need_tools
from cli_user import run_tests
from driver_site import Held, Site
from suite import assert_equal, assert_in, assert_is, assert_not_in

FRONTEND = "/var/lib/dpkg/lock-frontend"


def wait_for(user, seconds):
    with Site(user, nodes=1) as site:
        held = Held(site, FRONTEND)
        installing = user.start(*site.words("-o", "json"))
        said = next((line.decode() for line in installing.stderr if b"t-0 waits" in line), "")
        assert_in(FRONTEND, said, "nobody waits for dpkg's lock")
        assert_in("held by process", said, "nobody waits for dpkg's lock")
        time.sleep(seconds)
        assert_is(installing.poll(), None, "the lock was not kept to")
        assert_not_in("dkms", site.on_nodes("dpkg-query -W", "t/0"), "the lock was not kept to")
        held.release(FRONTEND)
        out, err = installing.communicate(timeout=120)
        assert_equal(installing.returncode, 0, err.decode())
        assert_not_in(b"waits", err, f"it is said again: {err.decode()}")
        assert_in("Load driver 580.95.05", json.loads(out)["nodes"][0]["did"], f"{out}")
        held.end()


def test_dpkgs_lock_that_another_holds_for_a_moment_is_waited_for(user):
    wait_for(user, 5)


def test_dpkgs_lock_that_another_holds_for_a_minute_is_waited_for(user):
    wait_for(user, 60)


need_tools()
run_tests(dict(globals()))
