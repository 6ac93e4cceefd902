"""Package indexes on two local nodes: in which order they are asked, which files may be taken, and
that no password of theirs is kept anywhere.

Skipped where there is no uv.
"""

import contextlib
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from env_site import PREFIX, with_site
from package_index import PackageIndex, sum_of
from suite import assert_equal, assert_false, assert_in, assert_not_equal, assert_not_in
from wheels_site import UV, Wheels

USER, PASSWORD, ENCODED = "joe", "s3cr@t/pw", "s3cr%40t%2Fpw"


class TwoIndexes(Wheels):
    """One of the user's own, and another that anybody may add to."""

    def make_index(self, address):
        index = super().make_index(address)
        index.add("corplib", "1.0")
        self.other = PackageIndex(address)
        self.other.add("corplib", "99.0", {"corplib.py": "version = 'EVIL 99'\n"})
        self.other.add("gamma", "2.0")
        return index

    def head(self):
        return (
            f"python: /usr/bin/python3\nindex: [{self.index.url}, {self.other.url}]\nmpi: system\n"
        )

    def close(self):
        super().close()
        self.other.close()


class Closed(Wheels):
    """An index with a password, which stands in env.yaml. Notes whether it is among any process's
    arguments.
    """

    def make_index(self, address):
        index, ask = super().make_index(address), None
        index.login, self.seen = f"{USER}:{PASSWORD}", []
        ask = index.find

        def find(path):
            self.seen += [
                line for line in arguments_of_all() if PASSWORD in line or ENCODED in line
            ]
            return ask(path)

        index.find = find
        return index

    def head(self):
        return (
            "python: /usr/bin/python3\nindex: "
            f"{self.index.url.replace('://', f'://{USER}:{ENCODED}@')}\nmpi: system\n"
        )


def arguments_of_all():
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield file.read_bytes().replace(b"\0", b" ").decode(errors="replace")


def places_of_the_password(site, *more):
    """The files with it, in whichever spelling: of the nodes' disks, of this machine's state, and
    those that are named.
    """
    roots = [site.user.state, *more]
    found = []
    for root in roots:
        for file in [root] if root.is_file() else root.rglob("*"):
            with contextlib.suppress(OSError):
                if (
                    file.is_file()
                    and not file.is_symlink()
                    and any(word.encode() in file.read_bytes() for word in (PASSWORD, ENCODED))
                ):
                    found.append(str(file))
    return found


@with_site(TwoIndexes)
def test_the_first_index_that_has_a_package_wins_unless_the_file_says_otherwise(site):
    site.write("corplib", "gamma")
    site.create()
    assert_equal(
        site.program(
            "python", "-c", "import corplib, gamma; print(corplib.version, gamma.version)"
        ).count("1.0 2.0"),
        2,
        "not the first index's",
    )
    site.write("corplib", "gamma", more="index_strategy: best-match\n")
    site.create()
    assert_equal(
        site.program("python", "-c", "import corplib; print(corplib.version)").count("EVIL 99"),
        2,
        "not the highest version",
    )
    site.write("corplib", "gamma", more=f"index_for: {{gamma: '{site.index.url}'}}\n")
    site.user.refused(site.words(), 1, "gamma")  # That index does not have it.
    site.index.add("gamma", "1.5")
    site.other.add("beta", "9.0", {"beta.py": "word = 'evil'\n"})
    site.file.write_text(
        f"name: train\npython: /usr/bin/python3\nmpi: system\nindex: {site.other.url}\n"
        f"index_for: {{corplib: '{site.index.url}', alpha: '{site.index.url}'}}\n"
        "packages: [corplib, alpha, gamma]\n"
    )
    site.create()
    shown = site.program(
        "python", "-c", "import alpha, corplib, gamma; print(corplib.version, gamma.version)"
    )
    assert_equal(shown.count("alpha evil"), 2, f"other packages come from that index: {shown}")
    assert_equal(shown.count("1.0 2.0"), 2, f"other packages come from that index: {shown}")


