"""The keys of hosts of a static cluster, as files and known_hosts name them: known, accepted,
revoked or changed: host_keys_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import json
import subprocess

import static_lab
from static_lab import fingerprint, known_hosts, line_of, make_key, ours, refused_both_ways
from suite import assert_equal, assert_in, assert_not_equal, assert_not_in


def test_host_keys_come_from_the_file_or_known_hosts_or_are_accepted(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    before = one.keys_file.read_bytes()
    unknown = lab.create(one.entry(host_key=False), two.entry(), code=3)
    assert_in("127.0.0.2", unknown.stderr)
    assert_in("--accept-host-keys", unknown.stderr)
    known = lab.home / ".ssh" / "known_hosts"
    known.write_text(f"[127.0.0.2]:{one.port} {line_of(one.key)}\n")
    lab.create(one.entry(host_key=False), two.entry())
    lab.run("delete", "cluster", "lab", "--yes")
    known.unlink()
    accepted = lab.create(one.entry(host_key=False), two.entry(), more=["--accept-host-keys"])
    assert_in(fingerprint(one.key), accepted.stderr)
    assert_in("127.0.0.2", accepted.stderr)
    assert_not_in(fingerprint(two.key), accepted.stderr, "a key that was known is accepted")
    lab.run("exec", "lab", "--", "true")
    lab.run("delete", "cluster", "lab", "--yes")
    known.write_text(f"[127.0.0.2]:{one.port} {line_of(two.key)}\n")
    for more in ([], ["--accept-host-keys"]):
        refused = lab.create(one.entry(host_key=False), two.entry(), code=3, more=more)
        assert_in(fingerprint(one.key), refused.stderr)
        assert_in(fingerprint(two.key), refused.stderr)
    assert_equal(one.keys_file.read_bytes(), before, "a refused cluster left a line")
    assert_equal(before, two.keys_file.read_bytes(), "a refused cluster left a line")
    lab.check_nothing_known()


def test_a_revoked_key_is_refused_whatever_else_is_said_of_it(lab):
    one = lab.host("one", "127.0.0.2")
    place, key = f"[127.0.0.2]:{one.port}", line_of(one.key)
    for lines in (
        [f"{place} {key}", f"@revoked * {key}"],
        [f"@revoked * {key}"],
        [f"@revoked 127.0.0.2 {key}"],
        [f"@revoked {place} {key}"],
    ):
        known_hosts(lab, *lines)
        if len(lines) == 2:
            refused_both_ways(lab, one, "@revoked", fingerprint(one.key))
        assert_in(
            "@revoked",
            lab.create(one.entry(host_key=False), code=3, more=["--accept-host-keys"]).stderr,
            "accepted",
        )
        assert_in(
            "@revoked",
            lab.create(one.entry(), code=3).stderr,
            "the file's key counts although it is revoked",
        )
    known_hosts(lab, f"@revoked 127.0.0.9 {key}")
    lab.create(one.entry(host_key=False), more=["--accept-host-keys"])
    lab.run("delete", "cluster", "lab", "--yes")


def test_a_host_that_is_known_by_another_type_of_key_is_not_unknown(lab):
    one = lab.host("one", "127.0.0.2")
    for number, words in enumerate((["-t", "rsa", "-b", "2048"], ["-t", "ecdsa"])):
        key = lab.folder / f"other{number}"
        subprocess.run(["ssh-keygen", "-q", *words, "-N", "", "-C", "", "-f", key], check=True)
        known_hosts(lab, f"[127.0.0.2]:{one.port} {line_of(key)}")
        refused_both_ways(lab, one, "its host key is not one of the known keys")


def test_a_host_whose_key_changes_later_is_refused(lab):
    one = lab.host("one", "127.0.0.2")
    lab.create(one.entry())
    one.stop()
    one.key.unlink()
    make_key(one.key)
    one.start()
    refused = lab.run("exec", "lab", "--", "true", code=None)
    assert_not_equal(refused.returncode, 0, refused.stderr)
    assert_in(fingerprint(one.key), refused.stderr)
    shown = json.loads(lab.run("check", "cluster", "lab", "-o", "json", code=1).stdout)
    assert_in("ssh-keygen -lf", shown["findings"][0]["remedy"])
    assert_in("start cluster lab --accept-host-keys", shown["findings"][0]["remedy"])
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_in("one", done.stderr)
    assert_in(fingerprint(one.key), done.stderr)
    assert_equal(len(ours(one)), 1, "a host that proved nothing was changed")


def test_a_host_that_is_installed_anew_gets_its_new_key_pinned(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    lab.create(one.entry(), two.entry())
    old = fingerprint(one.key)
    one.install_anew()
    start = ["start", "cluster", "lab"]
    accept = [*start, "--accept-host-keys"]
    refused = lab.run(*start, code=3).stderr
    for said in (old, fingerprint(one.key), "which cluster lab has pinned", " ".join(accept)):
        assert_in(said, refused)
    assert_not_in("do not answer", refused)
    other = two.keys_file.read_bytes()
    pinned = lab.run(*accept).stderr
    assert_in(f"one: its pinned key {old} is replaced by {fingerprint(one.key)}", pinned)
    assert_not_in(fingerprint(two.key), pinned, "the key of another host is named")
    assert_equal(two.keys_file.read_bytes(), other, "another host was changed")
    assert_equal(len(ours(one)), 1, "the cluster's key is not there once")
    lab.run("exec", "lab", "--", "true")
    assert_in("no host key has changed", lab.run(*accept).stderr)
    again = lab.create(one.entry(), two.entry(), more=["--accept-host-keys"]).stderr
    assert_in("start cluster lab --accept-host-keys", again, "the flag is ignored without a word")


def test_a_changed_key_is_pinned_only_as_known_hosts_has_it(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    place = f"[127.0.0.2]:{one.port}"
    known_hosts(lab, f"{place} {line_of(one.key)}")
    lab.create(one.entry(host_key=False), two.entry())
    old = fingerprint(one.key)
    one.install_anew()
    accept = ["start", "cluster", "lab", "--accept-host-keys"]
    refused = lab.run(*accept, code=3).stderr
    for said in (old, fingerprint(one.key), "which known_hosts has", f"ssh-keygen -R '{place}'"):
        assert_in(said, refused)
    assert_equal(ours(one), [], "a host whose key is another one than known was changed")
    assert_in(
        "start cluster lab --accept-host-keys", lab.create(one.entry(), two.entry(), code=6).stderr
    )
    known_hosts(lab, f"{place} {line_of(one.key)}")
    assert_not_in("accepted the key", lab.run(*accept).stderr, "a key that was known is accepted")
    lab.run("exec", "lab", "--", "true")
    lab.run("scale", "cluster", "lab", "--nodes", "1", "--yes")
    two.install_anew()
    assert_in(accept[-1], lab.run("scale", "cluster", "lab", "--nodes", "2", code=3).stderr)
    lab.run(*accept)
    lab.run("scale", "cluster", "lab", "--nodes", "2")
    lab.run("exec", "lab", "--", "true")


def test_unknown_hosts_are_all_named_with_their_ports_and_the_keys_they_show(lab):
    one, two = lab.host("one", "127.0.0.2"), lab.host("two", "127.0.0.3")
    refused = lab.create(one.entry(host_key=False), two.entry(host_key=False), code=3).stderr
    for host in (one, two):
        assert_in(f"{host.address}:{host.port}", refused)
        assert_in(fingerprint(host.key), refused)


if __name__ == "__main__":
    static_lab.run_tests(globals())
