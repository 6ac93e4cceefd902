#!/usr/bin/env python3
"""Commands on clouds whose answers are such as the vendors' models allow: model_answers.py FASTGPU
CLOUDSIM KITS CLOUD SEED SHARE [COMMAND]

The stand-in was written from the same reading of the documents as the client. Between the two, a
proxy changes a share of the members of each answer, by the models in the vendors' own kits
(`loose_answers`). Whatever comes of a command, it is no crash and no bug of ours, and it ends; with
the answers as they are, `gc` and `delete` then leave nothing behind and nothing that costs. A round
that fails prints what repeats it.
"""

import concurrent.futures
import copy
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cloudsim"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envs"))
from cli_user import User
from cloud_sim import CloudSim, Customer
from env_site import find_uv
from sim import use_kits
from suite import assert_false, assert_in, assert_not_in, assert_true

NODES = 2
LOCAL = ("exec on nodes", "scale up nodes", "env bake", "delete image")  # With nodes that answer.
QUICK = 4  # So often a command that changes nothing is tried.
# Seconds, after which a command is interrupted and the answers are as they are again: it may wait
# for minutes for what never comes.
LIMIT = 25
LAST = 90  # Seconds that it has from then on.
AT_ONCE = int(os.environ.get("CLOUDS_MIXES_AT_ONCE", "6"))  # They wait more than they work.
RDMA = {"aws": "p4d.24xlarge", "alibaba": "ecs.ebmgn8is.32xlarge"}  # Machines that have it.
CODES = {0, 1, 2, 3, 4, 5, 6, 124, 130}


def key_of(customer):
    key = customer.user.folder / "key"
    if not key.exists():
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me@home", "-f", key], check=True
        )
    return str(key)


def elsewhere(customer):
    other = copy.copy(customer)
    other.user = copy.copy(customer.user)
    other.user.state = customer.user.folder / "other"
    return other


def asked(customer):
    return ("--cloud", customer.cloud, "--region", customer.about["region"])


def typed(customer, machine, *more):
    """A creation with that machine instead of one that is chosen by its GPUs."""
    words = customer.creation("t", "--detach", *more, nodes=NODES)
    return (
        *(word for word in words if word not in ("--gpus", customer.about["gpus"])),
        "--instance-type",
        machine,
    )


def commands(customer):
    """By name: what must be there before, and the words. Where nodes are to answer, they are local
    ones.
    """
    here, gpus = asked(customer), ("--gpus", customer.about["gpus"])
    none, cluster, stopped, nodes = (), ("create",), ("create", "stop"), ("nodes",)
    machine = RDMA.get(customer.cloud)
    special = (
        {
            "create --rdma": (none, typed(customer, machine, "--rdma")),
            "delete --rdma": (("rdma",), ("delete", "cluster", "t", "--yes")),
        }
        if machine
        else {}
    )
    if customer.cloud == "aws":
        special["create --reservation"] = (
            none,
            typed(customer, "g4dn.xlarge", "--reservation", "cr-0123456789abcdef0"),
        )
    return {
        **special,
        "create --key-pair": (
            ("key pair",),
            customer.creation("t", "--detach", "--key-pair", "mine", nodes=NODES),
        ),
        "create --vpc": (
            cluster,
            customer.creation("u", "--detach", "--vpc", "NETWORK", nodes=NODES),
        ),
        "exec on nodes": (nodes, ("exec", "t", "--timeout", "20s", "--", "true")),
        "scale up nodes": (
            nodes,
            ("scale", "cluster", "t", "--nodes", "2", "--yes", "--timeout", "20s"),
        ),
        "env bake": (("nodes", "environment"), ("env", "bake", "train", "-c", "t")),
        "delete image": (
            ("nodes", "environment", "image"),
            ("delete", "image", "IMAGE", "--yes", *here),
        ),
        "get prices": (none, ("get", "prices", *here, *gpus)),
        "get zones": (none, ("get", "zones", *here, *gpus)),
        "get instance-types": (none, ("get", "instance-types", *here, *gpus)),
        "get quotas": (none, ("get", "quotas", *here)),
        "get images": (none, ("get", "images", *here)),
        "get images --mine": (none, ("get", "images", "--mine", *here)),
        "create --dry-run": (none, customer.creation("t", "--dry-run", nodes=NODES)),
        "create": (none, customer.creation("t", "--detach", nodes=NODES)),
        "create --spot": (
            none,
            customer.creation("t", "--detach", "--spot", "--max-life", "2h", nodes=NODES),
        ),
        "create --min-nodes": (
            none,
            customer.creation("t", "--detach", "--min-nodes", "2", "--data-disk", "100", nodes=4),
        ),
        "create --public-address head": (
            none,
            customer.creation("t", "--detach", "--public-address", "head", nodes=NODES),
        ),
        "create, gone on with": (("kill",), customer.creation("t", "--detach", nodes=NODES)),
        "create, there already": (cluster, customer.creation("t", "--detach", nodes=NODES)),
        "get providers": (none, ("get", "providers", "-o", "wide")),
        "describe node": (cluster, ("describe", "node", "t-0")),
        "guard off": (("guarded",), ("guard", "cluster", "t", "--max-life", "off")),
        "delete, gone on with": (("create", "kill delete"), ("delete", "cluster", "t", "--yes")),
        "scale --dry-run": (
            cluster,
            ("scale", "cluster", "t", "--nodes", str(NODES + 1), "--dry-run"),
        ),
        "get clusters": (cluster, ("get", "clusters", "-o", "wide")),
        "get nodes": (cluster, ("get", "nodes", "t", "-o", "wide")),
        "describe": (cluster, ("describe", "cluster", "t")),
        "guard": (cluster, ("guard", "cluster", "t", "--max-life", "3h")),
        "addip": (cluster, ("addip", "t", "--ssh-from", "198.51.100.7/32")),
        "rename": (cluster, ("rename", "cluster", "t", "u")),
        "scale up": (
            cluster,
            ("scale", "cluster", "t", "--nodes", str(NODES + 1), "--yes", "--timeout", "2s"),
        ),
        "scale down": (cluster, ("scale", "cluster", "t", "--nodes", "1", "--yes")),
        "stop": (cluster, ("stop", "cluster", "t")),
        "start": (stopped, ("start", "cluster", "t", "--timeout", "2s")),
        "start --replace-lost": (
            ("create", "lose"),
            ("start", "cluster", "t", "--replace-lost", "--timeout", "2s"),
        ),
        "exec": (cluster, ("exec", "t", "--timeout", "2s", "--", "true")),
        "attach": (
            cluster,
            (
                "attach",
                "cluster",
                "t",
                "--provider",
                customer.cloud,
                "--region",
                customer.about["region"],
                "--ssh-key",
                key_of(customer),
                "--ssh-from",
                "127.0.0.1/32",
                "--timeout",
                "5s",
            ),
        ),
        "delete": (cluster, ("delete", "cluster", "t", "--yes")),
        "gc": (("kill",), ("gc",)),
    }


