#!/usr/bin/env python3
"""Drivers by apt on real local nodes, from a repository made here: drivers_test.py FASTGPU [TEST
...]
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from apt_repository import need_tools
from driver_site import Held, Site, Worker

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envs"))
from cli_user import job_words, run_tests
from env_site import find_uv
from suite import assert_equal, assert_in, assert_is, assert_not_in, assert_true

ADAPTER = """#!/bin/sh
echo "0000:31:00.0 0207: 15b3:1021"
"""
# Gives the devices the modes that the rules in place demand.
UDEVADM = """#!/bin/sh
[ "$1" = trigger ] || exit 0
grep -q 'KERNEL=="uverbs.*MODE="0666"' /etc/udev/rules.d/99-fastgpu-rdma.rules || exit 1
chmod 666 /dev/infiniband/uverbs0 /dev/infiniband/rdma_cm
"""


def test_without_a_gpu_it_is_refused_and_an_assumed_one_is_planned_for(user):
    with Site(user, gpus=False) as site:
        done = user.run(*site.words(), code=2)
        assert_in("t-[0-1]: the node has no GPU and no RDMA device; --assume-gpu", done.err)
        plan = json.loads(
            user.run(*site.words("--assume-gpu", "H100:8", "--dry-run", "-o", "json")).out
        )
        assert_equal(len(plan["groups"]), 1, f"{plan['groups']}")
        assert_equal(plan["groups"][0]["nodes"], ["t-0", "t-1"], f"{plan['groups']}")
        titles = [step["title"] for step in plan["groups"][0]["steps"]]
        assert_in("Install fabric manager 580, exactly the driver's version", titles)
        user.refused(site.words("--assume-gpu", "H100:8"), 2, "use it with --dry-run")
        user.refused(site.words("--cuda", "99.9"), 2, "--cuda 99.9 is unknown; known: 11.8, ")
        assert_equal(site.server.requests, [], "fetched")


def test_a_node_with_an_adapter_and_no_gpu_gets_what_rdma_needs(user):
    with Site(user, gpus=False) as site:
        for name in ("rdma-core", "ibverbs-providers", "libfabric1"):
            site.system.add(name, "44.0-2")
        site.system.publish(site.key)
        packages = "libfabric1 ibverbs-providers rdma-core"
        installed = f"dpkg-query -W -f '${{Package}}\\n' {packages} 2>/dev/null"
        site.on_nodes(f"{installed} | xargs -r apt-get -y -qq remove 2>&1", "t/0")
        # The first node has an adapter; a rule of its own keeps other users from the device.
        site.on_nodes(f"cat >/usr/local/bin/lspci <<'END'\n{ADAPTER}END", "t/0")
        site.on_nodes(f"cat >/usr/local/bin/udevadm <<'END'\n{UDEVADM}END", "t/0")
        site.on_nodes(
            "chmod 755 /usr/local/bin/* && mkdir -p /dev/infiniband && "
            "for file in uverbs0 rdma_cm; do "
            ": >/dev/infiniband/$file; chmod 660 /dev/infiniband/$file; done",
            "t/0",
        )
        done = site.install(code=2)
        assert_in("t-1: the node has no GPU and no RDMA device", done.err)
        did = {node["name"]: node.get("did") for node in json.loads(done.out)["nodes"]}
        assert_equal(
            did["t-0"],
            [
                "Pause unattended upgrades",
                "Install the libraries for RDMA: rdma-core, ibverbs-providers, libfabric1",
                "Let programs open RDMA devices",
                "Let programs lock memory for RDMA adapters",
                "Resume unattended upgrades",
            ],
        )
        shown = site.on_nodes("stat -c %a /dev/infiniband/*; ls /etc/security/limits.d", "t/0")
        assert_in("666\n666\n", shown)
        assert_in("90-fastgpu-rdma.conf", shown)
        again = json.loads(site.install(code=2).out)["nodes"]
        assert_equal([node["did"] for node in again if node["name"] == "t-0"], [[]])


def test_everything_is_installed_once_and_a_second_run_does_nothing(user):
    with Site(user) as site:
        did = site.did("--cuda", "12.8", "--cudnn", "9")
        assert_equal(did["t-0"], did["t-1"], f"{did}")
        assert_equal(len(did["t-0"]), 12, f"{did}")
        versions = site.on_nodes(
            "dpkg-query -W -f '${Package} ${Version}\\n' nvidia-open libnvidia-compute "
            "nvidia-fabricmanager-580 cuda-toolkit-12-8"
        )
        assert_in("(2)", versions)
        for package in (
            "nvidia-open 580.95.05-1",
            "libnvidia-compute 580.95.05-1",
            "nvidia-fabricmanager-580 580.95.05-1",
            "cuda-toolkit-12-8 12.8.1-1",
        ):
            assert_in(package, versions)
        assert_not_in(
            "99fastgpu-hold", site.on_nodes("ls /etc/apt/apt.conf.d"), "upgrades are still held off"
        )
        assert_equal(
            site.on_nodes("ls /run/fake").count("service-nvidia-fabricmanager"),
            1,
            "no fabric manager runs",
        )

        fetched = len(site.server.requests)
        again = site.install("--cuda", "12.8", "--cudnn", "9")
        assert_true(all(node["did"] == [] for node in json.loads(again.out)["nodes"]), again.out)
        assert_equal(len(site.server.requests), fetched, "the second run fetched something")
        said = user.run(*site.words("--cuda", "12.8", "--cudnn", "9")).out.decode()
        assert_equal(said.count("nothing to do"), 2, said)
        plan = json.loads(user.run(*site.words("--dry-run", "-o", "json")).out)
        assert_equal({step["state"] for step in plan["groups"][0]["steps"]}, {"done"}, f"{plan}")


def test_a_failing_server_is_named_and_the_same_command_goes_on(user):
    with Site(user) as site:
        site.server.broken = {"nvidia-open"}
        failed = site.install(code=1)
        errors = {node["error"]["message"] for node in json.loads(failed.out)["nodes"]}
        assert_true(
            all(
                error.startswith(
                    "Install driver 580.95.05, open modules: apt-get exited with 100: E: Failed "
                    "to fetch"
                )
                and "500" in error
                for error in errors
            ),
            f"{errors}",
        )
        site.server.broken = set()
        did = site.did()
        assert_equal(
            did["t-0"][:2],
            ["Read the repository's index", "Install driver 580.95.05, open modules"],
            f"{did}",
        )

        site.on_nodes(
            "apt-get -qq -y remove nvidia-open nvidia-fabricmanager-580 && rm -rf /run/fake/* "
            "/var/lib/apt/lists/*"
        )
        site.server.broken = {"InRelease"}
        failed = site.install(code=1)
        assert_in("Read the repository's index: apt-get exited with 100", failed.err)


def test_only_the_trusted_key_is_taken(user):
    with Site(user) as site:
        words = (
            "env",
            "install-driver",
            "--cluster",
            "t",
            "--repository",
            site.server.url + "/nvidia",
            "--driver",
            "580",
        )
        user.refused(
            words,
            3,
            "3bf863cc.pub: the key's fingerprint is ",
            "the trusted one is EB693B3035CD5710E231E123A4B469963BF863CC",
        )
        site.vendor.publish(site.other_key)
        failed = site.install(code=3)
        assert_in("Read the repository's index: apt-get exited with 100: E: ", failed.err)
        assert_in("is not signed", failed.err)
        assert_not_in("nvidia-open", site.on_nodes("dpkg-query -W"), "something was installed")


def test_locks_that_another_holds_are_waited_for(user):
    with Site(user) as site:
        frontend, lists = "/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock"
        held = Held(site, frontend, lists)
        installing = user.start(*site.words("-o", "json"))
        for path in (lists, frontend):  # The index is read, then packages are installed.
            said = next((line.decode() for line in installing.stderr if b"t-0 waits" in line), "")
            assert_in(path, said, f"nobody waits for {path}")
            assert_not_in(
                "fake-driver", site.on_nodes("ls /usr/share", "t/0"), "the lock was not kept to"
            )
            held.release(path)
        out, err = installing.communicate(timeout=600)
        assert_equal(installing.returncode, 0, err.decode())
        assert_equal([len(node["did"]) for node in json.loads(out)["nodes"]], [10, 10], f"{out}")
        held.end()


def test_what_another_is_in_the_middle_of_was_not_cut_off(user):
    with Site(user) as site:
        finish = "Finish the interrupted installation"

        def steps_of_the_first():
            groups = json.loads(user.run(*site.words("--dry-run", "-o", "json")).out)["groups"]
            return [
                step["title"]
                for group in groups
                if "t-0" in group["nodes"]
                for step in group["steps"]
            ]

        site.on_nodes(
            f"/usr/lib/apt/apt-helper download-file {site.server.url}/system/dkms_3.0-1.deb "
            "/tmp/dkms.deb && dpkg --unpack /tmp/dkms.deb",
            "t/0",
        )
        for path in ("/var/lib/dpkg/lock", "/var/lib/dpkg/lock-frontend"):
            held = Held(site, path)
            assert_not_in(
                finish,
                steps_of_the_first(),
                f"{path} is held, and what its holder does counts as cut off",
            )
            held.release(path)
            held.end()
        assert_in(finish, steps_of_the_first(), "what was cut off is not finished")


SUDO = {  # What `sudo` does for a user who is not root, each way refused before anything is done.
    "": "'worker' is not root there, and there is no sudo: only root can install drivers",
    "echo 'sudo: a password is required' >&2; exit 1": (
        "sudo asks 'worker' for a password there: use --ask-sudo-password or --sudo-password-file"
    ),
    "echo 'Sorry, try again.' >&2; exit 1": "sudo asks 'worker' for a password there",
}


def test_users_who_may_not_become_root_are_told_so_and_nothing_is_done(user):
    with Site(user) as site, Worker(site) as worker:
        for sudo, said in SUDO.items():
            site.on_nodes(
                "rm -f /usr/bin/sudo /usr/local/bin/sudo"
                + (
                    f"; printf '#!/bin/sh\n%s\n' \"{sudo}\" >/usr/local/bin/sudo; chmod 755 "
                    "/usr/local/bin/sudo"
                    if sudo
                    else ""
                ),
                "t/0",
            )
            done = user.run(*worker.words(), code=3)
            assert_in(f"w-0: {said}", done.err)
        worker.check_nothing_is_changed()


def test_a_reboot_is_left_to_the_user_or_waited_for(user):
    with Site(user) as site:
        site.on_nodes("echo 550.54.14 >/run/fake/loaded")
        left = site.install("--reboot", "never", code=1)
        assert_true(all(node["wants_reboot"] for node in json.loads(left.out)["nodes"]), left.out)
        assert_not_in("reboots", site.on_nodes("ls /run/fake"), "it was rebooted all the same")
        did = site.did()
        for node in ("t-0", "t-1"):
            assert_equal(
                did[node],
                [
                    "Reboot into driver 580.95.05",
                    "Start the fabric manager",
                    "Resume unattended upgrades",
                ],
                f"{did}",
            )
        assert_equal(
            site.on_nodes("cat /run/fake/reboots").count("reboot"), 1, "rebooted more than once"
        )


def test_what_was_cut_off_in_the_middle_is_finished(user):
    with Site(user) as site:
        site.on_nodes("touch /run/fake/break", "t/0")
        failed = site.install("--cuda", "12.8", code=1)
        nodes = {node["name"]: node for node in json.loads(failed.out)["nodes"]}
        assert_is(nodes["t-1"]["error"], None, failed.out)
        assert_in("Install CUDA 12.8", nodes["t-0"]["error"]["message"], failed.out)
        did = site.did("--cuda", "12.8")
        assert_equal(did["t-1"], [], f"{did}")
        assert_equal(did["t-0"][0], "Finish the interrupted installation", f"{did}")


def test_a_killed_run_is_gone_on_with(user):
    with Site(user) as site:
        for step in ("1", "4", "3"):
            user.run(*site.words(), code=-9, environment={"FASTGPU_FAULT": f"drivers.step:{step}"})
        did = site.did()
        assert_true(did["t-0"], f"{did}")
        assert_equal(did["t-0"][-1], "Resume unattended upgrades", f"{did}")
        assert_equal(site.did(), {"t-0": [], "t-1": []}, "not done")


def test_an_environment_brings_packages_and_driver_with_it(user):
    with Site(user) as site:
        site.system.add("media-tools", "1.0", {"/usr/bin/media": "#!/bin/sh\necho media\n"})
        site.system.publish(site.key)
        file = user.folder / "env.yaml"
        wanted = "name: train\npython: /usr/bin/python3\nmpi: system\napt: [media-tools]\n"
        file.write_text(wanted + "driver: 580\n")
        words = (
            "env",
            "create",
            "-c",
            "t",
            "-f",
            str(file),
            "--uv",
            find_uv(),
            "--repository",
            site.server.url + "/nvidia",
            "--repository-key",
            str(site.key_file),
            "-o",
            "json",
        )
        plan = json.loads(user.run(*words, "--dry-run").out)
        assert_true(
            all(
                node["steps"][2] == "Install media-tools"
                and "Install driver 580, open modules" in node["steps"]
                for node in plan["nodes"]
            ),
            f"{plan}",
        )
        done = json.loads(user.run(*words, timeout=600).out)
        assert_true(
            all(
                "Install media-tools" in node["prepared"]
                and "Load driver 580.95.05" in node["prepared"]
                for node in done["nodes"]
            ),
            f"{done}",
        )
        program = ["sh", "-c", "media; nvidia-smi | head -1"]
        job = user.run(*job_words("t", 2, program, "--environment", "train"))
        assert_equal(job.out.count(b"media"), 2, f"{job.out}")
        assert_equal(job.out.count(b"580.95.05"), 2, f"{job.out}")
        again = json.loads(user.run(*words).out)
        assert_true(
            all(node["prepared"] == [] and node["done"] == "nothing" for node in again["nodes"]),
            f"{again}",
        )

        site.on_nodes("rm /usr/local/bin/lspci /usr/local/bin/nvidia-smi; rm -rf /run/fake", "t/1")
        plan = user.run(*words, "--dry-run", code=2)
        assert_equal([node["name"] for node in json.loads(plan.out)["nodes"]], ["t-0"], f"{plan}")
        assert_in("t-1: the node has no GPU", plan.err, f"{plan}")
        left = user.run(*words, code=2)
        assert_in("t-1: the node has no GPU", left.err)
        assert_equal(json.loads(left.out)["nodes"][0]["done"], "nothing", left.err)
        file.write_text(wanted.replace("media-tools", "media-tolls"))
        left = user.run(*words, code=2)
        assert_equal(left.err.count("has the package media-tolls"), 2, left.err)
        assert_not_in("99fastgpu-hold", site.on_nodes("ls /etc/apt/apt.conf.d", "t/0"), left.err)
        user.refused((*words, "--assume-gpu", "L40S:8"), 2, "use it with --dry-run")
        file.write_text(wanted + "driver: 999\n")
        user.refused(
            (*words, "--dry-run"),
            2,
            "requirements of the environment",
            "999",
            "not of a known branch",
        )


need_tools()
run_tests(dict(globals()))
