#include "cli/host_certificates.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/error.hpp"
#include "process/capture.hpp"
#include "ssh/certificate.hpp"
#include "ssh/connection.hpp"
#include "ssh/keys.hpp"

namespace fastgpu::cli {
namespace {

constexpr Bytes kMostOutput{64UL << 10};
/// How a line of ssh-keyscan -c begins, with or without the host before it.
constexpr const char* kCertificate = "ssh-ed25519-cert-v01@openssh.com ";

/// Returns the certificates that the host shows, a line each, without its name.
std::vector<std::string> shown_certificates(Context& context, const ssh::Host& place) {
  const auto limit = context.settings().duration("connect-timeout");
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit);
  const process::Command command{.argv = {"ssh-keyscan", "-c", "-t", "ed25519", "-T",
                                          std::to_string(seconds.count()), "-p",
                                          std::to_string(place.port), "--", place.address}};
  process::Captured shown;
  try {
    shown =
        process::capture(command, {.limit = kMostOutput, .timeout = 2 * limit}, context.cancel());
  } catch (const Error& e) {
    throw e.during("asking " + ssh::place(place) + " for its certificate with ssh-keyscan");
  }
  std::vector<std::string> certificates;
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);)
    if (const auto at = line.find(kCertificate); at != line.npos && !line.starts_with('#'))
      certificates.push_back(line.substr(at));
  return certificates;
}

std::string checked_key(const std::string& line, const ssh::Host& place,
                        const ssh::KnownHost& known) {
  const auto certificate = ssh::parse_certificate(line);
  if (known.is_revoked(certificate.authority))
    throw Error(ErrorKind::denied, "its certificate is signed by a key that is marked @revoked");
  if (known.is_revoked(certificate.key))
    throw Error(ErrorKind::denied, "its key " + ssh::fingerprint(certificate.key) +
                                       " is marked @revoked in known_hosts");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  ssh::check_certificate(certificate, place.address, static_cast<std::uint64_t>(seconds),
                         known.authorities);
  return certificate.key;
}

}  // namespace

std::optional<std::string> certified_key(Context& context, const ssh::Host& place,
                                         const ssh::KnownHost& known) {
  if (known.authorities.empty() || !place.jumps.empty()) return std::nullopt;
  std::optional<Error> refusal;
  for (const std::string& line : shown_certificates(context, place)) {
    try {
      return checked_key(line, place, known);
    } catch (const Error& e) {
      refusal = Error(ErrorKind::denied, e.during(ssh::place(place)).what());
    }
  }
  if (refusal) throw Error(*refusal);
  return std::nullopt;
}

}  // namespace fastgpu::cli
