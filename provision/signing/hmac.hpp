// HMAC-SHA256.
#pragma once

#include <string>
#include <string_view>

#include "transfer/sha256.hpp"

namespace fastgpu::provision::signing {

using transfer::Digest;
using transfer::sha256_hex;

Digest hmac_sha256(std::string_view key, std::string_view text);
Digest hmac_sha256(const Digest& key, std::string_view text);

}  // namespace fastgpu::provision::signing
