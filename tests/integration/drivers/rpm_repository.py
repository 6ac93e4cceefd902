"""Repositories of RPMs, made of packages that are a few files each: signed, and with modules, as
NVIDIA's are.
"""

import os
import pathlib
import shutil
import subprocess

from suite import need_programs, skip

SPEC = """Name: {name}
Version: {version}
Release: {release}
Summary: made by a test
License: none
BuildArch: noarch
AutoReqProv: no
{provides}
%description
Made by a test.
{post}
%install
cp -a {tree}/. %{{buildroot}}/
%files
{files}
"""
MODULE = """---
document: modulemd
version: 2
data:
  name: {name}
  stream: "{stream}"
  version: 20251001000000
  context: 0123abcd
  arch: x86_64
  summary: made by a test
  description: made by a test
  license:
    module: [MIT]
  profiles:
    default:
      rpms: [{first}]
  artifacts:
    rpms: [{artifacts}]
...
"""


class RpmRepository:
    """In one folder; `key` signs its packages, or none does."""

    def __init__(self, folder, key=None):
        self.folder, self.key = pathlib.Path(folder), key
        self.folder.mkdir(parents=True)
        self.modules = []

    def add(self, name, version, files=None, post=""):
        """`files`: text by path; those in a bin folder can be run."""
        build = self.folder.parent / "rpmbuild"
        shutil.rmtree(build, ignore_errors=True)
        tree = build / "tree"
        tree.mkdir(parents=True)
        for path, text in (files or {}).items():
            file = tree / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755 if "bin" in file.parent.name else 0o644)
        number, release = version.rsplit("-", 1)
        spec = build / "package.spec"
        spec.write_text(
            SPEC.format(
                name=name,
                version=number,
                release=release,
                tree=tree,
                files="\n".join(files or {}),
                # Its script asks for a shell, and rpm knows nothing of Debian's.
                provides="Provides: /bin/sh" if post else "",
                post=f"%post\n{post}" if post else "",
            )
        )
        self._run(
            "rpmbuild",
            "-bb",
            "--define",
            f"_topdir {build}",
            "--define",
            f"_rpmdir {build}/out",
            spec,
        )
        made = next((build / "out").rglob("*.rpm"))
        if self.key:
            self._run(
                "rpmsign",
                "--define",
                "_gpg_name packages@example.org",
                "--define",
                "__gpg /usr/bin/gpg",
                "--define",
                f"_gpg_path {self.key.home}",
                "--addsign",
                made,
            )
        shutil.move(made, self.folder / made.name)
        shutil.rmtree(build)
        return f"{name}-0:{version}.noarch"

    def add_module(self, name, stream, artifacts):
        """Packages that are seen where this stream is enabled."""
        self.modules.append(
            MODULE.format(
                name=name,
                stream=stream,
                first=artifacts[0].split("-0:")[0],
                artifacts=", ".join(artifacts),
            )
        )

    def publish(self):
        self._run("createrepo_c", "--quiet", self.folder)
        if self.modules:
            modules = self.folder.parent / "modules.yaml"
            modules.write_text("".join(self.modules))
            self._run("modifyrepo_c", "--mdtype=modules", modules, self.folder / "repodata")

    @staticmethod
    def _run(*words):
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def need_tools():
    """Skips tests where such a repository cannot be made."""
    need_programs("dnf", "rpmbuild", "rpmsign", "createrepo_c", "modifyrepo_c", "gpg", "gpgconf")
    if os.uname().machine != "x86_64":
        skip("the packages are for x86-64")
