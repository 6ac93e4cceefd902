// Copies that were cut off and are resumed later: their keys, and their positions.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

/// The position in a stream of files.
struct Position {
  std::uint64_t files = 0;  ///< The number of complete files.
  std::uint64_t bytes = 0;  ///< The bytes of the next one.

  auto operator<=>(const Position&) const = default;
};

/// A copy that is kept if it is cut off, and the position to resume from.
struct Resumption {
  std::string key;  ///< See key_of.
  Position from{};
};

/// The number of a key's digits that identify the copy's destination; the others identify its
/// content.
inline constexpr std::size_t kPlaceDigits = 12;
inline constexpr std::size_t kKeyDigits = 32;

/// Returns 32 hexadecimal digits that name the copy of these sources, as they are now, to
/// `destination`. They depend on that and on the sources' paths, kinds, sizes, modes and times.
/// Empty if the sources cannot be read.
std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination);

/// Converts to "FILES:BYTES" and back; throws ErrorKind::remote.
std::string to_text(const Position& position);
Position parse_position(std::string_view text);

/// Converts to "KEY:FILES:BYTES" and back; throws ErrorKind::remote.
std::string to_text(const Resumption& resumption);
Resumption parse_resumption(std::string_view text);

}  // namespace fastgpu::transfer
