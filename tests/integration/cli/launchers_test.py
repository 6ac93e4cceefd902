"""The ways to start ranks: mpirun, torchrun, and fastgpu itself; what ranks find in their
environment, and the words of mpirun that run job understands: launchers_test.py FASTGPU [TEST ...]
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import job_words, run_tests, shared_cluster, within
from suite import assert_equal, assert_in, assert_not_in, assert_true, skip

PYTHON = "/usr/bin/python3"  # Debian's, which the nodes share.
SUMS = """
import os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
total = torch.tensor([float(rank)])
dist.all_reduce(total)
assert total.item() == size * (size - 1) / 2, total
if len(sys.argv) > 1 and rank == size - 1:
    sys.exit(int(sys.argv[1]))
print("sum", rank, size, os.environ["LOCAL_RANK"], flush=True)
dist.destroy_process_group()
"""


def need_torch():
    if subprocess.run(
        [PYTHON, "-c", "import torch.distributed"], check=False, capture_output=True
    ).returncode:
        skip(f"needs torch for {PYTHON}")


def rank_lines(user, job, count):
    return [user.run("logs", job, "--rank", str(rank)).out.decode() for rank in range(count)]


def hide(user, name, program):
    user.run("exec", name, "--", "mv", f"/usr/bin/{program}", "/root/hidden")
    return lambda: user.run("exec", name, "--", "mv", "/root/hidden", f"/usr/bin/{program}")


@shared_cluster
def test_plain_jobs_run_on_nodes_without_mpi(user):
    name = user.two_nodes()
    undo = hide(user, name, "mpirun")
    try:
        shown = 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"'
        words = ("--launcher", "plain", "--oversubscribe")
        user.run(*job_words(name, 4, ["sh", "-c", shown], "places", *words))
        texts = rank_lines(user, "places", 4)
        meeting = texts[0].split()[2]
        assert_equal(
            texts,
            [f"{rank}/4 {rank % 2}/2 {meeting}\n" for rank in range(4)],
            "the places of the ranks",
        )
        done = user.run(
            *job_words(name, 4, ["sh", "-c", "[ $RANK = 3 ] && exit 9; sleep 60"], "nine", *words),
            code=9,
        )
        assert_in(f"rank 3 on {name}-1: exited with 9", done.err)
        failure = json.loads(user.run("describe", "job", "nine", "-o", "json").out)["failure"]
        assert_equal(
            failure,
            {
                "rank": 3,
                "process": "rank",
                "node": f"{name}-1",
                "exit_code": 9,
                "signal": None,
                "out_of_memory": False,
                "full_disk": None,
                "last_lines": [],
            },
            "the first failure",
        )
        file = user.folder / "input"
        file.write_text("to rank 0\n")
        with file.open() as stream:
            user.run(*job_words(name, 2, ["cat"], "reads", *words), stdin=stream)
        assert_equal(rank_lines(user, "reads", 2), ["to rank 0\n", ""], "standard input")
        process = user.start(
            *job_words(
                name,
                2,
                [
                    "sh",
                    "-c",
                    "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.02; done",
                ],
                "ends",
                *words,
            )
        )
        assert_true(
            within(
                20, lambda: user.run("logs", "ends-1", code=None).out.decode().count("up\n") == 2
            ),
            "no start",
        )
        user.run("cancel", "job", "ends")
        process.communicate(timeout=30)
        assert_equal(process.returncode, 130, "the exit code of a job that is cancelled")
        assert_equal(rank_lines(user, "ends", 2), ["up\nsaved\n"] * 2, "a rank was cut short")
    finally:
        undo()


@shared_cluster
def test_plain_jobs_meet_by_torch_distributed(user):
    need_torch()
    name = user.two_nodes()
    (user.folder / "sums").mkdir()
    (user.folder / "sums/sums.py").write_text(SUMS)
    more = ("--launcher", "plain", "--sync", str(user.folder / "sums"))
    user.run(*job_words(name, 2, [PYTHON, "sums.py"], "plain-sums", *more))
    assert_equal(rank_lines(user, "plain-sums", 2), ["sum 0 2 0\n", "sum 1 2 0\n"])


@shared_cluster
def test_workers_of_tensorflow_are_known_on_nodes_with_different_numbers_of_ranks(user):
    name = user.two_nodes()
    addresses = [
        node["private_address"] or node["address"]
        for node in json.loads(user.run("describe", "cluster", name, "-o", "json").out)["nodes"]
    ]
    words = ["sh", "-c", 'echo "$MASTER_PORT $TF_CONFIG"']
    for launcher in ("plain", "mpirun"):
        job = f"uneven-{launcher}"
        more = ("--launcher", launcher, "--npernode", "2", "--oversubscribe")
        user.run(*job_words(name, 3, words, job, *more))
        texts = rank_lines(user, job, 3)
        port = int(texts[0].split()[0])
        workers = [f"{addresses[0]}:{port}", f"{addresses[0]}:{port + 1}", f"{addresses[1]}:{port}"]
        for rank, text in enumerate(texts):
            config = text.split(maxsplit=1)[1:]
            assert_true(config, f"{launcher}: rank {rank} has no TF_CONFIG")
            assert_equal(
                json.loads(config[0]),
                {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}},
                launcher,
            )


@shared_cluster
def test_torchrun_starts_the_workers_of_each_node(user):
    need_torch()
    name = user.two_nodes()
    (user.folder / "run").mkdir()
    (user.folder / "run/sums.py").write_text(SUMS)
    # torchrun of PyTorch 1.13 cannot start workers under Python 3.11 without these two.
    old = ("-e", "PET_TEE=1", "-e", "PET_REDIRECTS=2")
    more = ("--launcher", "torchrun", "--oversubscribe", "--sync", str(user.folder / "run"), *old)
    shown = json.loads(
        user.run(
            *job_words(name, 4, [PYTHON, "sums.py"], "elastic", *more, "--dry-run", "-o", "json")
        ).out
    )
    assert_equal(
        [(node["name"], node["ranks"], node["workers"]) for node in shown["job"]["nodes"]],
        [(f"{name}-0", 1, 2), (f"{name}-1", 1, 2)],
        "the plan",
    )
    user.run(*job_words(name, 4, [PYTHON, "sums.py"], "elastic", *more))
    lines = [line for text in rank_lines(user, "elastic", 2) for line in text.splitlines()]
    said = sorted(line.rpartition("]:")[2] for line in lines)
    assert_equal(said, ["sum 0 4 0", "sum 1 4 1", "sum 2 4 0", "sum 3 4 1"])
    done = user.run(*job_words(name, 4, [PYTHON, "sums.py", "3"], "elastic-fails", *more), code=1)
    assert_in("job elastic-fails-1: 4 workers on 2 nodes", done.err)
    assert_in(f"failed: torchrun on {name}-1: exited with 1", done.err)
    assert_not_in("rank 1", done.err)
    failure = json.loads(user.run("describe", "job", "elastic-fails", "-o", "json").out)["failure"]
    assert_equal((failure["process"], failure["node"]), ("torchrun", f"{name}-1"))
    described = user.run("describe", "job", "elastic-fails").out.decode()
    assert_in("4 workers on 2 nodes", described)
    assert_in(f"{name}-1  2-3", described)
    last = user.run("wait", "job", "elastic-fails", code=1).err
    assert_in(f"torchrun on {name}-1", last)
    assert_not_in("rank 1", last)


@shared_cluster
def test_torchrun_is_run_by_the_interpreter_that_is_named(user):
    name = user.two_nodes()
    folder = user.folder / "run"
    folder.mkdir()
    (folder / "python3").write_text('#!/bin/sh\necho "$0 $*"\n')
    (folder / "python3").chmod(0o755)
    more = ("--launcher", "torchrun", "--sync", str(folder))
    user.run(*job_words(name, 2, ["./python3", "-u", "train.py", "1"], "named", *more))
    said = "./python3 -m torch.distributed.run train.py 1\n"
    assert_equal(rank_lines(user, "named", 2), [said] * 2)
    words = job_words(name, 2, ["/none/bin/python3", "train.py"], "none", "--launcher", "torchrun")
    for last in ([], ["--dry-run"]):
        wanted = f"{name}-0: /none/bin/python3 does not exist: it is to run torchrun"
        user.refused([*words[: words.index("--")], *last, *words[words.index("--") :]], 1, wanted)


AGAIN = """
import os, pathlib, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
mark = pathlib.Path("again")
if dist.get_rank() == 3 and not mark.exists():
    mark.touch()
    sys.exit(7)
