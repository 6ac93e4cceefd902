"""Hosts whose login shell is not a POSIX one, or whose start-up files print, wait or fail:
login_shells_test.py FASTGPU [TEST ...]

A shell that is not installed here is left out. Exits with 77 where it cannot run.
"""

import json
import os
import pathlib
import shutil
import subprocess

import static_lab
from suite import assert_equal, assert_false, assert_in, assert_not_in, assert_true

SHELLS = [
    "/bin/bash",
    "/bin/dash",
    "/usr/bin/zsh",
    "/usr/bin/fish",
    "/usr/bin/tcsh",
    "/usr/bin/mksh",
    "/usr/bin/ksh93",
    "/bin/busybox",
]
EVERY_BYTE = bytes(range(1, 256))
NASTY = [
    EVERY_BYTE,
    b"",
    b"=ls",
    b"!!",
    b"!$",
    b"'\\'",
    b"\\' ; touch /root/ran #",
    b"a\nb\n",
    b"\n",
    b"ends \\",
    b"~",
    b"$HOME",
    b"`id`",
    b"%d%%",
    b"\\0101",
    b"\\c",
    b"-n",
    b"{a,b}",
    b"*",
    b"$(id)",
    b"(echo x)",
    b";",
    b"&",
    b"x" * 5000,
    b"!" * 300,
]
EXPECTED = b"".join(b"<" + word + b">" for word in NASTY)


def host_with(lab, shell, number=2):
    """The login shell's program is what sshd starts, so that busybox is its ash by another name."""
    if shell.endswith("busybox"):
        ash = lab.folder / "bin" / "ash"
        ash.parent.mkdir()
        shutil.copy(shell, ash)
        shell = str(ash)
    return lab.host(
        pathlib.Path(shell).name,
        f"{static_lab.NETWORK}.{number}",
        network=True,
        shell=shell,
    )


