#include "ssh/openssh.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::ssh {
namespace {

Host host(const std::string& name, const std::string& address) {
  return {.name = {name},
          .address = address,
          .user = "root",
          .identity = "/my keys/id",
          .host_keys = {"ssh-ed25519 KEY" + name}};
}

TEST_CASE("OpenSSH is told of a host what we know of it, and to believe nothing else") {
  const std::vector<Host> hosts = {host("t-0", "198.51.100.1")};
  CHECK(openssh_config(hosts, "/state/known_hosts") ==
        "Host t-0\n  HostName 198.51.100.1\n  Port 22\n  User root\n"
        "  IdentityFile \"/my keys/id\"\n  IdentitiesOnly yes\n  HostKeyAlias t-0\n"
        "  UserKnownHostsFile \"/state/known_hosts\"\n  GlobalKnownHostsFile /dev/null\n"
        "  StrictHostKeyChecking yes\n  ProxyJump none\n");
  CHECK(openssh_known_hosts(hosts) == "t-0 ssh-ed25519 KEYt-0\n");
}

TEST_CASE("the first host of a cluster answers to the name of the cluster, too") {
  const std::vector<Host> hosts = {host("t-0", "198.51.100.1"), host("t-1", "198.51.100.2")};
  const std::string text = openssh_config(hosts, "/k", "t");
  CHECK(text.starts_with("Host t-0 t\n"));
  CHECK(text.find("\nHost t-1\n") != std::string::npos);
}

TEST_CASE("who is on the way has a section of its own, once") {
  std::vector<Host> hosts = {host("t-1", "10.0.0.2"), host("t-2", "10.0.0.3")};
  for (Host& each : hosts)
    each.jumps = {host("t-0", "198.51.100.1")};
  const std::string text = openssh_config(hosts, "/k");
  CHECK(text.find("ProxyJump t-0\n") != std::string::npos);
  CHECK(text.find("Host t-0\n") == text.rfind("Host t-0\n"));
  CHECK(openssh_known_hosts(hosts).ends_with("t-0 ssh-ed25519 KEYt-0\n"));
}

TEST_CASE("a host that only we reach is refused") {
  std::vector<Host> hosts = {host("t-0", "10.0.0.1")};
  hosts[0].door = "/door";
  CHECK(test::failure_of([&] { openssh_config(hosts, "/k"); }).kind() == ErrorKind::usage);
}

}  // namespace
}  // namespace fastgpu::ssh
