"""Environments that come from archives, on two local nodes: unpacked on one, copied to the other,
used like any; and refused where they do not fit.

Skipped where there is no uv.
"""

import hashlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests, signal_relays, within
from env_site import PREFIX, builds_in, changes, with_site
from shared_place import share_home
from suite import assert_equal, assert_false, assert_greater, assert_in, assert_not_in, assert_true
from wheels_site import Wheels

LARGE = 16 << 20


class Archived(Wheels):
    """An archive of an environment that no node has any more. One of its files has two names, and
    of one module Python keeps bytecode.
    """

    MORE = (
        "bytecode: none\npost_install:\n  - [sh, -c, 'ln $VIRTUAL_ENV/bin/activate "
        "$VIRTUAL_ENV/bin/again']\n"
    )

    def __init__(self, user):
        super().__init__(user)
        self.index.add("large", "1.0", {"large.bin": os.urandom(LARGE)})
        self.write("alpha", "large", more=self.MORE)
        self.archive = user.folder / "train.tar.zst"
        self.create()
        self.program("python", "-c", "import alpha")
        self.pack(self.archive)
        self.remove()
        self.index.asked = []

    def unpack_words(self, *more):
        return ["env", "unpack", str(self.archive), "-c", self.name, *more]

    def unpack(self, *more, **options):
        return self.user.run(*self.unpack_words(*more), **options)

    def done(self, *more, **options):
        return [
            node["done"]
            for node in json.loads(self.unpack("-o", "json", *more, **options).out)["nodes"]
        ]

    def is_complete(self):
        self.user.run("env", "verify", "train", "-c", self.name)
        found = self.listed()["train"]
        assert_equal(found["state"], "complete", f"{found}")
        assert_equal(len(found["nodes"]), 2, f"{found}")
        assert_equal(
            self.program("python", "-c", "import alpha").count("alpha one"), 2, "it does not run"
        )
        assert_not_in(
            ".fastgpu-copy", self.on_nodes("ls", "-A", f"{PREFIX}/train"), "something is left"
        )

    def changed(self, change):
        """The archive with something else in it: `change` gets its entries, with their contents,
        and gives others.
        """
        whole = subprocess.run(
            ["zstd", "-dcq", str(self.archive)], capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
            entries = [
                (entry, archive.extractfile(entry).read() if entry.isfile() else b"")
                for entry in archive
            ]
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for entry, content in change(entries):
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return subprocess.run(
            ["zstd", "-cq1"], input=out.getvalue(), capture_output=True, check=True
        ).stdout


@with_site(Archived)
def test_an_archive_is_unpacked_once_copied_and_used_like_any_environment(site):
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    before = changes(site)
    plan = site.unpack("--dry-run").out.decode()
    assert_in("unpack the archive, switch to it", plan)
    assert_in("receive the build and verify it, switch to it", plan)
    assert_equal(changes(site), before, "--dry-run has made something")
    site.on_nodes("mount", "--bind", "/bin/false", "/usr/bin/tar")  # Nodes need none.
    sent = site.sent_by_first()
    assert_equal(
        site.done(), ["unpacked", "received"], "not unpacked on one node and received by the other"
    )
    assert_greater(
        site.sent_by_first() - sent, LARGE, "the second node has not got it from the first"
    )
    site.on_nodes("umount", "/usr/bin/tar")
    site.is_complete()
    assert_equal(site.done(), ["nothing", "nothing"], "done again")
    assert_in("nothing: already installed", site.unpack("--dry-run").out.decode(), "not said")
    said = site.job("python", "-c", "import alpha")
    assert_equal(said.count("alpha one"), 2, said)
    site.user.run("env", "activate", "train", "-c", site.name)
    assert_equal(
        site.on_nodes("bash", "-lc", "echo $FASTGPU_ENV").count("train"), 2, "logins do not get it"
    )
    site.on_nodes("rm", "-rf", f"{PREFIX}/train", nodes="/0")
    assert_equal(site.done(), ["received", "nothing"], "what a node has is not taken from there")
    site.is_complete()
    again = json.loads(site.create("-o", "json").out)
    assert_equal(
        [node["done"] for node in again["nodes"]],
        ["nothing", "nothing"],
        f"made again: {again} {site.index.asked}",
    )
    assert_false(site.index.asked, f"made again: {again} {site.index.asked}")
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name)
    left = changes(site) ^ before
    assert_false(left, f"left: {sorted(left)[:20]}")


