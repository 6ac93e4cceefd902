#include "envs/drivers/pgp_key.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

// Made by gpg for this test.
const std::string kKey =
    "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
    "\n"
    "mDMEawJXTxYJKwYBBAHaRw8BAQdAGQmqRER8jtMVpd82DbC4eMdypcjrvveOBwDr\n"
    "Zn4iMqK0FFRlc3QgPHRAZXhhbXBsZS5vcmc+iJAEExYIADgWIQRqk1d82dTZUkkV\n"
    "eRsButddZD6JSgUCawJXTwIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRAB\n"
    "utddZD6JSr/qAQCvK4av2QlanY/G002u5TgSxbsGnjS/VKGaj9dReAgN6wD6Auti\n"
    "lDHDmbXUfSbarSIbmj7Zg1oMyW1bcWjFxuxD3AA=\n"
    "=MQBS\n"
    "-----END PGP PUBLIC KEY BLOCK-----\n";
const std::string kFingerprint = "6A93577CD9D4D9524915791B01BAD75D643E894A";

TEST_SUITE_BEGIN("envs pgp key");

TEST_CASE("a key's fingerprint is the one that gpg shows") {
  CHECK(key_fingerprint(kKey) == kFingerprint);
  std::string windows;
  for (const char c : kKey)
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(key_fingerprint(windows) == kFingerprint);
}

TEST_CASE("a key is taken only with the fingerprint that is trusted") {
  CHECK(pinned_key(kKey, kFingerprint, "http://x/key") == kKey);
  const Error error = failure_of([] { pinned_key(kKey, std::string(40, 'A'), "http://x/key"); });
  CHECK(error.kind() == ErrorKind::denied);
  CHECK(test::mentions(error, "http://x/key: the key's fingerprint is " + kFingerprint));
}

TEST_CASE("what is no key, or two, is refused") {
  const std::string cut = kKey.substr(0, 120) + "\n-----END PGP PUBLIC KEY BLOCK-----\n";
  const std::string bytes("\x99\x01\x00", 3);
  for (const std::string& text :
       {std::string(), std::string("<html>not here</html>"), cut, bytes, std::string("\xff\xff"),
        std::string("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")})
    CHECK(failure_of([&] { key_fingerprint(text); }).kind() == ErrorKind::remote);
  // A new-format packet of a key of version 4, twice.
  const std::string small("\xc6\x02\x04\x00", 4);
  CHECK(key_fingerprint(small).size() == 40);
  CHECK(test::mentions(failure_of([&] { key_fingerprint(small + small); }), "more than one"));
  CHECK(test::mentions(failure_of([] { key_fingerprint(std::string("\xc6\x02\x06\x00", 4)); }),
                       "has version 6"));
}

TEST_CASE("a fingerprint may be written in groups and small letters") {
  CHECK(parse_fingerprint("6a93 577c d9d4 d952 4915  791b 01ba d75d 643e 894a") == kFingerprint);
  CHECK(failure_of([] { parse_fingerprint("643E894A"); }).kind() == ErrorKind::usage);
  CHECK(failure_of([] { parse_fingerprint(std::string(40, 'x')); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
