#include "envs/drivers/command_failure.hpp"

#include <doctest/doctest.h>

namespace fastgpu::envs {
namespace {

TEST_SUITE_BEGIN("envs command failure");

TEST_CASE("a failure names the program, its status and the lines that say why") {
  const Error error = command_failure(
      {"env", "LC_ALL=C", "apt-get", "--quiet=2", "install", "nvidia-open"}, {.status = 100},
      "Reading package lists...\nW: something\nE: Unable to locate package nvidia-open\n");
  CHECK(std::string(error.what()) ==
        "apt-get exited with 100: E: Unable to locate package nvidia-open");
  CHECK(error.kind() == ErrorKind::remote);
}

TEST_CASE("without lines of errors the last ones are shown, and a signal by its name") {
  const Error error = command_failure({"./install.sh", "--batch"}, {.signal = "KILL"},
                                      "one\ntwo\nthree\nfour\nfive\rsix\n");
  CHECK(std::string(error.what()) == "./install.sh was killed by SIGKILL: two; three; four; six");
}

TEST_CASE("the kind says what may be done") {
  const auto kind = [](const char* said) {
    return command_failure({"apt-get"}, {.status = 100}, said).kind();
  };
  CHECK(kind("E: You don't have enough free space in /var/cache/apt/archives/.") ==
        ErrorKind::capacity);
  CHECK(kind("dpkg: error: cannot copy: No space left on device") == ErrorKind::capacity);
  CHECK(kind("E: Could not get lock /var/lib/dpkg/lock-frontend.") == ErrorKind::conflict);
  CHECK(kind("dpkg: error: dpkg frontend lock was locked by another process with pid 7") ==
        ErrorKind::conflict);
  CHECK(kind("E: The repository 'http://x ./ Release' is not signed.") == ErrorKind::denied);
  CHECK(kind("E: Failed to fetch http://x/a.deb  500  Internal") == ErrorKind::transient);
  CHECK(kind("") == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
