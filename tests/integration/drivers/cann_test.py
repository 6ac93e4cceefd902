#!/usr/bin/env python3
"""CANN by installers that the test wrote, on local nodes that take themselves for machines with
Ascend processors: cann_test.py FASTGPU [TEST ...]

apt, what it fetches and checks, and the environment are real. Huawei's installers and the
processors are not.
"""

import hashlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from apt_repository import need_tools
from driver_site import Site

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envs"))
from cli_user import job_words, run_tests
from env_site import find_uv
from suite import assert_equal, assert_in, assert_not_in, assert_true

LSPCI = "#!/bin/sh\necho '0000:01:00.0 1200: 19e5:d802'\n"
# Both write down that they ran, in what environment; the second one breaks where a file asks for
# it.
TOOLKIT = """#!/bin/bash
echo "toolkit $* $(id -un) ${ASCEND_TOOLKIT_HOME:-none}" >>/run/fake/ran
place=/usr/local/Ascend/ascend-toolkit
mkdir -p $place/8.3.RC1/$(uname -m)-linux
echo version=8.3.RC1 >$place/8.3.RC1/$(uname -m)-linux/ascend_toolkit_install.info
ln -sfn 8.3.RC1 $place/latest
echo "export ASCEND_TOOLKIT_HOME=$place/latest" >$place/set_env.sh
"""
KERNELS = """#!/bin/bash
echo "kernels $* $(id -un) ${ASCEND_TOOLKIT_HOME:-none}" >>/run/fake/ran
if rm /run/fake/break 2>/dev/null; then
  echo "ERR_NO:0x0080: the chip is another one" >&2
  exit 5
fi
"""
RAN = [
    "toolkit --quiet --install --install-for-all root none",
    "kernels --quiet --install --install-for-all root /usr/local/Ascend/ascend-toolkit/latest",
]
KERNELS_PATH = "/run/fake/files/kernels.run"
TITLES = [
    "Run Ascend-cann-toolkit_8.3.RC1.run",
    "Run kernels.run",
    "Note that CANN 8.3.RC1 is complete",
]


