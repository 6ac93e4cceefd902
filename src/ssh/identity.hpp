// The key that we prove to own when we log in.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace fastgpu::ssh {

/// An Ed25519 private key ready to sign.
class Identity {
 public:
  /// Reads OpenSSH's private key format. Throws not_found where there is no such file, denied where
  /// others may read it or it has a passphrase, usage where it holds no Ed25519 key.
  static Identity load(const std::filesystem::path& file);

  /// The public half in its binary form.
  const std::string& public_blob() const noexcept { return public_blob_; }

  /// The 64 bytes of an Ed25519 signature. Throws ErrorKind::local.
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

/// Reads each identity file once, however many sessions use it. Not thread-safe.
class Identities {
 public:
  const Identity& at(const std::filesystem::path& file);

 private:
  std::map<std::filesystem::path, Identity> loaded_;
};

}  // namespace fastgpu::ssh
