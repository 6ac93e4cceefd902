// HMAC() of libcrypto looks its hash up among all that there are, and would bring them into our
// library: 3 MB in place of 20 KB.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "comm/rendezvous/proof.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstdint>

namespace fastgpu::comm {
namespace {

using Block = std::array<std::uint8_t, SHA256_CBLOCK>;

class Sha256 {
 public:
  Sha256() { ::SHA256_Init(&state_); }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256() { ::OPENSSL_cleanse(&state_, sizeof(state_)); }

  void add(std::span<const std::byte> bytes) {
    ::SHA256_Update(&state_, bytes.data(), bytes.size());
  }
  Proof end() {
    Proof proof;
    ::SHA256_Final(reinterpret_cast<unsigned char*>(proof.data()), &state_);
    return proof;
  }

 private:
  SHA256_CTX state_;
};

/// The key as HMAC has it (RFC 2104): one block of the hash, filled up by zeros.
class Key {
 public:
  explicit Key(std::span<const std::byte> secret) {
    if (secret.size() <= block_.size()) {
      std::ranges::transform(secret, block_.begin(), std::to_integer<std::uint8_t>);
      return;
    }
    Sha256 hash;
    hash.add(secret);
    std::ranges::transform(hash.end(), block_.begin(), std::to_integer<std::uint8_t>);
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { ::OPENSSL_cleanse(block_.data(), block_.size()); }

  /// Begins a hash with the key, each byte of it xor `pad`.
  void begin(Sha256& hash, std::uint8_t pad) const {
    Block padded = block_;
    for (std::uint8_t& byte : padded)
      byte = static_cast<std::uint8_t>(byte ^ pad);
    hash.add(std::as_bytes(std::span(padded)));
    ::OPENSSL_cleanse(padded.data(), padded.size());
  }

 private:
  Block block_{};
};

}  // namespace

Proof prove(const Secret& secret, std::string_view label,
            std::initializer_list<std::span<const std::byte>> parts) {
  const Key key(std::as_bytes(std::span(secret.reveal())));
  Sha256 inner;
  key.begin(inner, 0x36);
  inner.add(std::as_bytes(std::span(label)));
  for (const auto part : parts)
    inner.add(part);
  Sha256 outer;
  key.begin(outer, 0x5c);
  outer.add(inner.end());
  return outer.end();
}

bool is_equal(const Proof& a, const Proof& b) noexcept {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace fastgpu::comm
