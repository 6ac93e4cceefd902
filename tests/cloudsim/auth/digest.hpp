// Hashes and encodings that signatures are made of, over libcrypto.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastgpu::cloudsim {

std::string hex(std::string_view bytes);  ///< In lower case.
std::string sha256_hex(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);  ///< 32 raw bytes.

std::string base64_encode(std::string_view bytes);
/// Throws std::invalid_argument where `text` is no base64.
std::string base64_decode(std::string_view text);

/// All but A-Z a-z 0-9 - _ . ~ as %XX.
std::string percent_encode(std::string_view text);
enum class Plus : bool { is_plus, is_space };
std::string percent_decode(std::string_view text, Plus plus);

/// The decoded names and values of "a=1&b", in the order given.
std::vector<std::pair<std::string, std::string>> parse_form(std::string_view text, Plus plus);

}  // namespace fastgpu::cloudsim
