#include "ssh/certificate.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/names.hpp"
#include "ssh/host_patterns.hpp"
#include "ssh/signature.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

constexpr std::string_view kType = "ssh-ed25519-cert-v01@openssh.com";
constexpr std::size_t kLongest = 64UL * 1024;
constexpr std::size_t kMostPrincipals = 1024;
constexpr std::uint32_t kForHosts = 2;

Error refused(const std::string& reason) {
  return {ErrorKind::denied, "its certificate " + reason};
}

/// Takes the fields of an encoding; absent ones throw.
class Fields {
 public:
  explicit Fields(std::string_view blob) : reader_(blob), blob_(blob) {}

  std::string_view string() { return present(reader_.string()); }
  std::uint32_t u32() { return present(reader_.u32()); }
  std::uint64_t u64() {
    const std::uint64_t high = u32();
    return high << 32 | u32();
  }
  /// What has been read so far.
  std::string_view so_far() const { return blob_.substr(0, blob_.size() - reader_.left()); }
  bool at_end() const noexcept { return reader_.left() == 0; }

 private:
  template <class T>
  static T present(const std::optional<T>& field) {
    if (!field) throw Error(ErrorKind::usage, "a certificate that is cut off");
    return *field;
  }

  WireReader reader_;
  std::string_view blob_;
};

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (Fields fields(list); !fields.at_end();) {
    names.emplace_back(fields.string());
    if (names.size() > kMostPrincipals)
      throw Error(ErrorKind::usage, "a certificate for too many names");
  }
  return names;
}

HostCertificate read(std::string_view blob) {
  Fields fields(blob);
  if (fields.string() != kType)
    throw Error(ErrorKind::usage, "a certificate that is not for an ed25519 key");
  fields.string();  // Random, so that nobody can foresee what is signed.
  HostCertificate out;
  std::string key;
  put_string(key, "ssh-ed25519");
  put_string(key, fields.string());
  out.key = public_key_line(key);
  public_key_blob(out.key);  // Throws where it is none.
  fields.u64();              // Its number.
  out.type = fields.u32();
  out.id = fields.string();
  out.principals = names_in(fields.string());
  out.valid_after = fields.u64();
  out.valid_before = fields.u64();
  out.has_critical_options = !fields.string().empty();
  fields.string();  // Extensions may be unknown.
  fields.string();  // Reserved.
  out.authority = public_key_line(fields.string());
  out.signed_part = fields.so_far();
  Fields signature(fields.string());
  out.signature_type = signature.string();
  out.signature = signature.string();
  if (!fields.at_end() || !signature.at_end())
    throw Error(ErrorKind::usage, "a certificate with something behind it");
  return out;
}

}  // namespace

HostCertificate parse_certificate(std::string_view line) {
  if (line.size() > kLongest || !line.starts_with(kType) || line.substr(kType.size(), 1) != " ")
    throw Error(ErrorKind::usage, "'" + printable(line) + "' is no certificate of an ed25519 key");
  line.remove_prefix(kType.size() + 1);
  const auto blob = base64_decode(line.substr(0, line.find_first_of(" \r\n")));
  if (!blob) throw Error(ErrorKind::usage, "a certificate that is not in base64");
  return read(*blob);
}

void check_certificate(const HostCertificate& certificate, const std::string& name,
                       std::uint64_t now, std::span<const std::string> authorities) {
  if (certificate.type != kForHosts) throw refused("is for users, and not for hosts");
  if (std::ranges::find(authorities, certificate.authority) == authorities.end())
    throw refused("is signed by a key that known_hosts does not name as @cert-authority for " +
                  printable(name));
  if (!is_signature_of(certificate.authority, certificate.signature_type, certificate.signature,
                       certificate.signed_part))
    throw refused("has a signature that is not its authority's");
  if (now < certificate.valid_after) throw refused("is not valid yet");
  if (now >= certificate.valid_before) throw refused("has expired");
  const bool is_named = std::ranges::any_of(
      certificate.principals, [&](const auto& pattern) { return pattern_match(pattern, name); });
  if (!certificate.principals.empty() && !is_named)
    throw refused("is not for " + printable(name) + " but for " +
                  printable(certificate.principals.front()));
  if (certificate.has_critical_options) throw refused("has options that are not known here");
}

}  // namespace fastgpu::ssh
