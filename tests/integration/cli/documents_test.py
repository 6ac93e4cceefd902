"""Every command is run with -o json, and its document must be as its schema describes it:
documents_test.py FASTGPU CLOUDSIM [TEST ...]

The last test fails for a kind of document that no command has shown. Clouds are the stand-in with
local nodes. What needs uv and the wheels of `./dev test` is skipped where they are missing.
"""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envs"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "drivers"))
import cloud_sim
import shown_documents
import suite
from cli_user import job_words, run_tests, shared_cluster, within
from cloud_sim import CloudSim, Customer
from suite import assert_equal, assert_in, assert_true, skip

CLOUDSIM = sys.argv.pop(2)
SOURCES = pathlib.Path(__file__).resolve().parents[3]
SEEN = set()  # (command, kind)
LEFT_OUT = []  # Tests that were skipped.
CHOSEN = sys.argv[2:]  # The tests to run; all by default.
# Documents of any command: without a result, under --dry-run, of a failure.
ANY = {"done", "dry-run", "error"}


def commands():
    """Returns the kinds of documents by command, as the table of the program has them."""
    text = (SOURCES / "cli/program/documents.cpp").read_text()
    rows = re.findall(r'\{"([^"]+)", \{([^}]*)\}\}', text)
    assert_true(len(rows) > 50, "the table of documents is not found")
    return {command: re.findall(r'"([^"]+)"', kinds) for command, kinds in rows}


COMMANDS = commands()


def command_of(words):
    found = [name for name in COMMANDS if list(words[: len(name.split())]) == name.split()]
    assert_equal(len(found), 1, f"{words}")
    return found[0]


def shown(user, *words, **more):
    """Runs a command with -o json. Returns its document, which must fit its schema."""
    end = words.index("--") if "--" in words else len(words)
    done = user.run(*words[:end], "-o", "json", *words[end:], **more)
    document = json.loads(done.out)
    kind = shown_documents.kind_of(document)
    assert_equal(shown_documents.faults_of(document), [], f"{words}: {document}")
    command = command_of(words)
    assert_in(kind, [*COMMANDS[command], *ANY], f"{words}")
    SEEN.add((command, kind))
    return document


def needs(what):
    """Notes that the test is skipped, for the test of what was seen."""
    LEFT_OUT.append(what)
    skip(f"needs {what}")


def test_the_program_itself(user):
    for words in (
        ["version"],
        ["doctor"],
        ["gc"],
        ["gc", "--dry-run"],
        ["schema"],
        ["schema", "fastgpu.nodes/1"],
        ["completion", "bash"],
        ["init", "cluster", "-f", str(user.folder / "c.yaml")],
        ["get", "providers"],
        ["env", "matrix"],
        ["env", "matrix", "--cuda", "12.4"],
    ):
        shown(user, *words, code=None)
    names = [one["name"] for one in shown(user, "env", "matrix")["sets"]]
    shown(user, "env", "matrix", names[0])
    wide = next(name for name in names if re.search(r"[-_]cu\d", name))
    shown(user, "env", "matrix", re.sub(r"[-_]cu[\d.]+", "", wide))
    assert_equal(shown(user, "schema", "jobz", code=2)["error"]["kind"], "usage")
    shown(user, "describe", "cluster", "nowhere", code=5)
    for name in {one["name"] for one in shown(user, "schema")["schemas"]}:
        text = user.run("schema", name).out
        assert_equal(text, (SOURCES / f"templates/schemas/{name}.json").read_bytes(), name)
        schema = json.loads(text)
        shown_documents.jsonschema.validators.validator_for(schema).check_schema(schema)


def test_clusters(user):
    one, two = user.cluster, user.cluster + "b"
    shown(user, "create", "cluster", one, "--nodes", "2", "--dry-run")
    shown(user, "create", "cluster", one, "--nodes", "2")
    user.run("create", "cluster", two, "--nodes", "1")
    shown(user, "create", "cluster", one, "--nodes", "2", "--dry-run")
    for words in (
        ["get", "clusters"],
        ["get", "nodes"],
        ["describe", "cluster", one],
        ["describe", "node", f"{one}/0"],
        ["guard", "cluster", one, "--max-life", "9h"],
        ["guard", "cluster", one, "--max-life", "8h", "--dry-run"],
        ["get", "clusters"],
        ["why-awake", one],
        ["top", one, "--once"],
        ["scale", "cluster", two, "--nodes", "2"],
        ["stop", "cluster", two, "--dry-run"],
        ["stop", "cluster", two],
        ["get", "nodes", two],
        ["describe", "node", f"{two}/0"],
        ["start", "cluster", two],
        ["rename", "cluster", two, two + "c"],
        ["stop", "cluster", one, two + "c"],
        ["start", "cluster", one, two + "c"],
    ):
        shown(user, *words)
    user.run("create", "cluster", two)
    user.run("create", "cluster", two + "d")
    shown(user, "delete", "cluster", two, "--dry-run")
    shown(user, "delete", "cluster", two, "--yes")
    user.run("create", "cluster", two + "e")
    several = shown(user, "delete", "cluster", one, two + "e", "--yes")
    assert_equal([item["error"] is None for item in several["clusters"]], [True, True])
    shown(user, "get", "clusters")