def run_bytes(lab, *words):
    return subprocess.run(
        [os.fsencode(lab.fastgpu), *map(os.fsencode, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        env=lab.environment(),
        check=False,
    )


def check_everything(lab, name):
    """Whatever fastgpu sends to a node goes through its login shell."""
    for verb in (["exec", f"lab/{name}", "-o", "json"], ["ssh", f"lab/{name}"]):
        done = run_bytes(lab, *verb, "--", "printf", "<%s>", *NASTY)
        assert_equal(done.returncode, 0, f"{name} {verb}: {done.returncode} {done.stderr}")
        if verb[0] == "ssh":
            assert_true(done.stdout.endswith(EXPECTED), f"{name} ssh: {done.stdout}")
    done = run_bytes(
        lab, "exec", f"lab/{name}", "--", "sh", "-c", 'printf "<%s>" "$@" | sha256sum', "sh", *NASTY
    )
    wanted = subprocess.run(
        ["sha256sum"], input=EXPECTED, capture_output=True, check=True
    ).stdout.split()[0]
    assert_in(wanted, done.stdout, f"{name} exec: {done.stdout} {done.stderr}")
    for code in (0, 1, 3, 126, 127, 255):
        assert_equal(
            lab.run("exec", f"lab/{name}", "--", "sh", "-c", f"exit {code}", code=None).returncode,
            code,
            f"{name}: exit {code}",
        )
        assert_equal(
            lab.run("ssh", f"lab/{name}", "--", "sh", "-c", f"exit {code}", code=None).returncode,
            code,
            f"{name}: ssh exit {code}",
        )
    killed = lab.run("exec", f"lab/{name}", "--", "sh", "-c", "kill -9 $$", code=None)
    assert_equal(killed.returncode, 137, f"{name}: a signal is {killed.returncode}")
    payload = lab.folder / "it's a \\pay!load"
    payload.write_bytes(os.urandom(100_000))
    lab.run("cp", str(payload), f"lab/{name}:")
    back = lab.folder / f"back-{name}"
    lab.run("cp", f"lab/{name}:{payload.name}", str(back))
    assert_equal(back.read_bytes(), payload.read_bytes(), f"{name}: cp")
    job = lab.run(
        "run",
        "job",
        "-c",
        f"lab/{name}",
        "-np",
        "2",
        "--oversubscribe",
        "-e",
        "A=x y'\\!",
        "--",
        "sh",
        "-c",
        'echo "$1 $A"',
        "sh",
        "'\\' !!",
    )
    assert_equal(
        sorted(job.stdout.splitlines()),
        ["[0] '\\' !! x y'\\!", "[1] '\\' !! x y'\\!"],
        f"{name}: {job.stdout}{job.stderr}",
    )
    listed = lab.run("tmux", f"lab/{name}", "--list", "-o", "json")
    assert_equal(
        json.loads(listed.stdout)["sessions"], [], f"{name}: {listed.stdout}{listed.stderr}"
    )


def test_every_login_shell_is_as_good_as_another(lab):
    shells = [shell for shell in SHELLS if os.path.exists(shell)]
    hosts = [host_with(lab, shell, number + 2) for number, shell in enumerate(shells)]
    before = {host: host.keys_file.read_bytes() for host in hosts}
    lab.create(*(host.entry() for host in hosts))
    for host in hosts:
        check_everything(lab, host.name)
        assert_false((host.home / "ran").exists(), f"{host.name}: what was data ran as code")
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("warning", done.stderr)
    for host, text in before.items():
        assert_equal(host.keys_file.read_bytes(), text, f"{host.name}: our key is left")


def test_a_copy_goes_from_node_to_node_whatever_their_shells(lab):
    shells = [
        shell
        for shell in ("/usr/bin/fish", "/usr/bin/tcsh", "/usr/bin/zsh")
        if os.path.exists(shell)
    ]
    hosts = [
        lab.host(
            pathlib.Path(shell).name,
            f"{static_lab.NETWORK}.{20 + i}",
            network=True,
            shell=shell,
        )
        for i, shell in enumerate(shells)
    ]
    lab.create(*(host.entry() for host in hosts))
    payload = lab.folder / "big's file!"
    payload.write_bytes(os.urandom(9 << 20))
    done = lab.run("cp", str(payload), "lab:", "-o", "json")
    passed_on = json.loads(done.stdout)["hosts"]
    assert_true(all(host["passed_on"] for host in passed_on), f"{passed_on}")
    assert_true(
        all((host.home / payload.name).read_bytes() == payload.read_bytes() for host in hosts), "cp"
    )
    said = lab.run("run", "job", "-c", "lab", "-np", str(len(hosts)), "--", "hostname")
    assert_equal(
        sorted(said.stdout.split()[1::2]),
        sorted(host.name for host in hosts),
        said.stdout + said.stderr,
    )
    lab.run("delete", "cluster", "lab", "--yes")


def test_start_up_files_may_print_what_they_like(lab):
    one = lab.host("one", f"{static_lab.NETWORK}.30", network=True, shell="/bin/bash")
    noise = (
        "echo; echo 'Welcome, W 0 {\"host\": 7}'; printf 'no newline '; stty -a; echo 'stty: "
        "Inappropriate ioctl' >&2\n"
        "echo ~/.fastgpu/bin/fastgpu-agent-: not found >&2; alias echo='echo aliased'; shopt -s "
        "expand_aliases; set -u\n"
    )
    (one.home / ".bashrc").write_text(noise)
    (one.home / ".ssh" / "rc").write_text("echo the rc speaks; echo and complains >&2\n")
    (one.home / ".hushlogin").write_text("")
    lab.create(one.entry())
    assert_equal(lab.run("exec", "lab", "--", "echo", "hello").stdout, "one: hello\n", "exec")
    found = json.loads(lab.run("exec", "lab", "-o", "json", "--", "echo", "hello").stdout)
    assert_equal(found["hosts"][0]["stdout"], "hello\n", f"{found}")
    check_everything(lab, "one")
    for program in (one.home / ".fastgpu" / "bin").iterdir():
        program.unlink()  # As an upgrade does.
    assert_equal(lab.run("exec", "lab", "--", "echo", "hello").stderr, "", "exec without the agent")
    for program in (one.home / ".fastgpu" / "bin").iterdir():
        program.unlink()
    done = lab.run("delete", "cluster", "lab", "--yes")
    assert_not_in("warning", done.stderr)
    assert_not_in(b"fastgpu-", one.keys_file.read_bytes(), done.stderr)


ALIASES = {
    "bash": (
        ".bashrc",
        "shopt -s expand_aliases; alias exec='echo aliased' command='echo aliased' printf='echo "
        "aliased'\n",
    ),
    "zsh": (".zshenv", "alias exec='echo aliased' command='echo aliased' printf='echo aliased'\n"),
    "tcsh": (".cshrc", "alias exec 'echo aliased'; alias printf 'echo aliased'\n"),
    "fish": (
        ".config/fish/config.fish",
        "alias command='echo aliased'; alias printf='echo aliased'; abbr exec 'echo aliased'\n",
    ),
}


def test_aliases_of_start_up_files_change_nothing(lab):
    shells = [
        shell for shell in SHELLS if pathlib.Path(shell).name in ALIASES and os.path.exists(shell)
    ]
    hosts = [host_with(lab, shell, number + 40) for number, shell in enumerate(shells)]
    for host in hosts:
        file, text = ALIASES[host.name]
        (host.home / file).parent.mkdir(parents=True, exist_ok=True)
        (host.home / file).write_text(text)
    lab.create(*(host.entry() for host in hosts))
    for host in hosts:
        check_everything(lab, host.name)
    lab.run("delete", "cluster", "lab", "--yes")


def test_an_account_that_runs_nothing_says_why(lab):
    for number, (shell, config, said) in enumerate(
        (
            (
                None,
                'ForceCommand echo \'Please login as the user "ubuntu" rather than the user '
                '"root".\'; exit 142\n',
                "exit code 142",
            ),
            ("/usr/sbin/nologin", "", "This account is currently not available"),
            ("/bin/false", "", "exit code 1"),
        )
    ):
        one = lab.host(f"closed{number}", f"127.0.0.{number + 2}", shell=shell, config=config)
        refused = lab.create(one.entry(), code=3)
        assert_in(said, refused.stderr)
        assert_true(number > 0 or "Please login as the user" in refused.stderr, refused.stderr)
    lab.check_nothing_known()


def test_start_up_files_that_fail_are_named(lab):
    one = lab.host("one", "127.0.0.2", shell="/bin/bash")
    (one.home / ".bashrc").write_text("set -eu\necho about to fail\nfalse\n")
    refused = lab.create(one.entry(), code=3)
    assert_in("about to fail", refused.stderr)
    assert_in("login shell of root", refused.stderr)


def test_a_home_that_a_start_up_file_moves_is_named(lab):
    one = lab.host("one", "127.0.0.2", shell="/bin/bash")
    (one.home / ".bashrc").write_text("export HOME=/root/moved; mkdir -p $HOME\n")
    refused = lab.create(one.entry(), code=3)
    assert_in("is HOME as the account has it after ~/.bashrc?", refused.stderr)
    lab.check_nothing_known()


def test_a_path_without_the_programs_of_the_system_is_named(lab):
    one = lab.host("one", "127.0.0.2", shell="/bin/bash")
    (one.home / ".bashrc").write_text("export PATH=/opt/none\n")
    refused = lab.create(one.entry(), code=None)
    assert_in("one: installing the agent: PATH, as ~/.bashrc", refused.stderr)
    assert_in("lacks programs of the system: uname (PATH=/opt/none)", refused.stderr)
    assert_not_in("cannot be written", refused.stderr)
    lab.check_nothing_known()


def test_start_up_files_may_show_commands_and_lose_the_home(lab):
    texts = {
        "trap": "trap 'echo \"+ $BASH_COMMAND\"' DEBUG\n",
        "trace": "set -x; set -v\n",
        "homeless": "unset HOME USER LOGNAME\n",
    }
    hosts = []
    for number, (name, text) in enumerate(texts.items()):
        hosts.append(
            lab.host(name, f"{static_lab.NETWORK}.{60 + number}", network=True, shell="/bin/bash")
        )
        (hosts[-1].home / ".bashrc").write_text(text)
    lab.create(*(host.entry() for host in hosts))
    for host in hosts:
        done = lab.run("exec", f"lab/{host.name}", "--", "echo", "hello")
        assert_equal([done.stdout, done.stderr], [f"{host.name}: hello\n", ""])
    job = lab.run("run", "job", "-c", "lab", "-np", str(len(hosts)), "--", "hostname")
    assert_equal(sorted(line.split()[1] for line in job.stdout.splitlines()), sorted(texts))
    lab.run("delete", "cluster", "lab", "--yes")


def test_start_up_files_that_read_or_join_the_outputs_are_named(lab):
    one = lab.host("one", "127.0.0.2", shell="/bin/bash")
    for text, said in (
        ("exec 2>&1\n", "sends the standard error to the standard output"),
        ("read -p 'Project? ' project\n", "reading the standard input"),
    ):
        (one.home / ".bashrc").write_text(text)
        refused = lab.create(one.entry(), code=None, environment={"FASTGPU_ANSWER_TIMEOUT": "3s"})
        assert_false(refused.returncode == 0, refused.stdout)
        assert_in(said, refused.stderr)
        assert_in("login shell of root", refused.stderr)
        assert_in("~/.bashrc", refused.stderr)
        assert_not_in("damaged", refused.stderr)
        lab.check_nothing_known()


def test_the_agent_is_put_elsewhere_where_the_home_starts_no_programs(lab):
    one = lab.host("one", "127.0.0.2")
    subprocess.run(
        [
            "nsenter",
            "-t",
            str(one.first_process()),
            "--mount",
            "mount",
            "-o",
            "remount,bind,noexec",
            "/root",
        ],
        check=True,
    )
    place = pathlib.Path("/var/tmp/fastgpu-0")
    before = set(place.iterdir()) if place.exists() else None
    try:
        lab.create(one.entry())
        assert_equal(lab.run("exec", "lab", "--", "echo", "here").stdout, "one: here\n", "exec")
        programs = list((one.home / ".fastgpu" / "bin").iterdir())
        assert_equal(len(programs), 1, f"{programs}")
        assert_true(programs[0].is_symlink(), f"{programs}")
        assert_equal(programs[0].readlink().parent, place, f"{programs}")
        assert_equal(place.stat().st_mode & 0o7777, 0o700, "others may write there")
        lab.run("delete", "cluster", "lab", "--yes")
    finally:
        for program in set(place.iterdir()) - (before or set()):
            program.unlink()
        if before is None:
            place.rmdir()


if __name__ == "__main__":
    static_lab.run_tests(globals())
