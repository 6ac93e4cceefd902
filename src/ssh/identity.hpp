// The key that we log in with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace fastgpu::ssh {

/// The kind of private key in a file.
enum class IdentityKind : std::uint8_t {
  missing,
  ed25519,  ///< A key that Identity::load() accepts if the file's mode is right.
  locked,   ///< A key that needs a passphrase.
  other,    ///< A key of another type or form, for OpenSSH's client.
};

/// Returns the kind of key in `file`. Throws denied if the file may not be read.
IdentityKind identity_kind(const std::filesystem::path& file);

/// An Ed25519 private key for signing.
class Identity {
 public:
  /// Reads OpenSSH's private key format. Throws not_found if the file does not exist, denied if
  /// others may read it or it has a passphrase, and usage if it is not an Ed25519 key.
  static Identity load(const std::filesystem::path& file);

  /// Returns the public half in its binary form.
  const std::string& public_blob() const noexcept { return public_blob_; }

  /// Returns the 64 bytes of an Ed25519 signature. Throws ErrorKind::local.
  std::string sign(std::string_view data) const;

 private:
  struct Release {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  using Key = std::unique_ptr<evp_pkey_st, Release>;

  Identity(std::string public_blob, Key key)
      : public_blob_(std::move(public_blob)), key_(std::move(key)) {}

  std::string public_blob_;
  Key key_;
};

/// A cache that reads each identity file only once. Not thread-safe.
class Identities {
 public:
  const Identity& at(const std::filesystem::path& file);

 private:
  std::map<std::filesystem::path, Identity> loaded_;
};

}  // namespace fastgpu::ssh
