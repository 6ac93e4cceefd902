#include "provision/signing/hmac.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <new>

namespace fastgpu::provision::signing {

Digest hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(),
           digest.data(), nullptr) == nullptr)
    throw std::bad_alloc();
  return digest;
}

Digest hmac_sha256(const Digest& key, std::string_view text) {
  return hmac_sha256({reinterpret_cast<const char*>(key.data()), key.size()}, text);
}

}  // namespace fastgpu::provision::signing
