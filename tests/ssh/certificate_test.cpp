#include "ssh/certificate.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "ssh/wire.hpp"
#include "support/failure.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu::ssh {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("ssh/certificate");

/// Keys and certificates made by ssh-keygen.
class Office {
 public:
  static bool exists() { return ::access("/usr/bin/ssh-keygen", X_OK) == 0; }

  std::string make(const std::string& name, const std::string& options) const {
    keygen("-q -N '' -C '' -f " + at(name) + " " + options);
    return line(name + ".pub");
  }
  /// The certificate of the key `host`, signed by the key `authority`.
  std::string sign(const std::string& authority, const std::string& options) const {
    keygen("-q -s " + at(authority) + " -I test " + options + " " + at("host.pub"));
    return line("host-cert.pub");
  }

 private:
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  static void keygen(const std::string& words) {
    REQUIRE(std::system(("ssh-keygen " + words + " >/dev/null 2>&1 </dev/null").c_str()) == 0);
  }
  std::string line(const std::string& name) const {
    std::string text = test::read_file(dir_.path() / name);
    while (text.ends_with('\n') || text.ends_with(' '))
      text.pop_back();
    return text;
  }

  test::TemporaryDirectory dir_;
};

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::time(nullptr));
}

/// Why it is refused; empty where it is not.
std::string refusal(const std::string& certificate, const std::string& authority,
                    const std::string& name = "train-1.lab", std::uint64_t at = now()) try {
  check_certificate(parse_certificate(certificate), name, at, std::vector{authority});
  return "";
} catch (const Error& e) {
  CHECK(e.kind() == ErrorKind::denied);
  return e.what();
}

bool says(const std::string& text, const char* part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("certificates of every kind of authority hold for their names and times") {
  if (!Office::exists()) return;
  for (const char* type : {"-t ed25519", "-t ecdsa -b 256", "-t ecdsa -b 384", "-t ecdsa -b 521",
                           "-t rsa -b 2048", "-t rsa -b 3072"}) {
    CAPTURE(type);
    const Office office;
    const std::string host = office.make("host", "-t ed25519");
    const std::string authority = office.make("authority", type);
    const std::string other = office.make("other", type);
    const std::string certificate = office.sign("authority", "-h -n train-1.lab,*.gpu -V -1h:+1h");
    CHECK(parse_certificate(certificate).key == host);
    CHECK(parse_certificate(certificate).id == "test");
    CHECK(refusal(certificate, authority) == "");
    CHECK(refusal(certificate, authority, "x.gpu") == "");
    CHECK(says(refusal(certificate, authority, "train-2.lab"), "not for train-2.lab but for"));
    CHECK(says(refusal(certificate, other), "@cert-authority"));
    CHECK(says(refusal(certificate, authority, "x.gpu", now() - 7200), "not valid yet"));
    CHECK(says(refusal(certificate, authority, "x.gpu", now() + 7200), "expired"));
  }
}

TEST_CASE("a certificate for users, or signed with SHA-1, is none for a host") {
  if (!Office::exists()) return;
  const Office office;
  office.make("host", "-t ed25519");
  const std::string authority = office.make("authority", "-t rsa -b 2048");
  CHECK(says(refusal(office.sign("authority", "-n train-1.lab"), authority), "for users"));
  CHECK(says(refusal(office.sign("authority", "-h -t ssh-rsa -n train-1.lab"), authority),
             "signature"));
  CHECK(refusal(office.sign("authority", "-h -t rsa-sha2-256 -n train-1.lab"), authority) == "");
  CHECK(refusal(office.sign("authority", "-h"), authority) == "");  // For every host.
}

TEST_CASE("a certificate with options that are not known is refused") {
  if (!Office::exists()) return;
  const Office office;
  office.make("host", "-t ed25519");
  const std::string authority = office.make("authority", "-t ed25519");
  CHECK(refusal(office.sign("authority", "-h -O extension:x@y=1"), authority) == "");
  CHECK(says(refusal(office.sign("authority", "-h -O critical:x@y=1"), authority), "options"));
}

TEST_CASE("a changed byte is noticed wherever it is") {
  if (!Office::exists()) return;
  const Office office;
  office.make("host", "-t ed25519");
  const std::string authority = office.make("authority", "-t ed25519");
  const std::string line = office.sign("authority", "-h -n train-1.lab");
  const std::string type = line.substr(0, line.find(' ') + 1);
  const std::string blob =
      base64_decode(line.substr(type.size(), line.find(' ', type.size()) - type.size())).value();
  for (std::size_t at = 0; at < blob.size(); ++at) {
    CAPTURE(at);
    std::string changed = blob;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK_THROWS_AS(check_certificate(parse_certificate(type + base64_encode(changed)),
                                      "train-1.lab", now(), std::vector{authority}),
                    Error);
    CHECK_THROWS_AS(parse_certificate(type + base64_encode(blob.substr(0, at))), Error);
  }
}

TEST_CASE("what is no certificate is told from one") {
  for (const std::string& text :
       {std::string(), std::string("ssh-ed25519 AAAA"),
        std::string("ssh-ed25519-cert-v01@openssh.com"),
        std::string("ssh-ed25519-cert-v01@openssh.com !!!!"),
        std::string("ssh-rsa-cert-v01@openssh.com AAAA"), std::string(100'000, 'x')}) {
    CHECK(failure_of([&] { parse_certificate(text); }).kind() == ErrorKind::usage);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