def changes_nothing(command):
    return command.startswith(("get ", "describe")) or command.endswith("--dry-run")


def images_of(customer):
    return json.loads(customer.run("get", "images", "--mine", *asked(customer), "-o", "json").out)[
        "images"
    ]


def filled_in(customer, words):
    """The words, with what is known by its name only once it is there."""
    found = {}
    if "NETWORK" in words:
        found["NETWORK"] = next(
            r["id"] for r in customer.sim.books()["resources"] if r["alive"] and r["kind"] == "vpc"
        )
    if "IMAGE" in words:
        found["IMAGE"] = images_of(customer)[0]["id"]
    return [found.get(word, word) for word in words]


def prepare(customer, steps):
    for step in steps:
        if step == "nodes":
            customer.create("t", "--timeout", "90s", nodes=1)
        elif step == "environment":
            spec = customer.user.folder / "env.yaml"
            spec.write_text("name: train\npython: /usr/bin/python3\nmpi: system\n")
            customer.run("env", "create", "-c", "t", "-f", str(spec), "--uv", find_uv())
        elif step == "image":
            customer.run("env", "bake", "train", "-c", "t")
        elif step == "rdma":
            customer.run(*typed(customer, RDMA[customer.cloud], "--rdma"))
        elif step == "key pair":
            public = pathlib.Path(key_of(customer) + ".pub").read_text().strip()
            place = {
                "vendor": customer.cloud,
                "account": customer.sim.account(customer.cloud)["name"],
                "region": customer.about["region"],
            }
            customer.sim.control("key_pair", {**place, "name": "mine", "public": public})
        elif step == "create":
            customer.create("t", "--detach", "--ssh-key", key_of(customer) + ".pub", nodes=NODES)
        elif step == "stop":
            customer.run("stop", "cluster", "t")
        elif step == "lose":
            customer.sim.control(
                "reclaim", {"instance": customer.sim.alive()[0][0]["id"], "notice_ms": 0}
            )
        elif step == "guarded":
            customer.create("t", "--detach", "--max-life", "2h", nodes=NODES)
        elif step == "kill":
            customer.run(
                *customer.creation("t", "--detach", nodes=NODES),
                code=None,
                environment={"FASTGPU_FAULT": "any:60"},
            )
        elif step == "kill delete":
            customer.run(
                "delete", "cluster", "t", "--yes", code=None, environment={"FASTGPU_FAULT": "any:8"}
            )


