"""bench comm on a real cluster of two nodes: bench_comm_test.py FASTGPU

Needs root, sshd and mpirun; exits with 77 where it cannot run. Whatever happens, it cleans up after
itself.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import User
from suite import need_root

# The kernel keeps 15 characters of fastgpu-comm-bench. The whole command line would match the
# programs that copy it to the nodes, too.
RANK = "fastgpu-comm-be"
QUICK = ["--sizes", "8:4K:8", "--repetitions", "2"]
FIELDS = ["library", "collective", "dtype", "ranks", "bytes", "seconds", "algbw", "busbw"]


class BenchComm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="fastgpu-bench-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.user = User(os.path.abspath(sys.argv[1]), cls.folder)
        cls.addClassCleanup(cls.user.clean_up)
        cls.cluster = cls.user.two_nodes()
        cls.temporary = pathlib.Path(cls.folder, "tmp")
        cls.temporary.mkdir()

    def bench(self, *words, code=0):
        return self.user.run(
            "bench",
            "comm",
            self.cluster,
            *words,
            code=code,
            environment={"TMPDIR": str(self.temporary)},
        )

    def results(self, *words):
        root = json.loads(self.bench(*words, "-o", "json").out)
        self.assertEqual(list(root)[0], "schema")
        self.assertEqual(root["schema"], "fastgpu.bench-comm/1")
        self.assertEqual(root["cluster"], self.cluster)
        return root["results"]

    def test_a_table_for_people(self):
        lines = self.bench(*QUICK).out.decode().splitlines()
        self.assertEqual(
            lines[0].split(),
            [
                "COLLECTIVE",
                "TYPE",
                "REDOP",
                "SIZE(B)",
                "COUNT",
                "TIME(us)",
                "ALGBW(GB/s)",
                "BUSBW(GB/s)",
            ],
        )
        self.assertEqual([line.split()[3] for line in lines[1:-1]], ["8", "64", "512", "4096"])
        self.assertRegex(lines[-1], r"^average bus bandwidth of all_reduce float32: [\d.]+ GB/s$")

    def test_collectives_and_types_as_json(self):
        names = ["all_reduce", "broadcast", "reduce_scatter", "all_gather", "all_to_all", "barrier"]
        found = self.results(*QUICK, "--collective", ",".join(names), "--dtype", "float32,float16")
        self.assertEqual({result["collective"] for result in found}, set(names))
        self.assertEqual(len(found), 5 * 2 * 4 + 1)
        for result in found:
            self.assertEqual(list(result), FIELDS)
            self.assertEqual((result["library"], result["ranks"]), ("fastgpu", 2))
            self.assertGreater(result["seconds"], 0)
            self.assertAlmostEqual(
                result["algbw"] * result["seconds"], result["bytes"], delta=1e-6 * result["bytes"]
            )

    def test_the_gradients_of_a_file(self):
        model = pathlib.Path(self.folder, "my model.txt")
        model.write_text("# three\nconv.weight 9408\nconv.bias 64\nfc 100000\n")
        (result,) = self.results("--model", str(model), "--steps", "4")
        self.assertEqual((result["collective"], result["model"]), ("gradients", "my model.txt"))
        self.assertEqual(
            (result["steps"], len(result["step_seconds"]), result["gradients"]), (4, 4, 3)
        )
        self.assertEqual(result["bytes"], 4 * (9408 + 64 + 100000))
        model.write_text("conv 10\nfc many\n")
        self.user.refused(
            ["bench", "comm", self.cluster, "--model", str(model)], 2, "my model.txt:2: 'many'"
        )

    def test_a_page(self):
        page = self.bench(*QUICK, "-o", "html").out.decode()
        root = ElementTree.fromstring(page)
        self.assertEqual(len(list(root.iter("svg"))), 2)
        self.assertNotIn("://", page)

    def test_ranks_as_for_run_job(self):
        self.assertEqual(self.results(*QUICK, "-np", "1")[0]["ranks"], 1)
        self.assertEqual(self.results(*QUICK, "-np", "4", "--oversubscribe")[0]["ranks"], 4)
        self.user.refused(["bench", "comm", self.cluster, "-np", "4"], 2, "--oversubscribe")

    def number_of_jobs(self):
        return len(json.loads(self.user.run("get", "jobs", "-o", "json").out)["jobs"])

    def test_transports_are_compared(self):
        interface = "FASTGPU_COMM_INTERFACE=eth0"
        found = self.results(*QUICK, "--transport", "tcp", "-e", interface)
        self.assertEqual({result["transport"] for result in found}, {"tcp"})
        here = ["bench", "comm", self.cluster, *QUICK, "--transport"]
        for transport in ["fabric", "hybrid"]:  # Known before tcp is measured.
            remedies = ["-e FASTGPU_COMM_FABRIC=net"]
            if transport == "hybrid":
                remedies.append("-e FASTGPU_COMM_INTERFACE=eth0,eth1")
            lack = f"--transport {transport} needs a fabric, but "
            words = [lack, "has no RDMA device", *remedies]
            before = self.number_of_jobs()
            self.user.refused([*here, f"tcp,{transport}"], 4, *words)
            self.assertEqual(self.number_of_jobs(), before + 1)
        self.user.refused([*here, "rdma"], 2, "--transport 'rdma' is none of fabric, tcp, hybrid")
        self.user.refused([*here, "tcp", "-np", "1"], 2, "where they share memory")

    def test_a_fabric_by_a_provider_in_software(self):
        by_net = ["--transport", "fabric", "-e", "FASTGPU_COMM_FABRIC=net"]
        found = self.results(*QUICK, *by_net)
        self.assertEqual({result["transport"] for result in found}, {"fabric"})
        by_both = ["--transport", "hybrid", "-e", "FASTGPU_COMM_FABRIC=net"]
        found = self.results(*QUICK, *by_both)
        self.assertEqual({result["transport"] for result in found}, {"hybrid"})

    def test_codecs_are_compared(self):
        model = pathlib.Path(self.folder, "small.txt")
        model.write_text("conv.weight 9408\nfc 100000\n")
        by_tcp = ["-e", "FASTGPU_COMM_SHARED_MEMORY=0"]
        words = ["--codecs", "--model", str(model), "--steps", "3"]
        sum_result, *found = self.results(*words, *by_tcp)
        self.assertEqual(sum_result["collective"], "all_reduce")
        self.assertGreater(sum_result["network_bytes"], 0)
        sent = {result["codec"]: result["network_bytes"] for result in found}
        self.assertEqual(
            list(sent), ["same", "fp16", "bf16", "int8", "1bit", "topk:0.01", "powersgd:4"]
        )
        self.assertLess(sent["int8"], sent["fp16"])
        self.assertLess(sent["fp16"], sent["same"])
        self.assertTrue(all("pays_on_any_link" in result for result in found[1:]), found)
        table = self.bench(*words).out.decode()
        self.assertIn("PAYS BELOW", table)
        self.user.refused(["bench", "comm", self.cluster, "--codecs", "--model", "none"], 5, "none")

    def test_nothing_is_left_here_and_the_job_is_listed(self):
        self.bench(*QUICK)
        self.assertEqual(list(self.temporary.iterdir()), [])
        jobs = json.loads(self.user.run("get", "jobs", "-o", "json").out)["jobs"]
        self.assertTrue(
            any(
                job["id"].startswith("bench-comm-") and job["state"] == "succeeded" for job in jobs
            ),
            jobs,
        )

    def test_ctrl_c_ends_the_job_and_says_so(self):
        words = [self.cluster, "--sizes", "64M", "--repetitions", "10000"]
        with self.user.start("bench", "comm", *words) as running:
            try:
                self.wait_for_ranks()
                running.send_signal(signal.SIGINT)
                _, errors = running.communicate(timeout=60)
            finally:
                running.kill()
        self.assertEqual(running.returncode, 130, errors)
        self.assertRegex(
            errors.decode(), r"stopping job bench-comm-\d+; press Ctrl-C again to exit"
        )
        self.assertRegex(errors.decode(), r"error: job bench-comm-\d+: cancelled")

    def wait_for_ranks(self):
        """Until the ranks of a benchmark run on the nodes."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if subprocess.run(["pgrep", "-x", RANK], stdout=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.1)
        self.fail("no rank has begun")

    def test_counters_that_cannot_be_written_are_reported(self):
        model = pathlib.Path(self.folder, "counted.txt")
        model.write_text("fc 100\n")
        lost = "FASTGPU_COMM_COUNTERS=/dev/null/counters"
        done = self.bench("--model", str(model), "--steps", "2", "-e", lost)
        self.assertIn("rank 0 cannot write rank-0.json there: Not a directory", done.err)

    def test_what_is_wrong_has_the_documented_exit_code(self):
        here = ["bench", "comm", self.cluster]
        self.user.refused(["bench", "comm", "nowhere"], 5, "there is no cluster 'nowhere'")
        self.user.refused([*here, "--model", "resnet51"], 5, "did you mean resnet50?")
        self.user.refused([*here, "--sizes", "8:x"], 2, "--sizes '8:x'")
        self.user.refused([*here, "--collective", "all"], 2, "--collective 'all'")

    def test_a_rank_that_fails_is_named_and_its_reason_told(self):
        words = ["bench", "comm", self.cluster, *QUICK, "-e", "FASTGPU_COMM_TIMEOUT=never"]
        done = self.user.refused(
            [*words, "-o", "json"],
            2,
            "FASTGPU_COMM_TIMEOUT",
            f"on {self.cluster}-",
            "exited with 2",
        )
        self.assertEqual(json.loads(done.out)["schema"], "fastgpu.error/1")


if __name__ == "__main__":
    need_root("mpirun", "ip", "/usr/sbin/sshd")
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
