"""A stand-in for the API server of Kubernetes, with Kubeflow's MPI operator and pods that run on
this machine: what fastgpu needs of it, over TLS.

The launcher's pod is a process: mpirun, as the image would run it, on this machine alone.
"""

import contextlib
import copy
import datetime
import functools
import http.server
import json
import pathlib
import re
import ssl
import subprocess
import threading
import time
import urllib.parse

JOBS = re.compile(r"/apis/kubeflow\.org/v2beta1/namespaces/([^/]+)/mpijobs(?:/([^/]+))?")
PODS = re.compile(r"/api/v1/namespaces/([^/]+)/pods(?:/([^/]+)/log)?")


def now(later=0):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=later)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def now_in_status(later=0):
    """Returns the present time as objects have it, in whole seconds."""
    return now(later)[:19] + "Z"


def expanded(text, values=()):
    """Returns what a container gets for an argument or a value: the kubelet reads $(NAME)
    as a variable that is known by then, and $$ as one dollar sign.
    """

    def replaced(found):
        name = found.group(1)
        if name is None:
            return "$"
        return values[name] if name in values else found.group(0)

    return re.sub(r"\$\$|\$\(([^)]*)\)", replaced, text)


class Pod:
    """The launcher's pod: a process whose lines have times."""

    def __init__(self, job, folder):
        self.name = job["metadata"]["name"] + "-launcher-abcde"
        self.job = job
        container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        self.lines, self.code = [], None
        self.started, self.ended, self.ahead = time.time(), None, 0
        self.changed = threading.Condition()
        environment = {}
        for one in container["env"]:
            environment[one["name"]] = expanded(one["value"], environment)
        command = [expanded(word, environment) for word in container["command"]]
        place = command.index("mpirun") + 1
        command[place:place] = ["--oversubscribe"]
        hostfile = folder / "hostfile"
        hostfile.write_text("localhost slots=8\n")
        self.process = subprocess.Popen(
            command,
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": str(folder),
                "OMPI_MCA_orte_default_hostfile": str(hostfile),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        threading.Thread(target=self.read, daemon=True).start()

    def has_more_than(self, count):
        return len(self.lines) > count or self.code is not None

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(now().encode() + b" " + line)
                self.changed.notify_all()
        code = self.process.wait()
        with self.changed:
            self.ended = time.time()
            self.code = code if code >= 0 else 128 - code
            self.changed.notify_all()

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        self.process.wait()

    def time_of(self, moment):
        return now_in_status(moment - time.time() + self.ahead)

    def document(self):
        times = {"startedAt": self.time_of(self.started)}
        state = {"running": times}
        if self.code is not None:
            reason = "Error" if self.code else "Completed"
            times["finishedAt"] = self.time_of(self.ended)
            state = {"terminated": {"exitCode": self.code, "reason": reason, **times}}
        return {
            "metadata": {"name": self.name, "creationTimestamp": "2026-03-01T12:00:00Z"},
            "spec": {"nodeName": "node-a"},
            "status": {
                "phase": "Running",
                "containerStatuses": [{"name": "launcher", "state": state}],
            },
        }


class Cluster:
    """Jobs and pods, and faults to show: {"status": 429, "times": 1, "method": "POST", ...}.

    Its clock is `ahead` of that of this machine, in seconds.
    A fault with "effect" acts, and answers so all the same; one with the status None cuts the
    connection. "more" has fields of its Status.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.token = "t0ken"
        self.jobs, self.pods, self.faults, self.requests = {}, {}, [], []
        self.ahead = 0
        self.lock = threading.Lock()
        self.breaks_streams, self.faults_after_breaks = 0, []

    def create(self, job):
        with self.lock:
            self.jobs[job["metadata"]["name"]] = job
            pod = self.pods[job["metadata"]["name"]] = Pod(job, self.folder)
            pod.ahead = self.ahead

    def document(self, name):
        job, pod = copy.deepcopy(self.jobs[name]), self.pods.get(name)
        if pod is None:
            return {"kind": "MPIJob", **job}  # It is not one of fastgpu.
        kinds = ["Created", "Running"]
        if pod.code is not None:
            kinds.append("Failed" if pod.code else "Succeeded")
        job["status"] = {
            "conditions": [
                {
                    "type": kind,
                    "status": "False" if kind == "Running" and pod.code is not None else "True",
                    "reason": "MPIJob" + kind,
                    "message": f"MPIJob is {kind}",
                }
                for kind in kinds
            ],
            "startTime": pod.time_of(pod.started),
        }
        if pod.code is not None:
            job["status"]["completionTime"] = pod.time_of(pod.ended)
        return job

    def delete(self, name):
        with self.lock:
            self.jobs.pop(name)
            pod = self.pods.pop(name)
        pod.end()

    def fault_for(self, method, path):
        for fault in self.faults:
            matches = fault.get("method", method) == method and fault.get("path", "") in path
            if matches and fault["times"] > 0:
                fault["times"] -= 1
                return fault
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string((timestamp or time.time()) + self.server.cluster.ahead)

    def answer(self, code, body, headers=()):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, code, message, headers=(), **more):
        status = {"kind": "Status", "status": "Failure", "message": message, **more}
        self.answer(code, status, headers)

    def handle_request(self):
        cluster = self.server.cluster
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else b""
        cluster.requests.append(f"{self.command} {self.path}")
        has_certificate = bool(self.connection.getpeercert())
        if not has_certificate and self.headers.get("Authorization") != f"Bearer {cluster.token}":
            return self.refuse(401, "Unauthorized")
        if fault := cluster.fault_for(self.command, self.path):
            if fault.get("effect"):
                self.act(cluster, url.path, query, body, quiet=True)
            if fault["status"] is None:
                return self.cut()
            return self.refuse(
                fault["status"],
                fault.get("message", "a fault"),
                fault.get("headers", ()),
                **fault.get("more", {}),
            )
        return self.act(cluster, url.path, query, body)

    do_GET = do_POST = do_DELETE = handle_request

    def cut(self):
        """Ends the connection without an answer."""
        self.close_connection = True
        self.connection.close()

    def act(self, cluster, path, query, body, quiet=False):
        answer = (lambda *_, **__: None) if quiet else self.answer
        refuse = (lambda *_, **__: None) if quiet else self.refuse
        if match := JOBS.fullmatch(path):
            return self.act_on_jobs(cluster, match[2], query, body, answer, refuse)
        match = PODS.fullmatch(path)
        if not match:
            return refuse(404, "the server could not find the requested resource")
        if match[2]:
            return self.send_log(cluster, match[2], query)
        name = re.search(r"job-name=([^,]+)", query["labelSelector"])[1]
        pods = [cluster.pods[name].document()] if name in cluster.pods else []
        return answer(200, {"kind": "PodList", "items": pods})

    def act_on_jobs(self, cluster, name, query, body, answer, refuse):
        if self.command == "POST":
            job = json.loads(body)
            if job["metadata"]["name"] in cluster.jobs:
                return refuse(409, f'mpijobs "{job["metadata"]["name"]}" already exists')
            if "dryRun" not in query:
                cluster.create(job)
            return answer(201, job)
        if name not in cluster.jobs:
            return refuse(404, f'mpijobs "{name}" not found')
        if self.command == "DELETE":
            cluster.delete(name)
            return answer(200, {"kind": "Status", "status": "Success"})
        return answer(200, cluster.document(name))

    def send_log(self, cluster, name, query):
        pod = next((pod for pod in cluster.pods.values() if pod.name == name), None)
        if pod is None:
            return self.refuse(404, "no such pod")
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        since = query.get("sinceTime", "")[:19]
        if seconds := query.get("sinceSeconds"):
            since = now(-int(seconds))[:19]
        sent = 0
        if tail := query.get("tailLines"):
            sent = max(0, len(pod.lines) - int(tail))
        while True:
            with pod.changed:
                lines, is_over = pod.lines[sent:], pod.code is not None
            sent += len(lines)
            for line in lines:
                if line.decode(errors="replace")[:19] >= since:
                    self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()
            if lines and cluster.breaks_streams > 0:
                cluster.breaks_streams -= 1
                cluster.faults += map(dict, cluster.faults_after_breaks)
                self.close_connection = True
                self.connection.close()
                return None
            if is_over or "follow" not in query:
                break
            with pod.changed:
                has_more = functools.partial(pod.has_more_than, sent)
                pod.changed.wait_for(has_more, 5)
        self.wfile.write(b"0\r\n\r\n")
        return None


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # Connections that the other side ends.
        pass


def make_certificates(folder):
    """Makes an authority, a certificate of the server and one of a client."""

    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl(
        *["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca"],
        *["-days", "2"],
    )
    for name in ("server", "client"):
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        openssl(
            *["req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr"],
            *["-subj", f"/CN={name}"],
        )
        openssl(
            *["x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key"],
            *["-CAcreateserial", "-out", f"{name}.pem", "-days", "2", "-extfile", "names"],
        )


@contextlib.contextmanager
def serving(folder):
    """Yields the cluster and the address of its server."""
    make_certificates(folder)
    cluster = Cluster(folder)
    server = Server(("127.0.0.1", 0), Handler)
    server.cluster = cluster
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield cluster, f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        for name in list(cluster.pods):
            cluster.delete(name)
        server.server_close()


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.05)
