#include "provision/cloud/key_pair.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using test::failure_of;
using test::mentions;

constexpr KeyPairName kPair{"aws", "us-east-1", "mine"};

TEST_SUITE_BEGIN("provision/key_pair");

TEST_CASE("a public key is taken as OpenSSH writes it, without its comment") {
  CHECK(public_key_of(kPair, "ssh-rsa AAAAB3+/=") == "ssh-rsa AAAAB3+/=");
  CHECK(public_key_of(kPair, "ssh-ed25519 AAAAC3 me@home\n") == "ssh-ed25519 AAAAC3");
  CHECK(public_key_of(kPair, "ecdsa-sha2-nistp256 AAAAE2 x y") == "ecdsa-sha2-nistp256 AAAAE2");
}

TEST_CASE("what authorized_keys would not read as one key is refused") {
  for (const std::string& given :
       {std::string(), std::string("ssh-rsa"), std::string("-----BEGIN PUBLIC KEY-----"),
        std::string("command=\"id\" ssh-rsa AAAA"), std::string("ssh-rsa,x AAAA"),
        std::string("ssh-rsa A\"A"), "ssh-rsa " + std::string(kMostOfPublicKey, 'A')}) {
    const Error e = failure_of([&] { public_key_of(kPair, given); });
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "aws: the key pair 'mine' in us-east-1"));
    CHECK(mentions(e, "--ssh-key"));
  }
  CHECK(public_key_of(kPair, "ssh-rsa AAAA\nssh-rsa BBBB") == "ssh-rsa AAAA");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
