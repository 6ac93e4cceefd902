// Padded Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fastgpu {

std::string base64_encode(std::string_view bytes);

/// Returns the bytes of a text without spaces and line ends; absent for any other text.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace fastgpu
