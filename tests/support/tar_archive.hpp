// Builds tar archives entry by entry, and zstd frames.
#pragma once

#include <doctest/doctest.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace fastgpu::test {

inline std::string octal(std::uint64_t value, std::size_t size) {
  std::string text(size, '\0');
  std::snprintf(text.data(), size, "%0*llo", static_cast<int>(size - 1),
                static_cast<unsigned long long>(value));
  return text;
}

/// Returns one header with its content. `type` is '0' for a file, '5' for a directory, '2' for a
/// link.
inline std::string tar_entry(std::string_view path, char type, std::string_view content = {},
                             std::string_view target = {}, unsigned mode = 0644) {
  constexpr std::size_t kBlock = 512;
  std::string header(kBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    header.replace(at, text.size(), text);
  };
  put(0, path.substr(0, 100));
  put(100, octal(mode, 8));
  put(124, octal(content.size(), 12));
  put(136, octal(946'684'800, 12));
  put(148, "        ");
  header[156] = type;
  put(157, target.substr(0, 100));
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  unsigned sum = 0;
  for (const char byte : header)
    sum += static_cast<unsigned char>(byte);
  put(148, octal(sum, 7));
  std::string out = header + std::string(content);
  out.resize((out.size() + kBlock - 1) / kBlock * kBlock);
  return out;
}

inline std::string tar_end() {
  return std::string(1024, '\0');
}

inline std::string zstd_frame(std::string_view content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 1);
  REQUIRE(!ZSTD_isError(size));
  packed.resize(size);
  return packed;
}

}  // namespace fastgpu::test