@shared_cluster
def test_nodes(user):
    name = user.two_nodes()
    (user.folder / "file").write_text("words\n")
    for words in (
        ["ssh", name, "--config"],
        ["tmux", f"{name}/1", "--session", "shown", "--detach", "--", "sleep", "60"],
        ["tmux", name, "--list"],
        ["exec", name, "--", "echo", "words"],
        ["exec", name, "--outdir", str(user.folder / "out"), "--", "sh", "-c", "echo e >&2"],
        ["cp", str(user.folder / "file"), f"{name}:/root/file", "--dry-run"],
        ["cp", str(user.folder / "file"), f"{name}:/root/file"],
        ["check", "net", name, "--time", "10s"],
    ):
        shown(user, *words)
    shown(user, "check", "cluster", name, code=None)
    shown(user, "exec", name, "--", "sh", "-c", "kill -9 $$", code=137)
    shown(user, "cp", f"{name}/0:/root/nothing", str(user.folder), code=5)
    quick = ("bench", "comm", name, "--sizes", "8:8", "--transport", "tcp", "-e")
    shown(user, *quick, "FASTGPU_COMM_INTERFACE=eth0")
    user.run("exec", f"{name}/1", "--", "tmux", "kill-server")


@shared_cluster
def test_jobs(user):
    name = user.two_nodes()
    prints = ["sh", "-c", "echo epoch 1 loss 0.5; echo later >&2"]
    shown(user, *job_words(name, 2, prints, "a", "--dry-run"))
    shown(user, *job_words(name, 2, prints, "a"))
    shown(user, *job_words(name, 2, ["sh", "-c", "exit 3"], "fails"), code=3)
    shown(user, *job_words(name, 1, ["true"], "many", "--array", "1-2", "--dry-run"))
    shown(user, *job_words(name, 1, ["true"], "many", "--array", "1-2"))
    waits = ["sh", "-c", "echo loss=0.25; sleep 60"]
    shown(user, *job_words(name, 2, waits, "b", "--detach"))
    assert_true(within(20, lambda: b"loss" in user.run("logs", "b").out), "it does not begin")
    assert_true(
        within(20, lambda: "b-1" in shown(user, "top", name, "--once")["metrics"]), "no metric"
    )
    shown(user, *job_words(name, 2, ["true"], "queued", "--detach"))
    shown(user, *job_words(name, 1, ["sleep", "60"], "more", "--array", "1-2", "--detach"))
    for words in (
        ["get", "jobs"],
        ["describe", "job", "queued"],
        ["describe", "job", "fails"],
        ["logs", "a"],
        ["logs", "fails"],
        ["report", "a"],
        ["report", "b"],
        ["cancel", "job", "queued"],
        ["cancel", "job", "more"],
        ["cancel", "job", "b"],
    ):
        shown(user, *words)
    shown(user, "wait", "job", "a")
    shown(user, "wait", "job", "a", "fails", code=3)
    shown(user, "attach", "job", "a")
    shown(user, "delete", "job", "a", "--dry-run")
    shown(user, "delete", "job", "a", "--yes")


def test_environments(user):
    try:
        from wheels_site import UV, Wheels
    except suite.Skip:
        needs("uv")
    site = Wheels(user)
    site.index.add("gamma", "3.0", {"gamma.py": "version = '3.0'\n"})
    on, archive = ("-c", site.name), user.folder / "train.tar.zst"
    try:
        shown(user, *site.words("--dry-run"))
        shown(user, *site.words())
        more = ("env", "install-frameworks", "train", *on, "--framework", "gamma==3.0")
        shown(user, *more, "--uv", UV, "--dry-run")
        shown(user, *more, "--uv", UV)
        lock = ("env", "lock", "-f", str(site.file), "--uv", UV, *on)
        shown(user, *lock)
        shown(user, *lock, "--out", str(user.folder / "one.lock"))
        user.run(*lock, "--set", "packages=[beta]", "--out", str(user.folder / "two.lock"))
        locks = [str(user.folder / name) for name in ("one.lock", "two.lock")]
        shown(user, "env", "diff", *locks, code=1)
        for words in (
            ["env", "list"],
            ["env", "verify", "train", *on],
            ["env", "activate", "train", *on, "--dry-run"],
            ["env", "activate", "train", *on],
            ["env", "activate", "train", *on, "--off"],
            ["env", "pack", "train", *on, "--out", str(archive)],
            ["env", "remove", "--yes", "train", *on, "--dry-run"],
            ["env", "remove", "--yes", "train", *on],
            ["env", "unpack", str(archive), *on, "--dry-run"],
            ["env", "unpack", str(archive), *on],
        ):
            shown(user, *words)
    finally:
        site.close()


