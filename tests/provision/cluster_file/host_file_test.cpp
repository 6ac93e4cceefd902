#include "provision/cluster_file/host_file.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("provision/host_file");

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

TEST_CASE("ranges, ports, users and IPv6 addresses are read in a host file") {
  const HostEntry defaults{.port = 22, .identity = "key"};
  const auto hosts = read_host_file(
      "ann@n[09-10]:8\n[fd00::1]:4\nfd00::2 slots=2 port=2222 username=eve\n", "hosts", defaults);
  REQUIRE(hosts.size() == 4);
  CHECK(hosts[0].address == "n09");
  CHECK(hosts[1].address == "n10");
  CHECK(hosts[1].user == "ann");
  CHECK(hosts[1].slots == 8);
  CHECK(hosts[1].port == 22);
  CHECK(hosts[1].identity == "key");
  CHECK(hosts[2].address == "fd00::1");
  CHECK(hosts[2].slots == 4);
  CHECK(hosts[3].address == "fd00::2");
  CHECK(hosts[3].port == 2222);
  CHECK(hosts[3].user == "eve");
}

TEST_CASE("a port behind a colon is refused with the field for it") {
  CHECK(test::mentions(failure_of([] { read_host_file("n1:2222\n", "hosts"); }), "port=2222"));
}

TEST_CASE("an INI file is told from a list of hosts") {
  for (const char* line : {"nodes = 2\n", "nodes=2\n", "nodes =2\n", "nodes per zone = 2\n"}) {
    const auto e = failure_of([&] { read_host_file(std::string("[demo]\n") + line, "c.cfg"); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(test::mentions(e, "c.cfg:2: 'nodes' is assigned a value, as in an INI file"));
    CHECK(test::mentions(e, "`fastgpu init cluster`"));
  }
}

TEST_CASE("a list of hosts is told from a cluster file") {
  for (const char* text : {"n1\n", "n1 slots=4\nn2 slots=4\n", "# lab\nn1:8\nn[01-04]:4\n",
                           "[fd00::1]:4", "fd00::1\n"}) {
    CAPTURE(text);
    CHECK(is_host_file(text));
  }
  for (const char* text : {"", "# nothing\n", "hosts: n[1-2]\n", "name: a\n", "hosts:\n- a\n",
                           "- a\n", "{name: a}", "---\n", "\"name\": a\n",
                           "\x7f"
                           "ELF\x02\x01"}) {
    CAPTURE(text);
    CHECK_FALSE(is_host_file(text));
  }
}

TEST_CASE("a host that is listed for two users is refused with its line") {
  for (const auto& [text, users] :
       {std::pair{"ann@n1 slots=1\nn2\nroot@n1:3\n", "for ann and for root"},
        std::pair{"n1\nn2\nann@n1\n", "for the cluster's user and for ann"}}) {
    const Error e = failure_of([&] { read_host_file(text, "hosts"); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) == "hosts:3: host n1 is there twice, " + std::string(users) +
                                       ": a host has one user in a cluster");
  }
  CHECK(read_host_file("ann@n1\nann@n1\n", "hosts").size() == 1);
}

TEST_CASE("the slots of a host that is listed several times are added up") {
  const auto hosts = read_host_file("n1\nn2\nn1\nn1 slots=2\n", "hosts");
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].slots == 4);
}

TEST_CASE("what is no host is refused with its line") {
  for (const char* text :
       {"n1 slots=0", "n1 slots=", "n1 slots=4x", "n1:", "n1:0", "-oProxyCommand=x",
        "n1 slots=4 slots=5", "n1 4", "n1;reboot", "@n1", "n1/24", "[::1", "n[2-1]", "n[1-99999]",
        "n1 port=0", "n1 username=", "n1:2222", "n1 cpu=4"}) {
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
}  // namespace fastgpu::provision
