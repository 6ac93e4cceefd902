"""An index that this machine alone reaches: two local nodes get their environments through it, from
the hosts of the index and from no other.

Skipped where there is no uv.
"""

import contextlib
import json
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests, within
from conda_site import Conda
from env_site import PREFIX, with_site
from package_index import PackageIndex
from suite import (
    assert_equal,
    assert_false,
    assert_in,
    assert_is,
    assert_less,
    assert_not_in,
    assert_true,
)
from wheels_site import UV, Wheels

HERE = "127.0.0.1"


class OnlyHere(Wheels):
    """On this machine's loopback address. `files`, another server likewise, has the files where
    `elsewhere` is set; `redirect` sends there whoever asks the index for one.
    """

    def make_index(self, address):
        index = super().make_index(HERE)
        self.files = PackageIndex(HERE)
        self.files.files = index.files
        link, answer = index.link, index.answer
        index.elsewhere = index.redirect = ""

        def to_files(name, file, content):
            return link(name, file, content).replace('href="/', f'href="{index.elsewhere}/')

        def redirecting(request):
            if (
                not index.redirect
                or not request.path.startswith("/files/")
                or request.path.endswith(".metadata")
            ):
                return answer(request)
            index.asked.append(request.path)
            request.send_response(302)
            request.send_header("Location", index.redirect + request.path)
            request.send_header("Content-Length", "0")
            return request.end_headers()

        index.link, index.answer = to_files, redirecting
        return index

    def close(self):
        super().close()
        with contextlib.suppress(OSError):
            self.files.close()

    def nothing_is_left(self):
        left = self.on_nodes(
            "sh", "-c", "pgrep -f env-tunne[l] || true; grep -c ' 0A ' /proc/net/tcp || true"
        )
        assert_not_in("\n0\n", left, "somebody listens on the nodes")
        assert_equal(left.count(": 1\n"), 2, f"somebody listens on the nodes: {left}")  # sshd.


class CondaOnlyHere(Conda):
    def make_index(self, address):
        return super().make_index(HERE)


def has_alpha(site, count=2):
    return site.program("python", "-c", "import alpha").count("alpha one") == count


@with_site(OnlyHere)
def test_an_index_that_this_machine_alone_reaches_is_enough(site):
    done = site.create()
    assert_in("fetching through this machine", done.err)
    assert_true(has_alpha(site), done.err)
    site.nothing_is_left()
    lock = site.user.folder / "env.lock"
    site.user.run(
        "env", "lock", "-f", str(site.file), "--out", str(lock), "--uv", UV, "-c", site.name
    )
    assert_in(site.index.root, lock.read_text(), "the lock does not name the index")
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    site.user.run("env", "create", "-c", site.name, "-f", str(lock), "--uv", UV)
    assert_true(has_alpha(site), "a lock is not built through this machine")
    site.index.add("gamma", "1.0")
    site.user.run(
        "env", "install-frameworks", "train", "-c", site.name, "--framework", "gamma", "--uv", UV
    )
    assert_equal(
        site.program("python", "-c", "import gamma; print(gamma.version)").count("1.0"),
        2,
        "no gamma",
    )
    site.nothing_is_left()
    site.index.add("alpha", "2.0", {"alpha.py": "print('alpha one')\n"})
    site.index.asked.clear()
    site.user.run(
        *site.words("--upgrade", "--fetch", "nodes", "--index-timeout", "1s"),
        code=None,
        timeout=180,
    )
    assert_equal(site.index.asked, [], "--fetch nodes comes here")


@with_site(OnlyHere)
def test_files_come_from_the_hosts_that_the_index_names_and_from_no_other(site):
    site.index.elsewhere = site.files.root
    site.create()
    assert_true(has_alpha(site), f"{site.files.asked}")
    assert_true(any(path.endswith(".whl") for path in site.files.asked), f"{site.files.asked}")
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    # What it redirects to is not known beforehand.
    site.index.elsewhere, site.index.redirect = "", site.files.root
    site.files.asked.clear()
    place = site.files.root.removeprefix("http://")
    done = site.user.refused(site.words(), 1, place, "--fetch-host")
    assert_equal(site.files.asked, [], f"{done.err} {site.files.asked}")
    site.nothing_is_used()
    site.create("--fetch-host", place)
    assert_true(has_alpha(site), "it is not fetched from there")
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    site.index.redirect, site.index.elsewhere = "", "http://169.254.169.254"
    site.user.refused(site.words(), 1, "169.254.169.254", timeout=180)
    site.nothing_is_left()


@with_site(OnlyHere)
def test_an_index_that_nothing_reaches_is_told_at_once(site):
    site.create("--set", "packages=[]")
    site.index.close()
    site.write("alpha", "beta")
    for more in ((), ("--fetch", "here")):
        began = time.monotonic()
        site.user.refused(
            site.words(*more),
            1,
            f"{site.name}-0: ",
            site.index.url,
            "Connection refused" if not more else "onnect",
            "fastgpu env unpack",
        )
        took = time.monotonic() - began
        assert_less(took, 5, f"it took {took:.1f} s")  # On a machine with much else to do.
    site.create("--set", "packages=[]", "--set", "variables.COLOUR=red")  # Which needs no index.
    assert_equal(
        site.program("sh", "-c", "echo $COLOUR").count("red"), 2, "what needs no index is not made"
    )


