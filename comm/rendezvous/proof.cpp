#include "comm/rendezvous/proof.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <vector>

#include "base/error.hpp"

namespace fastgpu::comm {

Proof prove(const Secret& secret, std::string_view label,
            std::initializer_list<std::span<const std::byte>> parts) {
  const auto label_bytes = std::as_bytes(std::span(label));
  std::vector<std::byte> message(label_bytes.begin(), label_bytes.end());
  for (const auto part : parts)
    message.insert(message.end(), part.begin(), part.end());
  Proof proof;
  const std::string& key = secret.reveal();
  const auto* result =
      ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(message.data()), message.size(),
             reinterpret_cast<unsigned char*>(proof.data()), nullptr);
  if (result == nullptr) throw Error(ErrorKind::local, "libcrypto offers no HMAC-SHA256");
  return proof;
}

bool is_equal(const Proof& a, const Proof& b) noexcept {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace fastgpu::comm
