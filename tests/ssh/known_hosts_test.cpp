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
  CHECK(known_host_keys(text, "node-1", 22) == Keys{a});
  CHECK(known_host_keys(text, "10.0.0.1", 22) == Keys{a});
  CHECK(known_host_keys(text, "node-1", 2222) == Keys{b});
  CHECK(known_host_keys(text, "good.lab", 22) == Keys{b});
  CHECK(known_host_keys(text, "bad.lab", 22).empty());
  CHECK(known_host_keys(text, "node-9", 22).empty());
  CHECK(known_host_keys(text, "node-2", 22).empty());
}

TEST_CASE("a revoked key is not known") {
  const std::string a = generate_key_pair("").public_key;
  CHECK(known_host_keys("h " + a + "\n@revoked * " + a + "\n", "h", 22).empty());
}

TEST_CASE("names hashed by ssh-keygen are found") {
  if (::access("/usr/bin/ssh-keygen", X_OK) != 0) return;
  const test::TemporaryDirectory dir;
  const std::string file = (dir.path() / "known_hosts").string();
  const std::string a = generate_key_pair("").public_key;
  test::write_file(file, "node-1 " + a + "\n[10.0.0.2]:2200 " + a + "\n",
                   std::filesystem::perms::owner_all);
  REQUIRE(std::system(("ssh-keygen -H -f " + file + " >/dev/null 2>&1").c_str()) == 0);
  REQUIRE(test::read_file(file).starts_with("|1|"));
  CHECK(known_host_keys_in(file, "node-1", 22) == Keys{a});
  CHECK(known_host_keys_in(file, "10.0.0.2", 2200) == Keys{a});
  CHECK(known_host_keys_in(file, "10.0.0.2", 22).empty());
  CHECK(known_host_keys_in(dir.path() / "none", "node-1", 22).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