@with_site(OnlyHere)
def test_a_password_goes_through_and_ctrl_c_ends_all_of_it(site):
    site.index.login = "joe:s3cret"
    words = site.words("--set", f"index={site.index.url.replace('://', '://joe:s3cret@')}")
    site.user.run(*words)
    assert_true(has_alpha(site), "it is not there")
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    site.index.fault, site.index.asked = "hang", []
    process = site.user.start(*words, "--fetch", "here")
    assert_true(within(60, lambda: site.index.asked), "the index is not asked")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert_equal(process.returncode, 130, err.decode())
    assert_not_in(b"s3cret", err, err.decode())
    assert_true(
        within(
            15,
            lambda: (
                site.user.run(
                    "exec", site.name, "--", "pgrep", "-f", "env-tunne[l]", code=None
                ).returncode
                == 1
            ),
        ),
        "the tunnel is still there",
    )
    site.nothing_is_used()


@with_site(CondaOnlyHere)
def test_a_channel_that_this_machine_alone_reaches_is_enough(site):
    site.create()
    assert_true(has_alpha(site), "it is not there")


@with_site(Wheels)
def test_of_a_file_that_two_packages_have_the_last_ones_is_there_each_time(site):
    for name in ("zeta", "eta"):
        site.index.add(
            name,
            "1.0",
            {
                f"{name}.py": "",
                "shared/__init__.py": f"owner = '{name}'\n",
                "shared/same.py": "x = 1\n",
                "shared/large.bin": name * (1 if name == "eta" else 50000),
            },
        )
    site.write("zeta", "eta", "alpha")
    manifests = set()
    for _ in range(6):
        done = site.create()
        assert_in("packages eta and zeta have 2 files in common with different content", done.err)
        assert_in("that of zeta is used", done.err)
        assert_equal(
            site.program("python", "-c", "import shared, shared.same; print(shared.owner)").count(
                "zeta"
            ),
            2,
            "another one's",
        )
        site.user.run("env", "verify", "train", "-c", site.name)
        manifests.add(
            site.on_nodes("sha256sum", f"{PREFIX}/train/current/.fastgpu/manifest", nodes="/0")
        )
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    assert_equal(len(manifests), 1, f"{manifests}")
    site.write("zeta", "alpha")
    assert_not_in("in common", site.create().err, "one package shares with itself")
    site.write("zeta", "eta", "alpha")  # Beside a build that has one of the two.
    site.create()
    assert_equal(
        site.program("python", "-c", "import shared; print(shared.owner)").count("zeta"),
        2,
        "another one's",
    )
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(Wheels)
def test_what_is_removed_and_activated_is_shown_before_and_after(site):
    site.create()
    plan = json.loads(
        site.user.run(
            "env", "remove", "--yes", "train", "-c", site.name, "--dry-run", "-o", "json"
        ).out
    )
    assert_equal(plan["schema"], "fastgpu.environment-removal/1", f"{plan}")
    assert_true(plan["dry_run"], f"{plan}")
    assert_equal(len(plan["environments"][0]["nodes"]), 2, f"{plan}")
    plan = json.loads(
        site.user.run("env", "activate", "train", "-c", site.name, "--dry-run", "-o", "json").out
    )
    assert_true(plan["dry_run"], f"{plan}")
    assert_true(plan["active"], f"{plan}")
    assert_false(site.listed()["train"]["active"], f"{plan}")
    done = json.loads(site.user.run("env", "activate", "train", "-c", site.name, "-o", "json").out)
    assert_equal(done["schema"], "fastgpu.environment-activation/1", f"{done}")
    assert_true(site.listed()["train"]["active"], f"{done}")
    archive, lock = site.user.folder / "a.tar.zst", site.user.folder / "a.lock"
    packed = json.loads(
        site.user.run(
            "env", "pack", "train", "-c", site.name, "--out", str(archive), "-o", "json"
        ).out
    )
    assert_equal(packed["file"], str(archive), f"{packed}")
    assert_equal(packed["bytes"], archive.stat().st_size, f"{packed}")
    site.user.refused(
        ["env", "pack", "train", "-c", site.name, "--out", str(archive)], 6, "--force"
    )
    locked = json.loads(
        site.user.run(
            "env", "lock", "-f", str(site.file), "--uv", UV, "--out", str(lock), "-o", "json"
        ).out
    )
    assert_equal(locked["file"], str(lock), f"{locked}")
    assert_equal(len(locked["artefacts"]), 2, f"{locked}")
    shown = json.loads(
        site.user.run("env", "lock", "-f", str(site.file), "--uv", UV, "-o", "json").out
    )
    assert_equal(shown["lock"], lock.read_text(), f"{shown}")
    assert_is(shown["file"], None, f"{shown}")
    lock.write_text("mine")
    site.user.refused(
        ["env", "lock", "-f", str(site.file), "--uv", UV, "--out", str(lock)], 6, "--force"
    )
    assert_equal(lock.read_text(), "mine", "a file was overwritten")
    site.user.run("env", "lock", "-f", str(site.file), "--uv", UV, "--out", str(lock), "--force")
    gone = site.user.run("env", "remove", "--yes", "train", "-c", site.name).out.decode()
    assert_in("train", gone)
    assert_in("removed", gone)
    assert_in(f"{site.name}-", gone)


@with_site(Wheels)
def test_a_requirements_file_says_what_is_in_it(site):
    file = site.user.folder / "requirements.txt"
    file.write_text(f"# what it needs\nalpha  # first\n-i {site.index.url}\n")
    words = [
        "env",
        "create",
        "train",
        "-c",
        site.name,
        "-r",
        str(file),
        "--uv",
        UV,
        "--set",
        "mpi=system",
        "--set",
        "python=/usr/bin/python3",
    ]
    site.user.run(*words)
    assert_true(has_alpha(site), "it is not there")
    file.write_text("alpha\n-e .\n")
    site.user.refused(words, 2, f"{file}:2: '-e .'")


run_tests(dict(globals()))
