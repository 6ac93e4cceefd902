"""The agent's own part in environments, as an ordinary user: start-up files come back byte for
byte, one at a time changes a prefix, a manifest notices everything. TEST.py AGENT [TEST ...]; needs
root (to become that user).
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import suite
from suite import assert_equal, assert_in, assert_not_in, assert_true

NOBODY = "65534"
USUAL, CONFLICT, NOT_FOUND = 64, 64 + 4, 64 + 3  # 64 + ErrorKind


class Home:
    """A home directory with one complete environment in it."""

    def __init__(self, folder, agent):
        self.path, self.agent = pathlib.Path(folder, "home"), agent
        self.path.mkdir()
        os.chown(self.path, int(NOBODY), int(NOBODY))
        self.run("env-status", "--prepare", "t")
        self.build = self.path / ".fastgpu/envs/t/v"
        (self.build / ".fastgpu").mkdir(parents=True)
        (self.build.parent / "current").symlink_to("v")
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", self.path], check=True)

    def run(self, *words, code=0, fault=""):
        done = subprocess.run(
            ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", self.agent, *words],
            capture_output=True,
            env={"HOME": str(self.path), "PATH": os.environ["PATH"], "FASTGPU_FAULT": fault},
            cwd=self.path,
            input=b"",
            check=False,
        )
        assert_equal(done.returncode, code, f"{words}: {done.returncode} {done.stderr.decode()}")
        return done.stdout.decode()

    def files(self):
        return {path.name: path.read_bytes() for path in self.path.iterdir() if path.is_file()}


def test_start_up_files_come_back_byte_for_byte(home):
    for name in (".profile", ".bash_login", ".bash_profile"):
        for before in (None, b"", b"\n", b"no end", b"# mine\r\n\n", b"a\0b\xff\n", b"\n\n\n"):
            file = home.path / name
            if before is not None:
                file.write_bytes(before)
                file.chmod(0o640)
                os.chown(file, int(NOBODY), int(NOBODY))
            kept = home.files()
            home.run("env-activate", "", "t")
            active = home.files()
            home.run("env-activate", "", "t")
            assert_equal(home.files(), active, f"{name}: lines were added twice")
            assert_equal(sum(b"activate.sh" in text for text in active.values()), 1, f"{active}")
            home.run("env-deactivate", "")
            assert_equal(home.files(), kept, f"{name}: {kept} became {home.files()}")
            if before is not None:
                assert_equal(file.stat().st_mode & 0o7777, 0o640, "the mode has changed")
                file.unlink()


def test_lines_go_from_every_file_that_logins_may_read(home):
    home.run("env-activate", "", "t")
    (home.path / ".bash_profile").write_bytes(b"mine\n")  # Bash reads this one from now on.
    home.run("env-remove", "", "t")
    assert_equal(home.files(), {".bash_profile": b"mine\n"})


def test_lines_go_where_a_node_that_shares_the_place_was_quicker(home):
    def one_goes():
        (home.path / ".fastgpu/envs/.fastgpu/active").unlink()

    def all_goes():
        shutil.rmtree(home.path / ".fastgpu/envs")

    for quicker, words in (
        (one_goes, ("env-remove", "", "t")),
        (all_goes, ("env-remove", "")),
        (all_goes, ("env-deactivate", "")),
    ):
        home.run("env-status", "--prepare", "t")
        link = home.path / ".fastgpu/envs/t/current"
        if not link.is_symlink():
            link.symlink_to("v")
        home.run("env-activate", "", "t")
        quicker()
        home.run(*words)
        assert_equal(home.files(), {}, f"{words}")


def test_lines_stay_while_another_environment_is_active(home):
    home.run("env-activate", "", "t")
    home.run("env-status", "--prepare", "other")
    home.run("env-remove", "", "other")
    assert_in(b"activate.sh", home.files()[".profile"], f"{home.files()}")


def test_what_is_killed_while_it_makes_or_removes_the_place_leaves_no_trace(home):
    prefix = str(home.path / "work/envs")
    home.run("env-remove", "")
    for point in ("env-place-made", "env-place-emptied"):
        for again in ((), ("env-status", "--prepare", "t", prefix)):
            if point == "env-place-emptied":
                home.run("env-status", "--prepare", "t", prefix)
                home.run("env-remove", prefix, code=-9, fault=point)
            else:
                home.run("env-status", "--prepare", "t", prefix, code=-9, fault=point)
            if again:
                home.run(*again)
            home.run("env-remove", prefix)
            assert_equal(
                list(home.path.iterdir()),
                [],
                f"{point} {again}: left: {list(home.path.rglob('*'))}",
            )


def test_a_switch_that_was_killed_does_not_hinder_the_next(home):
    (home.path / ".fastgpu/envs/.fastgpu/active.new").symlink_to("../other")
    home.run("env-activate", "", "t")
    assert_equal(
        sorted(path.name for path in (home.path / ".fastgpu/envs/.fastgpu").glob("active*")),
        ["active"],
        "left over",
    )


def test_what_was_written_behind_our_lines_stays(home):
    (home.path / ".profile").write_bytes(b"first\n")
    home.run("env-activate", "", "t")
    with (home.path / ".profile").open("ab") as file:
        file.write(b"last\n")
    home.run("env-deactivate", "")
    assert_equal(
        (home.path / ".profile").read_bytes(), b"first\nlast\n", "another's lines were changed"
    )


def test_one_at_a_time_changes_a_prefix(home):
    with (home.path / ".fastgpu/envs/.fastgpu/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.chmod(lock.name, 0o666)
        home.run("env-activate", "", "t", code=CONFLICT)


def test_a_build_without_a_manifest_is_not_used(home):
    home.run("env-use", "", "t", "v", code=CONFLICT)
    home.run("env-verify", "", "t", code=NOT_FOUND)
    home.run("env-verify", "", "../t", code=USUAL)


def test_verifying_finds_what_was_changed_removed_or_added(home):
    module = home.build / "lib/alpha.py"
    module.parent.mkdir()
    module.write_bytes(b"word = 1\n")
    entries = [f"d 755 0 - {path}" for path in (".fastgpu", "lib")]
    entries.append(f"f 644 9 {hashlib.sha256(module.read_bytes()).hexdigest()} lib/alpha.py")
    (home.build / ".fastgpu/manifest").write_text("".join(f"entry={entry}\0" for entry in entries))

    def damaged():
        return [
            one for one in home.run("env-verify", "", "t").split("\0") if one.startswith("damaged=")
        ]

    (module.parent / "__pycache__").mkdir()
    (module.parent / "__pycache__/alpha.cpython-311.pyc").write_bytes(b"made by an import")
    assert_equal(damaged(), [])
    (module.parent / "more.pth").write_bytes(b"import os\n")
    (home.build / "bin").symlink_to("/bin")
    assert_equal(damaged(), ["damaged=bin: was added", "damaged=lib/more.pth: was added"])
    module.write_bytes(b"word = 2\n")
    assert_equal(damaged()[0], "damaged=lib/alpha.py: has another content", f"{damaged()}")
    module.unlink()
    assert_equal(damaged()[0], "damaged=lib/alpha.py: is missing", f"{damaged()}")


def test_all_of_it_goes(home):
    home.run("env-activate", "", "t")
    home.run("env-remove", "")
    assert_equal(
        sorted(path.name for path in home.path.iterdir()), [], f"left: {list(home.path.rglob('*'))}"
    )
    home.run("env-remove", "")


def test_what_the_user_has_beside_environments_stays(home):
    """In a directory that existed before."""
    place = home.path / "data"
    (place / "sets/images").mkdir(parents=True)
    (place / "sets/images/one.png").write_bytes(b"picture")
    (place / "notes").write_bytes(b"mine")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", place], check=True)
    home.run("env-status", "--prepare", "t", str(place))
    for build in ("t/000000000000", "other/0123456789ab"):
        (place / build).mkdir(parents=True)
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", place], check=True)
    status = home.run("env-status", str(place))
    assert_in("000000000000", status)
    assert_not_in("images", status, "a directory of the user counts as an environment")
    home.run("env-remove", str(place))
    assert_equal(
        sorted(str(path.relative_to(place)) for path in place.rglob("*")),
        ["notes", "sets", "sets/images", "sets/images/one.png"],
    )


def test_only_an_empty_place_goes_after_a_creation_that_ended_early(home):
    places = home.path / ".fastgpu/envs"
    home.run("env-status", "--prepare", "early")
    home.run("env-remove", "--if-empty", "", "early")
    assert_true(not (places / "early").exists(), "it is left")
    home.run("env-remove", "--if-empty", "", "early")
    home.run("env-remove", "--if-empty", "", "t")
    assert_true((places / "t/current").is_symlink(), "an environment was removed")
    home.run("env-remove", "--if-empty", "", code=USUAL)


@contextlib.contextmanager
def home_for(agent):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Home(folder, shutil.copy(agent, folder))


if __name__ == "__main__":
    suite.need_root("setpriv")
    suite.main(suite.tests_of(globals()), lambda _: home_for(sys.argv[1]), sys.argv[2:])
