"""Frameworks in environments of wheels on two local nodes: named by the matrix or by the user, and
installed afterwards. The packages are the test's own.

Skipped where there is no uv.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from cli_user import run_tests
from env_site import with_site
from suite import assert_equal, assert_in, assert_not_in
from wheels_site import UV, Wheels


@with_site(Wheels)
def test_frameworks_are_a_new_build_and_an_archive_has_all_of_it(site):
    site.index.add(
        "gamma",
        "3.0",
        {"gamma/__init__.py": "version = '3.0'\n", "gamma/tests/test_gamma.py": "import gamma\n"},
    )
    site.create()
    site.user.run(
        "env",
        "install-frameworks",
        "train",
        "-c",
        site.name,
        "--framework",
        "gamma==3.0",
        "--uv",
        UV,
    )
    assert_equal(
        site.program("python", "-c", "import alpha, gamma; print(gamma.version)").count("3.0"),
        2,
        "it is not there",
    )
    site.user.refused(
        ["env", "install-frameworks", "train", "-c", site.name, "--uv", UV], 2, "--framework"
    )
    archive = site.user.folder / "train.tar.zst"
    site.on_nodes("mount", "--bind", "/bin/false", "/usr/bin/zstd")  # Nodes need none.
    site.on_nodes("sh", "-c", "sed -i '1i cd /' /root/.bashrc")
    site.pack(archive)
    names = subprocess.run(
        ["tar", "--use-compress-program=zstd", "-tf", archive],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert_in("gamma/__init__.py", names, names[:2000])
    assert_in(".fastgpu/manifest", names, names[:2000])
    assert_in("libfastgpu_comm.so.0", names, names[:2000])
    assert_in("gamma/__pycache__/__init__.cpython-311.pyc", names, "what is compiled")
    assert_not_in("gamma/tests/__pycache__", names, "what is compiled")


@with_site(Wheels)
def test_a_name_of_the_matrix_says_what_frameworks_are_installed(site):
    site.index.add("tensorflow", "2.20.0", requires=["beta"])
    site.index.add("tensorflow", "2.21.0")
    site.file.write_text(f"name: train\nindex: {site.index.url}\nmpi: system\n")
    made = site.create("--from", "tf2.20_cpu_py311")
    assert_in(f"fastgpu env install-frameworks train --cluster {site.name}", made.err)
    assert_equal(
        site.program("python", "-c", "import sys; print(sys.version_info[:2])").count("(3, 11)"),
        2,
        "another Python",
    )
    site.user.run(
        "env",
        "activate",
        "train",
        "-c",
        site.name,
        "--",
        "python",
        "-c",
        "import tensorflow",
        code=1,
    )
    done = site.user.run("env", "install-frameworks", "train", "-c", site.name, "--uv", UV)
    assert_in("requires tensorflow==2.20.0", done.err)
    assert_in(f"from {site.index.url}\n", done.err)
    assert_not_in("next:", done.err)
    assert_equal(
        site.program(
            "python", "-c", "import beta, tensorflow; print(tensorflow.version, beta.word)"
        ).count("2.20.0 one"),
        2,
        "not there",
    )
    site.user.refused(site.words("--from", "tf2.20_cu99.9_py311"), 2, "99.9")


@with_site(Wheels)
def test_frameworks_that_no_index_offers_are_refused_with_the_reason_and_what_is_near(site):
    lost, near = (
        "PyTorch 1.3.0 is no longer available: only AIACC-Training",
        "the nearest available name is tf1.14.0_tr1.3.0_mx1.5.0_cu10.0_py36",
    )
    spec = (
        "name: train\nfrom: tf1.12_tr1.3.0_mx1.5.0_cu9.0_py36\npython: /usr/bin/python3\n"
        "mpi: system\n"
    )
    site.file.write_text(spec)
    made = site.create()
    assert_in(f"warning: {lost}", made.err)
    assert_in(near, made.err)
    assert_not_in("install-frameworks", made.err)
    words = ["env", "install-frameworks", "train", "-c", site.name, "--uv", UV]
    done = site.user.refused(words, 5, lost)
    assert_in(near, done.err)
    assert_not_in("requires", done.err)

    # An index of one's own may have them.
    for name, version in (
        ("tensorflow-gpu", "1.12.0"),
        ("mxnet-cu90", "1.5.0"),
        ("torch", "1.3.0+cu90"),
        ("protobuf", "3.19.6"),
    ):
        site.index.add(name, version)
    site.file.write_text(f"{spec}index: {site.index.url}\n")
    site.create()
    done = site.user.run(*words, "--dry-run")
    assert_in("requires torch==1.3.0+cu90", done.err)
    assert_in("may build termcolor from its source", done.err)
    site.file.write_text(
        f"{spec}index: {site.index.url}\n".replace(
            "tf1.12_tr1.3.0_mx1.5.0_cu9.0", "tf1.15_tr1.4.0_mx1.5.0_cu10.0"
        )
    )
    site.create()
    done = site.user.run(*words, "--dry-run")
    assert_in("requires tensorflow-gpu==1.15.5", done.err)
    assert_in("torch from https://download.pytorch.org/whl/cu100\n", done.err)


@with_site(Wheels)
def test_a_driver_that_cannot_carry_the_environments_cuda_is_warned_of(site):
    version = (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.42.01  Tue Jun 15 21:26:37 UTC 2021"
    )
    site.on_nodes(
        "sh",
        "-c",
        f"mount -t tmpfs tmpfs /proc/driver && mkdir /proc/driver/nvidia && echo '{version}' "
        ">/proc/driver/nvidia/version",
        nodes="/1",
    )
    try:
        done = site.create("--from", "tr2.6_cu12.4_py311", "--dry-run")
        assert_in(f"{site.name}-1: its driver 470.42.01 does not support CUDA 12.4", done.err)
        assert_not_in(f"{site.name}-0: its driver", done.err)
    finally:
        site.on_nodes("umount", "/proc/driver", nodes="/1")


run_tests(dict(globals()))
