// Hashes and encodings for signatures, by libcrypto.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hex.hpp"

namespace fastgpu::cloudsim {

std::string sha256_hex(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);  ///< Returns 32 raw bytes.

std::string base64_encode(std::string_view bytes);
/// Throws std::invalid_argument if `text` is not base64.
std::string base64_decode(std::string_view text);

/// Encodes every byte except A-Z a-z 0-9 - _ . ~ as %XX.
std::string percent_encode(std::string_view text);
enum class Plus : bool { is_plus, is_space };
std::string percent_decode(std::string_view text, Plus plus);

/// Returns the decoded names and values of "a=1&b", in the given order.
std::vector<std::pair<std::string, std::string>> parse_form(std::string_view text, Plus plus);

}  // namespace fastgpu::cloudsim
