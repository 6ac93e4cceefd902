#!/usr/bin/env python3
"""Drivers by a user who becomes root by the real sudo, on a real local node: sudo_test.py FASTGPU
[TEST ...]
"""

import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from apt_repository import need_tools
from cli_user import run_tests, within
from driver_site import Site, Worker
from suite import (
    assert_equal,
    assert_in,
    assert_is,
    assert_less,
    assert_not_in,
    assert_true,
    need_programs,
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envs"))
from env_site import find_uv

FREE, ASKED = "ALL=(ALL) NOPASSWD: ALL", "ALL=(ALL) ALL"
PASSWORD = "a 'long' $ecret\\"
FINISH = "Finish the interrupted installation"


def password_file(user, password=PASSWORD, mode=0o600):
    file = user.folder / "password"
    file.write_text(password + "\nand a line that is none\n")
    file.chmod(mode)
    return str(file)


def test_without_a_password_sudo_installs_all_of_it(user):
    with Site(user, nodes=1) as site, Worker(site) as worker:
        worker.may(FREE)
        did = worker.did("--cuda", "12.8")
        assert_equal(did[0], "Pause unattended upgrades", f"{did}")
        assert_equal(did[-1], "Resume unattended upgrades", f"{did}")
        assert_in("Install CUDA 12.8", did)
        assert_in(
            "580.95.05",
            site.on_nodes("dpkg-query -W nvidia-open && cat /run/fake/loaded", "t/0"),
            "nothing is installed",
        )
        assert_equal(worker.did("--cuda", "12.8"), [], "the second run did something")
        assert_not_in(
            "/",
            site.on_nodes("find /home/worker ! -user worker", "t/0"),
            "root has left something in the user's home",
        )


def test_a_password_that_is_missing_wrong_or_open_to_others_changes_nothing(user):
    with Site(user, nodes=1) as site, Worker(site) as worker:
        worker.may(ASKED, PASSWORD)
        plan = json.loads(user.run(*worker.words("--dry-run", "-o", "json")).out)
        assert_equal(plan["groups"][0]["nodes"], ["w-0"], f"{plan}")
        done = user.run(*worker.words(), code=3)
        assert_in(
            "w-0: sudo asks 'worker' for a password there: use --ask-sudo-password or "
            "--sudo-password-file",
            done.err,
        )
        began = time.monotonic()
        done = user.run(*worker.words("--sudo-password-file", password_file(user, "wrong")), code=3)
        assert_in("w-0: sudo refused the password of 'worker'\n", done.err)
        assert_less(time.monotonic() - began, 30, "a wrong password takes long")
        user.refused(
            worker.words("--sudo-password-file", password_file(user, mode=0o640)),
            2,
            "can be read by other users: chmod 600 it",
        )
        user.refused(worker.words("--ask-sudo-password"), 2, "there is no terminal to ask on")
        site.on_nodes("rm /etc/sudoers.d/worker", "t/0")
        done = user.run(*worker.words("--sudo-password-file", password_file(user)), code=3)
        assert_in("w-0: sudo does not let 'worker' become root there", done.err)
        worker.check_nothing_is_changed()


def typed(user, words, password):
    """Runs it on a terminal where that is typed once it is asked for; what the terminal shows."""
    ours, theirs = pty.openpty()
    process = user.start(*words, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"password on the nodes: " not in shown:
        shown += os.read(ours, 4096)
    os.write(ours, password.encode() + b"\n")
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # So a terminal says that nobody is behind it any more.
        pass
    out = process.communicate(timeout=600)[0]
    os.close(ours)
    return process.returncode, out.decode(), shown.decode()


def test_a_password_is_typed_unseen_or_read_from_a_file_and_stands_nowhere_else(user):
    with Site(user, nodes=1) as site, Worker(site) as worker:
        worker.may(ASKED, PASSWORD)
        code, out, shown = typed(user, worker.words("--ask-sudo-password"), PASSWORD)
        assert_equal(code, 0, f"{code}: {out}{shown}")
        assert_in("580.95.05", out, f"{code}: {out}{shown}")
        assert_not_in(PASSWORD, shown, f"{code}: {out}{shown}")
        site.on_nodes("touch /run/fake/look", "t/0")
        did = worker.did(
            "--cuda", "12.8", environment={"FASTGPU_SUDO_PASSWORD_FILE": password_file(user)}
        )
        assert_in("Install CUDA 12.8", did)
        seen = site.on_nodes("tr '\\0' '\\n' </run/fake/look", "t/0")
        assert_in("apt-get", seen)
        assert_in("sudo", seen)
        assert_not_in("ecret", seen)
        assert_not_in(
            "ecret",
            site.on_nodes("grep -rs ecret /var/log /home/worker /run /tmp || :", "t/0"),
            "it is written down on the node",
        )


def test_an_environment_of_somebody_who_is_not_root_brings_packages_by_sudo(user):
    with Site(user, nodes=1) as site, Worker(site) as worker:
        worker.may(ASKED, PASSWORD)
        site.system.add("media-tools", "1.0", {"/usr/bin/media": "#!/bin/sh\necho media\n"})
        site.system.publish(site.key)
        file = user.folder / "env.yaml"
        file.write_text("name: train\npython: /usr/bin/python3\nmpi: system\napt: [media-tools]\n")
        words = ("env", "create", "-c", "w", "-f", str(file), "--uv", find_uv(), "-o", "json")
        refused = user.run(*words, code=3)
        assert_in(
            "w-0: sudo asks 'worker' for a password there: use --ask-sudo-password",
            refused.err,
        )
        done = json.loads(
            user.run(*words, "--sudo-password-file", password_file(user), timeout=600).out
        )
        assert_in("Install media-tools", done["nodes"][0]["prepared"], f"{done}")
        assert_is(done["nodes"][0]["error"], None, f"{done}")
        again = json.loads(user.run(*words).out)
        assert_equal(again["nodes"][0]["prepared"], [], f"{again}")
        assert_equal(again["nodes"][0]["done"], "nothing", f"{again}")


def cut_off(user, number, code, *words):
    """Ends a command by that signal while dpkg works; the node is then free for the same command,
    which finishes what was cut off.
    """
    with Site(user, nodes=1) as site, Worker(site) as worker:
        if words:
            worker.may(ASKED, PASSWORD)
        else:
            worker.may(FREE)
        process = worker.start("--cuda", "12.8", *words)
        assert_true(worker.installers(), "nothing is being installed")
        process.send_signal(number)
        process.communicate(timeout=60)
        assert_equal(process.returncode, code)
        assert_true(
            within(20, lambda: not worker.installers()), f"they still run: {worker.installers()}"
        )
        worker.let_go_on()
        did = worker.did("--cuda", "12.8", *words)
        assert_equal(did[0], FINISH, f"{did}")
        assert_equal(did[-1], "Resume unattended upgrades", f"{did}")
        assert_equal(worker.did("--cuda", "12.8", *words), [], "something is left to do")
        assert_in(
            "ii", site.on_nodes("dpkg -l cuda-toolkit-12-8 | tail -1", "t/0"), "it is not installed"
        )


def test_ctrl_c_while_apt_runs_by_sudo_leaves_none_of_it_running(user):
    cut_off(user, signal.SIGINT, 130)


def test_ctrl_c_while_apt_runs_by_sudo_with_a_password_leaves_none_of_it_running(user):
    cut_off(user, signal.SIGINT, 130, "--sudo-password-file", password_file(user))


def test_a_run_that_is_killed_while_dpkg_works_is_finished_by_the_same_command(user):
    cut_off(user, signal.SIGKILL, -signal.SIGKILL)


need_tools()
need_programs("sudo")
run_tests(dict(globals()))
