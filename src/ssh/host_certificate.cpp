#include "ssh/host_certificate.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "ssh/connection.hpp"
#include "ssh/first_contact.hpp"
#include "ssh/keys.hpp"
#include "ssh/openssh.hpp"
#include "ssh/openssh_call.hpp"
#include "ssh/openssh_failure.hpp"

namespace fastgpu::ssh {
namespace {

constexpr std::string_view kShown = "debug1: Server host certificate: ";
constexpr std::string_view kTypeEnd = "-cert-v01@openssh.com";
constexpr std::string_view kKnown = "debug1: Host '";
constexpr std::string_view kByCertificate = "host certificate.";
constexpr std::string_view kInvalid = "Certificate invalid: ";

std::string_view next_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Parses "TYPE-cert-v01@openssh.com SHA256:..., serial ...".
std::optional<CertificateCheck> shown_certificate(std::string_view text) {
  const auto type_end = text.find(kTypeEnd);
  const auto print = text.find(" SHA256:");
  if (type_end == text.npos || print == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(print + 1);
  return CertificateCheck{.type = std::string(text.substr(0, type_end)),
                          .fingerprint = std::string(rest.substr(0, rest.find_first_of(", ")))};
}

/// Returns true for a line that the client logs only after it trusts the host.
bool has_gone_on(std::string_view line) {
  return line.starts_with("debug1: Authentications that can continue: ") ||
         line.starts_with("Authenticated to ");
}

/// Returns the signature algorithms with which a host can prove to own a key of `type`.
std::string algorithms_of(const std::string& type) {
  return type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256,ssh-rsa" : type;
}

Error refused(const Host& host, const std::string& reason) {
  return {ErrorKind::denied, place(host) + ": " + reason};
}

/// Returns the certified key itself: the certificate has shown only its fingerprint.
std::string key_of(const Host& host, const CertificateCheck& check,
                   std::chrono::milliseconds timeout, const Cancel& cancel) {
  const std::vector<std::string> keys =
      learn_host_keys(host, timeout, cancel, algorithms_of(check.type));
  const auto found = std::ranges::find_if(
      keys, [&](const std::string& key) { return fingerprint(key) == check.fingerprint; });
  if (found != keys.end()) return *found;
  throw refused(host, "its certificate is for the key " + check.fingerprint +
                          ", and it shows another one, " + fingerprint(keys.front()));
}

}  // namespace

std::optional<CertificateCheck> parse_certificate_check(std::string_view log) {
  std::optional<CertificateCheck> check;
  bool is_matched = false;  // An authority matches the certificate; its validity is checked later.
  std::string reason;
  while (!log.empty()) {
    std::string_view line = next_line(log);
    if (!check && line.starts_with(kShown)) {
      check = shown_certificate(line.substr(kShown.size()));
    } else if (line.starts_with(kKnown)) {
      is_matched = line.ends_with(kByCertificate);
    } else if (const auto at = line.find(kInvalid); at != line.npos) {
      is_matched = false;
      reason = line.substr(at + kInvalid.size());
    } else if (line.find("REVOKED HOST KEY") != line.npos) {
      is_matched = false;
      reason = "it, or the key that signed it, is marked @revoked in known_hosts";
    } else if (check && is_matched && has_gone_on(line)) {
      check->holds = true;
    }
  }
  if (check && !check->holds) check->reason = std::move(reason);
  return check;
}

std::string authorities_file(const Host& host, const KnownHost& known) {
  std::string text = openssh_known_hosts(host.jumps);
  for (const std::string& key : known.authorities)
    text += "@cert-authority " + host.address + " " + key + "\n";
  for (const std::string& key : known.revoked)
    text += "@revoked " + host.address + " " + key + "\n";
  return text;
}

std::optional<std::string> certified_host_key(const Host& host, const KnownHost& known,
                                              std::chrono::milliseconds timeout,
                                              const Cancel& cancel) {
  Host asked = host;
  asked.name.value = host.address;  // The certificate is checked against this name.
  const MemoryFile known_hosts(authorities_file(asked, known));
  const FirstContact contact =
      first_contact(asked, openssh_connection_config(asked, known_hosts.path(), timeout),
                    {"-o", "LogLevel=DEBUG1"}, timeout, cancel);
  const auto check = parse_certificate_check(contact.log);
  if (check && !check->holds)
    throw refused(host, check->reason.empty()
                            ? "its certificate is signed by no @cert-authority of known_hosts"
                            : "its certificate does not hold for " + host.address + ": " +
                                  printable(check->reason, 200));
  if (check) return key_of(asked, *check, timeout, cancel);
  if (contact.log.find("Server host key: ") != contact.log.npos) return std::nullopt;
  throw openssh_failure(host, contact.log, contact.errors);
}

}  // namespace fastgpu::ssh