def sum_of(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Npus(Site):
    """The toolkit comes over HTTP, the kernels lie on the nodes."""

    def __init__(self, user):
        super().__init__(user, gpus=False)
        self.put_program("lspci", LSPCI)
        self.system.add("python3-pip", "99-1")
        self.system.publish(self.key)
        self.on_nodes("dpkg --remove --force-all python3-pip 2>/dev/null; mkdir -p /run/fake/files")
        (self.folder / "www/Ascend-cann-toolkit_8.3.RC1.run").write_text(TOOLKIT)
        self.on_nodes(f"cat >{KERNELS_PATH} <<'END'\n{KERNELS}END\n")
        self.file = self.folder / "env.yaml"
        self.write()

    def write(self, toolkit=None, version="8.3.RC1"):
        toolkit = toolkit or sum_of(TOOLKIT)
        self.file.write_text(
            "name: train\nfrom: tr2.7.1_py311\npython: /usr/bin/python3\nmpi: system\ncann:\n"
            f"  version: {version}\n  installers:\n"
            f"    - {{url: '{self.server.url}/Ascend-cann-toolkit_8.3.RC1.run', sha256: "
            f"{toolkit}}}\n"
            f"    - {{path: {KERNELS_PATH}, sha256: {sum_of(KERNELS)}}}\n"
        )

    def words(self, *more):
        return (
            "env",
            "create",
            "-c",
            "t",
            "-f",
            str(self.file),
            "--uv",
            find_uv(),
            "-o",
            "json",
            *more,
        )

    def create(self, *more, code=0, **options):
        return self.user.run(*self.words(*more), code=code, timeout=600, **options)

    def prepared(self):
        return [node["prepared"] for node in json.loads(self.create().out)["nodes"]]

    def ran(self):
        """What has run on each of the nodes."""
        return self.on_nodes("cat /run/fake/ran 2>/dev/null || :")


def test_cann_is_brought_and_entered_and_a_second_run_does_nothing(user):
    with Npus(user) as site:
        plan = site.create("--dry-run")
        assert_in(
            "tr2.7.1_py311 is tr2.7.1_can8.3.RC1_py311 here: it brings CANN 8.3.RC1", plan.err
        )
        assert_not_in("it has no CANN", plan.err)
        assert_true(
            all(
                ["Install python3, python3-pip for CANN", *TITLES]
                == [step for step in node["steps"] if "CANN" in step or "Run" in step]
                for node in json.loads(plan.out)["nodes"]
            ),
            f"{plan.out}",
        )
        assert_not_in("--quiet", site.ran(), "something ran")
        done = site.create()
        for node in json.loads(done.out)["nodes"]:
            assert_equal(
                [title for title in node["prepared"] if title in TITLES], TITLES, f"{node}"
            )
        assert_not_in("it has no CANN", done.err)
        ran = site.ran()
        assert_true(all(line in ran for line in RAN), ran)
        assert_in("(2)", ran)
        assert_equal(len(ran.splitlines()), len(RAN) + 3, ran)
        assert_in(
            "python3-pip 99-1",
            site.on_nodes("dpkg-query -W -f '${Package} ${Version}\\n' python3-pip"),
            "what installers ask for is not there",
        )
        left = site.on_nodes(
            "ls -d /var/cache/fastgpu /var/lib/fastgpu/* /etc/apt/apt.conf.d/*fastgpu* "
            "2>/dev/null || :"
        )
        assert_not_in("/fastgpu", left)
        assert_not_in("99fastgpu", left)
        program = ["sh", "-c", "echo in $ASCEND_TOOLKIT_HOME"]
        said = user.run(*job_words("t", 2, program, "--environment", "train")).out
        assert_equal(said.count(b"in /usr/local/Ascend/ascend-toolkit/latest"), 2, f"{said}")
        fetched = len(site.server.requests)
        assert_equal(site.prepared(), [[], []], "it was done again")
        assert_equal(site.ran(), ran, "it was done again")
        assert_equal(len(site.server.requests), fetched, "it was done again")


def test_an_installer_with_another_hash_runs_nowhere(user):
    with Npus(user) as site:
        site.write(toolkit=sum_of("another one"))
        failed = site.create(code=1)
        for node in ("t-0", "t-1"):
            assert_in(
                f"{node}: {TITLES[0]}: /usr/lib/apt/apt-helper exited with 100: E: Failed to fetch",
                failed.err,
            )
        assert_equal(failed.err.count("Hash Sum mismatch"), 2, failed.err)
        assert_not_in("--quiet", site.ran(), "it ran all the same")
        site.write()
        site.on_nodes(f"echo changed >>{KERNELS_PATH}", "t/1")
        failed = site.create(code=1)
        assert_in("t-1: Run kernels.run: sha256sum exited with 1", failed.err)
        assert_not_in("t-0: Run", failed.err)
        assert_not_in("kernels", site.on_nodes("cat /run/fake/ran", "t/1"), "it ran all the same")


def test_an_installer_that_fails_runs_again_and_those_before_it_do_not(user):
    with Npus(user) as site:
        site.on_nodes("touch /run/fake/break", "t/0")
        failed = site.create(code=1)
        assert_in("t-0: Run kernels.run", failed.err)
        assert_in("exited with 5", failed.err)
        assert_in("the chip is another one", failed.err)
        assert_equal(
            site.prepared(),
            [TITLES[1:] + ["Resume unattended upgrades"], []],
            "done again, or not done",
        )
        for node in ("t/0", "t/1"):
            assert_equal(
                site.on_nodes("cat /run/fake/ran", node).count("toolkit --quiet"),
                1,
                "the toolkit was installed again",
            )


def test_a_killed_run_goes_on_with_the_installers_that_have_not_run(user):
    with Npus(user) as site:
        for step in ("3", "2"):
            user.run(*site.words(), code=-9, environment={"FASTGPU_FAULT": f"drivers.step:{step}"})
        site.prepared()
        for node in ("t/0", "t/1"):
            assert_equal(
                [
                    line.split(": ")[-1]
                    for line in site.on_nodes("cat /run/fake/ran", node).splitlines()
                    if "--quiet" in line
                ],
                RAN,
                "run twice, or not at all",
            )
        assert_equal(site.prepared(), [[], []], "not done")


def test_nodes_without_ascend_processors_and_versions_that_do_not_fit_are_refused(user):
    with Npus(user) as site:
        site.file.write_text(
            site.file.read_text().replace("tr2.7.1_py311", "tr2.7.1_can8.5.0_py311")
        )
        user.refused(
            site.words("--dry-run"),
            2,
            "env.yaml:6:3: 'cann': CANN 8.3.RC1 does not match 'tr2.7.1_can8.5.0_py311'",
        )
        site.write(version="8.4.RC1")
        user.refused(site.words("--dry-run"), 2, "8.4.RC1")
        site.write()
        site.on_nodes("rm /usr/local/bin/lspci", "t/1")
        site.file.write_text(
            site.file.read_text().replace("tr2.7.1_py311", "tr2.7.1_can8.3.RC1_py311")
        )
        failed = site.create(code=2)
        assert_in("t-1: CANN needs an Ascend processor", failed.err)
        assert_not_in("t-0: there", failed.err)
        plan = json.loads(site.create("--dry-run", "--assume-gpu", "Ascend:8").out)
        assert_equal(
            [TITLES[0] in node["steps"] for node in plan["nodes"]], [True, True], f"{plan}"
        )


need_tools()
run_tests(dict(globals()))
