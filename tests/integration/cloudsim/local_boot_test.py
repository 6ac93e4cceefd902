"""An instance that is a local node: python3 local_boot_test.py CLOUDSIM KITS"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import sim

if __name__ == "__main__":
    if os.geteuid() != 0 or not all(
        map(shutil.which, ("ssh", "ssh-keygen", "nsenter", "/usr/sbin/sshd"))
    ):
        print("skipped: local nodes need root, ssh, nsenter and sshd")
        sys.exit(sim.SKIPPED)
    sim.SimTest.program = sys.argv[1]
    sim.use_kits(sys.argv[2])

import boto3


class LocalBootTest(sim.SimTest):
    options = ("--boot", "local")

    def key(self, name):
        file = pathlib.Path(self.sim.folder) / name
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file], check=True
        )
        return file, file.read_text(), file.with_suffix(".pub").read_text().strip()

    def state(self, ids):
        found = self.ec2.describe_instances(Filters=[{"Name": "instance-id", "Values": ids}])[
            "Reservations"
        ]
        return {
            each["State"]["Name"]: each
            for reservation in found
            for each in reservation["Instances"]
        }

    def test_it_answers_over_ssh_with_the_key_of_its_user_data_and_runs_what_that_says(self):
        _, host, host_public = self.key("host")
        user_file, _, user_public = self.key("user")
        data = {
            "ssh_keys": {"ed25519_private": host, "ed25519_public": host_public},
            "users": [{"name": "root", "ssh_authorized_keys": [user_public]}],
            "write_files": [{"path": "/opt/made/here", "content": "it's here\n"}],
            "runcmd": [["touch", "/opt/made/ran"], "echo $((6 * 7)) > /opt/made/sum"],
        }
        self.ec2 = boto3.client(
            "ec2",
            endpoint_url=self.sim.url,
            region_name="us-east-1",
            aws_access_key_id="AKIASIMFULL000000001",
            aws_secret_access_key="sim/full/secret/key+aws",
        )
        vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = self.ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20")["Subnet"]["SubnetId"]
        interface = {"DeviceIndex": 0, "SubnetId": subnet, "AssociatePublicIpAddress": True}
        made = self.ec2.run_instances(
            MinCount=1,
            MaxCount=1,
            ImageId="ami-0a22040000000a064",
            InstanceType="t3.small",
            NetworkInterfaces=[interface],
            UserData="#cloud-config\n" + json.dumps(data),
        )
        ids = [made["Instances"][0]["InstanceId"]]
        instance = self.wait_for(lambda: self.state(ids).get("running"), 60)
        known = pathlib.Path(self.sim.folder) / "known"
        known.write_text(f"{instance['PublicIpAddress']} {host_public}\n")
        ssh = [
            "ssh",
            "-F",
            "/dev/null",
            "-i",
            user_file,
            "-o",
            f"UserKnownHostsFile={known}",
            "-o",
            "BatchMode=yes",
            f"root@{instance['PublicIpAddress']}",
        ]

        def read():
            words = [*ssh, "ls /opt/made && cat /opt/made/sum /opt/made/here"]
            return subprocess.run(words, capture_output=True, text=True, check=False).stdout

        self.wait_for(lambda: read().splitlines() == ["here", "ran", "sum", "42", "it's here"])
        self.ec2.stop_instances(InstanceIds=ids)
        self.wait_for(lambda: self.state(ids).get("stopped"), 60)
        self.ec2.start_instances(InstanceIds=ids)
        self.wait_for(lambda: self.state(ids).get("running"), 60)
        self.wait_for(lambda: "ran" in read())
        self.ec2.terminate_instances(InstanceIds=ids)
        self.wait_for(lambda: self.state(ids).get("terminated"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