@with_site(Archived)
def test_what_it_replaces_stays_for_running_jobs_and_another_build_of_its_lock_does_not(site):
    version = json.loads(site.unpack("-o", "json").out)["version"]
    site.write("beta")
    old = json.loads(site.create("-o", "json").out)["version"]
    assert_equal(site.done(), ["switched", "switched"], "sent again, though it was there")
    kept = site.on_nodes("ls", f"{PREFIX}/train", nodes="/0")
    assert_in(old, kept)
    assert_in(version, kept)
    site.on_nodes(
        "sh",
        "-c",
        f"echo more >{PREFIX}/train/{version}/more; tr '\\0' '\\n' "
        f"<{PREFIX}/train/{version}/.fastgpu/manifest | sed 's/ bin$/ bin/' | tail -n +2"
        " | tr '\\n' '\\0' >/tmp/manifest; cp /tmp/manifest "
        f"{PREFIX}/train/{version}/.fastgpu/manifest",
        nodes="/1",
    )
    assert_equal(
        site.done(), ["nothing", "received"], "another build of the same lock counts as this one"
    )
    site.is_complete()


@with_site(Archived)
def test_it_goes_where_it_was_packed_for_and_nowhere_else(site):
    site.write("alpha")
    site.create("--prefix", "/srv/envs")
    site.pack(site.archive)
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name, "--prefix", "/srv/envs")
    for words in (
        site.unpack_words(),
        site.unpack_words("--dry-run"),
        site.unpack_words("--prefix", "/srv/other"),
    ):
        site.user.refused(
            words,
            2,
            "train.tar.zst was packed for /srv/envs, but environments are in ",
            ": unpack it with --prefix /srv/envs",
        )
    assert_equal(
        site.on_nodes("sh", "-c", "ls -d /srv/envs /srv/other 2>&1 || true").count("No such file"),
        4,
        "something was made",
    )
    assert_equal(
        site.done("--prefix", "/srv/envs"),
        ["unpacked", "received"],
        "not with the prefix that was said",
    )
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"), 2, "it does not run"
    )
    site.user.run("env", "remove", "--yes", "--all", "-c", site.name, "--prefix", "/srv/envs")


