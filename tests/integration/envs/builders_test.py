"""The agent's builders on their own, with stand-ins for uv, py-rattler's script and Python: which
Python runs them, and its archive unpacked once. TEST.py AGENT [TEST ...]
"""

import contextlib
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import suite
from suite import assert_equal, assert_false, assert_in, assert_true

PYTHON = (
    "#!/bin/sh\ncase $3 in *platform*) echo 3.11.2;; *) printf "
    "'solution=one\\0python_version=3.11.2\\0builder=stand-in\\0';; esac\n"
)
UV = "#!/bin/sh\ncase $1 in --version) echo uv 1.0;; *) echo one;; esac\n"
NOT_FOUND, REMOTE = 64 + 3, 64 + 8  # 64 + ErrorKind
FOLDERS = {"uv": ".", "conda": "conda"}


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def archive_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


class Node:
    """A directory with tools, and as many prefixes as there are builders at once."""

    def __init__(self, folder, agent):
        self.folder, self.agent, self.tools = folder, agent, folder / "tools"
        write_program(self.tools / "uv", UV)
        write_program(self.tools / "conda/client.py", "")
        for place in FOLDERS.values():
            self.archive(place).write_bytes(
                archive_of(
                    {
                        "python/bin/python3": PYTHON,
                        **{f"python/lib/{i}": "x" * 5000 for i in range(500)},
                    }
                )
            )

    def archive(self, place):
        return self.tools / place / "python.tar"

    def start(self, *words, prefix="envs", path=os.environ["PATH"], fault="", request=None):
        environment = {"HOME": str(self.folder), "PATH": path, "FASTGPU_FAULT": fault}
        process = subprocess.Popen(
            [self.agent, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        process.stdin.write(
            "".join(f"{key}={value}\0" for key, value in (request or {}).items()).encode()
        )
        process.stdin.close()
        process.stdin = None
        return process

    def solving(self, builder, prefix="envs", **more):
        place = str(self.folder / prefix)
        subprocess.run(
            [self.agent, "env-status", "--prepare", "t", place],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return self.start(
            "env-solve",
            request={
                "builder": builder,
                "tools": self.tools,
                "index_timeout": 9,
                "prefix": place,
                "python": "3.11",
                "best_match": "0",
            },
            **more,
        )


def ended(process, code=0):
    out, err = process.communicate(timeout=60)
    assert_equal(process.returncode, code, f"{process.returncode}, not {code}: {err.decode()}")
    return out.decode(), err.decode()


def test_an_archive_is_unpacked_once_for_all_who_build_at_the_same_time(node):
    for builder, place in FOLDERS.items():
        at_once = [node.solving(builder, prefix=f"envs{i}") for i in range(6)]
        said = [ended(one)[0] for one in at_once]
        assert_true(all("solution=one" in one for one in said), f"{builder}: {said}")
        assert_equal(sum("doing=unpacking Python" in one for one in said), 1, f"{builder}: {said}")
        left = {path.name for path in (node.tools / place).glob("python*")}
        assert_equal(left, {"python", "python.tar", "python.tar.lock"}, f"{builder}")


def test_whoever_is_killed_while_it_unpacks_does_not_hinder_the_next(node):
    for builder, place in FOLDERS.items():
        ended(node.solving(builder, fault="env-python-unpacked"), -signal.SIGKILL)
        assert_false((node.tools / place / "python").exists(), f"{builder}: there is a part of it")
        assert_in("solution=one", ended(node.solving(builder))[0], builder)
        assert_false(
            list((node.tools / place).glob("python.new*")), f"{builder}: something is left"
        )


def test_an_archive_without_a_python_is_refused_and_leaves_nothing(node):
    for builder, place in FOLDERS.items():
        node.archive(place).write_bytes(archive_of({"other/bin/python3": PYTHON}))
        for _ in range(2):
            assert_in("has no python/bin/python3", ended(node.solving(builder), REMOTE)[1], builder)
            assert_false(
                list((node.tools / place).glob("python.new*")), f"{builder}: something is left"
            )


def test_a_python_is_of_the_version_that_is_asked_for_or_newer_where_that_is_enough(node):
    for folder, programs in (
        (
            "one",
            {
                "python3": "3.9.18",
                "python3.9": "3.9.18",
                "python3.14-config": "3.14.1",
                "pythonic": "3.13.1",
            },
        ),
        (
            "two",
            {
                "python": "no version",
                "python3.2": "3.2.6",
                "python3.12": "3.12.4",
                "python3.13": "3.13.0rc1",
            },
        ),
    ):
        for name, version in programs.items():
            write_program(node.folder / folder / name, f"#!/bin/sh\necho {version}\n")
    write_program(node.folder / "two/python3", "#!/bin/sh\nexit 1\n")
    for wanted, found in (
        ("3.9", "3.9.18"),
        ("3", "3.9.18"),
        ("3.10", ""),
        ("3.1", ""),
        ("3.13", "3.13.0rc1"),
        ("3.12.4", "3.12.4"),
        ("3.12.5", ""),
        ("--or-newer 3.10", "3.12.4"),
        ("--or-newer 3.9", "3.9.18"),
        ("--or-newer 3.13", "3.13.0rc1"),
        ("--or-newer 3.14", ""),
    ):
        said, _ = ended(
            node.start(
                "env-python",
                *wanted.split(),
                path=f"{node.folder}/one:{node.folder}/two:/usr/bin/none",
            )
        )
        assert_equal(said, f"version={found}\0", f"{wanted}: {said!r}, not {found}")


def test_py_rattler_is_run_by_the_archive_else_by_a_python_that_is_new_enough_else_not_at_all(node):
    write_program(
        node.folder / "new/python3.12",
        PYTHON.replace("echo 3.11.2", "echo 3.12.4").replace("=one", "=by the node"),
    )
    write_program(node.folder / "old/python3", "#!/bin/sh\necho 3.9.18\n")
    for name in ("getconf", "tar", "gzip"):
        (node.folder / "old" / name).symlink_to(shutil.which(name))
    old, both = str(node.folder / "old"), f"{node.folder}/old:{node.folder}/new"
    assert_in("solution=one", ended(node.solving("conda", path=old))[0], "the archive is not used")
    node.archive("conda").unlink()
    assert_in(
        "solution=by the node", ended(node.solving("conda", path=both))[0], "the node's is not used"
    )
    assert_in(
        "needs Python 3.10 or newer",
        ended(node.solving("conda", path=old), NOT_FOUND)[1],
        "it is not said",
    )


@contextlib.contextmanager
def node_for(agent):
    with tempfile.TemporaryDirectory() as folder:
        yield Node(pathlib.Path(folder), os.path.abspath(agent))


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), lambda _: node_for(sys.argv[1]), sys.argv[2:])