class Round:
    def __init__(self, cloud, seed, command, share):
        self.cloud, self.seed, self.command, self.share = cloud, seed, command, share

    def __str__(self):
        return f"{self.cloud} {self.seed} {self.share} '{self.command}'"

    def play(self, fastgpu, cloudsim):
        from loose_answers import LooseAnswers  # Needs the kits.

        boot = "local" if self.command in LOCAL else "instant"
        with (
            tempfile.TemporaryDirectory(prefix="fastgpu-models-") as folder,
            CloudSim(cloudsim, boot, "--seed", str(self.seed)) as sim,
            LooseAnswers(self.cloud, f"{self.seed} {self.command} {self.share}") as answers,
        ):
            customer = Customer(User(fastgpu, folder), sim, self.cloud)
            steps, words = commands(customer)[self.command]
            prepare(customer, steps)
            who = elsewhere(customer) if self.command == "attach" else customer
            try:
                done = self.ended(who, filled_in(customer, words), answers)
                check_end(self.command, done)
                check_books(customer, who)
                assert_false(
                    answers.invented,
                    f"the stand-in answers what no kit knows: {sorted(answers.invented)}",
                )
            except Exception as error:
                told = "\n".join(
                    f"  {action} {status}: {'; '.join(did[:12])}"
                    for action, status, did in answers.log
                    if did
                )
                raise AssertionError(
                    f"{traceback.format_exc(limit=-2)}\nwhat was answered otherwise:\n"
                    f"{told[-6000:]}"
                ) from error
            return done.returncode, answers.undescribed

    def ended(self, customer, words, answers):
        answers.share = self.share
        process = customer.user.start(
            *words, environment=customer.environment(**answers.environment())
        )
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            answers.share = 0
            process.send_signal(signal.SIGINT)
            try:
                out, err = process.communicate(timeout=LAST)
            except subprocess.TimeoutExpired as error:
                process.kill()
                out, err = process.communicate()
                raise AssertionError(
                    f"{words} does not end, {LAST} s after it was interrupted: "
                    f"{err.decode(errors='replace')}"
                ) from error
        finally:
            answers.share = 0
        process.out, process.err = out, err.decode(errors="replace")
        return process


def check_end(command, done):
    assert_in(done.returncode, CODES, f"exit code {done.returncode}: {done.err}")
    assert_not_in("bug in fastgpu", done.err)
    assert_not_in("internal", done.err)
    errors = [line for line in done.err.split("\n") if line.startswith("error: ")]
    wanted = 0 if done.returncode == 0 else 1
    assert_true(
        len(errors) == wanted or command == "gc" or done.returncode == 130,
        f"{len(errors)} errors with exit code {done.returncode}: {done.err}",
    )
    assert_true(all(len(error) < 4000 for error in errors), done.err)


def check_books(*customers):
    """Everything goes away by the usual words, once the answers are as they are."""
    for customer in {id(customer): customer for customer in customers[::-1]}.values():
        customer.run("gc", code=None)
        clusters = json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"]
        # One in the network of another first.
        for cluster in sorted(clusters, key=lambda one: one["name"], reverse=True):
            customer.run(
                "delete",
                "cluster",
                cluster["name"],
                "--yes",
                code=None if len(customers) > 1 else 0,
            )
        customer.run("gc")
        for image in images_of(customer):
            customer.run("delete", "image", image["id"], "--yes", *asked(customer))
    sim = customers[0].sim
    running = [
        i["id"] for i in sim.books()["instances"] if any(run["to"] is None for run in i["runs"])
    ]
    assert_false(running, f"the bill goes on for {running}")
    instances, resources = sim.alive()
    left = [one for one in resources if not one.startswith("key ")]  # Which the user has made.
    assert_false(instances, f"left: {instances} {left}")
    assert_false(left, f"left: {instances} {left}")


def main():
    fastgpu, cloudsim = [os.path.abspath(program) for program in sys.argv[1:3]]
    use_kits(sys.argv[3])
    cloud, seed, share, only = sys.argv[4], int(sys.argv[5]), float(sys.argv[6]), sys.argv[7:]
    with tempfile.TemporaryDirectory() as folder:
        names = only or list(commands(Customer(User(fastgpu, folder), None, cloud)))
    find_uv()  # Ends the test as skipped where there is none.
    rounds = [
        Round(cloud, seed + 1000 * nth, name, share)
        for name in names
        for nth in range(QUICK if changes_nothing(name) else 1)
    ]
    failed, codes, undescribed = 0, {}, set()

    def outcome(one):
        try:
            return one.play(fastgpu, cloudsim), None
        except Exception:
            return None, traceback.format_exc(limit=-1)

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for one, (result, failure) in zip(rounds, pool.map(outcome, rounds), strict=True):
            if failure:
                failed += 1
                print(f"FAILED: {one}\n{failure}", flush=True)
            else:
                codes[result[0]] = codes.get(result[0], 0) + 1
                undescribed |= result[1]
    print(
        f"{len(rounds) - failed} of {len(rounds)} rounds ended well in "
        f"{time.monotonic() - began:.0f} s; exit codes {codes}; "
        f"described by no kit: {sorted(undescribed)}"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