dist.barrier()
print("done", dist.get_rank(), os.environ["TORCHELASTIC_RUN_ID"], flush=True)
dist.destroy_process_group()
"""


@shared_cluster
def test_torchruns_of_several_nodes_start_their_workers_again_by_c10d(user):
    need_torch()
    name = user.two_nodes()
    (user.folder / "run").mkdir()
    (user.folder / "run/again.py").write_text(AGAIN)
    variables = ("PET_MAX_RESTARTS=2", "PET_RDZV_BACKEND=c10d", "PET_TEE=1", "PET_REDIRECTS=2")
    given = [word for variable in variables for word in ("-e", variable)]
    more = ("--launcher", "torchrun", "--oversubscribe", "--sync", str(user.folder / "run"))
    user.run(*job_words(name, 4, [PYTHON, "again.py"], "again", *more, *given))
    lines = [line for text in rank_lines(user, "again", 2) for line in text.splitlines()]
    said = sorted(line.rpartition("]:")[2] for line in lines)
    assert_equal(said, [f"done {rank} again-1" for rank in range(4)])


@shared_cluster
def test_threads_and_interfaces_are_those_of_the_node(user):
    name = user.two_nodes()
    shown = (
        'echo "threads $OMP_NUM_THREADS"; echo "nccl $NCCL_SOCKET_IFNAME"; '
        'echo "gloo $GLOO_SOCKET_IFNAME"; ip -o -4 addr show; env | grep FASTGPU_JOB_NETWORK; true'
    )
    for launcher in ("mpirun", "plain"):
        job = f"shows-{launcher}"
        user.run(*job_words(name, 2, ["sh", "-c", shown], job, "--launcher", launcher))
        for text in rank_lines(user, job, 2):
            first = dict(line.split(" ", 1) for line in text.splitlines()[:3])
            assert_true(int(first["threads"]) >= 1, text)
            assert_in(f" {first['gloo']} ", text, "it is no interface of the node")
            assert_equal(first["nccl"], "=" + first["gloo"], text)
            assert_not_in("FASTGPU_JOB_NETWORK", text)
    given = ("-e", "OMP_NUM_THREADS=7", "-e", "GLOO_SOCKET_IFNAME=mine")
    user.run(*job_words(name, 2, ["sh", "-c", shown], "given", *given))
    for text in rank_lines(user, "given", 2):
        assert_in("threads 7\n", text)
        assert_in("gloo mine\n", text)


ASCEND = (
    'echo "$RANK_ID/$RANK_SIZE on $DEVICE_ID, $HCCL_WHITELIST_DISABLE, $HCCL_SOCKET_IFNAME"; '
    'cat "$RANK_TABLE_FILE"'
)
# What a node of two Ascend processors has; $1 is a part of their addresses.
PRESENT_ASCEND = (
    "for i in 0 1; do touch /dev/davinci$i; echo address_$i=192.168.$1.10$i; done >/etc/hccn.conf"
)


def test_nodes_with_ascend_processors_get_a_rank_table(user):
    name = user.two_nodes()
    nodes = json.loads(user.run("get", "nodes", name, "-o", "json").out)["nodes"]
    for index, part in ((0, 7), (1, 8)):
        user.run("exec", f"{name}/{index}", "--", "sh", "-c", PRESENT_ASCEND, "sh", str(part))
    for launcher in ("mpirun", "plain"):
        words = ("--oversubscribe", "--launcher", launcher)
        user.run(*job_words(name, 4, ["sh", "-c", ASCEND], f"table-{launcher}", *words))
        tables = []
        for rank, text in enumerate(rank_lines(user, f"table-{launcher}", 4)):
            first, _, table = text.partition("\n")
            interface = first.rpartition(", ")[2]
            assert_equal(first, f"{rank}/4 on {rank % 2}, 1, {interface}")
            assert_true(interface.startswith("="), first)
            tables.append(json.loads(table))
        assert_true(all(table == tables[0] for table in tables), "tables differ")
        assert_equal((tables[0]["version"], tables[0]["server_count"]), ("1.0", "2"))
        for index, server in enumerate(tables[0]["server_list"]):
            assert_equal(server["server_id"], nodes[index]["address"])
            assert_equal(
                [(npu["device_id"], npu["device_ip"], npu["rank_id"]) for npu in server["device"]],
                [(str(i), f"192.168.{7 + index}.10{i}", str(2 * index + i)) for i in (0, 1)],
            )
    flags = ("-e", "RANK_TABLE_FILE=/mine", "-e", "DEVICE_ID=5")
    mine = user.run(*job_words(name, 2, ["sh", "-c", "echo $RANK_TABLE_FILE $DEVICE_ID"], *flags))
    assert_in("/mine 5", mine.out.decode())
    user.run("exec", f"{name}/1", "--", "sh", "-c", PRESENT_ASCEND, "sh", "7")
    show = ["sh", "-c", 'echo "[$RANK_TABLE_FILE]"']
    twice = user.run(*job_words(name, 4, show, "--oversubscribe"))
    assert_in("there is no rank table for HCCL", twice.err)
    assert_in("192.168.7.100", twice.err)
    assert_equal(twice.out.count(b"[]"), 4)


@shared_cluster
def test_words_of_mpirun_are_understood(user):
    name = user.two_nodes()
    shown = 'echo "$RANK $FASTGPU_NODE_RANK $GIVEN"; hostname'
    words = ["sh", "-c", shown]
    environment = {"GIVEN": "by-my-shell"}
    user.run(
        *job_words(name, 3, words, "listed", "-H", f"{name}-1:2,{name}-0:1", "-x", "GIVEN"),
        environment=environment,
    )
    assert_equal(
        rank_lines(user, "listed", 3),
        [
            f"0 0 by-my-shell\n{name}-1\n",
            f"1 0 by-my-shell\n{name}-1\n",
            f"2 1 by-my-shell\n{name}-0\n",
        ],
        "the order and the slots of -H",
    )
    user.refused(
        ["run", "job", "-c", name, "-np", "4", "-H", f"{name}-1:2", "--", "true"], 2, "4 ranks"
    )
    user.refused(["run", "job", "-c", name, "-H", "nowhere:2", "--", "true"], 5, "nowhere")
    user.refused(["run", "job", "-c", f"{name}/0", "-H", "0:2", "--", "true"], 2, "-H")
    user.refused(["run", "job", "-c", name, "-H", f"{name}-0:x", "--", "true"], 2, "slots")


@shared_cluster
def test_lines_of_mpirun_and_horovodrun_start_jobs(user):
    name = user.two_nodes()
    nodes = json.loads(user.run("get", "nodes", name, "-o", "json").out)["nodes"]
    hosts = user.folder / "hosts"
    hosts.write_text(f"{name}-1 slots=2\n{nodes[0]['address']} slots=1\n")
    shown = (
        'echo "$RANK $FASTGPU_NODE_RANK $OMPI_MCA_pml ${OMPI_MCA_btl_tcp_if_exclude-unset} '
        '$HOROVOD_FUSION_THRESHOLD"; pwd; hostname'
    )
    words = ["--allow-run-as-root", "--bind-to", "none", "-map-by", "slot", "-mca", "pml", "ob1"]
    words += ["-mca", "btl_tcp_if_exclude", "lo,docker0", "-wdir", "/tmp", "-hostfile", str(hosts)]
    words += ["--fusion-threshold-mb", "32", "--mpi", "-c", name]
    user.run("mpirun", "lines", "-n", "3", *words, "--", "sh", "-c", shown)
    assert_equal(
        rank_lines(user, "lines", 3),
        [
            f"0 0 ob1 unset 33554432\n/tmp\n{name}-1\n",
            f"1 0 ob1 unset 33554432\n/tmp\n{name}-1\n",
            f"2 1 ob1 unset 33554432\n/tmp\n{name}-0\n",
        ],
        "the order of the hostfile, and the parameters",
    )
    each = ["run", "job", "each", "-c", name, "-N", "1", "-H", f"{name}-1", "-H", f"{name}-0:*"]
    user.run(*each, "--", "hostname")
    assert_equal(rank_lines(user, "each", 2), [f"{name}-1\n", f"{name}-0\n"], "-N 1")
    for flag, code, advice in (
        (["--bind-to", "core"], 2, "--per core"),
        (["--gloo"], 2, "--launcher plain"),
        (["--hostfile", str(hosts), "-H", "0"], 2, "not by both"),
        (["--hostfile", str(user.folder / "missing")], 5, "missing"),
    ):
        user.refused(["run", "job", "-c", name, *flag, "--", "true"], code, advice)


@shared_cluster
def test_lines_of_perseusrun_start_jobs(user):
    name = user.two_nodes()
    shown = 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK $PERSEUS_ALLREDUCE_STREAMS"; hostname'
    program = ["--", "sh", "-c", shown]
    streams = ["-x", "PERSEUS_ALLREDUCE_STREAMS=6"]
    words = ["perseusrun", "one", "-np", "2", "-H", "localhost:2", *streams, "-c", name]
    user.run(*words, *program)
    wanted = [f"{rank}/2 {rank} 6\n{name}-0\n" for rank in range(2)]
    assert_equal(rank_lines(user, "one", 2), wanted, "one machine")
    hosts = f"{name}-0:2,{name}-1:2"
    words = ["perseusrun", "two", "--mpi", "-np", "4", "-H", hosts, *streams, "-c", name]
    user.run(*words, *program)
    wanted = [f"{rank}/4 {rank % 2} 6\n{name}-{rank // 2}\n" for rank in range(4)]
    assert_equal(rank_lines(user, "two", 4), wanted, "several machines")


@shared_cluster
def test_a_secret_is_only_where_its_program_is(user):
    name = user.two_nodes()
    value = "hush-4718-hush"
    (user.folder / "key").write_text("key-" + value + "\n")
    (user.folder / "job.yaml").write_text(
        f'command: [sh, -c, \'test "$TOKEN" = "$WANTED" && test "$KEY" = "key-$WANTED" && '
        'cat /proc/[0-9]*/cmdline | tr "\\0" " "; sleep 1\']\n'
        f"secrets: [{{name: KEY, file: {user.folder}/key}}]\nenv: {{WANTED: x}}\n"
    )
    environment = {"TOKEN": value, "WANTED": value}
    words = ["run", "job", "hush", "-c", name, "-np", "2", "-f", str(user.folder / "job.yaml")]
    words += ["--secret", "TOKEN", "-e", "WANTED"]
    shown = [user.run(*words, "--dry-run", "-o", "json", environment=environment).out.decode()]
    user.run(*words, environment=environment)
    for job in ("describe", "get"):
        what = ["describe", "job", "hush"] if job == "describe" else ["get", "jobs"]
        shown.append(user.run(*what, "-o", "json").out.decode())
    shown += [user.run("logs", "hush").out.decode()]
    for file in user.state.rglob("*"):
        if file.is_file():
            shown.append(file.read_bytes().decode(errors="replace"))
    on_nodes = user.run("exec", name, "--", "sh", "-c", "cat $(find ~/.fastgpu/jobs -type f)")
    shown.append(on_nodes.out.decode(errors="replace"))
    for text in shown:
        assert_not_in(value, text, "a secret is shown")
    assert_in("TOKEN", shown[0], "its name is not")
    user.refused(
        ["run", "job", "-c", name, "--secret", f"TOKEN={value}", "--", "true"], 2, "TOKEN=@FILE"
    )
    user.refused(["run", "job", "-c", name, "--secret", "NOT_SET", "--", "true"], 2, "NOT_SET")
    user.refused(["run", "job", "-c", name, "--secret", "A=@/none", "--", "true"], 5, "/none")


@shared_cluster
def test_standard_input_can_be_kept_from_a_job(user):
    name = user.two_nodes()
    file = user.folder / "input"
    file.write_text("for rank 0\n")
    for flag, wanted in (("rank0", "for rank 0\n"), ("none", "")):
        with file.open() as stream:
            user.run(*job_words(name, 1, ["cat"], f"in-{flag}", "--stdin", flag), stdin=stream)
        assert_equal(rank_lines(user, f"in-{flag}", 1), [wanted], flag)
    user.refused(
        ["run", "job", "-c", name, "--stdin", "rank0", "--detach", "--", "cat"], 2, "--stdin"
    )
    much = user.folder / "much"
    much.write_bytes(os.urandom(3_000_000))
    wanted = hashlib.sha256(much.read_bytes()).hexdigest()
    # Rank 1 reads nothing and ends, rank 2 is slow.
    program = "[ $RANK = 1 ] && exit 0; [ $RANK = 2 ] && sleep 1; sha256sum"
    words = job_words(name, 4, ["sh", "-c", program], "in-all", "--stdin", "all", "--oversubscribe")
    with much.open() as stream:
        user.run(*words, stdin=stream)
    sums = [text.split(" ")[0] for text in rank_lines(user, "in-all", 4)]
    assert_equal(sums, [wanted, "", wanted, wanted], "what each rank has read")
    for flags in (("--detach",), ("--retry", "1"), ("--array", "1-2")):
        words = job_words(name, 1, ["true"], "unread", *flags)
        for meant, is_warned in (([], True), (["--stdin", "none"], False)):
            with file.open("rb") as stream:
                said = user.run(*words[:2], *meant, *words[2:], stdin=stream).err
            assert_equal("standard input is not read" in said, is_warned, f"{flags}: {said}")
        assert_not_in("standard input", user.run(*words).err)
    user.refused(["run", "job", "-c", name, "--stdin", "rank1", "--", "cat"], 2, "rank0")
    user.refused(["run", "job", "-c", name, "--launcher", "srun", "--", "cat"], 2, "plain")


if __name__ == "__main__":
    run_tests(globals())
