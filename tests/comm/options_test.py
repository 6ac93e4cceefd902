"""What configuring the build reports of the optional parts of libfastgpu_comm:
options_test.py SOURCE_ROOT

Configures comm/ alone, with stand-ins for nvcc and for pkg-config, which knows Open MPI and
libfabric or not.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import suite
from suite import assert_equal, assert_in, assert_not_equal, assert_not_in

SOURCES = pathlib.Path(sys.argv[1])
PROJECT = """project('parts', 'cpp', version: '0.1.0',
  default_options: ['cpp_std=c++20', 'default_library=static', 'buildtype=debug'])
fs = import('fs')
inc = include_directories('.', 'src')
cpp = meson.get_compiler('cpp')
threads_dep = dependency('threads')
base_dep = declare_dependency()
json_dep = declare_dependency()
standard_pch = []
is_sanitized = false
static_args = []
static_cpp_args = []
subdir('comm')
"""
PKG_CONFIG = """#!/bin/sh
case " $* " in
  *" ompi-c "*) [ -n "$TEST_HAS_MPI" ] || exit 1
    case " $* " in *" --modversion "*) echo 4.1 ;; esac ;;
  *" libfabric "*) [ -n "$TEST_FABRIC" ] || exit 1
    case " $* " in *" --modversion "*) echo "$TEST_FABRIC" ;; esac ;;
  *) exec %s "$@" ;;
esac
"""
NVCC = """#!/bin/sh
case " $* " in
  *" --list-gpu-code "*) echo "$TEST_GPU_CODES" | tr ' ' '\\n'; exit ;;
