"""A small signed apt repository, made of packages that are a few
files each, and served over HTTP.
"""

import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import threading

from suite import need_programs, skip


class Key:
    """A key to sign with, in a keyring of its own."""

    def __init__(self, folder):
        self.home = pathlib.Path(folder)
        self.home.mkdir(mode=0o700)
        self._gpg(
            "--passphrase",
            "",
            "--quick-gen-key",
            "Packages <packages@example.org>",
            "ed25519",
            "sign",
            "never",
        )
        self.armoured = self._gpg("--armor", "--export").stdout

    def _gpg(self, *words):
        argv = [
            "gpg",
            "--homedir",
            self.home,
            "--batch",
            "--quiet",
            "--no-tty",
            "--pinentry-mode",
            "loopback",
            *words,
        ]
        return subprocess.run([str(word) for word in argv], check=True, capture_output=True)

    def sign(self, source, target):
        target.unlink(missing_ok=True)
        self._gpg("--passphrase", "", "--clear-sign", "--output", target, source)

    def close(self):
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "all"], check=False)


class Repository:
    """A flat repository in one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)

    def add(self, name, version, files=None, depends="", postinst=""):
        """`files`: text by path; those in a bin folder can be run."""
        tree = self.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        (tree / "DEBIAN").mkdir(parents=True)
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n"
            "Maintainer: Test <t@example.org>\n"
            + (f"Depends: {depends}\n" if depends else "")
            + "Description: made by a test\n"
        )
        (tree / "DEBIAN/control").write_text(control)
        if postinst:
            (tree / "DEBIAN/postinst").write_text("#!/bin/sh\nset -e\n" + postinst)
            (tree / "DEBIAN/postinst").chmod(0o755)
        for path, text in (files or {}).items():
            file = tree / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755 if "bin" in file.parent.name else 0o644)
        subprocess.run(
            [
                "dpkg-deb",
                "--root-owner-group",
                "-Znone",
                "--build",
                tree,
                self.folder / f"{name}_{version}.deb",
            ],
            check=True,
            capture_output=True,
        )
        shutil.rmtree(tree)

    def publish(self, key):
        stanzas = []
        for deb in sorted(self.folder.glob("*.deb")):
            control = subprocess.run(
                ["dpkg-deb", "--field", deb], check=True, capture_output=True, text=True
            ).stdout
            stanzas.append(
                f"{control}Filename: ./{deb.name}\nSize: {deb.stat().st_size}\n"
                f"SHA256: {hashlib.sha256(deb.read_bytes()).hexdigest()}\n"
            )
        packages = self.folder / "Packages"
        packages.write_text("\n".join(stanzas))
        digest = hashlib.sha256(packages.read_bytes()).hexdigest()
        release = self.folder / "Release"
        release.write_text(
            "Origin: test\nSuite: ./\nDate: Sun, 22 Nov 2020 00:00:00 UTC\nSHA256:\n"
            f" {digest} {packages.stat().st_size} Packages\n"
        )
        key.sign(release, self.folder / "InRelease")
        release.unlink()


class Server:
    """Serves a folder; answers 500 to paths that have one of `broken` in them."""

    def __init__(self, folder, address):
        self.broken = set()
        self.requests = []
        outer = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *words, **more):
                super().__init__(*words, directory=str(folder), **more)

            def do_GET(self):
                outer.requests.append(self.path)
                if any(part in self.path for part in outer.broken):
                    self.send_error(500)
                else:
                    super().do_GET()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://{address}:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def need_tools():
    """Skips tests where such a repository cannot be made."""
    need_programs("apt-get", "dpkg-deb", "gpg", "gpgconf")
    if os.uname().machine != "x86_64":
        skip("the packages are for x86-64")