@with_site(Wheels)
def test_a_hash_says_which_files_of_a_package_may_be_taken(site):
    right = sum_of(site.index.files["beta"]["beta-1.0-py3-none-any.whl"])
    wrong = "0" * 64
    site.write("alpha", f"beta==1.0 --hash=sha256:{wrong}")
    site.user.refused(
        site.words(), 1, f"'beta==1.0 --hash=sha256:{wrong}'", "beta-1.0-py3-none-any.whl", right
    )
    site.nothing_is_used()
    site.write("alpha", f"beta==1.0 --hash=sha256:{wrong} --hash=sha256:{right}")
    site.create()
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"), 2, "it is not there"
    )
    site.write("alpha", "beta==1.0 --no-binary=beta")
    site.user.refused(site.words(), 2, "'--no-binary'", f"{site.file}:7:")
    site.write("alpha", "beta==1.0 --hash=md5:00")
    site.user.refused(site.words(), 2, "md5:00 cannot be checked")
    lock = site.user.folder / "env.lock"
    site.write("alpha", f"beta --hash=sha256:{right}")
    site.user.run("env", "lock", "-f", str(site.file), "--out", str(lock), "--uv", UV)
    site.index.add("beta", "2.0", {"beta.py": "word = 'two'\n"})
    site.user.refused(
        ["env", "lock", "-f", str(site.file), "--uv", UV], 1, "beta-2.0-py3-none-any.whl"
    )
    assert_equal(
        site.user.run("env", "create", "-c", site.name, "-f", str(lock), "--uv", UV).returncode,
        0,
        "the lock is not taken",
    )


@with_site(Closed)
def test_the_password_of_an_index_is_in_no_file_and_no_argument(site):
    lock, archive = site.user.folder / "env.lock", site.user.folder / "train.tar.zst"
    locked = site.user.run("env", "lock", "-f", str(site.file), "--out", str(lock), "--uv", UV)
    done = site.create("-vv")
    assert_equal(
        site.program("python", "-c", "import alpha").count("alpha one"), 2, "it is not there"
    )
    packed = site.user.run(
        "env", "pack", "train", "-c", site.name, "--force", "--out", str(archive)
    )
    tree = site.user.folder / "tree"
    tree.mkdir()
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", tree], check=True)
    kept = places_of_the_password(site, lock, tree)
    assert_false(kept, f"kept in {kept}")
    assert_false(site.seen, "in arguments")
    for said in (locked, done, packed):
        assert_not_in(PASSWORD, said.err + said.out.decode(), said.err)
        assert_not_in(ENCODED, said.err + said.out.decode(), said.err)
    assert_in(site.index.url, lock.read_text(), "the lock does not say which index")
    for env in ("env.yaml", "env.lock"):
        assert_not_equal(
            site.on_nodes(
                "grep", "-c", site.index.url, f"{PREFIX}/train/current/.fastgpu/{env}", nodes="/0"
            ).strip(),
            "0",
            env,
        )
    plan = json.loads(site.create("--dry-run", "-o", "json").out)
    assert_not_in(ENCODED, json.dumps(plan), f"{plan}")
    # Nor where it fails.
    site.index.login = f"{USER}:changed"
    site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    failed = site.create(code=1)
    assert_not_in(PASSWORD, failed.err)
    assert_not_in(ENCODED, failed.err)
    assert_in("401", failed.err)
    assert_false(places_of_the_password(site), "a failure keeps it")


@with_site(Closed)
def test_a_lock_is_built_by_a_password_from_a_private_file_or_the_environment(site):
    lock = site.user.folder / "env.lock"
    site.user.run("env", "lock", "-f", str(site.file), "--out", str(lock), "--uv", UV)
    words = ["env", "create", "-c", site.name, "-f", str(lock), "--uv", UV]
    host = site.index.root.split("/")[2].split(":")[0]
    secret = site.user.folder / "netrc"
    secret.write_text(f"machine {host} login {USER} password {PASSWORD}\n")
    refused = site.user.refused(words, 1, "401")
    assert_not_in(PASSWORD, refused.err)
    secret.chmod(0o644)
    site.user.refused([*words, "--index-credentials", str(secret)], 2, str(secret), "chmod 600")
    # One that others may read is left out.
    site.user.run(*words, environment={"NETRC": str(secret)}, code=1)
    secret.chmod(0o600)
    ways = (
        ([*words, "--index-credentials", str(secret)], {}),
        (words, {"FASTGPU_INDEX_CREDENTIALS": str(secret)}),
        (words, {"NETRC": str(secret)}),
        (words, {"FASTGPU_INDEX_LOGINS": site.index.url.replace("://", f"://{USER}:{ENCODED}@")}),
    )
    for way, environment in ways:
        site.user.run(*way, environment=environment)
        assert_equal(
            site.program("python", "-c", "import alpha").count("alpha one"), 2, f"{environment}"
        )
        site.user.run("env", "remove", "--yes", "train", "-c", site.name)
    site.user.refused(
        words,
        2,
        "FASTGPU_INDEX_LOGINS",
        "USER:PASSWORD",
        environment={"FASTGPU_INDEX_LOGINS": "nonsense"},
    )
    assert_false(site.seen, "in arguments")
    assert_false(places_of_the_password(site, lock), "it is kept")


run_tests(dict(globals()))