def spoiled_archives(site):
    """Archives that are none, by what is said of them."""
    good = site.archive.read_bytes()

    def entry(name, kind=tarfile.REGTYPE, content=b"", target=""):
        def add(entries):
            added = tarfile.TarInfo(name.replace("TOP", entries[0][0].name))
            added.type, added.linkname = kind, target
            return [*entries, (added, content)]

        return add

    def without(end):
        return lambda entries: [one for one in entries if not one[0].name.endswith(end)]

    def other_content(entries):
        return [
            (one, content.replace(b"one", b"own") if one.name.endswith("/beta.py") else content)
            for one, content in entries
        ]

    yield "is cut off", good[: len(good) // 2]
    yield "", good[:1000] + bytes(1000) + good[2000:]
    yield "cannot be unpacked", b"no archive at all, and long enough for one"
    yield "is cut off", b""
    yield (
        "'TOP/../../../../etc/x' leads out of it".replace("TOP/", ""),
        site.changed(entry("../../../../etc/x")),
    )
    yield (
        "'/etc/cron.d/x' leads out of it",
        site.changed(entry("/etc/cron.d/x", content=b"x")),
    )
    yield "bin/l leads out of it, to /etc", None
    yield "is not a file, folder or link", site.changed(entry("TOP/bin/device", tarfile.CHRTYPE))
    yield (
        "links to a file that is not in it",
        site.changed(entry("TOP/bin/h", tarfile.LNKTYPE, target="/etc/shadow")),
    )
    yield "bin/more is not in its manifest", site.changed(entry("TOP/bin/more", content=b"x"))
    yield "it has no .fastgpu/manifest", site.changed(without("/.fastgpu/manifest"))
    yield "beta.py is in its manifest but missing", site.changed(without("/beta.py"))
    yield "beta.py differs from its manifest", site.changed(other_content)
    bomb = subprocess.run(
        ["sh", "-c", "head -c 1G /dev/zero | zstd -cq1"], capture_output=True, check=True
    ).stdout
    header = tarfile.TarInfo("0123456789ab/zeros")
    header.size = 1 << 30
    top = tarfile.TarInfo("0123456789ab")
    top.type = tarfile.DIRTYPE
    yield (
        "unpacks to more than",
        subprocess.run(
            ["zstd", "-cq1"], input=top.tobuf() + header.tobuf(), capture_output=True, check=True
        ).stdout
        + bomb,
    )


def with_link(entries):
    """A link out of it, also in its manifest."""
    top = entries[0][0].name
    link = tarfile.TarInfo(f"{top}/bin/l")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    line = f"entry=l 0 0 {hashlib.sha256(b'/etc').hexdigest()} bin/l\0".encode()
    return [
        (one, content + line if one.name.endswith("/.fastgpu/manifest") else content)
        for one, content in entries
    ] + [(link, b"")]


@with_site(Archived)
def test_what_is_cut_off_changed_or_made_to_harm_is_refused_before_a_node_is_asked(site):
    site.write("beta")
    site.create()
    version = site.on_nodes("readlink", f"{PREFIX}/train/current", nodes="/0").strip()
    before = changes(site)
    for said, content in list(spoiled_archives(site)):
        good = site.archive.read_bytes()
        site.archive.write_bytes(content if content is not None else site.changed(with_link))
        try:
            site.user.refused(site.unpack_words(), 2, "train.tar.zst: ", said)
        finally:
            site.archive.write_bytes(good)
    site.user.refused(
        ["env", "unpack", str(site.user.folder / "none.tar.zst"), "-c", site.name],
        5,
        "no such file",
    )
    left = changes(site) ^ before
    assert_false(left, f"left: {sorted(left)[:20]}")
    assert_equal(
        site.on_nodes("readlink", f"{PREFIX}/train/current", nodes="/0").strip(),
        version,
        "switched",
    )
    assert_equal(site.done(), ["unpacked", "received"], "the good one is not unpacked")


@with_site(Archived)
def test_a_node_with_another_processor_or_an_older_c_library_is_left_out(site):
    with site.old_c_library("/0") as said:
        plan = site.unpack("--dry-run", code=6)
        assert_in(said, plan.err, f"{plan.out} {plan.err}")
        assert_in(b"unpack the archive", plan.out, f"{plan.out} {plan.err}")
        done = site.unpack("-o", "json", code=6)
        assert_in(said, done.err, f"{done.out} {done.err}")
        assert_equal(
            [node["done"] for node in json.loads(done.out)["nodes"]],
            ["failed", "unpacked"],
            f"{done.out} {done.err}",
        )
        assert_in(
            "No such file",
            site.on_nodes("sh", "-c", f"ls {PREFIX}/train/current 2>&1 || true", nodes="/0"),
            "it is in use there",
        )
        alone = ["env", "unpack", str(site.archive), "-c", f"{site.name}/0"]
        for words in (alone, [*alone, "--dry-run"]):
            site.user.refused(words, 6, said)
    assert_equal(site.done(), ["received", "nothing"], "not repaired")


@with_site(Archived)
def test_killed_at_every_step_and_in_the_midst_the_same_command_goes_on(site):
    for point in ("env-unpacked", "env-built", "env-relayed", "env-copied"):
        site.unpack(environment={"FASTGPU_FAULT": point}, code=-signal.SIGKILL)
        site.nothing_is_used()
        site.unpack()
        site.is_complete()
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    comes = (
        "stat -c %s "
        f"{PREFIX}/train/.fastgpu-copy-*/tree/*/lib/python3.11/site-packages/large.bin "
        "2>/dev/null || echo 0"
    )
    for how in (signal.SIGINT, signal.SIGKILL, "agent"):
        process = site.user.start(*site.unpack_words("--limit-rate", "40mbit"))
        assert_true(
            within(60, lambda: int(site.said_by(0, "sh", "-c", comes)) > 0), "nothing comes"
        )
        if how == "agent":
            said = site.said_by(0, "sh", "-c", signal_relays("KILL"))
            assert_in("signalled", said, "it was over")
        else:
            process.send_signal(how)
        _, err = process.communicate(timeout=60)
        assert_equal(
            process.returncode,
            {signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL, "agent": 1}[how],
            f"{how}: {process.returncode} {err}",
        )
        site.nothing_is_used()
        gone = f"! pgrep -f 'relay --[t]o' && ! ls -d {PREFIX}/train/.fastgpu-copy-*"
        words = ("exec", f"{site.name}/0", "--", "sh", "-c", gone)
        assert_true(
            within(15, lambda words=words: site.user.run(*words, code=None).returncode == 0),
            f"{how}: something is left",
        )
        assert_equal(site.done(), ["unpacked", "received"], f"{how}: not unpacked again")
        site.is_complete()
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)


