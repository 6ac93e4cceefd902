#include "ssh/identity.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/base64.hpp"
#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/unique_fd.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

constexpr std::size_t kLargestFile = 64UL * 1024;

std::string identity_text(const std::filesystem::path& file) {
  return "identity file " + file.string();
}

void check_permissions(int fd, const std::filesystem::path& file) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw system_error("reading " + identity_text(file), errno);
  if (!S_ISREG(info.st_mode))
    throw Error(ErrorKind::usage, identity_text(file) + " is not a regular file");
  if (info.st_uid == ::geteuid() && (info.st_mode & 077) != 0)
    throw Error(ErrorKind::denied,
                identity_text(file) + " can be read by others; chmod 600 " + file.string());
}

UniqueFd open_file(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT)
    throw Error(ErrorKind::not_found, identity_text(file) + " does not exist");
  if (!fd) throw system_error("opening " + identity_text(file), errno);
  return fd;
}

std::string read_text(const UniqueFd& fd, const std::filesystem::path& file) {
  return read_to_end(fd.get(), "reading " + identity_text(file), kLargestFile);
}

std::string read_private_file(const std::filesystem::path& file) {
  const UniqueFd fd = open_file(file);
  check_permissions(fd.get(), file);
  return read_text(fd, file);
}

/// Returns the base64 text between the armour's lines, without line ends.
std::optional<std::string> without_armour(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
  constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
  const auto begin = text.find(kBegin);
  const auto end = text.find(kEnd);
  if (begin == text.npos || end == text.npos || end < begin) return std::nullopt;
  std::string inner;
  for (const char c : text.substr(begin + kBegin.size(), end - begin - kBegin.size()))
    if (c != '\n' && c != '\r') inner += c;
  return inner;
}

struct Parsed {
  std::string public_blob;
  std::string seed;
};

/// Returns the key pair in the decoded text of a key file; absent if it is not usable.
std::optional<Parsed> parse_pair(SshWireReader& reader) {
  const auto public_blob = reader.string();
  const auto section = reader.string();
  if (!public_blob || !section) return std::nullopt;
  SshWireReader inner(*section);
  const auto check = inner.u32();
  if (!check || inner.u32() != check || inner.string() != "ssh-ed25519") return std::nullopt;
  const auto raw_public = inner.string();
  const auto raw_private = inner.string();
  if (!raw_public || !raw_private || raw_private->size() != 64) return std::nullopt;
  return Parsed{std::string(*public_blob), std::string(raw_private->substr(0, 32))};
}

Parsed parse(std::string_view text, const std::filesystem::path& file) {
  const Error unusable(ErrorKind::usage,
                       identity_text(file) +
                           " holds no Ed25519 key in OpenSSH's format; make one with "
                           "ssh-keygen -t ed25519");
  constexpr std::string_view kMagic("openssh-key-v1\0", 15);
  const auto encoded = without_armour(text);
  const auto decoded = encoded ? base64_decode(*encoded) : std::nullopt;
  if (!decoded) throw unusable;
  SshWireReader reader(*decoded);
  if (reader.bytes(kMagic.size()) != kMagic) throw unusable;
  const auto cipher = reader.string();
  if (cipher && *cipher != "none")
    throw Error(ErrorKind::denied,
                identity_text(file) + " has a passphrase; a key without one is needed");
  reader.string();  // key derivation
  reader.string();  // its options
  if (reader.u32() != 1U) throw unusable;
  const auto pair = parse_pair(reader);
  if (!pair) throw unusable;
  return *pair;
}

}  // namespace

IdentityKind identity_kind(const std::filesystem::path& file) {
  std::string text;
  try {
    text = read_text(open_file(file), file);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::not_found) return IdentityKind::missing;
    throw;
  }
  try {
    parse(text, file);
    return IdentityKind::ed25519;
  } catch (const Error& e) {
    const bool locked = e.kind() == ErrorKind::denied || text.find("ENCRYPTED") != text.npos;
    return locked ? IdentityKind::locked : IdentityKind::other;
  }
}

void Identity::Release::operator()(evp_pkey_st* key) const noexcept {
  EVP_PKEY_free(key);
}

Identity Identity::load(const std::filesystem::path& file) {
  Parsed pair = parse(read_private_file(file), file);
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                       reinterpret_cast<const unsigned char*>(pair.seed.data()),
                                       pair.seed.size()));
  if (!key) throw Error(ErrorKind::local, "libcrypto refused " + identity_text(file));
  return {std::move(pair.public_blob), std::move(key)};
}

std::string Identity::sign(std::string_view data) const {
  const CHandle<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  std::array<unsigned char, 64> signature{};
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size,
                     reinterpret_cast<const unsigned char*>(data.data()), data.size()) != 1)
    throw Error(ErrorKind::local, "libcrypto refused to sign");
  return {reinterpret_cast<const char*>(signature.data()), size};
}

const Identity& Identities::at(const std::filesystem::path& file) {
  const auto found = loaded_.find(file);
  if (found != loaded_.end()) return found->second;
  return loaded_.emplace(file, Identity::load(file)).first->second;
}

}  // namespace fastgpu::ssh
