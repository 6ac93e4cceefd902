// Interrupted copies that are resumed later: their keys, and their positions.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

/// A position in a stream of files.
struct Position {
  std::uint64_t files = 0;  ///< The number of complete files.
  std::uint64_t bytes = 0;  ///< The bytes of the next file.

  auto operator<=>(const Position&) const = default;
};

/// A copy that is kept if it is interrupted, and the position from which to resume it.
struct Resumption {
  std::string key;  ///< See key_of.
  Position from{};
};

/// The number of digits of a key that identify the destination of the copy. The other digits
/// identify its content.
inline constexpr std::size_t kPlaceDigits = 12;
inline constexpr std::size_t kKeyDigits = 32;

/// Returns 32 hexadecimal digits that identify the copy of these sources, in their present state,
/// to `destination`. They depend on the destination and on the sources' paths, kinds, sizes, modes
/// and times. Empty if the sources cannot be read.
std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination);

/// Convert to "FILES:BYTES" and back. Throws ErrorKind::remote for malformed text.
std::string to_text(const Position& position);
Position parse_position(std::string_view text);

/// Convert to "KEY:FILES:BYTES" and back. Throws ErrorKind::remote for malformed text.
std::string to_text(const Resumption& resumption);
Resumption parse_resumption(std::string_view text);

}  // namespace fastgpu::transfer