@with_site(Archived)
def test_without_room_on_the_node_nothing_is_sent_and_nothing_is_half_there(site):
    with site.small_disk(PREFIX, "/0"):
        site.user.refused(
            site.unpack_words(), 4, f"{site.name}-0: the build needs ", f"are free in {PREFIX}"
        )
        site.no_part_is_left("/0")
    # Not to be foreseen.
    with site.small_disk(f"{PREFIX}/train", "/0", size="4m"):
        site.user.refused(site.unpack_words(), 4, f"{site.name}-0: ", "No space")
        site.no_part_is_left("/0")
    site.unpack()
    site.is_complete()


@with_site(Archived)
def test_a_node_that_cannot_use_the_build_does_not_keep_it(site):
    python = site.said_by(1, "readlink", "-f", "/usr/bin/python3").strip()
    for nodes, left_out in (("", "/1"), ("/1", "/1")):
        site.on_nodes("mv", python, "/root/python-away", nodes="/1")
        try:
            words = ["env", "unpack", str(site.archive), "-c", site.name + nodes, "-o", "json"]
            done = site.user.run(*words, code=None)
        finally:
            site.on_nodes("mv", "/root/python-away", python, nodes="/1")
        assert_in("this node has none there", done.err, f"{done.out} {done.err}")
        assert_equal(json.loads(done.out)["nodes"][-1]["done"], "failed", f"{done.out}")
        site.no_part_is_left(left_out)
    assert_equal(site.done(), ["nothing", "received"], "not repaired")
    site.is_complete()


@with_site(Archived)
def test_whoever_packs_is_warned_of_what_would_not_come_back(site):
    site.unpack()
    assert_not_in("warning", site.pack(site.archive).err, "warned of what is good")
    site.on_nodes(
        "sh",
        "-c",
        f"echo more >>{PREFIX}/train/current/lib/python3.11/site-packages/beta.py",
        nodes="/0",
    )
    said = site.pack(site.archive).err
    assert_in("warning: fastgpu env unpack would refuse it: ", said)
    assert_in("site-packages/beta.py differs from its manifest", said)
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    site.write(
        "alpha", more="post_install:\n  - [sh, -c, 'ln -s /etc/hostname $VIRTUAL_ENV/bin/out']\n"
    )
    site.create()
    said = site.pack(site.archive).err
    assert_in("warning: fastgpu env unpack would refuse it: ", said)
    assert_in("the link bin/out leads out of it, to /etc/hostname", said)
    site.user.refused(site.unpack_words(), 2, "the link bin/out leads out of it, to /etc/hostname")


@with_site(Archived)
def test_a_place_that_nodes_share_gets_it_once(site):
    place = share_home(site)
    prefix = ("--prefix", "/srv/home/work/envs")
    try:
        site.create(*prefix)
        site.pack(site.archive)
        site.user.run("env", "remove", "--yes", "--all", "-c", site.name, *prefix)
        assert_equal(site.done(*prefix), ["unpacked", "switched"], "sent where it was already")
        builds = builds_in(place / "work/envs/train")
        assert_equal(len(builds), 1, f"{builds}")
        site.user.run("env", "verify", "train", "-c", site.name)
        site.user.run("env", "remove", "--yes", "--all", "-c", site.name, *prefix)
        assert_equal(list(place.iterdir()), [], f"left: {list(place.rglob('*'))}")
    finally:
        site.on_nodes("umount", "/srv/home")


run_tests(dict(globals()))
