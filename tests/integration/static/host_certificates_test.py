"""Hosts whose keys an authority vouches for (@cert-authority, OpenSSH's certificates):
host_certificates_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import os
import signal
import subprocess
import time

import static_lab
from static_lab import NETWORK, fingerprint, known_hosts, line_of, refused_both_ways
from suite import assert_equal, assert_in, assert_not_in


class Authority:
    def __init__(self, lab, name, *words):
        self.key = lab.folder / name
        subprocess.run(
            ["ssh-keygen", "-q", *(words or ["-t", "ed25519"]), "-N", "", "-C", "", "-f", self.key],
            check=True,
        )

    def certify(self, host, *words, key=None):
        """From now on the host shows a certificate of this authority."""
        key = key or host.key
        subprocess.run(
            [
                "ssh-keygen",
                "-q",
                "-s",
                self.key,
                "-I",
                host.name,
                "-h",
                *words,
                key.with_suffix(".pub"),
            ],
            check=True,
        )
        config = host.folder / "config"
        text = "".join(
            line + "\n"
            for line in config.read_text().splitlines()
            if not line.startswith("HostCertificate")
        )
        config.write_text(text + f"HostCertificate {key.parent / (key.name + '-cert.pub')}\n")
        os.kill(host.first_process(), signal.SIGHUP)
        time.sleep(0.3)

    def line(self, pattern):
        return f"@cert-authority {pattern} {line_of(self.key)}"


def test_a_certificate_of_a_known_authority_vouches_for_a_host(lab):
    one = lab.host("one", "127.0.0.2")
    for number, words in enumerate(
        (["-t", "ed25519"], ["-t", "rsa", "-b", "2048"], ["-t", "ecdsa"])
    ):
        authority = Authority(lab, f"authority{number}", *words)
        authority.certify(one, "-n", "127.0.0.2,one.lab", "-V", "-1h:+1h")
        known_hosts(lab, authority.line("*.lab,127.0.0.2"))
        lab.create(one.entry(host_key=False))
        assert_equal(lab.run("exec", "lab", "--", "echo", "here").stdout, "one: here\n", "exec")
        lab.run("delete", "cluster", "lab", "--yes")


def test_a_certificate_that_does_not_hold_is_refused(lab):
    one = lab.host("one", "127.0.0.2")
    good, other = Authority(lab, "good"), Authority(lab, "other")
    known_hosts(lab, good.line("*"))
    good.certify(one, "-n", "127.0.0.2", "-V", "-2h:-1h")
    refused_both_ways(lab, one, "expired")
    good.certify(one, "-n", "127.0.0.3")
    refused_both_ways(lab, one, "for 127.0.0.2: name is not a listed principal")
    other.certify(one, "-n", "127.0.0.2")
    refused_both_ways(lab, one, "signed by no @cert-authority")
    good.certify(one, "-n", "127.0.0.2")
    known_hosts(lab, good.line("*"), f"@revoked * {line_of(good.key)}")
    refused_both_ways(lab, one, "@revoked")
    known_hosts(lab, good.line("*"), f"@revoked * {line_of(one.key)}")
    refused_both_ways(lab, one, "@revoked")
    known_hosts(lab, good.line("*.elsewhere"))
    assert_in(
        "--accept-host-keys",
        lab.create(one.entry(host_key=False), code=3).stderr,
        "an authority for other hosts",
    )


def test_a_host_without_a_certificate_is_like_any_other(lab):
    one = lab.host("one", "127.0.0.2")
    known_hosts(lab, Authority(lab, "authority").line("*"))
    assert_in(
        "--accept-host-keys",
        lab.create(one.entry(host_key=False), code=3).stderr,
        "trusted without a certificate",
    )
    made = lab.create(one.entry(host_key=False), more=["--accept-host-keys"])
    assert_in(fingerprint(one.key), made.stderr)
    lab.run("delete", "cluster", "lab", "--yes")


def test_certificates_for_keys_of_other_types(lab):
    authority = Authority(lab, "authority")
    known_hosts(lab, authority.line("127.0.0.*"))
    for number, words in enumerate((("-t", "rsa", "-b", "3072"), ("-t", "ecdsa", "-b", "384"))):
        host = lab.host(f"host{number}", f"127.0.0.{number + 2}", key=words)
        authority.certify(host, "-n", host.address)
        made = lab.create(host.entry(host_key=False))
        assert_not_in("accepted", made.stderr)
        assert_equal(
            lab.run("exec", "lab", "--", "echo", "here").stdout, f"{host.name}: here\n", "exec"
        )
        lab.run("delete", "cluster", "lab", "--yes")


def test_certificates_along_a_way_of_jump_hosts(lab):
    authority = Authority(lab, "authority")
    gate = lab.host("gate", f"{NETWORK}.13", network=True)
    inner = [
        lab.host(name, address, inside=gate)
        for name, address in (("one", "127.0.0.1"), ("two", "127.0.0.2"))
    ]
    authority.certify(gate, "-n", gate.address)
    for host in inner:
        authority.certify(host, "-n", host.address)
    jump = f"{{address: {gate.address}, user: root}}"
    entries = [host.entry(host_key=False, jump=jump) for host in inner]
    known_hosts(lab, authority.line("*"))
    made = lab.create(*entries)
    assert_not_in("accepted", made.stderr)
    assert_equal(
        sorted(lab.run("exec", "lab", "--", "hostname").stdout.splitlines()),
        ["one: one", "two: two"],
        "exec",
    )
    lab.run("delete", "cluster", "lab", "--yes")
    # The authority stands for the hosts behind alone: the jump host's key is unknown, and then
    # learned.
    known_hosts(lab, authority.line("127.0.0.*"))
    unknown = lab.create(*entries, code=3)
    assert_in(gate.address, unknown.stderr)
    assert_not_in("127.0.0.1", unknown.stderr)
    made = lab.create(*entries, more=["--accept-host-keys"])
    assert_equal(
        [fingerprint(host.key) in made.stderr for host in (gate, *inner)],
        [True, False, False],
        made.stderr,
    )
    lab.run("delete", "cluster", "lab", "--yes")
    # A certificate that does not hold is refused there, too, and the jump host is left as it was.
    authority.certify(inner[1], "-n", "127.0.0.9")
    before = gate.keys_file.read_bytes()
    for more in ([], ["--accept-host-keys"]):
        known_hosts(lab, authority.line("*"))
        refused = lab.create(*entries, code=3, more=more)
        assert_in("for 127.0.0.2: name is not a listed principal", refused.stderr)
    assert_equal(gate.keys_file.read_bytes(), before, "the jump host was changed")


def test_a_host_that_does_not_answer_is_not_called_unknown(lab):
    one = lab.host("one", "127.0.0.2")
    known_hosts(lab, Authority(lab, "authority").line("*"))
    one.stop()
    refused = lab.create(one.entry(host_key=False), code=1)
    assert_in("refused", refused.stderr)
    assert_in("certificate", refused.stderr)


if __name__ == "__main__":
    static_lab.run_tests(globals())
