"""A cluster's machines by SkyPilot's own provisioner, and their end: cloud_skypilot.py COUNT REGION
ZONE TYPE IMAGE

This is what `sky launch` and `sky down` do in the cloud: bulk_provision(), get_cluster_info() for
the addresses; teardown_cluster(), cleanup_ports(), and query_instances() until no machine is alive.
SkyPilot's template makes the configuration, with the values that SkyPilot gives it for such a
machine. Nothing of SkyPilot is patched. Left out, and not in its time: Python's imports, its
server, its catalogue and optimizer (a file from the network says what there is to rent), and all
that follows over SSH.

Prints seconds, and the moments on the monotonic clock at which it began, had made and had ended the
machines, as JSON. PYTHONPATH leads to SkyPilot, HOME to a place for its files, the environment to
the cloud.
"""

import json
import pathlib
import sys
import time

BEGAN = time.monotonic()
from sky import authentication, clouds, provision  # noqa: E402
from sky.clouds import aws  # noqa: E402
from sky.provision import provisioner  # noqa: E402
from sky.utils import common_utils, resources_utils, yaml_utils  # noqa: E402

IMPORTED = time.monotonic()

HOME = pathlib.Path.home()
POLL = 1  # Seconds, as SkyPilot has them there.


def configuration(cloud, name, count, region, zone, kind, image):
    """The file that SkyPilot writes before it makes machines, and what is in it."""
    file = HOME / f"{name.display_name}.yml"
    common_utils.fill_template(
        "aws-ray.yml.j2",
        {
            "cluster_name_on_cloud": name.name_on_cloud,
            "num_nodes": count,
            "region": region,
            "zones": zone,
            "instance_type": kind,
            "image_id": image,
            "root_device_name": cloud.get_image_root_device_name(image, region),
            "disk_size": 256,
            "disk_encrypted": False,
            **cloud._get_disk_specs(None),  # pylint: disable=protected-access
            "security_group": aws.DEFAULT_SECURITY_GROUP_NAME,
            "security_group_managed_by_skypilot": "true",
            "use_internal_ips": False,
            "max_efa_interfaces": 0,
            "enforce_tags": [],
            "ssh_user": aws.DEFAULT_SSH_USER,
            "ssh_private_key": str(HOME / "key"),
            "ssh_proxy_command": None,
            "docker_image": None,
            "vpc_name": None,
            "subnet_names": None,
            "remote_identity": "LOCAL_CREDENTIALS",
            "user": "bench",
            "labels": {},
            "credentials": {},
        },
        str(file),
    )
    found = authentication.configure_ssh_info(yaml_utils.read_yaml(str(file)))
    yaml_utils.dump_yaml(str(file), found)
    return str(file), found["provider"]


def create(cloud, name, count, region, zone, file, provider):
    provisioner.bulk_provision(
        cloud,
        clouds.Region(region),
        [clouds.Zone(zone)],
        name,
        count,
        file,
        False,
        str(HOME / "log"),
    )
    found = provision.get_cluster_info(repr(cloud), region, name.name_on_cloud, provider)
    addresses = [one.external_ip for some in found.instances.values() for one in some]
    if len(addresses) != count or not all(addresses):
        raise SystemExit(
            f"{count} machines were asked for, which have these addresses: {addresses}"
        )


def delete(cloud, name, provider):
    provisioner.teardown_cluster(repr(cloud), name, True, provider)
    provision.cleanup_ports(repr(cloud), name.name_on_cloud, None, provider)
    while alive(cloud, name, provider):
        time.sleep(POLL)


def alive(cloud, name, provider):
    states = provision.query_instances(
        repr(cloud), name.display_name, name.name_on_cloud, provider, non_terminated_only=False
    )
    return any(state for state, _ in states.values())


def main():
    count, (region, zone, kind, image) = int(sys.argv[1]), sys.argv[2:6]
    cloud = clouds.AWS()
    name = resources_utils.ClusterName(
        "bench",
        common_utils.make_cluster_name_on_cloud(
            "bench", max_length=cloud.max_cluster_name_length()
        ),
    )
    file, provider = configuration(cloud, name, count, region, zone, kind, image)
    began = time.monotonic()
    create(cloud, name, count, region, zone, file, provider)
    made = time.monotonic()
    delete(cloud, name, provider)
    ended = time.monotonic()
    print(
        json.dumps(
            {
                "import": IMPORTED - BEGAN,
                "create": made - began,
                "delete": ended - made,
                "moments": [began, made, ended],
            }
        )
    )


main()
