#include "envs/environments/wheel_tags.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

const WheelPlatform kHere{"3.11.2", "x86_64", "glibc 2.36"};

std::string misfit(const std::string& tags, const WheelPlatform& platform = kHere) {
  return misfit_of_wheel("foo-1.0-" + tags + ".whl", platform);
}

TEST_SUITE_BEGIN("envs/wheel_tags");

TEST_CASE("a wheel fits by one of its tags for the Python, its ABI and the platform each") {
  for (const char* tags :
       {"py3-none-any", "py2.py3-none-any", "py311-none-any", "py38-none-any", "1-cp311-cp311-any",
        "cp311-cp311-linux_x86_64", "cp311-none-any", "cp38-abi3-manylinux_2_28_x86_64",
        "cp38-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64", "cp311-cp311-manylinux1_x86_64",
        "cp310.cp311-cp310.cp311-manylinux2010_x86_64", "cp311-cp311-manylinux_2_36_x86_64",
        "pp310-pypy310_pp73-manylinux_2_17_x86_64"}) {
    CAPTURE(tags);
    CHECK(misfit(tags).empty());
  }
  CHECK(misfit("py3-none-musllinux_1_2_x86_64", {"3.11.2", "x86_64", ""}).empty());
  CHECK(misfit("py3-none-musllinux_1_2_x86_64", {"3.11.2", "x86_64", "musl 1.2"}).empty());
  CHECK(misfit_of_wheel("foo.whl", kHere).empty());
}

TEST_CASE("a wheel for another Python or platform is described by its tags") {
  for (const char* tags :
       {"py2-none-any", "py312-none-any", "cp310-cp310-linux_x86_64", "cp310-none-any",
        "cp312-abi3-linux_x86_64", "cp311-cp311-manylinux_2_17_aarch64", "py3-none-win_amd64",
        "py3-none-macosx_11_0_arm64", "py3-none-macosx_10_9_x86_64",
        "py3-none-musllinux_1_2_x86_64", "cp311-cp311-manylinux_2_38_x86_64"}) {
    CAPTURE(tags);
    CHECK_FALSE(misfit(tags).empty());
  }
  CHECK(misfit("cp39-cp39-win_amd64") == "it is for cp39 on win_amd64");
  CHECK(misfit("py27-none-any") == "it is for py27");
}

TEST_CASE(
    "a lock with a named wheel that does not fit is refused with the wheel and the platform") {
  EnvironmentLock lock{
      .spec = {},
      .builder = "uv",
      .fastgpu = "1",
      .machine = kHere.machine,
      .libc = kHere.libc,
      .python = "",
      .python_version = kHere.python_version,
      .artefacts = {{"foo", "1", "file:foo-1-py3-none-macosx_11_0_arm64.whl", ""}}};
  lock.spec.packages = {"./foo-1-py3-none-macosx_11_0_arm64.whl"};
  const Error e = failure_of([&] { check_wheels_fit(lock); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()) ==
        "the wheel ./foo-1-py3-none-macosx_11_0_arm64.whl does not fit: it is for py3 on "
        "macosx_11_0_arm64, and the environment has Python 3.11.2 on x86_64 with glibc 2.36");
  lock.artefacts.clear();  // A marker leaves it out.
  CHECK_NOTHROW(check_wheels_fit(lock));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
