// The version of this libfastgpu_comm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fastgpu::comm {

/// Returns "1.2.3" as 10203.
constexpr std::uint32_t version_number(std::string_view text) noexcept {
  std::uint32_t number = 0;
  std::uint32_t part = 0;
  for (const char c : text) {
    if (c == '.') {
      number = (number + part) * 100;
      part = 0;
    } else {
      part = part * 10 + static_cast<std::uint32_t>(c - '0');
    }
  }
  return number + part;
}

constexpr std::uint32_t kLibraryVersion = version_number(FASTGPU_VERSION);

/// Returns 10203 as "1.2.3".
inline std::string version_text(std::uint32_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

}  // namespace fastgpu::comm
