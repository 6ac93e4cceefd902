"""Environments of conda packages on two local nodes, from a channel made here: the client is
py-rattler as on any other day.
"""

import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import end_by_signal, run_tests, within
from conda_site import MODULES, Conda
from env_site import PREFIX, changes, with_site
from suite import assert_equal, assert_false, assert_in, assert_true


@with_site(Conda)
def test_made_once_copied_used_and_removed_without_a_trace(site):
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    before = changes(site)
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["built", "received"], f"{done}")
    place = f"{PREFIX}/train/{done['version']}"
    site.user.run("env", "verify", "train", "-c", site.name)
    assert_equal(
        site.on_nodes("cat", f"{place}/bin/beta").count(f"cat {place}/share/beta"),
        2,
        "the prefix is another one in the files",
    )
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "the program does not run in it",
    )
    assert_equal(
        site.program("sh", "-c", ". $CONDA_PREFIX/.fastgpu/activate.sh; echo $BETA_HOME").count(
            f"{place}/share\n"
        ),
        2,
        "no activation",
    )
    assert_in(
        "alpha.cpython",
        site.on_nodes("ls", f"{place}/{MODULES}/__pycache__", nodes="/1"),
        "not compiled",
    )
    assert_equal(
        site.on_nodes("ls", f"{place}/lib/fastgpu").count("libfastgpu_comm.so.0"),
        2,
        "what every environment has is missing",
    )
    said = site.job("python", "-c", "import alpha")
    assert_equal(said.count("alpha one"), 2, said)
    assert_equal(
        site.on_nodes(
            "sh", "-c", "cat /tmp/mpirun-of-channel; rm /tmp/mpirun-of-channel", nodes="/0"
        ).count("bin/mpirun"),
        1,
        "another mpirun",
    )
    asked = len(site.index.asked)
    again = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in again["nodes"]], ["nothing", "nothing"], f"{again}")
    assert_equal(len(site.index.asked), asked, f"{again}")
    site.on_nodes("rm", "-rf", f"{PREFIX}/train", nodes="/0")
    again = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in again["nodes"]], ["received", "nothing"], f"{again}")
    assert_equal(len(site.index.asked), asked, f"{again}")
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    left = changes(site) ^ before
    assert_false(left, f"left: {sorted(left)[:20]}")


@with_site(Conda)
def test_a_lock_says_every_artefact_and_is_kept_to(site):
    lock = site.lock()
    text = lock.read_text()
    for folder in site.index.packages.values():
        for file, (_, record) in folder.items():
            assert_in(record["sha256"], text, f"no {file} in {text}")
            assert_in(f"/{file}", text, f"no {file} in {text}")
    site.file.write_text(text.replace('version: "1.0"', 'version: "1.1"', 1))
    site.user.refused(site.words(), 2, "was changed by hand")
    site.file.write_text(text)
    site.index.add("beta", "9.0", {"bin/beta": "#!/bin/sh\necho nine\n"})
    site.create()
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "the lock was not kept to",
    )
    site.write("alpha", "beta 9.*")
    diff = site.user.run(
        "env", "diff", str(lock), str(site.lock("other.lock")), code=1
    ).out.decode()
    assert_in("beta 1.0 -> 9.0", diff)


@with_site(Conda)
def test_an_artefact_with_another_hash_stops_it_all(site):
    for fault in ("corrupt", "truncated"):
        site.index.fault = fault
        site.user.refused(site.words(), 1, "failed to fetch")
        site.nothing_is_used()
    site.index.fault = ""
    site.index.lies = {"beta"}
    site.user.refused(site.words(), 1, "hash mismatch", "/linux-64/beta-1.0-0.tar.bz2", "0" * 64)
    site.nothing_is_used()
    site.index.lies = set()
    text = site.lock().read_text()
    # The same file name with another content: the channel has changed.
    site.index.add("beta", "1.0", {"share/beta": "other\n"})
    site.file.write_text(text)
    site.user.refused(site.words(), 1, "hash mismatch", "beta-1.0-0.tar.bz2")
    site.nothing_is_used()


@with_site(Conda)
def test_what_a_channel_lacks_or_does_not_answer_is_told(site):
    site.write("gamma")
    site.user.refused(site.words(), 1, "gamma")
    site.write("alpha", "python 2.7.*")
    site.user.refused(site.words(), 1, "python")
    site.write("alpha")
    site.user.refused(
        site.words("--set", f"channels.0={site.index.root}/nothing"), 1, "/nothing", "404"
    )
    site.index.fault = "500"
    site.user.refused(site.words(), 1, "500")
    site.index.fault = "hang"
    site.user.refused(
        site.words("--index-timeout", "1s"),
        124,
        f"{site.index.url} did not give its index within 5 s",
    )
    site.index.fault = "hang files"
    site.user.refused(
        site.words("--index-timeout", "2s"), 124, "the download of", "has given nothing for 2 s"
    )
    site.nothing_is_used()
    site.index.fault = ""
    site.create()


@with_site(Conda)
def test_killed_or_interrupted_the_same_command_goes_on(site):
    for point in ("env-solved", "env-built"):
        site.create(environment={"FASTGPU_FAULT": point}, code=-signal.SIGKILL)
        site.nothing_is_used()
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        site.index.fault, site.index.asked = "hang files", []
        site.on_nodes("sh", "-c", f"rm -rf {PREFIX}/train/*")
        process = site.user.start(*site.words())
        assert_true(
            within(150, lambda: any(path.endswith(".tar.bz2") for path in site.index.asked)),
            "no file is asked for",
        )
        end_by_signal(process, number, code)
        site.ends_everywhere("-f", "[c]lient.py")
        site.nothing_is_used()
    site.index.fault = ""
    site.create()
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(Conda)
def test_the_place_is_waited_for_while_another_agent_still_holds_it(site):
    """As that of a client that was killed does, until it has noticed."""
    site.create()
    site.on_nodes("sh", "-c", f"rm -rf {PREFIX}/train/*")
    site.on_nodes(
        "sh", "-c", f"setsid flock {PREFIX}/.fastgpu/lock sleep 4 >/dev/null 2>&1 </dev/null &"
    )
    site.create()


run_tests(dict(globals()))
