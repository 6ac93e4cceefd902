// HMAC-SHA256, and the dates that go into signatures.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "transfer/sha256.hpp"

namespace fastgpu::provision::signing {

using transfer::Digest;
using transfer::hex;
using transfer::sha256_hex;

Digest hmac_sha256(std::string_view key, std::string_view text);
Digest hmac_sha256(const Digest& key, std::string_view text);

/// Returns the time in UTC, formatted as by strftime(3).
std::string utc_text(std::chrono::system_clock::time_point time, const char* format);

}  // namespace fastgpu::provision::signing
