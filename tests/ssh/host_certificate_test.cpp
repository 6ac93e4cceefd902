#include "ssh/host_certificate.hpp"

#include <doctest/doctest.h>

#include <string>

using fastgpu::ssh::authorities_file;
using fastgpu::ssh::Host;
using fastgpu::ssh::KnownHost;
using fastgpu::ssh::parse_certificate_check;

namespace {

const std::string kShown =
    "debug1: Server host certificate: ssh-ed25519-cert-v01@openssh.com SHA256:XZPn+s/ob7Y, serial "
    "0 "
    "ID \"one\" CA ssh-ed25519 SHA256:2dFgahd valid forever\r\n";

const std::string kMatched =
    "debug1: Host '127.0.0.2' is known and matches the ED25519-CERT host certificate.\r\n";
const std::string kGoesOn =
    "debug1: Authentications that can continue: publickey\r\nroot@127.0.0.2: Permission denied "
    "(publickey).\r\n";

}  // namespace

TEST_CASE("a certificate holds where the client says that the host matches it") {
  const auto check = parse_certificate_check(
      "debug1: Connecting to 127.0.0.2 [127.0.0.2] port 22.\r\n" + kShown + kMatched + kGoesOn);
  REQUIRE(check);
  CHECK(check->holds);
  CHECK(check->type == "ssh-ed25519");
  CHECK(check->fingerprint == "SHA256:XZPn+s/ob7Y");
}

TEST_CASE("a certificate that the client does not accept does not hold, with the client's reason") {
  const auto reason = [](const std::string& log) {
    const auto check = parse_certificate_check(kShown + log);
    REQUIRE(check);
    CHECK_FALSE(check->holds);
    return check->reason;
  };
  CHECK(reason(kMatched + "Certificate invalid: expired\r\nHost key verification failed.\r\n") ==
        "expired");
  CHECK(reason("debug1: No matching CA found. Retry with plain key\r\n") == "");
  CHECK(
      reason("@       WARNING: REVOKED HOST KEY DETECTED!               @\r\n").find("@revoked") !=
      std::string::npos);
  // The plain key of a host says nothing of its certificate.
  CHECK(reason("debug1: Host 'one' is known and matches the ED25519 host key.\r\n" + kGoesOn) ==
        "");
  CHECK(reason(kMatched + "debug1: Host 'one' is known and matches the ED25519 host key.\r\n" +
               kGoesOn) == "");
  CHECK(reason(kMatched + "Connection closed by 127.0.0.2 port 22\r\n") == "");
}

TEST_CASE("a host without a certificate has none that could hold") {
  CHECK_FALSE(parse_certificate_check(""));
  CHECK_FALSE(parse_certificate_check("debug1: Server host key: ssh-ed25519 SHA256:XZPn\r\n" +
                                      kMatched + kGoesOn));
  CHECK_FALSE(parse_certificate_check("debug1: Server host certificate: odd\n"));
  const auto other = parse_certificate_check(
      "debug1: Server host certificate: ecdsa-sha2-nistp256-cert-v01@openssh.com SHA256:ab");
  REQUIRE(other);
  CHECK(other->type == "ecdsa-sha2-nistp256");
  CHECK(other->fingerprint == "SHA256:ab");
}

TEST_CASE(
    "the file for a certificate has authorities, revoked keys and jump hosts, but no host key") {
  Host host{.name = {"one"}, .address = "10.0.0.7", .host_keys = {"ssh-ed25519 AAAAone"}};
  host.jumps.push_back(
      {.name = {"gate"}, .address = "gate", .host_keys = {"ssh-ed25519 AAAAgate"}});
  const KnownHost known{.keys = {"ssh-ed25519 AAAAold"},
                        .revoked = {"ssh-rsa AAAAbad"},
                        .authorities = {"ssh-ed25519 AAAAca"}};
  CHECK(authorities_file(host, known) ==
        "gate ssh-ed25519 AAAAgate\n"
        "@cert-authority 10.0.0.7 ssh-ed25519 AAAAca\n"
        "@revoked 10.0.0.7 ssh-rsa AAAAbad\n");
}
