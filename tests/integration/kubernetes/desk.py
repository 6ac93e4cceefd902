"""A user with a kubeconfig and a state directory, for tests of jobs in Kubernetes."""

import base64
import json
import os
import subprocess

import shown_documents


class Desk:
    """Runs fastgpu. `folder` has the authority of the server, ca.pem."""

    def __init__(self, fastgpu, folder, server, login, name_space="ns"):
        self.fastgpu, self.folder, self.server = fastgpu, folder, server
        self.name_space = name_space
        self.configure(login)

    def configure(self, login, **more):
        authority = base64.b64encode((self.folder / "ca.pem").read_bytes()).decode()
        context = {"cluster": "c", "user": "u", "namespace": self.name_space}
        cluster = {"server": self.server, "certificate-authority-data": authority, **more}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "contexts": [{"name": "lab", "context": context}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": login}],
        }
        self.kubeconfig().write_text(json.dumps(document))

    def kubeconfig(self):
        return self.folder / f"config-{self.name_space}"

    def environment(self):
        return {
            **os.environ,
            "HOME": str(self.folder),
            "KUBECONFIG": str(self.kubeconfig()),
            "FASTGPU_STATE_DIR": str(self.folder / f"state-{self.name_space}"),
            "NO_COLOR": "1",
        }

    def start(self, *words):
        return subprocess.Popen(
            [self.fastgpu, *words],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words, code=0):
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
        done = subprocess.CompletedProcess(words, process.returncode, out, err)
        if done.returncode != code:
            raise AssertionError(
                f"{words}: {done.returncode}, not {code}\n{done.stdout}{done.stderr}"
            )
        shown_documents.check_output(words, done.stdout)
        return done

    def seen(self, job):
        return json.loads(self.run("describe", "job", job, "-o", "json").stdout)
