#!/usr/bin/env python3
"""Drivers by dnf on real local nodes, from repositories made here: dnf_test.py FASTGPU [TEST ...]

dnf, rpm, signatures and modules are real: those of Debian, on nodes whose apt-get is out of the way
and whose os-release is RHEL's. The GPU is not.
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli_user import run_tests, within
from driver_site import Site, driver_files
from rpm_repository import RpmRepository, need_tools
from suite import assert_equal, assert_greater_equal, assert_in, assert_not_in, assert_true

OS_RELEASE = (
    'ID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Red Hat Enterprise Linux 9.4"\n'
)


# Takes its time until it is told to end.
SLOW = "touch /run/fake/waits\nwhile [ ! -e /run/fake/go ]; do sleep 0.1; done"


class RpmSite(Site):
    """Two nodes with eight GPUs, dnf, and the repositories that they see."""

    def __init__(self, user, signed_by_the_right_key=True):
        self.signed_by_the_right_key = signed_by_the_right_key
        super().__init__(user)

    def make_repositories(self):
        self.vendor = RpmRepository(
            self.folder / "www/nvidia/rhel9/x86_64",
            self.key if self.signed_by_the_right_key else self.other_key,
        )
        self.fill()
        self.vendor.publish()
        self.system = RpmRepository(self.folder / "www/system")
        self.system.add("dkms", "3.0-1")
        self.system.add("slow", "1-1", post=SLOW)
        self.system.add("kernel-devel-" + os.uname().release, "1-1")
        self.system.publish()

    def use_repositories(self):
        repo = f"[system]\nname=system\nbaseurl={self.server.url}/system\ngpgcheck=0\n"
        self.on_nodes(
            "mkdir -p /run/fake /etc/yum.repos.d /etc/dnf && rm -f /etc/yum.repos.d/* && mv "
            "/usr/bin/apt-get /usr/bin/apt-get.away && rm -f /etc/os-release && "
            f"printf '%s' '{OS_RELEASE}' >/etc/os-release && printf '{repo}' "
            ">/etc/yum.repos.d/system.repo"
        )

    def fill(self):
        """Each branch is a stream of the module, seen where that is enabled; CUDA is in none."""
        for stream, version in (("580-open", "580.95.05"), ("590-open", "590.44.01")):
            made = [
                self.vendor.add("nvidia-open", version + "-1", driver_files(version)),
                self.vendor.add(
                    "nvidia-fabric-manager",
                    version + "-1",
                    {"/usr/share/fake-fabric": version + "\n"},
                ),
            ]
            self.vendor.add_module("nvidia-driver", stream, made)
        self.vendor.add("cuda-toolkit-12-8", "12.8.1-1", {"/usr/share/fake-cuda": "12.8\n"})


def test_everything_is_installed_once_by_dnf_and_a_second_run_does_nothing(user):
    with RpmSite(user) as site:
        nodes = json.loads(site.install("--cuda", "12.8").out)["nodes"]
        assert_true(
            all(
                node["error"] is None and "Install driver 580.95.05, open modules" in node["did"]
                for node in nodes
            ),
            f"{nodes}",
        )
        installed = site.on_nodes("rpm -qa | sort")
        for package in (
            "nvidia-open-580.95.05-1.noarch",
            "nvidia-fabric-manager-580.95.05-1.noarch",
            "cuda-toolkit-12-8-12.8.1-1.noarch",
            "dkms-3.0-1.noarch",
        ):
            assert_in(package, installed)
        assert_not_in(
            "fastgpu-hold",
            site.on_nodes("ls -R /etc/dnf /etc/systemd/system"),
            "dnf-automatic is still held off",
        )
        again = json.loads(site.install("--cuda", "12.8").out)["nodes"]
        assert_true(all(node["did"] == [] for node in again), f"{again}")


def test_packages_that_another_key_has_signed_are_refused(user):
    with RpmSite(user, signed_by_the_right_key=False) as site:
        failed = site.install(code=3)
        assert_greater_equal(failed.err.count("GPG check FAILED"), 1, failed.err)
        assert_not_in("nvidia-open", site.on_nodes("rpm -qa"), "something was installed")


def test_what_another_dnf_is_in_the_middle_of_is_waited_for_and_a_killed_run_is_gone_on_with(user):
    with RpmSite(user) as site:
        other = user.start("exec", "t/0", "--", "dnf", "-y", "install", "slow")
        assert_true(
            within(60, lambda: "waits" in site.on_nodes("ls /run/fake", "t/0")),
            "nothing is installed",
        )
        installing = user.start(*site.words("-o", "json"))
        said = next((line.decode() for line in installing.stderr if b"t-0 waits" in line), "")
        assert_in("Waiting for process with pid", said, "nobody waits")
        installing.kill()
        installing.communicate()
        site.on_nodes("touch /run/fake/go", "t/0")
        other.communicate(timeout=60)
        assert_equal(other.returncode, 0, "the other one was disturbed")
        nodes = json.loads(site.install().out)["nodes"]
        assert_true(all(node["error"] is None for node in nodes), f"{nodes}")


need_tools()
run_tests(dict(globals()))
