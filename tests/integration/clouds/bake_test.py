#!/usr/bin/env python3
"""Machine images out of nodes with an environment, on the stand-in with local nodes: bake_test.py
FASTGPU CLOUDSIM [TEST ...]

An image is a copy of what a node has written to its disk, in which the tests look for what must not
be there. Needs uv, as the tests of environments do.
"""

import contextlib
import json
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "envs"))
import cloud_sim
from cli_user import job_words, run_tests, within
from cloud_sim import CloudSim, Customer
from env_site import find_uv
from suite import assert_equal, assert_false, assert_greater, assert_in, assert_not_in, assert_true

CLOUDSIM = sys.argv.pop(2)
UV = find_uv()
SECRETS = (
    "cat /etc/ssh/ssh_host_ed25519_key; cat /root/.fastgpu/clusters/*/* 2>/dev/null; cat "
    "/root/.ssh/id_test; "
    "cat /root/.fastgpu/lease/book /root/.fastgpu/cluster.json; true"
)


@contextlib.contextmanager
def baker(user, cloud, nodes=1):
    """A customer with a cluster 't' that has environment 'train'."""
    with CloudSim(CLOUDSIM, "local") as sim:
        customer = Customer(user, sim, cloud)
        customer.create("t", "--timeout", "90s", nodes=nodes)
        spec = user.folder / "env.yaml"
        spec.write_text("name: train\npython: /usr/bin/python3\nmpi: system\n")
        customer.run("env", "create", "-c", "t", "-f", str(spec), "--uv", UV)
        yield customer
        end(customer)


def end(customer):
    """Clusters and images away; the books say that nothing is left, and gc has nothing to do."""
    for cluster in json.loads(customer.run("get", "clusters", "-o", "json").out)["clusters"]:
        customer.run("delete", "cluster", cluster["name"], "--yes")
    for image in images(customer):
        customer.run("delete", "image", image["id"], "--yes", *place(customer))
    customer.check_nothing_is_left()
    assert_equal(
        json.loads(customer.run("gc", "-o", "json").out)["settled"], [], "gc finds something"
    )


def place(customer):
    return ("--cloud", customer.cloud, "--region", customer.about["region"])


def images(customer):
    return json.loads(customer.run("get", "images", "--mine", *place(customer), "-o", "json").out)[
        "images"
    ]


def bake(customer, *more, **options):
    return customer.run("env", "bake", "train", "-c", "t", "-o", "json", *more, **options)


def on_node(customer, script, cluster="t", node=0):
    said = json.loads(
        customer.run("exec", f"{cluster}/{node}", "-o", "json", "--", "sh", "-c", script).out
    )
    return said["hosts"][0]["stdout"]


def content_of(image):
    """What the image's disk holds of a node's own, by path."""
    folder = next(pathlib.Path(tempfile.gettempdir()).glob(f"fastgpu-cloudsim-*/images/{image}"))
    return {str(file.relative_to(folder)): file for file in folder.rglob("*")}


def lines_of_secrets(text):
    """Lines that no other file has by chance: the first of every Ed25519 key is the same."""
    return {
        line
        for line in text.splitlines()
        if len(line) > 30 and not line.startswith(("-----", "b3BlbnNzaC1rZXktdjE"))
    }


def check_holds_no_secret(content, secrets):
    for path, file in content.items():
        # There the stand-in keeps who may log in; each node gets its own.
        if (
            not file.is_file()
            or file.is_symlink()
            or "/envs/" in path
            or path.endswith("etc/fastgpu/authorized_keys")
        ):
            continue
        text = file.read_bytes().decode(errors="replace")
        found = [line for line in secrets if line in text]
        assert_false(found, f"{path} holds {found[0] if found else ''}")


def is_in_service(customer):
    """Nothing lies in the node's memory any more, and a job runs."""
    assert_true(
        on_node(
            customer, "grep -c fastgpu-bake /proc/mounts; ls /run/fastgpu-bake 2>&1 | head -1"
        ).startswith("0\n"),
        "left in memory",
    )
    program = ["python", "-c", "print('at work')"]
    job = customer.run(*job_words("t", 1, program, "--environment", "train"))
    assert_in(b"at work", job.out)