def test_the_demonstration(user):
    import wheel_nodes

    try:
        wheels = wheel_nodes.find_wheels("wheels")
    except suite.Skip:
        needs("the wheels of wheels.txt")
    nodes = wheel_nodes.Nodes(user, wheels)
    try:
        nodes.create("train", "numpy")
        shown(user, "env", "demo", "train", "-c", nodes.name, timeout=400)
    finally:
        user.run("env", "remove", "--yes", "--all", "-c", nodes.name, code=None)
        nodes.index.close()


def test_drivers(user):
    import apt_repository

    try:
        apt_repository.need_tools()
    except suite.Skip:
        needs("the tools of apt")
    import driver_site

    with driver_site.Site(user) as site:
        shown(user, *site.words("--dry-run"))
        shown(user, *site.words(), timeout=600)


def test_clouds(user):
    for cloud in cloud_sim.clouds_of(user):
        with CloudSim(CLOUDSIM) as sim:
            customer = Customer(user, sim, cloud)
            gpus = ("--gpus", customer.about["gpus"], *customer.region())
            for words in (
                ["get", "instance-types", *gpus],
                ["get", "prices", *gpus],
                ["get", "prices", *gpus, "--spot"],
                ["get", "zones", *gpus],
                ["get", "images", *customer.region()],
                ["get", "images", "--mine", *customer.region()],
                ["get", "quotas", *customer.region()],
                customer.request("t", "--ssh-from", "192.0.2.1", "--data-disk", "500", "--dry-run"),
                customer.creation("t", "--detach"),
                ["get", "clusters"],
                ["get", "nodes", "t"],
                ["describe", "cluster", "t"],
                ["guard", "cluster", "t", "--max-life", "5h", "--dry-run"],
                ["addip", "t", "--ssh-from", "192.0.2.7/32"],
                ["mount", "t", "10.0.0.4:/models=/models", "--dry-run"],
                ["delete", "cluster", "t", "--yes"],
            ):
                shown(customer, *words)
            customer.check_nothing_is_left()


def test_a_cloud_whose_nodes_run(user):
    from env_site import built_tool

    uv = os.environ.get("FASTGPU_UV") or built_tool("uv/site/bin/uv")
    if not uv:
        needs("uv")
    key = user.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    spec = user.folder / "env.yaml"
    spec.write_text("name: train\npython: /usr/bin/python3\nmpi: system\n")
    with CloudSim(CLOUDSIM, "local") as sim:
        customer = Customer(user, sim, cloud_sim.clouds_of(user)[0])
        other = copy.copy(customer)
        other.user = copy.copy(user)
        other.user.state = user.folder / "other"
        limit = ("--timeout", "90s")
        customer.create("t", "--ssh-key", f"{key}.pub", *limit, nodes=1)
        customer.create("u", "--ssh-key", f"{key}.pub", *limit, nodes=1)
        shown(customer, "env", "create", "-c", "t", "-f", str(spec), "--uv", uv)
        bake = ("env", "bake", "train", "-c", "t")
        shown(customer, *bake, "--dry-run")
        image = shown(customer, *bake)["id"]
        shown(customer, "get", "images", "--mine", *customer.region())
        remove = ("delete", "image", image, *customer.region())
        shown(customer, *remove, "--dry-run")
        shown(customer, *remove, "--yes")
        shown(customer, "why-awake", "t")
        for name in ("t", "u"):
            place = ("--provider", customer.cloud, "--region", customer.about["region"])
            access = ("--ssh-key", str(key), "--ssh-from", "127.0.0.1/32")
            shown(other, "attach", "cluster", name, *place, *access)
        shown(customer, "get", "clusters")
        shown(customer, "delete", "cluster", "t", "--forget", "--yes")
        shown(customer, "delete", "cluster", "u", "no", "--forget", "--yes", code=5)
        for name in ("t", "u"):
            other.run("delete", "cluster", name, "--yes")
        customer.check_nothing_is_left()


def test_each_document_has_been_seen(_user):
    if CHOSEN or LEFT_OUT:
        skip(f"some tests were left out: {', '.join(LEFT_OUT) or 'others were named'}")
    all_of = {(command, kind) for command, kinds in COMMANDS.items() for kind in kinds}
    assert_equal(sorted(all_of - SEEN), [], "no test shows it")
    assert_equal(sorted(ANY - {kind for _, kind in SEEN}), [], "no test shows it")


def test_a_schema_refuses_a_field_that_is_missing_or_misnamed(user):
    document = shown(user, "version")
    for change in ({"versions": "1"}, {"version": None}, {"version": 1}):
        changed = {key: value for key, value in {**document, **change}.items() if value is not None}
        assert_true(shown_documents.faults_of(changed), f"{changed}")


if __name__ == "__main__":
    if shown_documents.jsonschema is None:
        skip("needs python3-jsonschema")
    run_tests(globals())
