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

TEST_CASE("what dnf says below its word of an error is told") {
  const Error error = command_failure(
      {"dnf", "-y", "install", "nvidia-open"}, {.status = 1},
      "Last metadata expiration check: 0:00:05 ago.\nError: \n Problem: conflicting requests\n"
      "  - nothing provides kmod-nvidia needed by nvidia-open-580.95.05-1.noarch from x\n");
  CHECK(std::string(error.what()) ==
        "dnf exited with 1: Problem: conflicting requests; - nothing provides kmod-nvidia needed "
        "by nvidia-open-580.95.05-1.noarch from x");
  CHECK(std::string(command_failure({"dnf"}, {.status = 1}, "Error: no\nE: ab\n").what()) ==
        "dnf exited with 1: Error: no; E: ab");
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

TEST_CASE("of what apt-get says where it fetches in vain, the errors are enough") {
  const Error error = command_failure({"apt-get"}, {.status = 100},
                                      "Ign:1 http://x ./ a\nErr:1 http://x ./ a\n  500  Error\n"
                                      "E: Failed to fetch http://x/a.deb  500  Error\n");
  CHECK(std::string(error.what()) ==
        "apt-get exited with 100: E: Failed to fetch http://x/a.deb  500  Error");
}

TEST_CASE("what is waited for is told once it is said, and nothing else is taken for it") {
  const std::string apt =
      "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by "
      "process 27470 (python3)";
  CHECK_FALSE(waits_for(apt));
  CHECK(waits_for("Reading package lists...\n" + apt + "...") ==
        "Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 27470 (python3)");
  CHECK(waits_for("Waiting for process with pid 27470 to finish.\n") ==
        "Waiting for process with pid 27470 to finish");
  CHECK_FALSE(waits_for("Waiting for headers\nE: Could not get lock /var/lib/apt/lists/lock."));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