def test_an_image_is_made_once_used_and_deleted_in_each_cloud(user):
    for cloud in cloud_sim.clouds_of(user):
        with baker(user, cloud) as customer:
            on_node(
                customer,
                "mkdir -p /root/.ssh; echo a-key-of-the-user-that-nobody-else-may-see > "
                "/root/.ssh/id_test; echo 1 > /var/kept",
            )
            # Jobs leave keys and logs behind.
            customer.run(*job_words("t", 1, ["true"]))
            secrets = lines_of_secrets(on_node(customer, SECRETS))
            before = on_node(customer, f"{SECRETS}; cat /etc/machine-id")
            plan = bake(customer, "--dry-run").out.decode()
            assert_in("memory", plan)
            assert_equal(images(customer), [], plan)

            made = json.loads(bake(customer).out)
            assert_equal(made["state"], "available", made)
            assert_true(made["name"].startswith("fastgpu-train-"), made)
            assert_true(
                on_node(customer, f"{SECRETS}; cat /etc/machine-id").startswith(before[:300]),
                "the node has lost something",
            )
            is_in_service(customer)
            content = content_of(made["id"])
            assert_true(
                any("/envs/train/" in path for path in content), "the image has no environment"
            )
            assert_true(
                any(path.endswith("/var/kept") for path in content),
                "the image has not what the node has",
            )
            assert_greater(len(secrets), 5, secrets)
            check_holds_no_secret(content, secrets)

            again = bake(customer)
            assert_equal(json.loads(again.out)["id"], made["id"], again.err)
            assert_in("already exists", again.err)
            assert_in("other files of the node are not compared", again.err)
            words = ("env", "bake", "train", "-c", "t", "--image", "another")
            customer.refused(words, 6, f"image {made['name']} has the same environment", "another")
            assert_equal(
                customer.sim.control("calls")["counts"][cloud]["CreateImage"],
                1,
                "it was made twice",
            )
            listed = images(customer)
            assert_equal(
                [(one["id"], one["state"], one["environment"], one["cluster"]) for one in listed],
                [(made["id"], "available", "train", "t")],
                listed,
            )

            customer.create("u", "--image", made["name"], "--timeout", "90s", nodes=1)
            found = json.loads(customer.run("env", "list", "-c", "u", "-o", "json").out)[
                "environments"
            ]
            assert_equal([one["state"] for one in found], ["complete"], found)
            program = ["python", "-c", "print('ready at once')"]
            job = customer.run(*job_words("u", 1, program, "--environment", "train"))
            assert_in(b"ready at once", job.out)
            customer.run(
                "env", "create", "-c", "u", "-f", str(user.folder / "env.yaml"), "--uv", UV
            )
            customer.run("env", "verify", "train", "-c", "u")
            own = on_node(
                customer,
                "cat /etc/ssh/ssh_host_ed25519_key; ls /root/.ssh /root/.fastgpu/jobs "
                "2>/dev/null; cat /etc/machine-id",
                "u",
            )
            assert_false(
                lines_of_secrets(own) & secrets, "a node of the image has a key of another"
            )
            assert_not_in("id_test", own, "a node of the image has a key of another")
            customer.run("delete", "cluster", "u", "--yes")

            customer.refused(("delete", "image", "m-none", "--yes", *place(customer)), 5, "m-none")
            customer.run("delete", "image", made["name"], "--yes", *place(customer))
            assert_equal(images(customer), [], "it is still there")


def test_killed_anywhere_the_same_command_goes_on_and_makes_one_image(user):
    for cloud in cloud_sim.clouds_of(user):
        with baker(user, cloud) as customer:
            # By the name or the token: there it may be asked for before it is listed.
            knows_images_again = cloud != "huawei"
            if knows_images_again:
                customer.sim.settings(listing_delay_ms=1500)
            for point in ("written", "hidden", "asking", "asked", "made", "restored"):
                bake(customer, code=-signal.SIGKILL, environment={"FASTGPU_FAULT": f"bake:{point}"})
                on_node(customer, "true")  # In service in between, too.
            bake(customer)
            assert_equal(len(images(customer)), 1, images(customer))
            asked = customer.sim.control("calls")["counts"][cloud]["CreateImage"]
            assert_true(asked == 1 or knows_images_again, f"it was asked for {asked} times")
            is_in_service(customer)


