#include "config/host_file.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::config {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("config/host_file");

TEST_CASE("hosts are read as Open MPI, MPICH and DeepSpeed list them") {
  const auto hosts = read_host_file(
      "# the lab\nn1 slots=4\n n2:8  # with a comment\n\nroot@n3.example slots=2 max_slots=2\r\n"
      "192.0.2.7",
      "hosts");
  REQUIRE(hosts.size() == 4);
  CHECK(hosts[0].address == "n1");
  CHECK(hosts[0].slots == 4);
  CHECK(hosts[1].address == "n2");
  CHECK(hosts[1].slots == 8);
  CHECK(hosts[2].user == "root");
  CHECK(hosts[2].address == "n3.example");
  CHECK(hosts[2].slots == 2);
  CHECK_FALSE(hosts[3].slots);
  CHECK(hosts[3].where == "hosts:6");
}

TEST_CASE("the slots of a host that is listed several times are added up") {
  const auto hosts = read_host_file("n1\nn2\nn1\nn1 slots=2\n", "hosts");
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].slots == 4);
}

TEST_CASE("what is no host is refused with its line") {
  for (const char* text :
       {"n1 slots=0", "n1 slots=", "n1 slots=4x", "n1:", "n1:0", "-oProxyCommand=x",
        "n1 slots=4 slots=5", "n1 4", "n1;reboot", "@n1", "n1/24", "[::1]:4", "n1 cpu=4"}) {
    CAPTURE(text);
    const Error error =
        failure_of([&] { read_host_file(std::string("n0\n") + text + "\n", "hosts"); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).starts_with("hosts:2: '"));
  }
}

TEST_CASE("a file without a host is refused") {
  for (const char* text : {"", "\n\n", "# nothing\n"})
    CHECK(failure_of([&] { read_host_file(text, "hosts"); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::config
