#!/usr/bin/env python3
"""Clusters with few public addresses, on the stand-in: addresses_test.py FASTGPU CLOUDSIM [TEST
...]

There a node without a public address answers the nodes beside it and not this machine.
"""

import os
import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cloud_sim
from cli_user import run_tests, within
from suite import assert_equal, assert_false, assert_greater_equal, assert_in, assert_true

CLOUDSIM = sys.argv.pop(2)


def is_reached_from_here(node):
    try:
        socket.create_connection((node["address"], node["port"]), timeout=2).close()
    except OSError:
        return False
    return True


def check_head_alone(customer):
    nodes = customer.nodes("t")
    assert_equal(
        [is_reached_from_here(node) for node in nodes],
        [True] + [False] * (len(nodes) - 1),
        f"{customer.cloud}: {nodes}",
    )
    given = sorted(bool(instance["public_address"]) for instance in customer.sim.alive()[0])
    assert_equal(
        given, [False] * (len(nodes) - 1) + [True], f"{customer.cloud}: {customer.sim.alive()[0]}"
    )


def test_the_other_nodes_are_reached_through_the_head(user):
    key = user.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)

    def journey(customer):
        customer.create(
            "t",
            "--public-address",
            "head",
            "--ssh-key",
            f"{key}.pub",
            "--max-life",
            "8h",
            "--timeout",
            "90s",
            nodes=3,
        )
        check_head_alone(customer)
        assert_equal(
            len({tuple(node["host_keys"]) for node in customer.nodes("t")}),
            3,
            "nodes share host keys",
        )
        assert_greater_equal(
            customer.run("exec", "t", "-b", "--", "hostname").out.count(b"t-"), 3, "hostnames"
        )
        assert_equal(customer.run("ssh", "t/2", "--", "hostname").out, b"t-2\n", "ssh")
        config = user.folder / "ssh_config"
        config.write_bytes(customer.run("ssh", "t", "--config").out)
        customer.refused(
            ("ssh", "t", "--config", "--", "hostname"), 2, "--config runs nothing", "hostname"
        )
        told = subprocess.run(
            ["ssh", "-F", config, "-o", "BatchMode=yes", "t-2", "hostname"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert_equal(told.stdout, "t-2\n", f"OpenSSH: {told}")
        file = user.folder / "file"
        file.write_bytes(os.urandom(300_000))
        customer.run("cp", str(file), "t:/root/file")
        customer.run("cp", "t/2:/root/file", str(user.folder / "back"))
        assert_equal((user.folder / "back").read_bytes(), file.read_bytes(), "a copy differs")
        assert_in(
            b"t-2",
            customer.run("run", "job", "--cluster", "t", "-np", "3", "--", "hostname").out,
            "no rank on t-2",
        )
        customer.run("why-awake", "t")
        customer.run("scale", "cluster", "t", "--nodes", "4", "--timeout", "60s")
        check_head_alone(customer)
        customer.run("stop", "cluster", "t")
        customer.run("start", "cluster", "t", "--timeout", "60s")
        check_head_alone(customer)
        assert_greater_equal(
            customer.run("exec", "t", "-b", "--", "hostname").out.count(b"t-"), 4, "hostnames"
        )
        lost = next(
            i for i in customer.sim.alive()[0] if i["id"] == customer.nodes("t")[0]["instance"]
        )
        customer.sim.control("reclaim", {"instance": lost["id"], "notice_ms": 0})
        customer.sim.control("advance", {"seconds": 120})
        customer.run("get", "nodes", "t")
        customer.run("start", "cluster", "t", "--replace-lost", "--timeout", "60s")
        check_head_alone(customer)
        customer.run("exec", "t", "--", "true")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, journey, boot="local")


def test_what_does_not_wait_and_who_attaches_go_through_the_head_too(user):
    key = user.folder / "key"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    cloud = cloud_sim.clouds_of(user)[0]
    with cloud_sim.CloudSim(CLOUDSIM, "local") as sim:
        customer = cloud_sim.Customer(user, sim, cloud)
        customer.create("t", "--public-address", "head", "--ssh-key", f"{key}.pub", "--detach")
        customer.run("exec", "t/1", "--", "true")  # Through a head that nobody has met.
        customer.run("exec", "t", "--", "true")
        check_head_alone(customer)
        customer.user.state = user.folder / "other"
        customer.run(
            "attach",
            "cluster",
            "t",
            "--provider",
            cloud,
            "--region",
            customer.about["region"],
            "--ssh-key",
            str(key),
            "--ssh-from",
            "127.0.0.1/32",
        )
        assert_greater_equal(
            customer.run("exec", "t", "-b", "--", "hostname").out.count(b"t-"), 2, "hostnames"
        )
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()


def test_a_cluster_without_public_addresses_is_for_those_in_its_network(user):
    def inside(customer):
        customer.create("t", "--public-address", "none", "--detach")
        assert_false(
            any(instance["public_address"] for instance in customer.sim.alive()[0]),
            customer.sim.alive()[0],
        )
        assert_true(
            within(
                30,
                lambda: all(
                    node["address"] == node["private_address"] for node in customer.nodes("t")
                ),
            ),
            customer.nodes("t"),
        )
        customer.refused(
            customer.creation("t", "--public-address", "all", "--detach"),
            6,
            "public addresses none, not all",
        )
        customer.refused(customer.creation("u", "--public-address", "some"), 2, "all, head")
        customer.run("delete", "cluster", "t", "--yes")

    cloud_sim.for_each_cloud(user, CLOUDSIM, inside)


def creation_of(customer, name, machine, *more):
    words = [
        word
        for word in customer.creation(name, "--rdma", *more)
        if word not in ("--gpus", customer.about["gpus"])
    ]
    return (*words, "--instance-type", machine)


def test_every_network_card_has_its_fabric_adapter_where_no_public_address_is_in_the_way(user):
    if "aws" not in cloud_sim.clouds_of(user):
        return  # No other cloud has several.
    with cloud_sim.CloudSim(CLOUDSIM) as sim:
        customer = cloud_sim.Customer(user, sim, "aws")
        for which, cards in (("none", [4, 4]), ("head", [1, 4]), ("all", [1, 1])):
            made = customer.run(
                *creation_of(customer, "t", "p4d.24xlarge", "--public-address", which, "--detach")
            )
            resources = [
                r for r in sim.books()["resources"] if r["alive"] and r["kind"] == "interface"
            ]
            found = sorted(
                sum(r["data"]["instance"] == i["id"] for r in resources) for i in sim.alive()[0]
            )
            assert_equal(found, cards, f"{which}: {found} {resources[:1]}")
            assert_equal("use one of their 4" in made.err, which != "none", made.err)
            customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()


def check_on_alibaba(user, machine, check_books):
    """A cluster of such machines, looked at by `check_books(sim)`, leaves nothing behind."""
    if "alibaba" not in cloud_sim.clouds_of(user):
        return
    with cloud_sim.CloudSim(CLOUDSIM) as sim:
        customer = cloud_sim.Customer(user, sim, "alibaba")
        customer.run(*creation_of(customer, "t", machine, "--detach"))
        check_books(sim)
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()


def test_machines_with_elastic_rdma_stand_in_one_deployment_set(user):
    def one_set(sim):
        sets = [r for r in sim.books()["resources"] if r["alive"] and r["kind"] == "set"]
        assert_equal(len(sets), 1, sets)
        assert_equal(sets[0]["data"]["strategy"], "LowLatency", sets)
        placements = {
            i["placement"] for i in sim.books()["instances"] if i["state"] != "terminated"
        }
        assert_equal(placements, {sets[0]["id"]}, f"{placements} and not {sets[0]['id']}")

    check_on_alibaba(user, "ecs.ebmgn8is.32xlarge", one_set)


def test_a_type_without_rdma_is_refused_before_anything_is_made(user):
    for cloud, plain, said in (
        ("aws", "g4dn.xlarge", "p4d.24xlarge"),
        ("huawei", "p2s.2xlarge.8", "knows of no type with RDMA"),
        ("tencent", "GN10X.2XLARGE40", "knows of no type with RDMA"),
        ("alibaba", "ecs.gn6v-c8g1.2xlarge", "ecs.ebmgn7ex.32xlarge"),
    ):
        if cloud not in cloud_sim.clouds_of(user):
            continue
        with cloud_sim.CloudSim(CLOUDSIM) as sim:
            customer = cloud_sim.Customer(user, sim, cloud)
            customer.refused(
                creation_of(customer, "t", plain, "--detach"),
                4,
                "without RDMA",
                said,
                "omit --rdma",
            )
            assert_equal(sim.books()["instances"], [], f"{cloud}: {sim.alive()}")
            assert_equal(sim.alive()[1], [], f"{cloud}: {sim.alive()}")


def test_machines_with_roce_get_their_high_performance_cluster_and_it_goes_with_them(user):
    def one_cluster(sim):
        assert_equal(sum(kind.startswith("hpc ") for kind in sim.alive()[1]), 1, sim.alive()[1])

    check_on_alibaba(user, "ecs.sccgn6.24xlarge", one_cluster)


if __name__ == "__main__":
    os.umask(0o022)
    run_tests(globals())
