#include "ssh/keys.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "ssh/identity.hpp"
#include "ssh/wire.hpp"
#include "support/failure.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu::ssh {
namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 4096> buffer{};
  return {buffer.data(), std::fread(buffer.data(), 1, buffer.size(), pipe.get())};
}

constexpr auto kPrivate = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

TEST_SUITE_BEGIN("ssh/keys");

TEST_CASE("ssh-keygen reads our private key and finds the same public key and fingerprint") {
  if (::access("/usr/bin/ssh-keygen", X_OK) != 0) return;
  const test::TempDirectory dir;
  const std::string file = (dir.path() / "id").string();
  for (const char* comment : {"", "a", "a longer comment with spaces", "1234567"}) {
    const KeyPair pair = generate_key_pair(comment);
    test::write_file(file, pair.private_key.reveal(), kPrivate);
    const std::string shown = output_of("ssh-keygen -y -f " + file);
    CHECK(shown.starts_with(pair.public_key));
    CHECK(output_of("ssh-keygen -l -f " + file).find(fingerprint(pair.public_key)) !=
          std::string::npos);
  }
}

TEST_CASE("two key pairs differ") {
  CHECK(generate_key_pair("").public_key != generate_key_pair("").public_key);
}

TEST_CASE("an identity is read back with its public half") {
  const test::TempDirectory dir;
  const KeyPair pair = generate_key_pair("x");
  test::write_file(dir.path() / "id", pair.private_key.reveal(), kPrivate);
  const Identity identity = Identity::load(dir.path() / "id");
  CHECK(public_key_line(identity.public_blob()) == pair.public_key);
  CHECK(identity.sign("data").size() == 64);
}

TEST_CASE("an identity that others can read is refused") {
  const test::TempDirectory dir;
  test::write_file(dir.path() / "id", generate_key_pair("x").private_key.reveal(),
                   kPrivate | std::filesystem::perms::others_read);
  const Error e = test::failure_of([&] { Identity::load(dir.path() / "id"); });
  CHECK(e.kind() == ErrorKind::denied);
}

TEST_CASE("what is no key is refused with the value met") {
  for (const char* text :
       {"", "ssh-rsa AAAA", "ssh-ed25519", "ssh-ed25519 !!!!", "ssh-ed25519 AAAA"}) {
    const Error e = test::failure_of([&] { fingerprint(text); });
    CHECK(e.kind() == ErrorKind::usage);
  }
  const test::TempDirectory dir;
  test::write_file(dir.path() / "id", "nothing", kPrivate);
  CHECK(test::failure_of([&] { Identity::load(dir.path() / "id"); }).kind() == ErrorKind::usage);
  CHECK(test::failure_of([&] { Identity::load(dir.path() / "no"); }).kind() ==
        ErrorKind::not_found);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