esac
[ "$TEST_GPU_CODES" != "$TEST_BROKEN" ] || { echo "this host compiler is not supported"; exit 1; }
"""
CUDA_12 = "sm_50 sm_52 sm_60 sm_61 sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a"
BROKEN = "sm_80"  # An nvcc with that list cannot compile.
CUDA_13 = "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_110 sm_103 sm_120 sm_121"
INSTALL_MPI = "install libopenmpi-dev"
INSTALL_FABRIC = "install libfabric-dev"


class Project:
    def __init__(self, folder):
        self.folder = folder
        self.builds = 0
        (folder / "meson.build").write_text(PROJECT)
        for name in ("comm", "src", "meson_options.txt"):
            (folder / name).symlink_to(SOURCES / name)
        cuda = folder / "cuda"
        self.program(cuda / "bin/nvcc", NVCC)
        self.program(folder / "bin/pkg-config", PKG_CONFIG % shutil.which("pkg-config"))
        (cuda / "include").mkdir()
        (cuda / "include/cuda_runtime_api.h").touch()
        (cuda / "lib64").mkdir()
        (folder / "empty.c").touch()
        subprocess.run(["cc", "-c", folder / "empty.c", "-o", folder / "empty.o"], check=True)
        subprocess.run(
            ["ar", "rcs", cuda / "lib64/libcudart_static.a", folder / "empty.o"], check=True
        )

    @staticmethod
    def program(path, text):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)

    def configured(self, *options, mpi=False, fabric="", codes=""):
        """The exit status, the output and the build folder of `meson setup`."""
        self.builds += 1
        build = self.folder / f"build{self.builds}"
        path = f"{self.folder}/bin:{self.folder}/cuda/bin:{os.environ['PATH']}"
        done = subprocess.run(
            ["meson", "setup", build, self.folder, *options],
            capture_output=True,
            text=True,
            env=os.environ
            | {
                "PATH": path,
                "TEST_HAS_MPI": "yes" if mpi else "",
                "TEST_FABRIC": fabric,
                "TEST_GPU_CODES": codes,
                "TEST_BROKEN": BROKEN,
            },
        )
        return done.returncode, done.stdout + done.stderr, build

    def refused(self, *options, words, **there):
        status, output, _ = self.configured(*options, **there)
        assert_not_equal(status, 0, f"{options} is configured, with {there}")
        for word in words:
            assert_in(word, output)

    def accepted(self, *options, words, **there):
        status, output, build = self.configured(*options, **there)
        assert_equal(status, 0, f"{options} is refused, with {there}:\n{output[-2000:]}")
        summary = output[output.index("libfastgpu_comm\n") :]
        for word in words:
            assert_in(word, summary)
        return (build / "build.ninja").read_text()


def parts_that_are_asked_for_are_built_or_refused(project):
    project.refused("-Dmpi=enabled", words=["-Dmpi=enabled", INSTALL_MPI])
    project.refused(
        "-Dmpi=enabled",
        "-Dnodes_only=true",
        mpi=True,
        words=["-Dmpi=enabled", "-Dnodes_only=true"],
    )
    for version in ("", "1.16.1"):
        project.refused(
            "-Dfabric=enabled",
            fabric=version,
            words=["-Dfabric=enabled", "libfabric 1.17 or newer", INSTALL_FABRIC],
        )
    project.refused(
        "-Dfabric=enabled",
        "-Dnodes_only=true",
        fabric="1.17.0",
        words=["-Dfabric=enabled", "-Dnodes_only=true"],
    )
    if not pathlib.Path("/usr/include/gloo").exists():
        project.refused("-Dgloo=enabled", words=["-Dgloo=enabled", "install libgloo-dev"])
    project.refused(
        "-Dcuda=enabled",
        codes="sm_50 sm_60",
        words=["-Dcuda=enabled", "names none of sm_", "CUDA 12 or later"],
    )
    project.refused(
        "-Dcuda=enabled",
        codes=BROKEN,
        words=["does not compile for this C++ compiler: this host compiler is not supported"],
    )


def parts_of_a_release_are_left_out_by_options_alone(project):
    for release in ("--buildtype=release", "--prefix=/usr"):
        project.refused(release, codes=CUDA_12, words=["a release", INSTALL_MPI, "-Dmpi=disabled"])
        project.refused(
            release,
            mpi=True,
            codes=CUDA_12,
            words=["a release", INSTALL_FABRIC, "-Dfabric=disabled"],
        )
        project.refused(
            release,
            mpi=True,
            fabric="1.17.0",
            codes=BROKEN,
            words=["a release", "this host compiler is not supported", "-Dcuda=disabled"],
        )
    text = project.accepted(
        "--buildtype=release",
        "-Dmpi=disabled",
        "-Dfabric=disabled",
        "-Dgloo=disabled",
        "-Dcuda=disabled",
        codes=CUDA_12,
        words=[
            "plugin for MPI      : no: -Dmpi=disabled",
            "plugin for libfabric: no: -Dfabric=disabled",
            "benchmark of Gloo   : no: -Dgloo=disabled",
            "device code for CUDA: no: -Dcuda=disabled",
        ],
    )
    assert_not_in("libfastgpu_comm_mpi.so", text)
    assert_not_in("libfastgpu_comm_fabric.so", text)
    text = project.accepted(
        "--prefix=/usr",
        mpi=True,
        fabric="1.17.0",
        codes=CUDA_12,
        words=[
            "plugin for MPI      : yes",
            "plugin for libfabric: yes",
            "device code for CUDA: yes: ",
        ],
    )
    assert_in("libfastgpu_comm_mpi.so", text)
    assert_in("libfastgpu_comm_fabric.so", text)


def device_code_is_for_every_gpu_that_nvcc_offers(project):
    for codes, wanted in (
        (CUDA_12, "sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, compute_90"),
        (
            CUDA_13,
            "sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121, "
            "compute_121",
        ),
    ):
        text = project.accepted(
            "-Dcuda=enabled",
            "--buildtype=debugoptimized",
            codes=codes,
            words=[
                "device code for CUDA: yes: " + wanted,
                "plugin for MPI      : no: Open MPI has no headers here: " + INSTALL_MPI,
            ],
        )
        for code in wanted.split(", "):
            assert_in(f"-gencode=arch=compute_{code.split('_')[1]},code={code}", text)


def main():
    suite.need_programs("meson", "ninja", "pkg-config", "cc")
    with tempfile.TemporaryDirectory() as folder:
        project = Project(pathlib.Path(folder))
        parts_that_are_asked_for_are_built_or_refused(project)
        parts_of_a_release_are_left_out_by_options_alone(project)
        device_code_is_for_every_gpu_that_nvcc_offers(project)


if __name__ == "__main__":
    main()
