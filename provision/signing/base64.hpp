// Base64 as RFC 4648 has it, padded: how user data travels.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::provision::signing {

std::string base64(std::string_view bytes);

}  // namespace fastgpu::provision::signing
