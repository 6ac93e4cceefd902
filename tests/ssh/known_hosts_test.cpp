#include "ssh/known_hosts.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>

#include "ssh/keys.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu::ssh {
namespace {

using Keys = std::vector<std::string>;

TEST_SUITE_BEGIN("ssh/known_hosts");

TEST_CASE("keys are found by name, pattern and port, and only there") {
  const std::string a = generate_key_pair("").public_key;
  const std::string b = generate_key_pair("").public_key;
  const std::string text = "# comment\n\nnode-1,10.0.0.1 " + a + " a comment\n[node-1]:2222 " + b +
                           "\n*.lab,!bad.lab " + b + "\nnode-1 ssh-rsa AAAAB3NzaC1yc2E=\n" +
                           "@cert-authority * " + b + "\ndamaged\nnode-9 ssh-ed25519 AAAA";
  CHECK(known_host(text, "node-1", 22).keys == Keys{a});
  CHECK(known_host(text, "10.0.0.1", 22).keys == Keys{a});
  CHECK(known_host(text, "node-1", 2222).keys == Keys{b});
  CHECK(known_host(text, "good.lab", 22).keys == Keys{b});
  CHECK(known_host(text, "bad.lab", 22).keys.empty());
  CHECK(known_host(text, "node-9", 22).keys.empty());
  CHECK(known_host(text, "node-2", 22).keys.empty());
}

TEST_CASE("revoked keys and authorities are told apart from keys, whatever the port") {
  const std::string a = generate_key_pair("").public_key;
  const std::string b = generate_key_pair("").public_key;
  const std::string text = "h " + a + "\n@revoked * " + a + "\n@cert-authority *.lab,h " + b +
                           "\n@revoked x ssh-rsa AAAAB3NzaC1yc2E=\n@other h " + b + "\n";
  const KnownHost h = known_host(text, "h", 22);
  CHECK(h.keys == Keys{a});
  CHECK(h.is_revoked(a));
  CHECK_FALSE(h.is_revoked(b));
  CHECK(h.authorities == Keys{b});
  const KnownHost other_port = known_host(text, "h", 2222);
  CHECK(other_port.keys.empty());
  CHECK(other_port.is_revoked(a));
  CHECK(other_port.authorities == Keys{b});
  CHECK(known_host(text, "x", 22).is_revoked("ssh-rsa AAAAB3NzaC1yc2E="));
}

TEST_CASE("a host that is known by another type of key is not unknown") {
  const std::string text =
      "h ssh-rsa AAAAB3NzaC1yc2E=\nh ecdsa-sha2-nistp256 AAAAB3NzaC1yc2E=\nh ssh-ed25519 AAAA\n";
  CHECK(known_host(text, "h", 22).other_types == std::set<std::string>{"ssh-rsa"});
  CHECK(known_host(text, "h", 22).keys.empty());
}

TEST_CASE("names hashed by ssh-keygen are found") {
  if (::access("/usr/bin/ssh-keygen", X_OK) != 0) return;
  const test::TempDirectory dir;
  const std::string file = (dir.path() / "known_hosts").string();
  const std::string a = generate_key_pair("").public_key;
  test::write_file(file, "node-1 " + a + "\n[10.0.0.2]:2200 " + a + "\n",
                   std::filesystem::perms::owner_all);
  REQUIRE(std::system(("ssh-keygen -H -f " + file + " >/dev/null 2>&1").c_str()) == 0);
  REQUIRE(test::read_file(file).starts_with("|1|"));
  const std::vector<std::filesystem::path> files = {file};
  const std::vector<std::filesystem::path> none = {dir.path() / "none"};
  CHECK(known_host_in(files, "node-1", 22).keys == Keys{a});
  CHECK(known_host_in(files, "10.0.0.2", 2200).keys == Keys{a});
  CHECK(known_host_in(files, "10.0.0.2", 22).keys.empty());
  CHECK(known_host_in(none, "node-1", 22).keys.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
