// Padded Base64 (RFC 4648), the encoding of user data.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::provision::signing {

std::string base64(std::string_view bytes);

}  // namespace fastgpu::provision::signing
