"""Files and directories that the account of a user may not read or write: permissions_test.py
FASTGPU [TEST ...]
"""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import run_tests
from suite import assert_equal, assert_false, assert_in, need_programs

need_programs("setpriv")
ACCOUNT = 54321
DENIED = 3
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: lab
contexts: [{{name: lab, context: {{cluster: lab, user: ann}}}}]
clusters: [{{name: lab, cluster: {{server: "https://127.0.0.1:1"}}}}]
users: [{{name: ann, user: {{tokenFile: {token}}}}}]
"""
TO_KUBERNETES = ["--engine", "kubernetes", "--set", "kubernetes.image=x", "-np", "1", "--", "true"]


class OtherAccount:
    """Runs the program as an account that has a home directory, and no other rights."""

    def __init__(self, user):
        self.user, self.folder = user, user.folder
        self.folder.chmod(0o755)
        user.fastgpu = shutil.copy(user.fastgpu, self.folder / "fastgpu")
        self.home, user.state = self.directory("home", ACCOUNT), self.directory("state", ACCOUNT)

    def directory(self, name, owner, mode=0o700):
        place = self.folder / name
        place.mkdir(mode=mode)
        os.chown(place, owner, owner)
        return place

    def file(self, name, text="x", mode=0o600):
        """Returns a file of root's, which only root can read by default."""
        place = self.folder / name
        place.write_text(text)
        place.chmod(mode)
        return place

    def refused(self, *words, **environment):
        """Returns the error of a command that must be denied."""
        prefix = ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups"]
        more = {"HOME": str(self.home), **environment}
        done = self.user.run(*words, code=DENIED, prefix=prefix, environment=more)
        errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
        assert_equal(len(errors), 1, done.err)
        return errors[0]


def test_a_file_that_may_not_be_read_is_named_with_the_cause(user):
    account = OtherAccount(user)
    file = str(account.file("secret"))
    run = ["run", "job", "-c", "demo", "-np", "1"]
    for words in (
        [*run, "--file", file],
        [*run, "--env-file", file, "--", "true"],
        [*run, "--secret", f"KEY=@{file}", "--", "true"],
        [*run, "--hostfile", file, "--", "true"],
        ["run", "job", "-c", "demo", "--array", "1-2", "--parameters", file, "--", "true"],
        ["create", "cluster", "demo", "--file", file],
        ["create", "cluster", "demo", "--provider", "static", "--hostfile", file],
    ):
        assert_in(f"{file}: Permission denied", account.refused(*words), f"{words}")


def test_a_kubeconfig_that_may_not_be_read_is_named_and_so_are_the_files_in_it(user):
    account = OtherAccount(user)
    secret = account.file("secret")
    error = account.refused("run", "job", *TO_KUBERNETES, KUBECONFIG=str(secret))
    assert_in(f"{secret}: Permission denied", error)
    whole = account.file("config", KUBECONFIG.format(token=secret), mode=0o644)
    error = account.refused("run", "job", *TO_KUBERNETES, KUBECONFIG=str(whole))
    assert_in(f"{whole}:6:", error)
    assert_in(f"reading {secret}: Permission denied", error)


def test_settings_that_may_not_be_read_are_named(user):
    account = OtherAccount(user)
    file = account.file("config.yaml")
    error = account.refused("get", "clusters", FASTGPU_CONFIG=str(file))
    assert_in(f"{file} is not used: opening it: Permission denied", error)


def test_a_state_directory_that_may_not_be_used_is_named_with_a_remedy(user):
    account = OtherAccount(user)
    error = account.refused(
        "create", "cluster", "demo", FASTGPU_STATE_DIR=str(account.directory("closed", 0))
    )
    assert_in(f"the state directory {account.folder / 'closed'} cannot be used", error)
    assert_in("choose another place with --state-dir", error)
    # As after `sudo fastgpu`.
    account.file("state/state.db")
    for words in (["get", "clusters"], ["get", "jobs"], ["create", "cluster", "demo"]):
        error = account.refused(*words)
        assert_in(f"{user.state / 'state.db'}: Permission denied: it belongs to root", error)
        assert_in(f"sudo chown -R {ACCOUNT} {user.state}", error)


def test_a_state_directory_that_others_may_change(user):
    user.folder.chmod(0o755)
    user.run("get", "clusters")
    stranger = 54321
    for part in (user.state, user.state / "state.db"):
        user.run("get", "clusters")
        os.chown(part, stranger, stranger)
        user.refused(["get", "clusters"], 3, str(part), "belongs to uid 54321", "--state-dir")
        user.refused(["create", "cluster", "x"], 3, str(part))
        user.refused(["gc"], 3, str(part))
        os.chown(part, 0, 0)
        mode = part.stat().st_mode
        part.chmod(0o777)
        user.refused(
            ["exec", "x", "--", "true"],
            3,
            f"{part} may be written by others (mode 0777)",
            f"chmod go-w {part}",
        )
        part.chmod(mode)
    open_place = user.folder / "open"
    open_place.mkdir()
    open_place.chmod(0o777)
    for directory in (open_place / "state", open_place / "new" / "state"):
        user.refused(
            ["create", "cluster", "x"],
            3,
            f"{open_place} may be written",
            environment={"FASTGPU_STATE_DIR": str(directory)},
        )
    user.refused(
        ["create", "cluster", "x"],
        3,
        f"{open_place} may be written",
        environment={"FASTGPU_LOCAL_DIR": str(open_place / "local")},
    )
    assert_false(list(open_place.iterdir()), "something was made in a place that others may change")
    done = user.run("doctor", code=None, environment={"FASTGPU_STATE_DIR": str(open_place)})
    assert_equal(done.returncode, 1, done.out)
    assert_in("may be written by others (mode 0777)", done.out.decode(), done.out)
    open_place.chmod(0o1777)  # As /tmp has it.
    user.run("get", "clusters", environment={"FASTGPU_STATE_DIR": str(open_place / "state")})


def test_a_state_directory_that_may_not_be_entered(user):
    user.folder.chmod(0o755)
    closed = user.folder / "closed"
    closed.mkdir(mode=0o700)
    environment = {"FASTGPU_STATE_DIR": str(closed / "state"), "HOME": str(user.folder)}
    stranger = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"]
    for there in (False, True):
        if there:
            user.run("get", "clusters", environment=environment)
        for words in (
            ["get", "clusters"],
            ["get", "nodes"],
            ["get", "jobs"],
            ["exec", "x", "--", "true"],
            ["delete", "cluster", "x", "--yes"],
            ["describe", "cluster", "x"],
            ["gc"],
            ["logs", "x-1"],
        ):
            user.refused(
                words,
                3,
                str(closed),
                "Permission denied",
                "--state-dir",
                prefix=stranger,
                environment=environment,
            )
        done = user.run("doctor", code=None, prefix=stranger, environment=environment)
        assert_equal(done.returncode, 1, done.out)
        assert_in("Permission denied", done.out.decode(), done.out)


if __name__ == "__main__":
    run_tests(globals())
