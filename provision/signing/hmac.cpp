#include "provision/signing/hmac.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <ctime>
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

std::string utc_text(std::chrono::system_clock::time_point time, const char* format) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace fastgpu::provision::signing