def test_interrupted_it_goes_on_and_gc_puts_the_node_back(user):
    with baker(user, "aws", nodes=2) as customer:
        customer.sim.settings(image_ms=60_000)
        words = ("env", "bake", "train", "-c", "t")
        process = user.start(*words, environment=customer.environment())
        assert_true(within(30, lambda: images(customer)), "no image comes")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)[1].decode()
        assert_equal(process.returncode, 130, said)
        assert_in("repeat the command to wait for it and to put t-1 back", said)
        customer.refused((*words, "--timeout", "2s"), 124, "not available in time", "repeat")
        assert_in(
            "fastgpu-bake", on_node(customer, "cat /proc/mounts", node=1), "nothing is hidden"
        )
        customer.refused(
            ("delete", "image", images(customer)[0]["id"], "--yes", *place(customer)),
            6,
            "still being created",
        )
        continues = "`fastgpu env bake train --cluster t` completes it"
        customer.refused(("stop", "cluster", "t"), 6, "stopping t-1", continues)
        smaller = ("scale", "cluster", "t", "--nodes", "1", "--yes")
        customer.refused(smaller, 6, "removing t-1", continues)
        assert_in("still being created", customer.run("gc", code=1).out.decode(), "gc")
        customer.sim.control("advance", {"seconds": 90})
        assert_in("put t-1 back", customer.run("gc").out.decode(), "gc")
        assert_not_in("fastgpu-bake", on_node(customer, "cat /proc/mounts", node=1), "still hidden")
        assert_in("already exists", bake(customer).err, "a second image")


def test_a_stop_puts_the_node_of_an_interrupted_image_back(user):
    with baker(user, "aws") as customer:
        bake(customer, code=-signal.SIGKILL, environment={"FASTGPU_FAULT": "bake:made"})
        assert_in(
            "put node t-0 back", customer.run("stop", "cluster", "t", "--dry-run").out.decode()
        )
        customer.run("stop", "cluster", "t")
        customer.run("start", "cluster", "t", "--timeout", "90s")
        is_in_service(customer)


def test_an_image_that_fails_is_removed_and_told(user):
    for cloud in cloud_sim.clouds_of(user):
        with baker(user, cloud) as customer:
            customer.sim.control("image_failures", {"count": 1})
            # On Huawei the list may tell it before the job does, which knows why.
            customer.refused(
                ("env", "bake", "train", "-c", "t"),
                1,
                "" if cloud == "huawei" else "could not be made",
            )
            is_in_service(customer)
            assert_equal(json.loads(bake(customer).out)["state"], "available", "the second one")


def test_what_cannot_be_baked_is_refused_and_changes_nothing(user):
    with baker(user, "aws") as customer:
        customer.refused(
            ("env", "bake", "other", "-c", "t"),
            5,
            "no node of the cluster has environment 'other' complete",
        )
        customer.refused(
            ("env", "bake", "train", "-c", "t", "--image", "-x"), 2, "is not a valid image name"
        )
        job = user.start(*job_words("t", 1, ["sleep", "60"]), environment=customer.environment())
        assert_true(within(20, lambda: b"running" in customer.run("get", "jobs").out), "no job")
        customer.refused(("env", "bake", "train", "-c", "t"), 6, "job")
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=30)

        first = json.loads(bake(customer, "--image", "taken").out)
        on_node(customer, "rm -rf /opt/fastgpu/envs/train")
        (user.folder / "env.yaml").write_text(
            "name: train\npython: /usr/bin/python3\nmpi: system\nvariables: {A: b}\n"
        )
        customer.run("env", "create", "-c", "t", "-f", str(user.folder / "env.yaml"), "--uv", UV)
        customer.refused(
            ("env", "bake", "train", "-c", "t", "--image", "taken"), 6, "the name is taken"
        )
        is_in_service(customer)
        assert_equal([one["id"] for one in images(customer)], [first["id"]], images(customer))

        customer.run("stop", "cluster", "t")
        customer.refused(("env", "bake", "train", "-c", "t"), 6, "fastgpu start cluster t")
        customer.run("start", "cluster", "t", "--timeout", "60s")
    user.run("create", "cluster", user.cluster)
    user.made = True
    user.refused(
        ("env", "bake", "train", "-c", user.cluster), 2, "only be created from nodes in clouds"
    )
    user.run("delete", "cluster", user.cluster, "--yes")


if __name__ == "__main__":
    run_tests(globals())
