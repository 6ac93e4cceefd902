"""Later builds of an environment: what nodes have already is neither fetched nor sent again.

Skipped where there is no uv.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from env_site import PREFIX, with_site
from suite import (
    assert_equal,
    assert_in,
    assert_less,
    assert_not_in,
    assert_true,
)
from wheels_site import LARGE, LargeWheels, Wheels


@with_site(LargeWheels)
def test_another_build_needs_room_for_what_is_new_alone(site):
    site.write("large")
    site.create()
    used = int(site.said_by(1, "du", "-sb", PREFIX).split()[0])
    site.said_by(
        1,
        "sh",
        "-c",
        f"mount -t tmpfs -o size={used * 5 // 4} tmpfs /mnt && cp -a {PREFIX}/. /mnt && mount "
        f"--bind /mnt {PREFIX}",
    )
    try:
        site.write("large", "alpha")
        done = json.loads(site.create("-o", "json").out)
        assert_equal(
            [node["done"] for node in done["nodes"]], ["built"] + ["received"] * 3, f"{done}"
        )
        site.user.run("env", "verify", "train", "-c", site.name)
    finally:
        site.said_by(1, "sh", "-c", f"umount {PREFIX}; umount /mnt")


@with_site(LargeWheels)
def test_another_build_takes_what_nodes_have_already(site):
    site.write("large")
    site.create()
    before = site.sent_by_first()
    site.write("large", "alpha")
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["built"] + ["received"] * 3, f"{done}")
    assert_less(
        site.sent_by_first() - before,
        LARGE // 4,
        f"{site.sent_by_first() - before} bytes have left the node that builds",
    )
    links = site.said_by(
        1, "sh", "-c", f"stat -c %h {PREFIX}/train/current/lib/python3.11/site-packages/large.bin"
    )
    assert_equal(links.strip(), "2", f"{links} names for one file")
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        4,
        "the program does not run in it",
    )
    site.user.run("env", "verify", "train", "-c", site.name)
    # What somebody has written into is read before it is believed.
    large = f"{PREFIX}/train/current/lib/python3.11/site-packages/large.bin"
    site.said_by(2, "/usr/bin/python3", "-c", f"open('{large}', 'r+b').write(b'x')")
    site.write("large", "beta")
    site.create()
    site.user.run("env", "verify", "train", "-c", site.name)
    # What has changed without a trace is found by who reads all of it, and then no longer believed.
    site.said_by(
        2,
        "/usr/bin/python3",
        "-c",
        f"import os; p='{large}'; t=os.stat(p).st_mtime_ns; f=open(p,'r+b'); f.write(b'x'); "
        "f.close(); os.utime(p, ns=(t,t))",
    )
    found = site.user.run("env", "verify", "train", "-c", site.name, code=1).out.decode()
    assert_in("large.bin: has another content", found)
    site.write("large")
    site.create()
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(LargeWheels)
def test_another_build_of_the_same_packages_is_not_solved_and_hardly_sent_unless_that_is_wanted(
    site,
):
    site.write("large", "alpha")
    site.create()
    before, site.index.asked = site.sent_by_first(), []
    site.write("large", "alpha", more="variables: {COLOUR: red}\n")
    done = json.loads(site.create("-o", "json").out)
    assert_equal([node["done"] for node in done["nodes"]], ["built"] + ["received"] * 3, f"{done}")
    assert_equal(site.index.asked, [], f"the index was asked for {site.index.asked}")
    assert_less(
        site.sent_by_first() - before,
        LARGE // 4,
        f"{site.sent_by_first() - before} bytes have left the node that builds",
    )
    assert_equal(
        site.program("sh", "-c", "echo $COLOUR").count("red"), 4, "the variable is not there"
    )
    site.user.run("env", "verify", "train", "-c", site.name)
    site.index.add("alpha", "7.0")
    site.create()
    assert_equal(site.index.asked, [], "the same again was solved again")
    site.create("--upgrade")
    assert_true(
        any(path.endswith("alpha-7.0-py3-none-any.whl") for path in site.index.asked),
        f"the newest was not taken: {site.index.asked}",
    )
    site.user.run("env", "verify", "train", "-c", site.name)
    again = json.loads(site.create("--upgrade", "-o", "json").out)
    assert_equal([node["done"] for node in again["nodes"]], ["nothing"] * 4, f"{again}")
    locked = site.user.folder / "env.lock"
    site.user.run(
        "env", "lock", "-f", str(site.file), "-c", site.name, *site.TOOL, "--out", str(locked)
    )
    refused = site.user.run(
        "env", "create", "-c", site.name, "-f", str(locked), "--upgrade", *site.TOOL, code=2
    )
    assert_in("omit --upgrade", refused.err)


TOOL = {
    "tool.py": "def main():\n    print('hammer')\n",
    "Some_Tool-1.0.dist-info/entry_points.txt": "[console_scripts]\ntool = tool:main\n",
}


# Every file that an installed package says it has is what it says.
CHECK_RECORDS = (
    "import base64, hashlib, importlib.metadata as m, sys\n"
    "for d in m.distributions():\n"
    "  for f in d.files or []:\n"
    "    if f.hash and "
    "base64.urlsafe_b64encode(hashlib.sha256(f.read_binary()).digest()).rstrip(b'=').decode() != "
    "f.hash.value:\n"
    "      sys.exit(f'{f} is not what its RECORD says')\n"
)


def fetched(site):
    """The packages that were asked for since the last call."""
    asked, site.index.asked = site.index.asked, []
    return sorted({path.split("/")[2] for path in asked if path.endswith(".whl")})


@with_site(Wheels)
def test_another_build_fetches_what_no_build_before_it_has(site):
    site.index.add("Some_Tool", "1.0", TOOL)
    site.index.add("gamma", "1.0")
    site.write("alpha", "Some.Tool")
    site.create()
    assert_equal(fetched(site), ["alpha", "beta", "some-tool"], "not all was fetched")
    packages = f"{PREFIX}/train/current/lib/python3.11/site-packages"
    first = site.on_nodes("readlink", f"{PREFIX}/train/current", nodes="/0").strip()
    site.write("alpha", "Some.Tool", "gamma")
    site.create()
    found = fetched(site)
    assert_equal(found, ["gamma"], f"{found} were fetched")
    assert_equal(site.program("tool").count("hammer"), 2, "it does not run")
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"), 2, "it does not run"
    )
    assert_not_in(
        first,
        site.on_nodes("cat", f"{PREFIX}/train/current/bin/tool"),
        "a program runs in the build before",
    )
    site.program("python", "-c", CHECK_RECORDS)
    site.user.run("env", "verify", "train", "-c", site.name)
    both = site.on_nodes(
        "sh", "-c", f"stat -c %h {packages}/beta.py {packages}/__pycache__/beta.*.pyc", nodes="/0"
    )
    assert_equal(both.count(": 2"), 2, f"no links: {both}")

    # What is there is read before it is believed; this changes the file of both builds.
    site.on_nodes(
        "sh",
        "-c",
        f"sed s/one/own/ {packages}/beta.py >/tmp/own && cat /tmp/own >{packages}/beta.py",
        nodes="/0",
    )
    site.write("alpha", "gamma")
    site.create()
    found = fetched(site)
    assert_equal(found, ["beta"], f"{found} were fetched")
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"),
        2,
        "a file that was changed is in the new build",
    )
    site.user.run("env", "verify", "train", "-c", site.name)

    # Neither is a package whose list of files is gone, or cut off.
    site.on_nodes(
        "sh",
        "-c",
        f"rm {PREFIX}/train/*/lib/python3.11/site-packages/beta-1.0.dist-info/RECORD; : "
        f">{packages}/alpha-1.0.dist-info/RECORD",
        nodes="/0",
    )
    site.write("alpha")
    site.create()
    found = fetched(site)
    assert_equal(found, ["alpha", "beta"], f"{found} were fetched")
    site.user.run("env", "verify", "train", "-c", site.name)


@with_site(Wheels)
def test_nothing_is_shared_with_a_build_in_which_commands_run(site):
    commands = (
        'post_install:\n  - [python, -c, \'import beta; open(beta.__file__, "w").write("word = '
        "2\")']\n"
    )
    site.write("alpha", more=commands)
    site.create()
    fetched(site)
    site.write("beta")
    site.create()
    assert_equal(fetched(site), ["beta"], "a package was taken out of a build with commands")
    site.write("alpha", "beta", more=commands)
    site.create()
    assert_equal(
        fetched(site), ["alpha", "beta"], "a command could write into a file of another build"
    )


run_tests(dict(globals()))
