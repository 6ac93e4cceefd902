"""What a kube-apiserver alone lacks, played: Kubeflow's MPI operator, a node, and its pods.

The operator sees the MPIJobs by the server, makes their pods there and writes what became of them.
The launcher's pod runs as a process on this machine. The server reads its log from the node, whose
kubelet is a server here.
"""

import contextlib
import pathlib
import ssl
import threading
import time
import urllib.parse

from api_server import Handler, Pod, Server, now_in_status
from real_api_server import JOBS

NODE = "node-a"


class KubeletHandler(Handler):
    """Answers what the server asks a kubelet for a log: /containerLogs/NAMESPACE/POD/launcher"""

    def handle_request(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        kind, _, pod, container = url.path.strip("/").split("/")
        if kind != "containerLogs" or container != "launcher":
            return self.answer(404, b"page not found")
        return self.send_log(self.server.cluster, pod, query)

    do_GET = handle_request


class PlayedJob:
    """An MPIJob as the operator sees it, and its pod."""

    def __init__(self, document, pod):
        metadata = document["metadata"]
        self.name, self.name_space = metadata["name"], metadata["namespace"]
        self.document, self.pod = document, pod
        self.began, self.conditions, self.is_over = time.monotonic(), [], False

    def path(self):
        return f"{JOBS}/namespaces/{self.name_space}/mpijobs/{self.name}"

    def pods_path(self):
        return f"/api/v1/namespaces/{self.name_space}/pods"

    def limit(self):
        return self.document["spec"].get("runPolicy", {}).get("activeDeadlineSeconds")

    def is_late(self):
        return self.limit() and time.monotonic() - self.began > self.limit()

    def set_condition(self, kind, reason, message):
        """Appends a condition, as the operator does. Returns whether it is new."""
        if any(condition["type"] == kind for condition in self.conditions):
            return False
        if kind in ("Succeeded", "Failed"):
            for condition in self.conditions:
                if condition["type"] == "Running":
                    condition["status"] = "False"
        moment = now_in_status()
        self.conditions.append(
            {
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastUpdateTime": moment,
                "lastTransitionTime": moment,
            }
        )
        return True


class PlayedCluster:
    """Plays for all namespaces of a RealServer until close()."""

    def __init__(self, server, folder):
        self.server, self.folder = server, pathlib.Path(folder)
        self.jobs, self.pods, self.breaks_streams = {}, {}, 0
        self.faults, self.faults_after_breaks = [], []
        self.start_kubelet()
        self.is_open, self.failure = True, None
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def start_kubelet(self):
        self.kubelet = Server(("127.0.0.1", 0), KubeletHandler)
        self.kubelet.cluster = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(
            self.server.folder / "server.pem", self.server.folder / "server.key"
        )
        self.kubelet.socket = context.wrap_socket(
            self.kubelet.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=self.kubelet.serve_forever, daemon=True).start()
        self.server.ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.kubelet.server_address[1]}},
        }
        self.server.patch(f"/api/v1/nodes/{NODE}/status", {"status": status})

    def close(self):
        self.is_open = False
        self.thread.join()
        for job in self.jobs.values():
            job.pod.end()
        self.kubelet.shutdown()
        self.kubelet.server_close()
        if self.failure:
            raise self.failure

    def play(self):
        while self.is_open:
            try:
                self.look()
            except OSError:  # The server is gone for a while.
                pass
            except Exception as failure:  # close() raises it.
                self.failure = failure
                return
            time.sleep(0.1)

    def look(self):
        code, answer = self.server.call("GET", f"{JOBS}/mpijobs")
        if code != 200:
            return
        there = {job["metadata"]["uid"]: job for job in answer["items"]}
        for uid in [uid for uid in self.jobs if uid not in there]:
            self.remove(uid)
        for uid, document in there.items():
            if uid not in self.jobs:
                self.begin(uid, document)
            self.go_on(self.jobs[uid])

    def begin(self, uid, document):
        pod = Pod(document, self.folder)
        job = self.jobs[uid] = PlayedJob(document, pod)
        self.pods[uid] = pod
        moment = now_in_status()
        self.server.patch(f"{job.path()}/status", {"status": {"startTime": moment}})
        self.write_condition(job, "Created", f"MPIJob {job.name_space}/{job.name} is created.")
        workers = document["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
        for index in range(workers):
            self.make_pod(job, f"{job.name}-worker-{index}", "Worker")
        self.make_pod(job, pod.name, "Launcher")

    def make_pod(self, job, name, role):
        spec = job.document["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
        labels = {
            "training.kubeflow.org/operator-name": "mpi-operator",
            "training.kubeflow.org/job-name": job.name,
            "training.kubeflow.org/job-role": role.lower(),
        }
        pod = {
            "metadata": {"name": name, "labels": labels},
            "spec": {**spec, "restartPolicy": "Never", "nodeName": NODE},
        }
        self.server.ask("POST", job.pods_path(), pod)
        self.write_pod(
            job, name, role.lower(), {"running": {"startedAt": now_in_status()}}, "Running"
        )

    def write_pod(self, job, name, container, state, phase):
        seen = {"name": container, "image": "train", "imageID": "", "ready": True}
        status = {
            "phase": phase,
            "containerStatuses": [{**seen, "restartCount": 0, "state": state}],
        }
        self.server.patch(f"{job.pods_path()}/{name}/status", {"status": status})

    def write_condition(self, job, kind, message, reason=None, **more):
        if job.set_condition(kind, reason or f"MPIJob{kind}", message):
            status = {"conditions": job.conditions, **more}
            self.server.patch(f"{job.path()}/status", {"status": status})

    def go_on(self, job):
        if job.is_over:
            return
        code = job.pod.code
        if job.is_late() and code is None:
            self.end_late(job)
        elif code is None:
            message = f"MPIJob {job.name_space}/{job.name} is running."
            self.write_condition(job, "Running", message)
        else:
            self.end(job, code)

    def end(self, job, code):
        job.is_over = True
        moment = now_in_status()
        ended = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": moment}
        phase = "Failed" if code else "Succeeded"
        self.write_pod(job, job.pod.name, "launcher", {"terminated": ended}, phase)
        self.remove_workers(job)
        if code == 0:
            message = f"MPIJob {job.name_space}/{job.name} successfully completed."
            self.write_condition(job, "Succeeded", message, completionTime=moment)
            return
        message = "Job has reached the specified backoff limit: "
        reason = "BackoffLimitExceeded/"
        self.write_condition(job, "Failed", message, reason, completionTime=moment)

    def end_late(self, job):
        """Ends a job after its time, as the controller of jobs does: the pod goes, with its log."""
        job.is_over = True
        job.pod.end()
        self.remove_pod(job, job.pod.name)
        self.remove_workers(job)
        message = "Job was active longer than specified deadline"
        self.write_condition(
            job, "Failed", message, "DeadlineExceeded", completionTime=now_in_status()
        )

    def remove_workers(self, job):
        for index in range(job.document["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]):
            self.remove_pod(job, f"{job.name}-worker-{index}")

    def remove_pod(self, job, name):
        self.server.call("DELETE", f"{job.pods_path()}/{name}", {"gracePeriodSeconds": 0})

    def remove(self, uid):
        """Ends the pods of a job that was deleted, as the collector of garbage does."""
        job = self.jobs.pop(uid)
        job.pod.end()
        self.pods.pop(uid)
        self.remove_workers(job)
        self.remove_pod(job, job.pod.name)


@contextlib.contextmanager
def playing(server, folder):
    cluster = PlayedCluster(server, folder)
    try:
        yield cluster
    finally:
        cluster.close()
