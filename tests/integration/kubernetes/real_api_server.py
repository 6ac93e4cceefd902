"""A kube-apiserver and its etcd on loopback, with TLS and RBAC, as build_api_server.sh made them.

Nothing is emulated but what a server alone lacks: played_cluster.py plays operator, nodes and pods.
"""

import base64
import contextlib
import json
import os
import pathlib
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import yaml

import mpijob_definition
import suite
from api_server import make_certificates, wait_until

HERE = pathlib.Path(__file__).resolve().parent
ISSUER = "https://kubernetes.default.svc"
JOBS = "/apis/kubeflow.org/v2beta1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def find_programs():
    """Returns the folder of the two programs. Skips the tests if they are not built."""
    found = subprocess.run(
        [HERE / "build_api_server.sh", "--find"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        suite.skip(found.stderr.strip())
    return pathlib.Path(found.stdout.strip())


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class RealServer:
    """Serves until close(). Its administrator is this class."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.port, self.processes = free_port(), []
        self.address = f"https://127.0.0.1:{self.port}"
        make_certificates(folder)
        self.context = ssl.create_default_context(cafile=folder / "ca.pem")
        self.openssl("genrsa", "-out", "accounts.key", "2048")
        self.openssl("rsa", "-in", "accounts.key", "-pubout", "-out", "accounts.pub")
        (folder / "tokens.csv").write_text('admin-t0ken,admin,admin,"system:masters"\n')
        self.etcd_address = f"http://127.0.0.1:{free_port()}"
        self.start_etcd()
        self.start()
        self.define_mpijobs()

    def openssl(self, *words, text=b""):
        done = subprocess.run(
            ["openssl", *words], input=text, check=True, capture_output=True, cwd=self.folder
        )
        return done.stdout

    def spawn(self, name, *words):
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [self.programs / name, *words],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "HOME": str(self.folder)},
            )
        self.processes.append(process)
        return process

    def start_etcd(self):
        peers = f"http://127.0.0.1:{free_port()}"
        self.spawn(
            "etcd",
            *["--data-dir", "etcd", "--unsafe-no-fsync"],
            *["--listen-client-urls", self.etcd_address],
            *["--advertise-client-urls", self.etcd_address],
            *["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers],
            *["--initial-cluster", f"default={peers}"],
        )

    def start(self):
        self.process = self.spawn(
            "kube-apiserver",
            "--etcd-servers=" + self.etcd_address,
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--cert-dir=certificates",
            "--tls-cert-file=server.pem",
            "--tls-private-key-file=server.key",
            "--client-ca-file=ca.pem",
            "--token-auth-file=tokens.csv",
            "--authorization-mode=RBAC",
            "--service-account-issuer=" + ISSUER,
            "--service-account-key-file=accounts.pub",
            "--service-account-signing-key-file=accounts.key",
            "--service-cluster-ip-range=10.99.0.0/24",
            "--kubelet-preferred-address-types=InternalIP",
            # Nothing makes an account for each namespace here.
            "--disable-admission-plugins=ServiceAccount",
        )
        wait_until(self.is_ready, 60)

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError((self.folder / "kube-apiserver.log").read_text()[-3000:])
        try:
            return self.call("GET", "/readyz")[0] == 200
        except (OSError, urllib.error.URLError):
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.processes.remove(self.process)

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    def call(self, method, path, body=None, kind="application/json"):
        """Returns the status and the answer, as a document if it is one."""
        request = urllib.request.Request(
            self.address + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer admin-t0ken", "Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
                code, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            code, text = refused.code, refused.read()
        try:
            return code, json.loads(text)
        except ValueError:
            return code, text.decode(errors="replace")

    def ask(self, method, path, body=None, kind="application/json"):
        """Returns the answer of a call that must succeed."""
        code, answer = self.call(method, path, body, kind)
        if code // 100 != 2:
            raise AssertionError(f"{method} {path}: {code} {answer}")
        return answer

    def patch(self, path, body):
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def define_mpijobs(self, **more):
        """Defines MPIJobs; as it is, by the file that MPIJOB_CRD names, such as the operator's."""
        wanted = mpijob_definition.definition(self.ask("GET", "/openapi/v2"), **more)
        if (file := os.environ.get("MPIJOB_CRD")) and not more:
            documents = yaml.safe_load_all(pathlib.Path(file).read_text())
            wanted = next(d for d in documents if d["metadata"]["name"] == mpijob_definition.NAME)
        self.ask("POST", DEFINITIONS, wanted)
        self.wait_for_mpijobs()

    def wait_for_mpijobs(self):
        wait_until(lambda: self.call("GET", f"{JOBS}/mpijobs")[0] == 200)

    def make_namespace(self, name):
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def make_account(self, name_space, name="trainer"):
        """Returns a service account, as `kubectl create serviceaccount` makes it."""
        path = f"/api/v1/namespaces/{name_space}/serviceaccounts"
        return self.ask("POST", path, {"metadata": {"name": name}})

    def token_of(self, account, seconds=3600):
        """Returns a token, as `kubectl create token` gets it."""
        metadata = account["metadata"]
        path = (
            f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{metadata['name']}/token"
        )
        wanted = {"spec": {"expirationSeconds": seconds}}
        return self.ask("POST", path, wanted)["status"]["token"]

    def token_until(self, account, end):
        """Returns a token that the server itself might have made, and that ends at that time."""

        def part(value):
            text = value if isinstance(value, bytes) else json.dumps(value).encode()
            return base64.urlsafe_b64encode(text).rstrip(b"=")

        metadata = account["metadata"]
        claims = {
            "aud": [ISSUER],
            "iss": ISSUER,
            "exp": int(end),
            "iat": int(end) - 3600,
            "nbf": int(end) - 3600,
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
            "kubernetes.io": {
                "namespace": metadata["namespace"],
                "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
            },
        }
        signed = part({"alg": "RS256", "typ": "JWT"}) + b"." + part(claims)
        signature = self.openssl("dgst", "-sha256", "-sign", "accounts.key", text=signed)
        return (signed + b"." + part(signature)).decode()

    def grant(self, name_space, role, *subjects):
        """Gives a role to service accounts and users."""
        name = role["metadata"]["name"]
        self.ask("POST", f"{RBAC}/namespaces/{name_space}/roles", role)
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": list(subjects),
        }
        self.ask("POST", f"{RBAC}/namespaces/{name_space}/rolebindings", binding)

    def jobs(self, name_space):
        answer = self.ask("GET", f"{JOBS}/namespaces/{name_space}/mpijobs")
        return {job["metadata"]["name"]: job for job in answer["items"]}


@contextlib.contextmanager
def serving(programs, folder):
    server = RealServer(programs, folder)
    try:
        yield server
    finally:
        server.close()
