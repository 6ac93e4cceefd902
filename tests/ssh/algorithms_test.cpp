#include "ssh/algorithms.hpp"

#include <doctest/doctest.h>

#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

std::string greeting(const std::string& kex, const std::string& key, const std::string& cipher,
                     const std::string& mac) {
  std::string payload("\4\x14", 2);
  payload += std::string(16, 'c');
  for (const std::string& list : {kex, key, cipher, cipher, mac, mac})
    put_string(payload, list);
  std::string out = "a banner\r\nSSH-2.0-OpenSSH_9.2p1\r\n";
  put_u32(out, static_cast<std::uint32_t>(payload.size()));
  return out + payload;
}

TEST_CASE("the lists without a common algorithm are named, with what the host has") {
  const std::string all =
      greeting("curve25519-sha256", "ssh-ed25519", "aes128-ctr", "hmac-sha2-256");
  CHECK(unmatched_algorithms(all).empty());
  CHECK(unmatched_algorithms(greeting("curve25519-sha256", "ssh-ed25519", "aes256-ctr",
                                      "hmac-sha2-256-etm@openssh.com"))
            .starts_with("MAC: the host has hmac-sha2-256-etm@openssh.com, libssh2 here has "));
  const std::string two = unmatched_algorithms(
      greeting("diffie-hellman-group16-sha512", "rsa-sha2-512", "aes256-ctr", "hmac-sha2-256"));
  CHECK(two.starts_with("key exchange: the host has diffie-hellman-group16-sha512"));
  CHECK(two.find("; host key: the host has rsa-sha2-512") != two.npos);
}

TEST_CASE("bytes that are cut anywhere, or of another protocol, name no list") {
  const std::string all = greeting("x", "x", "x", "x");
  for (std::size_t size = 0; size < all.size(); ++size)
    CHECK(unmatched_algorithms(all.substr(0, size)).empty());
  CHECK(unmatched_algorithms("HTTP/1.1 400 Bad Request\r\n\r\n").empty());
}

}  // namespace
}  // namespace fastgpu::ssh
